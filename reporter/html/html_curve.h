/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_CURVE_H
#define WP_REPORTER_HTML_HTML_CURVE_H
/* The curve of what is explained, drawn. */
#include "common/buffer.h"

#include <stdint.h>

/* Cumulative percent explained (RSP paper, figure of the evaluation). */
void wp_html_curve(struct wp_buffer *out, const uint64_t *parts);

#endif
