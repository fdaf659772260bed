/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_PAGE_CONTEXT_H
#define WP_REPORTER_FACTS_PAGE_CONTEXT_H
/*
 * What stands around an aggregate's facts on its pages: the other view of it, the older release it
 * is held against, other releases of the same time, and whose time it is. Whoever writes the pages fills it; builders
 * of pages read it through the display. All zero: nothing of that is known.
 */
#include "reporter/base/text_pool.h"
#include "reporter/display/display.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_facts;
struct wp_finding;
struct wp_release_overlap;
struct wp_report;

/* Whose time it is: a host, or a shard whose hosts cannot be told apart (origins.h). */
#define WP_ORIGINS 32u /* the largest; the others are one more, together */

struct wp_host_origin {
    const char *name;  /* a host, or "shard s1" */
    const char *hosts; /* of a shard: "web-1, web-2 and 3 more"; of a host "" */
    size_t host_count;
    uint64_t total_ns;
    struct wp_report *report; /* owned; NULL: the only origin there is, the aggregate's report */
};

/* Whose time an aggregate is, origin by origin. */
struct wp_origins {
    struct wp_host_origin *rows; /* in the context's pool; the largest first */
    size_t count;
    uint64_t missing_ns; /* of the aggregate, in no origin: what could not be read again */
};

/* What pages show beside the facts of their aggregate. */
struct wp_page_context {
    struct wp_pool pool;
    const struct wp_facts *facts; /* borrowed: the aggregate's; NULL only where nothing is shown of them */
    const char *other_view; /* the aggregate that shows the same by threads, or by progress; NULL: there is none */
    const char *change;     /* what changed since an older release, one sentence; NULL: not compared */
    uint64_t changed_worse, changed_better; /* rows that this comparison found */
    struct wp_finding *findings; /* in the pool: the facts', after a look at that release; NULL: not compared */
    const char *canary;          /* what some hosts differ in from all others, one sentence; NULL: not compared */
    bool has_canary;             /* and there is a page of it */
    bool has_own_pages;          /* a capture is kept, of which processes get pages of their own */
    bool has_system;             /* system-data.js has what all threads did, beside the release's page */
    struct wp_release_overlap *overlaps; /* other releases at the same time (release_overlap.h) */
    size_t overlap_count;
    struct wp_origins origins;
};

/* What the display has, or one that knows nothing. */
const struct wp_page_context *wp_page_context(const struct wp_display *display);
/* Destroys the origins' reports; the rows live in the context's pool. */
void wp_origins_fini(struct wp_origins *origins);
/* Frees origins and pool, not the facts; a zeroed context is allowed. */
void wp_page_context_fini(struct wp_page_context *context);

#endif
