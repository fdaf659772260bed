/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_ROWS_H
#define WP_REPORTER_EXPORT_FORMAT_ROWS_H
/*
 * Tables for scripts: CSV (RFC 4180, a head line; a stack is folded into "a;b;c") and NDJSON (an object a line, a stack
 * is an array). Without a table all of them follow each other: each row says its table first, and in CSV the columns
 * are those of all tables, empty where a table has no such column.
 */
#include "reporter/export/export_table.h"

/* choice NULL: all. -ENOMEM. */
int wp_format_csv(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_export_choice *choice, struct wp_error *err);
/* choice NULL: all. -ENOMEM. */
int wp_format_ndjson(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_export_choice *choice, struct wp_error *err);

#endif
