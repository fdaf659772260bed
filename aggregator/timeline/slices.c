/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of slices and samples: taking one in, looking things up, and forgetting what is old. */
#include "aggregator/timeline/slices.h"

#include "aggregator/timeline/memory_shares.h"
#include "aggregator/timeline/timeline_cpus.h"
#include "common/array.h"
#include "common/large.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_RING 64u /* slices: 4 KiB; smaller ones grow to twice as much, larger ones by a quarter */
#define LARGE_RING                                                                                                     \
    16384u /* slices, a megabyte: larger ones grow by a 32nd, since what is beyond need is nobody's                    \
            */

/* --- slices come and go --- */

static uint32_t larger(uint32_t room)
{
    size_t wanted = !room ? 4 : room < SMALL_RING ? room * 2 : room < LARGE_RING ? room + room / 4 : room + room / 32;
    return (uint32_t)(wp_large_fit(wanted * WP_SLICE_BYTES) / WP_SLICE_BYTES);
}

/* The slice with that ordinal stands at the beginning of the ring. */
static void set_base(struct wp_thread *thread, uint64_t base)
{
    thread->slice_base = base;
    thread->slice_at[0] = (uintptr_t)thread->slices - base * sizeof(*thread->slices);
    thread->slice_at[1] = thread->slice_at[0] + thread->slice_room * sizeof(*thread->slices);
}

/* Slices, and behind them their CPUs. */
static void set_ring(struct wp_thread *thread, struct wp_slice *slices, uint32_t room)
{
    thread->slices = slices;
    thread->slice_cpus = (struct wp_slice_cpu *)(slices + room);
    thread->slice_room = room;
    set_base(thread, thread->slice_base);
}

/* The ring is full. What stands at its end is older than what stands at its beginning, and stays at the end. */
static bool grow_ring(struct wp_timeline *timeline, struct wp_thread *thread)
{
    uint32_t had = thread->slice_room, room = larger(had);
    if (room <= had)
        return false;
    struct wp_slice *slices = wp_large_resize(thread->slices, had * WP_SLICE_BYTES, room * WP_SLICE_BYTES);
    if (!slices)
        return false;
    set_ring(thread, slices, room);
    const struct wp_slice_cpu *cpus = (const struct wp_slice_cpu *)(slices + had);
    uint64_t older = thread->first_slice < thread->slice_base ? thread->slice_base - thread->first_slice : 0;
    uint64_t newer = had - older;
    memmove(thread->slice_cpus + room - older, cpus + newer, older * sizeof(*cpus)); /* what is behind comes first */
    memmove(thread->slice_cpus, cpus, newer * sizeof(*cpus));
    memmove(slices + room - older, slices + newer, older * sizeof(*slices));
    timeline->ring_bytes += (room - had) * WP_SLICE_BYTES;
    return true;
}

/* After a burst: a ring that is mostly empty is made as small as what is in it. */
static void shrink_ring(struct wp_timeline *timeline, struct wp_thread *thread)
{
    uint64_t count = thread->slice_end - thread->first_slice;
    if (thread->slice_room < LARGE_RING / 4 || count > thread->slice_room / 3)
        return;
    uint32_t room = (uint32_t)(count + count / 4 + 4);
    struct wp_slice *slices = wp_large_resize(NULL, 0, room * WP_SLICE_BYTES);
    if (!slices)
        return;
    struct wp_slice_cpu *cpus = (struct wp_slice_cpu *)(slices + room);
    for (uint64_t i = 0; i < count; i++) {
        slices[i] = *wp_thread_slice(thread, thread->first_slice + i);
        cpus[i] = *wp_thread_slice_cpu(thread, thread->first_slice + i);
    }
    wp_large_free(thread->slices, thread->slice_room * WP_SLICE_BYTES);
    timeline->ring_bytes -= (thread->slice_room - room) * WP_SLICE_BYTES;
    set_ring(thread, slices, room);
    set_base(thread, thread->first_slice);
}

static void drop_first(struct wp_thread *thread)
{
    thread->ran_before = *wp_thread_slice_cpu(thread, thread->first_slice);
    thread->first_slice++;
}

/* Room for one more behind the last; false: there is none at all. */
static __attribute__((noinline)) bool make_room(struct wp_timeline *timeline, struct wp_thread *thread)
{
    if (!thread->slices)
        thread->slice_room = 0;
    if (thread->slice_end - thread->first_slice == thread->slice_room && !grow_ring(timeline, thread)) {
        timeline->failed = true;
        if (!thread->slices)
            return false;
        drop_first(thread); /* keep going with what there is */
    }
    if (thread->slice_end == thread->first_slice || thread->slice_end - thread->slice_base == thread->slice_room)
        set_base(thread, thread->slice_end); /* the next one stands at the beginning again */
    return true;
}

struct wp_slice *wp_timeline_push_slice(struct wp_timeline *timeline, struct wp_thread *thread, uint64_t out_ns)
{
    uint64_t place = thread->slice_end - thread->slice_base, count = thread->slice_end - thread->first_slice;
    if (!thread->slices || !count || place >= thread->slice_room || count >= thread->slice_room) {
        if (!make_room(timeline, thread))
            return NULL;
        place = thread->slice_end - thread->slice_base;
    }
    thread->slice_cpus[place] = wp_thread_ran_before(thread, thread->slice_end++);
    thread->slice_cpus[place].held = 0;
    struct wp_slice *slice = &thread->slices[place];
    *slice = (struct wp_slice){.out_ns = out_ns, .identity = thread->identity};
    return slice;
}

/* --- looking things up --- */

/*
 * Narrows [*low, *high) around the place found last: sleeps are explained in the order of time, so the next one is a
 * few slices away, and a search through the whole ring would miss the cache at each step.
 */
static void narrow(const struct wp_thread *thread, uint64_t at_ns, uint64_t *low, uint64_t *high)
{
    uint64_t hint = thread->found, step = 1;
    if (hint < *low || hint >= *high)
        return;
    if (wp_thread_slice(thread, hint)->out_ns <= at_ns) {
        *low = hint + 1;
        for (; *high - hint > step && wp_thread_slice(thread, hint + step)->out_ns <= at_ns; step *= 4)
            *low = hint + step + 1;
        if (*high - hint > step)
            *high = hint + step;
    } else {
        *high = hint;
        for (; hint - *low >= step && wp_thread_slice(thread, hint - step)->out_ns > at_ns; step *= 4)
            *high = hint - step;
        if (hint - *low >= step)
            *low = hint - step + 1;
    }
}

/* The slice ends at the next one's beginning; the last one does not. */
static bool is_until(const struct wp_thread *thread, uint64_t ordinal, uint64_t at_ns)
{
    return ordinal + 1 == thread->slice_end || wp_thread_slice(thread, ordinal + 1)->out_ns > at_ns;
}

uint64_t wp_thread_find(const struct wp_thread *thread, uint64_t at_ns)
{
    uint64_t low = thread->first_slice, high = thread->slice_end, hint = thread->found;
    if (hint >= low && hint < high && wp_thread_slice(thread, hint)->out_ns <= at_ns) {
        if (is_until(thread, hint, at_ns))
            return hint;
        if (is_until(thread, hint + 1, at_ns))                                /* mostly it is the next one */
            return ((struct wp_thread *)(uintptr_t)thread)->found = hint + 1; /* no part of what the thread is */
    }
    narrow(thread, at_ns, &low, &high);
    low = WP_LOWER_BOUND(middle, low, high, wp_thread_slice(thread, middle)->out_ns <= at_ns); /* the first after it */
    if (low == thread->first_slice)
        return thread->slice_end;
    ((struct wp_thread *)(uintptr_t)thread)->found = low - 1; /* no part of what the thread is */
    return low - 1;
}

static uint64_t sample_time(const struct wp_thread *thread, uint64_t ordinal)
{
    return thread->samples[ordinal & thread->sample_mask].time_ns;
}

uint64_t wp_thread_find_sample(const struct wp_thread *thread, uint64_t at_ns)
{
    uint64_t low = thread->first_sample, high = thread->sample_end, hint = thread->found_sample;
    if (hint >= low && hint <= high && (hint == low || sample_time(thread, hint - 1) < at_ns) &&
        (hint == high || sample_time(thread, hint) >= at_ns))
        return hint;
    if (hint >= low && hint < high && sample_time(thread, hint) < at_ns) { /* mostly the next one */
        low = hint + 1;
        if (low < high && sample_time(thread, low) >= at_ns)
            high = low;
    }
    low = WP_LOWER_BOUND(middle, low, high, sample_time(thread, middle) < at_ns);
    ((struct wp_thread *)(uintptr_t)thread)->found_sample = low; /* no part of what the thread is */
    return low;
}

void wp_timeline_push_sample(struct wp_timeline *timeline, struct wp_thread *thread, uint64_t time_ns, uint32_t stack)
{
    uint64_t count = thread->sample_end - thread->first_sample;
    if (!thread->samples || count > thread->sample_mask) {
        uint32_t had = thread->samples ? thread->sample_mask + 1 : 0, size = had ? had * 2 : 16;
        struct wp_sample *samples = wp_large_resize(thread->samples, had * sizeof(*samples), size * sizeof(*samples));
        if (!samples) {
            timeline->failed = true;
            return;
        }
        for (uint64_t i = thread->first_sample; i < thread->sample_end; i++)
            if ((i & (size - 1)) != (i & thread->sample_mask))
                samples[i & (size - 1)] = samples[i & thread->sample_mask];
        timeline->ring_bytes += (size - had) * sizeof(*samples);
        thread->samples = samples;
        thread->sample_mask = size - 1;
    }
    uint64_t at = thread->sample_end++;
    for (; at > thread->first_sample; at--) { /* a late one may belong before one that was taken as its run ended */
        const struct wp_sample *before = &thread->samples[(at - 1) & thread->sample_mask];
        if (before->time_ns <= time_ns)
            break;
        thread->samples[at & thread->sample_mask] = *before;
    }
    thread->samples[at & thread->sample_mask] = (struct wp_sample){time_ns, stack};
}

void wp_timeline_forget(struct wp_timeline *timeline, uint64_t horizon_ns)
{
    uint64_t pauses_ns = wp_drop_spans_overlap(&timeline->pauses, 0, UINT64_MAX);
    wp_drop_spans_forget(&timeline->pauses, horizon_ns);
    timeline->past_pauses_ns += pauses_ns - wp_drop_spans_overlap(&timeline->pauses, 0, UINT64_MAX);
    wp_messages_forget(&timeline->messages, horizon_ns > WP_MESSAGE_LATER_NS ? horizon_ns - WP_MESSAGE_LATER_NS : 0);
    wp_cpu_runs_forget(&timeline->cpu_runs, horizon_ns);
    wp_memory_shares_forget(&timeline->memory, horizon_ns);
    timeline->held_bytes = timeline->cpu_runs.block_bytes;
    for (uint32_t i = 0; i < timeline->live_count; i++) {
        struct wp_thread *thread = &timeline->threads[timeline->live[i]];
        while (thread->slice_end - thread->first_slice > 1) {
            const struct wp_slice *slice = wp_thread_slice(thread, thread->first_slice);
            if (!slice->end_ns || slice->end_ns >= horizon_ns)
                break;
            drop_first(thread);
        }
        shrink_ring(timeline, thread);
        while (thread->first_sample < thread->sample_end &&
            thread->samples[thread->first_sample & thread->sample_mask].time_ns < horizon_ns)
            thread->first_sample++;
        if (thread->is_dead && thread->slice_end - thread->first_slice == 1 &&
            wp_thread_slice(thread, thread->first_slice)->end_ns < horizon_ns) {
            thread->gone_ns = wp_thread_slice(thread, thread->first_slice)->end_ns;
            timeline->ring_bytes -= thread->slice_room * WP_SLICE_BYTES +
                (thread->samples ? (thread->sample_mask + (uint64_t)1) * sizeof(*thread->samples) : 0);
            wp_thread_fini(thread);
            thread->slice_room = 0;
            thread->slices = NULL;
            thread->slice_cpus = NULL;
            thread->samples = NULL;
            thread->first_slice = thread->slice_end;
            thread->first_sample = thread->sample_end;
        }
        timeline->held_bytes += (thread->slice_end - thread->first_slice) * WP_SLICE_BYTES +
            (thread->sample_end - thread->first_sample) * sizeof(struct wp_sample);
    }
    wp_timeline_cpu_reuse(timeline);
}

void wp_thread_fini(struct wp_thread *thread)
{
    wp_large_free(thread->slices, thread->slices ? thread->slice_room * WP_SLICE_BYTES : 0);
    wp_large_free(thread->samples, thread->samples ? (thread->sample_mask + (size_t)1) * sizeof(*thread->samples) : 0);
}
