/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_SPEEDSCOPE_H
#define WP_REPORTER_EXPORT_FORMAT_SPEEDSCOPE_H
/*
 * speedscope's own JSON (www.speedscope.app/file-format-schema.json). The first profile is the flame, whose weights add
 * up to the total; then one profile a control path of the kept window, in the order of time, with empty stacks where it
 * has gaps.
 */
#include "reporter/facts/facts.h"

/* Appends the document to `out`. -ENOMEM. */
int wp_format_speedscope(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
