/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_CURVE_H
#define WP_REPORTER_HTML_HTML_CURVE_H
/* The curve of what is explained, drawn. */
#include "common/buffer.h"
#include "storage/value/category.h"

#include <stddef.h>
#include <stdint.h>

/* Of one task of several: cumulative percent by category. */
struct wp_curve {
    const char *name;
    double percent[WP_CATEGORIES];
};

/* Cumulative percent explained (RSP paper, figure of the evaluation). */
void wp_html_curve(struct wp_buffer *out, const uint64_t *parts);
/* The same of several tasks in one picture, each a line of its own colour and dashes; at most eight differ. */
void wp_html_curves(struct wp_buffer *out, const struct wp_curve *curves, size_t count);

#endif
