/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CODE_GROUP_TYPES_H
#define WP_REPORTER_CODE_GROUP_TYPES_H
/* Sums over stacks (group.h): what is asked for, and what comes of it. */
#include "reporter/base/text_pool.h"

#include <stddef.h>
#include <stdint.h>

enum wp_group_by {
    WP_BY_PROCESS,  /* who the time on top is of, and in whose name: all that stands on it */
    WP_BY_FUNCTION, /* on top: the program's own, which called the C library and the kernel */
    WP_BY_HOST,
    WP_BY_CATEGORY,
    WP_BY_PATH, /* the processes of the stack from the base on, and what ended it */
    WP_BY_FILE, /* of source, by own time: source_lines.h */
    WP_BY_LINE,
    WP_BYS
};

/* What rows are ordered by, and what a limit is of; as behind a figure of the pages. */
enum wp_group_measure {
    WP_ORDER_OWN,   /* on top */
    WP_ORDER_TOTAL, /* with all that stands on it */
    WP_ORDER_RUN,   /* on top, on a CPU in a known function */
    WP_ORDER_WAIT,  /* on top, all else */
    WP_ORDER_PIECES,
    WP_ORDER_EACH, /* a piece on top, on average */
    WP_ORDERS
};

struct wp_group_order {
    enum wp_group_measure measure;
    double least_percent; /* of the total; 0: */
    uint64_t least;       /* ns, or pieces; rows with less are left out; 0: none are */
};

struct wp_group_filter {
    const char *process, *function, *host; /* patterns of fnmatch(3); NULL: any */
    uint32_t categories;                   /* a bit each; 0: all */
};

struct wp_group_row {
    const char *name, *object; /* object "": none; of a line: its function */
    uint64_t ns;               /* on top; adds up to what counted */
    uint64_t inclusive_ns;     /* with all that stands on it, once a stack */
    uint64_t count;            /* pieces on top */
    uint64_t running_ns;       /* of ns: of functions on a CPU; 0 of lines and files */
};

struct wp_group {
    struct wp_pool pool;       /* texts */
    struct wp_group_row *rows; /* owned; the largest first */
    size_t count;
    uint64_t matched_ns, total_ns;
};

#endif
