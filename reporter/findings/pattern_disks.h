/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_PATTERN_DISKS_H
#define WP_REPORTER_FINDINGS_PATTERN_DISKS_H
/* Disks: fsync per item, pages read again, cold start. */
#include "reporter/findings/pattern_types.h"

/* The first that fits tells; ends with a key of NULL. */
extern const struct wp_pattern_rule wp_pattern_disks[];

#endif
