/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_PATTERN_TYPES_H
#define WP_REPORTER_FINDINGS_PATTERN_TYPES_H
/*
 * Rules that recognize a known fault in a cause. A rule looks at what was measured and says how sure it is: certain
 * when the fault is what was measured, likely when other causes rarely look so, else possible.
 */
#include "reporter/causes/cause_case.h"

struct wp_pattern_rule {
    const char *key, *title;
    /* Fills evidence and sure. */
    bool (*fits)(const struct wp_cause_case *of, struct wp_pattern *pattern);
};

#endif
