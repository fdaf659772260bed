/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_PATTERN_PEERS_H
#define WP_REPORTER_FINDINGS_PATTERN_PEERS_H
/* Peers: delayed acknowledgements, serial fan-out, N+1 requests. */
#include "reporter/findings/pattern_types.h"

/* The first that fits tells; ends with a key of NULL. */
extern const struct wp_pattern_rule wp_pattern_peers[];

#endif
