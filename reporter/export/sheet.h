/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_SHEET_H
#define WP_REPORTER_EXPORT_SHEET_H
/*
 * The tables of an aggregate as scripts read them: whole, with exact numbers and stable column names (docs/exports.md).
 * A sheet is its name, its columns and a function that reads one row; format_rows writes any of them.
 */
#include "reporter/facts/facts.h"
#include "reporter/facts/wait_edges.h"

enum wp_sheet_kind {
    WP_SHEET_TEXT,
    WP_SHEET_NUMBER,
    WP_SHEET_STACK /* number: a node of the report */
};

struct wp_sheet_column {
    const char *name;
    enum wp_sheet_kind kind;
};

struct wp_sheet_field {
    const char *text;
    uint64_t number;
};

#define WP_SHEET_COLUMNS 9u /* at most */

/* What the rows are read from. */
struct wp_sheet_source {
    const struct wp_facts *facts;
    struct wp_wait_edges waits;
};

struct wp_sheet {
    const char *name;
    struct wp_sheet_column columns[WP_SHEET_COLUMNS + 1]; /* ends with {NULL} */
    size_t (*count)(const struct wp_sheet_source *source);
    void (*read)(const struct wp_sheet_source *source, size_t row, struct wp_sheet_field *fields);
};

#define WP_SHEETS 11u
extern const struct wp_sheet wp_sheets[WP_SHEETS];

/* NULL: there is no such table. */
const struct wp_sheet *wp_sheet_find(const char *name);
/* -ENOMEM. */
int wp_sheet_source_init(struct wp_sheet_source *source, const struct wp_facts *facts, struct wp_error *err);
void wp_sheet_source_fini(struct wp_sheet_source *source);

#endif
