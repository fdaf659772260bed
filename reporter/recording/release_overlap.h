/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_RELEASE_OVERLAP_H
#define WP_REPORTER_RECORDING_RELEASE_OVERLAP_H
/*
 * Windows in which hosts of one service ran different releases: another release's aggregate of the same name was active
 * at the same time. What was measured then may be the one release waiting for the other.
 */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/facts/page_context.h"
#include "reporter/read/release_order.h"

struct wp_release_overlap {
    const char *release;      /* the other one */
    uint64_t from_ns, to_ns;  /* first and last moment in which both were active */
    uint64_t both_ns;         /* how long both were */
    const char *here, *there; /* hosts: "web-1, web-2 and 3 more" */
};

#define WP_OVERLAP_CANDIDATES 8u /* other releases at the same time that are looked at */

/* Others whose time lies about that of row `release`: rows of the order, the nearest first; how many. */
size_t wp_release_overlap_candidates(
    const struct wp_release_order *order, size_t release, size_t rows[WP_OVERLAP_CANDIDATES]);
/* context->overlaps, with those candidates; one that cannot be read says nothing here. -ENOMEM. */
int wp_release_overlap_read(struct wp_page_context *context, const struct wp_stores *stores,
    const struct wp_release_order *order, struct wp_error *err);
/* One sentence of all of them; NULL when there is none. */
const char *wp_release_overlap_sentence(struct wp_pool *pool, const struct wp_release_overlap *rows, size_t count);
/* A heading and a table; nothing when there is none. */
void wp_release_overlap_table(struct wp_display *display, const struct wp_release_overlap *rows, size_t count);

#endif
