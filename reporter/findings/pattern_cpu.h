/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_PATTERN_CPU_H
#define WP_REPORTER_FINDINGS_PATTERN_CPU_H
/* The CPU: garbage collection. */
#include "reporter/findings/pattern_types.h"

/* The first that fits tells; ends with a key of NULL. */
extern const struct wp_pattern_rule wp_pattern_cpu[];

#endif
