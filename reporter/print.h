/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PRINT_H
#define WP_REPORTER_PRINT_H
/* One aggregate in a printed format: json, text or folded. Never prints itself. */
#include "common/buffer.h"
#include "storage/store.h"

enum wp_format { WP_FORMAT_HTML, WP_FORMAT_JSON, WP_FORMAT_TEXT, WP_FORMAT_FOLDED };

struct wp_print_options {
    const char *const *stores;
    size_t store_count;
    const char *release;    /* NULL: the only one */
    const char *aggregate;  /* NULL: main, else the largest */
    enum wp_format format;
    struct wp_selection selection;
};

/* -EINVAL for an unknown name. */
int wp_format_parse(const char *name, enum wp_format *format);
int wp_print_aggregate(struct wp_buffer *out, const struct wp_print_options *options, struct wp_error *err);

#endif
