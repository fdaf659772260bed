/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/detached.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/taken.h"
#include "aggregator/timeline/timeline.h"

static bool is_of_interest(const struct wp_aggregate *aggregate, uint32_t identity)
{
    return aggregate->timeline->identities[identity].aggregates & aggregate->id.bit;
}

/* The work is distinguished from that (mates.h). */
static bool is_mate(const struct wp_aggregate *aggregate, uint32_t identity)
{
    return aggregate->timeline->identities[identity].mates & aggregate->id.bit;
}

/* Work of a base path is its own, and the recorder's is the cost of recording. */
static bool can_be_detached(const struct wp_aggregate *aggregate, const struct wp_slice *slice)
{
    return slice->in_ns && !(slice->taken & wp_taken_mark(aggregate->id.bit)) &&
        !is_of_interest(aggregate, slice->identity) && !is_mate(aggregate, slice->identity) &&
        !wp_is_recorder(aggregate->timeline, slice->identity);
}

/* The work goes on: only the CPU, another name or its own I/O parts this run from the one before. */
static bool goes_on(const struct wp_slice *slice)
{
    return slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_EXEC | WP_SLICE_RENAME) || slice->cause == WP_CAUSE_BLOCK;
}

/* Where the work that this slice is a part of was set going, when that of the slice before it is known; NULL: before
 * `oldest_ns`, or that is not known. */
static const struct wp_slice *beginning_after(
    const struct wp_thread *thread, uint64_t ordinal, const struct wp_slice *before, uint64_t oldest_ns)
{
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    if (slice->out_ns < oldest_ns || slice->flags & WP_SLICE_UNCERTAIN)
        return NULL;
    if (!goes_on(slice))
        return slice;
    return ordinal > thread->first_slice && wp_thread_slice(thread, ordinal - 1)->end_ns == slice->out_ns ? before
                                                                                                          : NULL;
}

static const struct wp_slice *beginning(const struct wp_thread *thread, uint64_t ordinal, uint64_t oldest_ns)
{
    uint64_t first = ordinal;
    while (first > thread->first_slice && goes_on(wp_thread_slice(thread, first)) &&
        wp_thread_slice(thread, first)->out_ns >= oldest_ns)
        first--;
    const struct wp_slice *found = NULL;
    for (; first <= ordinal; first++)
        found = beginning_after(thread, first, found, oldest_ns);
    return found;
}

/* Was this work set going by a base thread, as it was then, of which all that it waited for until `until_ns` has been
 * asked? */
static bool is_started(const struct wp_aggregate *aggregate, const struct wp_slice *first, uint64_t until_ns)
{
    uint32_t waker = first->cause == WP_CAUSE_TASK || first->flags & WP_SLICE_BORN ? first->waker : 0, row = 0;
    const struct wp_thread *thread = &aggregate->timeline->threads[waker];
    if (!waker || !first->wake_ns)
        return false;
    while (row < aggregate->base_count && aggregate->base[row].thread != waker)
        row++;
    if (row == aggregate->base_count ||
        (!wp_thread_is_dead(thread, aggregate->resolving_ns) && aggregate->base[row].until_ns < until_ns))
        return false;
    uint64_t ordinal = wp_thread_find(thread, first->wake_ns);
    uint32_t identity = ordinal == thread->slice_end ? thread->identity : wp_thread_slice(thread, ordinal)->identity;
    return is_of_interest(aggregate, identity);
}

static uint64_t of_slice(
    const struct wp_aggregate *aggregate, const struct wp_slice *slice, const struct wp_slice *first)
{
    if (!first || !can_be_detached(aggregate, slice) || !is_started(aggregate, first, slice->end_ns))
        return 0;
    uint64_t start_ns = slice == first ? slice->wake_ns : slice->out_ns;
    return slice->end_ns > start_ns ? slice->end_ns - start_ns : 0;
}

static uint64_t of_thread(const struct wp_aggregate *aggregate, const struct wp_thread *thread, uint64_t from_ns,
    uint64_t to_ns, uint64_t oldest_ns)
{
    uint64_t sum = 0, ordinal = wp_thread_find(thread, from_ns);
    if (ordinal == thread->slice_end)
        ordinal = thread->first_slice;
    const struct wp_slice *first = beginning(thread, ordinal, oldest_ns);
    while (ordinal < thread->slice_end) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        if (!slice->end_ns || slice->end_ns > to_ns)
            break;
        if (slice->end_ns > from_ns)
            sum += of_slice(aggregate, slice, first);
        if (++ordinal < thread->slice_end)
            first = beginning_after(thread, ordinal, first, oldest_ns);
    }
    return sum;
}

uint64_t wp_detached_between(const struct wp_aggregate *aggregate, uint64_t from_ns, uint64_t to_ns, uint64_t oldest_ns)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < timeline->live_count && aggregate->base_count; i++) {
        const struct wp_thread *thread = &timeline->threads[timeline->live[i]];
        if (thread->slices && thread->slice_end > thread->first_slice)
            sum += of_thread(aggregate, thread, from_ns, to_ns, oldest_ns);
    }
    return sum;
}
