/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_DISPLAY_H
#define WP_REPORTER_DISPLAY_DISPLAY_H
/*
 * A page before it has a format: headings, paragraphs, notices, findings, facts, tables, charts, views. The page
 * builders make it, the formatters read it. Texts are plain (never escaped here) and live in the display's pool or
 * longer.
 */
#include "reporter/base/text_pool.h"
#include "reporter/display/latency_column.h"
#include "reporter/display/page_id.h"

#include <stdbool.h>
#include <stdint.h>

/* A link to a page of the site; {0} is no link. */
struct wp_link {
    bool set;
    struct wp_page_id page_id;
    const char *fragment; /* safe in a URL; NULL none */
    unsigned part;        /* of a page in parts, from 1; 0 otherwise */
};

enum wp_column_kind {
    WP_CELL_TEXT,
    WP_CELL_NAME,  /* a name from outside: process, function, file */
    WP_CELL_STACK, /* a long name; may be broken over lines */
    WP_CELL_ID,    /* a number that is a name: a pid */
    WP_CELL_COUNT,
    WP_CELL_DURATION, /* ns */
    WP_CELL_SHARE,    /* ns, shown as part of wp_table.whole_ns, with a small bar */
    WP_CELL_VALUE,    /* any number as text, coloured by mark; sorted by value */
};

enum wp_mark { WP_MARK_NONE, WP_MARK_WORSE, WP_MARK_BETTER, WP_MARK_FAINT };

/* The head of a table's column. */
struct wp_column {
    const char *title;
    const char *hint; /* what it means, NULL when the title says it */
    enum wp_column_kind kind;
};

/* A cell of a table; its column's kind says whether text, number or value is shown. */
struct wp_field {
    const char *text;   /* of TEXT, NAME, STACK, VALUE */
    uint64_t number;    /* of the others */
    double value;       /* of VALUE, for sorting */
    enum wp_mark mark;  /* of VALUE */
    const char *note;   /* small print under the text, NULL none */
    bool is_none;       /* there is no number: an average of nothing */
    int swatch;         /* category + 1 whose colour stands before it, 0 none */
    const char *anchor; /* what a fragment finds, unique and safe in a URL; NULL none */
    bool is_term;       /* the text is one of the glossary's: it is explained */
    struct wp_link link;
};

/* A table of a page; lives in the display's pool, its columns are borrowed. */
struct wp_table {
    const char *id, *caption; /* id: unique on the page, [a-z-] */
    const struct wp_column *columns;
    struct wp_field *fields; /* row by row */
    size_t column_count, row_count, row_room;
    size_t left_out; /* rows that exist and are not shown */
    uint64_t whole_ns;
    bool searchable;
    const char *empty; /* what to say when there is no row */
};

/* A coloured part of a bar. */
struct wp_bar_part {
    int category;
    uint64_t ns;
};

/* A point of a trend over releases. */
struct wp_point {
    double value;
    const char *text; /* "v1.2: 3.1 s" */
    bool is_faint;    /* of a tree that was not committed */
};

/* A drawn graph; the table beside it says the same. */
enum wp_box_kind { WP_BOX_PROCESS, WP_BOX_DISK, WP_BOX_PEER, WP_BOX_UNKNOWN, WP_BOX_HOST };

/* A node of a graph. */
struct wp_box {
    enum wp_box_kind kind;
    const char *text;
    const char *place; /* the end of `text` that stands on a line of its own: " on db-3"; NULL none */
    const char *note;
    bool is_first; /* stands leftmost: arrows begin there */
    bool is_knot;  /* in a circle with others */
    struct wp_link link;
};

/* An edge of a graph. */
struct wp_arrow {
    uint32_t from, to; /* boxes */
    uint64_t weight;
    const char *label, *text; /* on the arrow, and the whole sentence */
    bool is_knot;
    struct wp_link link;
};

/* Boxes and the arrows between them, by index. */
struct wp_graph {
    struct wp_box *boxes;
    struct wp_arrow *arrows;
    uint32_t box_count, arrow_count;
};

enum wp_item_kind {
    WP_ITEM_HEADING, /* text, number = level 2 or 3 */
    WP_ITEM_PARAGRAPH,
    WP_ITEM_NOTICE,  /* something is missing or damaged */
    WP_ITEM_FINDING, /* text, link; number = rank from 1 */
    WP_ITEM_FACT,    /* label, text, note: neighbours stand in one row */
    WP_ITEM_TABLE,
    WP_ITEM_BAR,       /* the category bar: parts */
    WP_ITEM_CURVE,     /* cumulative percent explained: parts */
    WP_ITEM_STRIP,     /* the critical path: path, link */
    WP_ITEM_OVER_TIME, /* categories over time: timeline */
    WP_ITEM_CARD,      /* label, text, link, parts: one line of the index */
    WP_ITEM_TREND,     /* label, text (the newest), note; series: a small line over releases, neighbours in one row */
    WP_ITEM_GRAPH,     /* text: what it is; graph */
    WP_ITEM_LATENCY,   /* text: what it is; latencies, number: how many columns */
    WP_ITEM_LISTING,   /* source text beside its times; text: what it is; listing */
    WP_ITEM_VIEW,      /* a drawn view: text = "flame", "difference", "chronology" or "running" */
    WP_ITEM_DETAILS,   /* text: what follows up to WP_ITEM_END is folded away at first */
    WP_ITEM_END,
};

struct wp_listing;       /* listing.h */
struct wp_over_time;     /* facts/over_time.h */
struct wp_critical_path; /* requests/critical_path.h */

/* A piece of a page; the kind says which fields are set. */
struct wp_item {
    enum wp_item_kind kind;
    const char *label, *text, *note;
    const char *anchor; /* of HEADING: what a fragment finds, unique and safe in a URL; NULL none */
    uint64_t number;
    struct wp_link link;
    struct wp_table *table;
    const uint64_t *parts; /* WP_CATEGORIES numbers, ns */
    const struct wp_graph *graph;
    const struct wp_listing *listing;
    const struct wp_latency_column *latencies;
    const struct wp_over_time *timeline;
    const struct wp_critical_path *path;
    uint64_t worse, better;        /* of CARD: how much changed */
    const struct wp_point *points; /* of TREND, the oldest first; number: how many */
    struct wp_item *next;
};

struct wp_page_context;

/* A page; begins with wp_display_init. */
struct wp_display {
    struct wp_pool pool;
    struct wp_page_id page_id; /* the page itself */
    unsigned part;             /* of a page in parts, from 1; 0 otherwise */
    const char *title, *subtitle;
    const char *subject; /* what was recorded, as the window's title has it; NULL: the aggregate's name */
    struct wp_item *first, *last;
    struct wp_table nowhere;                 /* stands in for a table that found no memory; it has no room */
    const char *tab_release, *tab_aggregate; /* whose views the tabs lead to; NULL: no tabs */
    bool tab_compare;                        /* there is a page that compares them with an older release */
    const struct wp_page_context *context;   /* borrowed, for the page's builder; NULL: none (page_context.h) */
    const char *data; /* the file of the view's data; NULL: the one that all views of its kind share */
    const char *view; /* scripts that the page needs beyond the common ones, NULL none */
};

/* Starts an empty page with an empty title and subtitle; borrows the texts of `page_id`. */
void wp_display_init(struct wp_display *display, const struct wp_page_id *page_id);
/* Frees the pool with all items; a zeroed display is allowed. */
void wp_display_fini(struct wp_display *display);
/* Appends an item; NULL when out of memory (display->pool.failed is set then). */
struct wp_item *wp_display_add(struct wp_display *display, enum wp_item_kind kind, const char *text);
/* Appends a heading of level 2. Items borrow their texts until the display ends. */
void wp_display_heading(struct wp_display *display, const char *text);
/* Appends a fact; `note` may be NULL. */
void wp_display_fact(struct wp_display *display, const char *label, const char *text, const char *note);
/* A table whose rows wp_display_row fills; never NULL. */
struct wp_table *wp_display_table(
    struct wp_display *display, const char *id, const struct wp_column *columns, size_t column_count, size_t row_room);
/* The fields of a new row, zeroed; NULL when the table is full (then left_out counts it) or out of memory. */
struct wp_field *wp_display_row(struct wp_table *table);
/* A link to part `part` of a page, from 1; 0: the page has no parts. Borrows the texts; `fragment` may be NULL. */
struct wp_link wp_link_to_part(
    enum wp_page_kind page, const char *release, const char *aggregate, unsigned part, const char *fragment);
/* A link to a page without parts; otherwise the same. */
struct wp_link wp_link_to(enum wp_page_kind page, const char *release, const char *aggregate, const char *fragment);

#endif
