/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DATA_ORIGIN_DATA_H
#define WP_REPORTER_DATA_ORIGIN_DATA_H
/*
 * What the pages load to tell origins (origins.h) apart: a list of them (with the processes by name and host, which
 * every report tells apart), and a file for each when there are several. In it cell (steps through the flame's cells),
 * ns, samples (how many of what follows a cell has), place (in the buckets of time_data.h) and time (ns).
 */
#include "reporter/facts/facts.h"
#include "reporter/facts/page_context.h"

/* Appends the script with the list to `out`. -ENOMEM. */
int wp_origin_list(struct wp_buffer *out, const struct wp_page_context *context, struct wp_error *err);
/* Of context->origins.rows[origin], which has a report of its own. */
int wp_origin_data(struct wp_buffer *out, const struct wp_page_context *context, size_t origin, struct wp_error *err);

#endif
