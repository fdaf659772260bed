/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_H
/*
 * The timeline of one session: per thread a ring of slices (a sleep and the run after it) and of samples, per device
 * the block operations, per socket the sends and receives. Fed with events in time order; read by the explanation.
 * Times are the host's own. What is missing (a lost switch, a lost fork) is repaired at the next fact about that thread
 * or CPU, marked uncertain and counted. Not thread safe.
 */
#include "aggregator/timeline/timeline_types.h"

/* `dictionary` is the session's, borrowed until wp_timeline_fini(). -ENOMEM: nothing is left to free. */
int wp_timeline_init(struct wp_timeline *timeline, struct wp_dictionary *dictionary);
/* Frees threads, messages and block operations, and zeroes it; zeroed is allowed. The dictionary stays. */
void wp_timeline_fini(struct wp_timeline *timeline);
/* Takes one event; events of a session come in time order (a late one is taken at the session's time, counted). */
void wp_timeline_event(struct wp_timeline *timeline, const struct wp_event *event);
/* --- for timeline_state.c: a timeline is made as it once was --- */
struct Wakepath__Resume__Thread;
/* Its index; 0: out of memory. The row's process is one of wp_timeline_set_processes(). */
uint32_t wp_timeline_set_thread(struct wp_timeline *timeline, const struct Wakepath__Resume__Thread *row);
/* The one of these threads created the other. */
static inline void wp_timeline_set_creator(struct wp_timeline *timeline, uint32_t thread, uint32_t creator)
{
    struct wp_thread *made = &timeline->threads[thread], *by = &timeline->threads[creator];
    made->creator = creator;
    by->forked_ns = made->birth_ns > by->forked_ns ? made->birth_ns : by->forked_ns;
}
/* A block or socket event of before, in the order of time; counts nothing. */
void wp_timeline_fact(struct wp_timeline *timeline, const struct wp_event *event);

/* Whether its last run had ended by then: that it died since is no fact of that time. */
static inline bool wp_thread_is_dead(const struct wp_thread *thread, uint64_t at_ns)
{
    if (!thread->is_dead || thread->slice_end == thread->first_slice)
        return thread->is_dead;
    return wp_thread_slice(thread, thread->slice_end - 1)->end_ns <= at_ns;
}

/* What the thread was called; "" when not known. Borrowed from the dictionary. `identity` is below identity_count. */
const char *wp_timeline_comm(const struct wp_timeline *timeline, uint32_t identity);

#endif
