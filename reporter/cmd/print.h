/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_PRINT_H
#define WP_REPORTER_CMD_PRINT_H
/* One aggregate in a format that is one file (docs/exports.md). Never prints itself. */
#include "common/buffer.h"
#include "reporter/export/export_table.h"
#include "storage/env/store.h"
#include "storage/kind/selection.h"

enum wp_format {
    WP_FORMAT_HTML, /* printed: all pages of the aggregate in one file */
    WP_FORMAT_JSON,
    WP_FORMAT_TEXT,
    WP_FORMAT_FOLDED,
    WP_FORMAT_PPROF,
    WP_FORMAT_SPEEDSCOPE,
    WP_FORMAT_PERFETTO,
    WP_FORMAT_PERUN,
    WP_FORMAT_PERUN_WHOLE,
    WP_FORMAT_CSV,
    WP_FORMAT_NDJSON,
    WP_FORMATS
};

/* For people: "html, json, text ...". */
#define WP_FORMAT_NAMES "html, json, text, folded, pprof, speedscope, perfetto, perun, perun-whole, csv or ndjson"
struct wp_contour;
struct wp_logger;

/* What to print and in which format; all texts are borrowed. */
struct wp_print_options {
    const char *const *stores;
    size_t store_count;
    const char *release;   /* NULL: the only one */
    const char *aggregate; /* NULL: main, else the largest */
    enum wp_format format;
    struct wp_export_choice tables; /* of csv and ndjson, and of stacks */
    struct wp_selection selection;
    const struct wp_contour *contour; /* left out of the stacks; NULL: nothing */
    const char *system_window;        /* of html: a file of what all threads did; NULL: none */
    const struct wp_logger *logger;   /* has a warning where system_window cannot be read: the pages are without */
    unsigned exemplar; /* of perfetto: this window, as the pages number them; 0: the first window that was kept */
};

/* -EINVAL for an unknown name. */
int wp_format_parse(const char *name, enum wp_format *format);
/* It has pseudo-stacks, and so an order and limits of them. */
bool wp_format_is_stacks(enum wp_format format);
/* Appends to `out`. -ENOENT: no such release, aggregate, window or system_window; -EINVAL: several releases and none
 * was chosen; else what reading the stores fails with. */
int wp_print_aggregate(struct wp_buffer *out, const struct wp_print_options *options, struct wp_error *err);

#endif
