/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_GROUP_H
#define WP_REPORTER_FACTS_GROUP_H
/*
 * Sums over the stacks of a report: which of them count, and what they are put together by. A stack is made of layers, each a
 * process with its functions; it counts when one of its layers fits process, host and function at once, and its category is
 * asked for. All that stands on that layer counts with it: that is what the layer waited for. Not thread safe.
 */
#include "reporter/facts/facts.h"

enum wp_group_by {
    WP_BY_PROCESS,    /* who the time on top is of, and in whose name: all that stands on it */
    WP_BY_FUNCTION,
    WP_BY_HOST,
    WP_BY_CATEGORY,
    WP_BY_PATH,       /* the processes of the stack from the base on, and what ended it */
    WP_BY_FILE,       /* of source, by own time: source_lines.h */
    WP_BY_LINE,
    WP_BYS
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
};

struct wp_group {
    struct wp_pool pool;        /* texts */
    struct wp_group_row *rows;  /* owned; the largest first */
    size_t count;
    uint64_t matched_ns, total_ns;
};

/* "process" ...; -1 for an unknown one. */
int wp_group_by_find(const char *name);
const char *wp_group_by_name(enum wp_group_by by);
/* -ENOMEM. */
int wp_group_build(struct wp_group *group, const struct wp_facts *facts, const struct wp_group_filter *filter,
    enum wp_group_by by, struct wp_error *err);
/* The same by line or by file of source; process, host and categories cannot be asked for: -EINVAL. */
int wp_group_lines(struct wp_group *group, const struct wp_facts *facts, const struct wp_group_filter *filter, bool by_line,
    struct wp_error *err);
void wp_group_fini(struct wp_group *group);

#endif
