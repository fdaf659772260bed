/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_EXPORT_TABLE_H
#define WP_REPORTER_EXPORT_EXPORT_TABLE_H
/*
 * The tables of an aggregate as scripts read them: whole, with exact numbers and stable column names (docs/exports.md).
 * A table is its name, its columns and a function that reads one row; format_rows writes any of them.
 */
#include "reporter/base/row_limit_types.h"
#include "reporter/facts/facts.h"
#include "reporter/waits/wait_edges.h"

enum wp_export_column_kind {
    WP_EXPORT_TEXT,
    WP_EXPORT_NUMBER,
    WP_EXPORT_STACK /* number: a node of the report */
};

/* A column: its stable name and what a field of it holds. */
struct wp_export_column {
    const char *name;
    enum wp_export_column_kind kind;
};

/* A value: `text` or `number`, as the column's kind says. */
struct wp_export_field {
    const char *text;
    uint64_t number;
};

#define WP_EXPORT_COLUMNS 9u /* at most */

/* What the rows are read from. */
struct wp_export_source {
    const struct wp_facts *facts;
    struct wp_wait_edges waits;
};

/* A table; `read` fills a field for each column of a row < count. */
struct wp_export_table {
    const char *name;
    struct wp_export_column columns[WP_EXPORT_COLUMNS + 1]; /* ends with {NULL} */
    size_t (*count)(const struct wp_export_source *source);
    void (*read)(const struct wp_export_source *source, size_t row, struct wp_export_field *fields);
};

#define WP_EXPORT_TABLES 11u
extern const struct wp_export_table wp_export_tables[WP_EXPORT_TABLES];

/* What is wanted of the tables; zeroed: all of all. */
struct wp_export_choice {
    const struct wp_export_table *table; /* NULL: all */
    const char *order;         /* a column of numbers of that table, the greatest first; NULL: as they stand */
    struct wp_row_limit limit; /* of that column; a share is of the report's total */
    size_t top;                /* rows of each table at most; 0: all */
};

/* Whether the table has a column of numbers of that name. */
bool wp_export_table_has_number(const struct wp_export_table *table, const char *column);
/* NULL: there is no such table. */
const struct wp_export_table *wp_export_table_find(const char *name);
/* -ENOMEM. */
int wp_export_source_init(struct wp_export_source *source, const struct wp_facts *facts, struct wp_error *err);
/* Frees the wait edges; the facts stay the caller's. */
void wp_export_source_fini(struct wp_export_source *source);

#endif
