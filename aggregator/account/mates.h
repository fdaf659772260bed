/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_MATES_H
#define WP_AGGREGATOR_ACCOUNT_MATES_H
/*
 * The progress of a process and its other threads. Where an aggregate shows the progress of a process, its main thread
 * is the base, and what it waits for of its own process is followed into the other threads (its mates), as into other
 * processes. What is left of these stands beside the total: their sleeps while nobody waits for them (idle workers),
 * and their work that nobody waits for. Where all threads are the base, idle sleeps (idle_wait.h) stand there, too.
 */
#include "aggregator/explain/explain.h"
#include "common/selector.h"

#define WP_MATES_THREADS ".threads" /* behind the aggregate's name: the view by threads that stands beside it */

/* How an aggregate reports them. */
struct wp_mates {
    const struct wp_timeline *timeline; /* borrowed */
    struct wp_report *report;           /* borrowed */
    uint64_t bit;                       /* the aggregate's */
    uint16_t taken, slept; /* marks of slices of which its control paths hold the run, the sleep (detached.h) */
    struct wp_selector_interval between; /* of which time of the host it reports */
    bool is_progress;                    /* its base are main threads */
};

/* The thread, by that identity, was idle in [from_ns, to_ns). True: it was told. */
bool wp_mates_tell_idle(const struct wp_mates *mates, uint32_t identity, uint64_t from_ns, uint64_t to_ns);
/* Tells what stands beside the total of mates' slices that ended in (from_ns, to_ns]; at the end of all also of those
 * that go on. True: there is some. */
bool wp_mates_tell(const struct wp_mates *mates, uint64_t from_ns, uint64_t to_ns, bool is_final);

#endif
