/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_STATE_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_STATE_H
/*
 * A timeline as it stood at a moment of the past (the horizon), from what its rings hold: enough that the events after
 * the moment, fed again, make the same timeline from there on. Threads are rows; whoever keeps something about threads
 * translates indices with the maps.
 */
#include "aggregator/timeline/timeline.h"
#include "proto/resume.pb-c.h"

/* Fills threads, processes, facts, start_ns and events of `out`. *rows (the caller's, free): thread index -> row + 1,
 * 0: not in it. Everything is allocated from malloc for wakepath__resume__checkpoint__free_unpacked. -ENOMEM. */
int wp_timeline_save(
    const struct wp_timeline *timeline, uint64_t horizon_ns, Wakepath__Resume__Checkpoint *out, uint32_t **rows);
/* The processes of a fresh timeline. -ENOMEM. */
int wp_timeline_set_processes(
    struct wp_timeline *timeline, struct Wakepath__Resume__Process *const *rows, size_t count);
/* Into a fresh timeline whose dictionary is there. *threads (the caller's, free): row -> thread index, 0 for one that
 * could not be made. -EBADMSG: ids that do not exist; -ENOMEM. */
int wp_timeline_restore(struct wp_timeline *timeline, const Wakepath__Resume__Checkpoint *from, uint32_t **threads);

#endif
