/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_LOAD_SHEDDING_H
#define WP_COLLECTOR_BATCH_LOAD_SHEDDING_H
/*
 * Keeps a live source within the budget: measures what the collector costs, tells the source what to leave out, and
 * puts what was left out, and when, into the batches. What is read once for each object (names, unwind rows) is
 * measured apart and does not count: it has bounds of its own (docs/names.md), and load shedding would not make it
 * less.
 */
#include "collector/batch/batcher.h"
#include "collector/host/budget.h"
#include "collector/host/source.h"
#include "common/log.h"

/* State of one live source. Embedded; filled by wp_load_shedding_init. */
struct wp_load_shedding {
    struct wp_budget budget;
    const double *limit_percent; /* borrowed: it may change at any time */
    struct wp_source *source;    /* borrowed, as the next two */
    struct wp_batcher *batcher;
    const struct wp_logger *logger;
    uint64_t looked_ns, told_ns;
    uint64_t cost_ns, reading_ns; /* so far: what counts, what does not */
    uint64_t programs_ns;         /* of cost_ns: of the source's programs in the kernel */
    uint64_t unwalked;            /* reported so far */
    uint64_t left_out_ns[2];      /* with fewer stacks, without events */
    bool is_paused;     /* nothing is to be recorded now: the loop pauses the source, as between two windows */
    uint64_t paused_ns; /* since when */
};

/* *limit_percent is of one CPU, 0 for no limit, and is read again at each tick. All pointers stay borrowed while
 * `shedding` is used; there is nothing to free. */
void wp_load_shedding_init(struct wp_load_shedding *shedding, const double *limit_percent, struct wp_source *source,
    struct wp_batcher *batcher, const struct wp_logger *logger);
/* From the loop, at each turn. now_ns: CLOCK_MONOTONIC, real_ns: CLOCK_REALTIME. */
void wp_load_shedding_tick(struct wp_load_shedding *shedding, uint64_t now_ns, uint64_t real_ns);
/* Before the last batch: tells what is not told yet. */
void wp_load_shedding_finish(struct wp_load_shedding *shedding, uint64_t now_ns);

#endif
