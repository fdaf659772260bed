/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_MATES_H
#define WP_AGGREGATOR_MATES_H
/*
 * The progress of a process and its other threads. Where an aggregate shows the progress of a process, its main thread is the
 * base, and what it waits for of its own process is followed into the other threads (its mates), as into other processes. What is
 * left of these stands beside the total: their sleeps while nobody waits for them (idle workers), and their work that nobody waits
 * for. Where all threads are the base, the sleeps in which one waits for work from its own process are told apart in the same way.
 */
#include "aggregator/explain.h"

struct wp_aggregate;

#define WP_MATES_THREADS ".threads"           /* behind the aggregate's name: the view by threads that stands beside it */

/* Who ended the sleep that is being explained is of the sleeper's process, whose progress the aggregate shows. */
bool wp_mates_has(const struct wp_explainer *explainer, uint32_t waker_identity);
/*
 * In the sleep of this slice the thread waited for work from its own process: another base thread of it ended the
 * sleep, and what that one did was not set going by the sleeper (then it waits for a result). A wait for a lock is none. Asked between
 * explanations.
 */
bool wp_mates_is_idle(struct wp_explainer *explainer, uint32_t thread, const struct wp_slice *slice);
/* The thread, by that identity, was idle so long. */
void wp_mates_tell_idle(struct wp_aggregate *aggregate, uint32_t identity, uint64_t ns);
/* A control path of the aggregate holds the sleep of this slice from there to there. */
void wp_mates_slept(struct wp_slice *slice, uint64_t from_ns, uint64_t to_ns, uint64_t bit);
/* Tells what stands beside the total of mates' slices that ended in (from_ns, to_ns]; at the end of all also of those that go on. */
void wp_mates_tell(struct wp_aggregate *aggregate, uint64_t from_ns, uint64_t to_ns, bool is_final);

#endif
