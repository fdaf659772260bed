/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_FOLDED_H
#define WP_REPORTER_EXPORT_FORMAT_FOLDED_H
/*
 * Folded stacks: "frame;frame;... nanoseconds", a line a pseudo-stack and category, largest stacks first. Process
 * frames are "[comm]"; the numbers add up to the total.
 */
#include "reporter/export/export_table.h"

/* The same in the order of the choice; its limits are not looked at (stack_choice.h). -ENOMEM. */
int wp_format_folded_chosen(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_export_choice *choice, struct wp_error *err);
/* Appends the lines to `out`. -ENOMEM. */
int wp_format_folded(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
