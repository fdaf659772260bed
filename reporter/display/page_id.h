/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_PAGE_ID_H
#define WP_REPORTER_DISPLAY_PAGE_ID_H
/* A page id says which page; it is also how pages link to each other, so that only the formatter knows addresses. */
#include "common/buffer.h"

#include <stdbool.h>

enum wp_page_kind {
    WP_PAGE_INDEX,
    WP_PAGE_RELEASE,
    WP_PAGE_OVERVIEW, /* this and what follows: pages of one aggregate */
    WP_PAGE_COMPARE,  /* against an older release; there only when there is one */
    WP_PAGE_FLAME,
    WP_PAGE_BEHIND, /* whose, when, where and what a figure is; no tab of its own */
    WP_PAGE_CHRONO,
    WP_PAGE_RUNNING,
    WP_PAGE_EXEMPLARS,     /* single requests and waits, event by event */
    WP_PAGE_EXEMPLAR,      /* one of them as stacks over time; a part each, no tab of its own */
    WP_PAGE_EXEMPLAR_ROWS, /* and by thread */
    WP_PAGE_WAITS,         /* who waits for whom */
    WP_PAGE_TRANSACTIONS,  /* how long requests took, and what the slow ones waited for */
    WP_PAGE_PROCESSES,
    WP_PAGE_FUNCTIONS,
    WP_PAGE_FUNCTION, /* callers and callees; several parts, no tab of its own */
    WP_PAGE_MODULES,  /* object files and services; no tab of its own */
    WP_PAGE_SOURCES,  /* source files; no tab of its own */
    WP_PAGE_SOURCE,   /* one line by line; several parts, no tab of its own */
    WP_PAGE_IO,
    WP_PAGE_HOSTS,
    WP_PAGE_CANARY, /* some hosts against all others; there only when asked for, no tab of its own */
    WP_PAGE_UNEXPLAINED,
    WP_PAGE_ABOUT,
    WP_PAGE_DETACHED,   /* work that nobody waited for; there only when there is some, no tab of its own */
    WP_PAGE_CYCLE,      /* functions that call each other; several parts, no tab of its own */
    WP_PAGE_WAIT_CYCLE, /* processes that wait for each other; several parts, no tab of its own */
    WP_PAGE_TREE,       /* who forked and executed whom; there only when that is known, no tab of its own */
    WP_PAGE_PROCESSOR,  /* who had it while others could have run; no tab of its own */
    WP_PAGES
};

struct wp_page_id {
    enum wp_page_kind page;
    const char *release, *aggregate; /* borrowed; NULL where the page has none */
};

/* What a reader sees on the tab: "Flame". */
const char *wp_page_title(enum wp_page_kind page);
/* The folder of a release or aggregate id: the id itself, with '~' after one that the site itself uses. */
void wp_page_id_folder(struct wp_buffer *out, const char *id);
/* The tab that a page stands under: itself, or the one that leads to it. */
enum wp_page_kind wp_page_tab(enum wp_page_kind page);
/* Whether it is one of several parts, and has no page without a number. */
bool wp_page_in_parts(enum wp_page_kind page);
/* Of a page in parts, from 1: "v1/main/functions-3.html"; part 0: as above. */
void wp_page_id_path_part(struct wp_buffer *out, const struct wp_page_id *page_id, unsigned part);
/* From a page's folder back to the root: "", "../" or "../../". */
const char *wp_page_id_root(enum wp_page_kind page);

#endif
