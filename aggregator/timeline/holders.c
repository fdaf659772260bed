/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/holders.h"

#include "aggregator/timeline/slices.h"

#include <signal.h>
#include <string.h>

#define DYING_NS 10000000u /* a signal to a group reaches a child a little before its parent */
#define DYING_SLICES 8u
#define TOLD_NS 100000000u /* from the signal that ends a wait for a child to what the child gets of it */

enum { CALL_PAUSE = 34, CALL_WAIT4 = 61, CALL_SIGTIMEDWAIT = 128, CALL_SIGSUSPEND = 130, CALL_WAITID = 247 };

static uint32_t process_of(const struct wp_timeline *timeline, uint32_t thread)
{
    return timeline->identities[timeline->threads[thread].identity].process;
}

static bool waits_for_signals(const struct wp_slice *slice)
{
    unsigned call = slice->syscall - 1u;
    return call == CALL_PAUSE || call == CALL_SIGTIMEDWAIT || call == CALL_SIGSUSPEND;
}

bool wp_slice_is_cut_short(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    return wp_slice_signal(slice) != SIGCHLD && !waits_for_signals(slice) &&
        process_of(timeline, slice->waker) != timeline->identities[slice->identity].process;
}

/* The thread of that number, in the slice's process unless it holds a lock of the kernel; one that died with it counts.
 */
static uint32_t thread_of_number(const struct wp_timeline *timeline, const struct wp_slice *slice, uint32_t tid)
{
    uint32_t process = timeline->identities[slice->identity].process;
    bool is_anywhere = slice->cause_a & WP_SLICE_HELD_ANYWHERE;
    for (uint32_t i = timeline->thread_count; i-- > 1;)
        if (timeline->threads[i].tid == tid && (is_anywhere || process_of(timeline, i) == process))
            return i;
    return 0;
}

uint32_t wp_holder_of(const struct wp_timeline *timeline, uint32_t thread, const struct wp_slice *slice)
{
    uint32_t tid = wp_slice_holder(slice);
    uint32_t holder = tid ? thread_of_number(timeline, slice, tid) : 0;
    return holder == thread ? 0 : holder;
}

/* The sleep that holds the instant, or that a signal ended just before, for one that ends a process reaches its threads
 * one by one; NULL: it is awake, or nothing is known. */
static const struct wp_slice *asleep_at(const struct wp_timeline *timeline, uint32_t thread, uint64_t at_ns)
{
    const struct wp_thread *t = &timeline->threads[thread];
    uint64_t ordinal = wp_thread_find(t, at_ns);
    for (unsigned looked = 0; ordinal != t->slice_end && looked < DYING_SLICES; looked++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(t, ordinal);
        uint64_t end_ns = slice->wake_ns ? slice->wake_ns : slice->in_ns;
        if (!end_ns || at_ns < end_ns)
            return slice;
        if (at_ns - end_ns > DYING_NS)
            return NULL;
        if (wp_slice_is_interrupted(timeline, slice))
            return slice;
        if (ordinal == t->first_slice)
            return NULL;
    }
    return NULL;
}

void wp_holder_ring(const struct wp_timeline *timeline, uint32_t thread, const struct wp_slice *slice, uint64_t at_ns,
    struct wp_holder_ring *ring)
{
    *ring = (struct wp_holder_ring){.since_ns = slice->out_ns};
    uint32_t count = 0, at = thread;
    while (slice && count < WP_RING_MEMBERS) {
        ring->threads[count] = at;
        ring->slices[count++] = slice;
        if (slice->out_ns > ring->since_ns)
            ring->since_ns = slice->out_ns;
        at = wp_holder_of(timeline, at, slice);
        if (at && at == thread) {
            ring->count = count;
            return;
        }
        slice = at ? asleep_at(timeline, at, at_ns) : NULL;
    }
}

static bool is_alive(const struct wp_thread *thread, uint64_t at_ns)
{
    const struct wp_slice *last =
        thread->slice_end > thread->first_slice ? wp_thread_slice(thread, thread->slice_end - 1) : NULL;
    return last && !thread->gone_ns && (!thread->is_dead || last->end_ns + DYING_NS > at_ns);
}

/* Whether the sleep ended as a signal came that says nothing of a child: a timer's, or another process'. */
static bool is_by_signal(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    unsigned number = wp_slice_signal(slice);
    return slice->wake_ns && number && number != SIGCHLD &&
        (!slice->waker || process_of(timeline, slice->waker) != timeline->identities[slice->identity].process);
}

/* Whether the thread told the child's process to end after that sleep: its signal woke a thread of it, or the child
 * died at once. */
static bool is_told(const struct wp_timeline *timeline, uint32_t thread, uint32_t child, const struct wp_slice *slice,
    uint64_t until_ns)
{
    uint64_t last_ns = slice->wake_ns + TOLD_NS < until_ns ? slice->wake_ns + TOLD_NS : until_ns;
    const struct wp_thread *leader = &timeline->threads[child];
    const struct wp_slice *last =
        leader->slice_end > leader->first_slice ? wp_thread_slice(leader, leader->slice_end - 1) : NULL;
    bool is = leader->is_dead && last && last->end_ns > slice->wake_ns && last->end_ns <= last_ns;
    for (uint32_t i = 1; i < timeline->thread_count && !is; i++) {
        const struct wp_thread *t = &timeline->threads[i];
        uint64_t ordinal =
            process_of(timeline, i) == process_of(timeline, child) ? wp_thread_find(t, slice->wake_ns) : t->slice_end;
        const struct wp_slice *asleep = ordinal != t->slice_end ? wp_thread_slice(t, ordinal) : NULL;
        is = asleep && wp_slice_signal(asleep) && asleep->waker == thread && asleep->wake_ns > slice->wake_ns &&
            asleep->wake_ns <= last_ns;
    }
    return is;
}

/* The youngest living one. */
static uint32_t child_of(
    const struct wp_timeline *timeline, uint32_t thread, const struct wp_slice *slice, uint64_t at_ns)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < timeline->thread_count; i++) {
        const struct wp_thread *child = &timeline->threads[i];
        bool is_own = child->creator && child->birth_ns < at_ns &&
            process_of(timeline, i) != process_of(timeline, thread) &&
            process_of(timeline, child->creator) == timeline->identities[slice->identity].process;
        if (is_own && is_alive(child, at_ns) && (!found || child->birth_ns > timeline->threads[found].birth_ns))
            found = i;
    }
    return found;
}

uint32_t wp_holder_child(const struct wp_timeline *timeline, uint32_t thread, const struct wp_slice *slice,
    uint64_t at_ns, uint64_t until_ns)
{
    unsigned call = slice->syscall - 1u;
    if (call == CALL_WAIT4 || call == CALL_WAITID)
        return child_of(timeline, thread, slice, at_ns);
    uint32_t child = waits_for_signals(slice) && (!slice->wake_ns || is_by_signal(timeline, slice))
        ? child_of(timeline, thread, slice, at_ns)
        : 0;
    return child && (!slice->wake_ns || is_told(timeline, thread, child, slice, until_ns)) ? child : 0;
}
