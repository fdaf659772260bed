/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_PPROF_H
#define WP_REPORTER_EXPORT_FORMAT_PPROF_H
/*
 * pprof's profile (gzip around protobuf, reporter/export/profile.proto). A sample a pseudo-stack and category, with the
 * values pieces (count) and time (nanoseconds) and the label "category"; the times add up to the total. What people
 * will read on a terminal has its control characters made visible.
 */
#include "reporter/facts/facts.h"

/* Appends the compressed profile to `out`. -ENOMEM. */
int wp_format_pprof(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
