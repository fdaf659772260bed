/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_LISTING_H
#define WP_REPORTER_DISPLAY_LISTING_H
/* Source text with times beside its lines, and between the lines who calls and what is called: an item of a display. */
#include "reporter/display/display.h"

#include <stddef.h>
#include <stdint.h>

#define WP_HEATS 8u

enum wp_listing_kind {
    WP_LISTING_LINE,
    WP_LISTING_GAP,    /* number: so many lines without time are left out */
    WP_LISTING_CALLER, /* text: a function that begins here; where: who called it from what line; total_ns */
    WP_LISTING_CALLEE, /* text: what is called from the line above; where: what it is */
    WP_LISTING_SUM,    /* of the lines of one statement: self_ns, text says which */
};

struct wp_listing_row {
    enum wp_listing_kind kind;
    uint32_t number;          /* of the line in the text, from 1; 0: there is no text */
    const char *logical;      /* what the debug info calls it, where that is something else: "grammar.y:102"; NULL */
    const char *anchor;       /* NULL none */
    const char *text, *where; /* hostile; where: NULL none. Of a line that has no text: its function */
    uint64_t self_ns, run_ns, wait_ns, total_ns;
    uint8_t heat;             /* 0 to WP_HEATS */
    bool has_time, continues; /* continues: belongs to the statement of the line above */
    struct wp_link link, where_link;
};

struct wp_listing {
    struct wp_listing_row *rows;
    size_t count;
    bool has_text, has_logical;
};

#endif
