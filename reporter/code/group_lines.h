/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CODE_GROUP_LINES_H
#define WP_REPORTER_CODE_GROUP_LINES_H
/* Sums by line of source and by file. */
#include "common/error.h"
#include "reporter/code/group_types.h"
#include "reporter/facts/facts.h"

#include <stdbool.h>

/* Most time first. */
void wp_group_sort(struct wp_group *group);
/* The same by line or by file of source; process, host and categories cannot be asked for: -EINVAL. */
int wp_group_lines(struct wp_group *group, const struct wp_facts *facts, const struct wp_group_filter *filter,
    bool by_line, struct wp_error *err);

#endif
