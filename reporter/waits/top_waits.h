/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WAITS_TOP_WAITS_H
#define WP_REPORTER_WAITS_TOP_WAITS_H
/* Where the time is in a line each: who waits, for whom, what that one does, and where in its program. */
#include "reporter/facts/facts.h"

struct wp_top_wait {
    const char *who;   /* the process of interest */
    const char *whom;  /* whom it waits for in the end; the same text as `who`: it waits for nobody */
    const char *doing; /* what that one does: "waits for the disk" */
    const char *where; /* "`update_cache` (orders.c:34)", "" not known */
    uint64_t ns;
};

struct wp_top_waits {
    struct wp_top_wait *rows; /* in the pool, as all texts; most time first */
    size_t count;
};

/* What the rows borrow lives in `pool`. -ENOMEM. */
int wp_top_waits_build(
    struct wp_top_waits *waits, struct wp_pool *pool, const struct wp_facts *facts, struct wp_error *err);

#endif
