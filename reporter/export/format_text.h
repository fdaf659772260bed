/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_TEXT_H
#define WP_REPORTER_EXPORT_FORMAT_TEXT_H
/* A display as plain text for a terminal or a mail: UTF-8, no escape sequences, at most 100 columns but for stacks. */
#include "common/error.h"
#include "reporter/display/display.h"

/* Appends the text to `out`. -ENOMEM. */
int wp_format_text(struct wp_buffer *out, const struct wp_display *display, struct wp_error *err);
/* The same with tables as wide as so many columns let them be. */
int wp_format_text_within(
    struct wp_buffer *out, const struct wp_display *display, size_t columns, struct wp_error *err);

#endif
