/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_LATENCY_H
#define WP_REPORTER_HTML_HTML_LATENCY_H
/* Latencies, drawn. */
#include "common/buffer.h"
#include "reporter/display/latency_column.h"

/* How many took how long; slow ones in another colour. */
void wp_html_latency(struct wp_buffer *out, const struct wp_latency_column *columns, size_t count, const char *label);

#endif
