/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of slices and samples: looking things up there, and forgetting what is old. timeline.c fills that of slices. */
#include "aggregator/timeline.h"

#include <stdlib.h>

/*
 * Narrows [*low, *high) around the place found last: sleeps are explained in the order of time, so the next one is a few
 * slices away, and a search through the whole ring would miss the cache at each step.
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

uint64_t wp_thread_find(const struct wp_thread *thread, uint64_t at_ns)
{
    uint64_t low = thread->first_slice, high = thread->slice_end, hint = thread->found;
    if (hint >= low && hint < high && wp_thread_slice(thread, hint)->out_ns <= at_ns &&
        (hint + 1 == high || wp_thread_slice(thread, hint + 1)->out_ns > at_ns))
        return hint;
    narrow(thread, at_ns, &low, &high);
    while (low < high) { /* the first slice that begins after `at` */
        uint64_t middle = low + (high - low) / 2;
        if (wp_thread_slice(thread, middle)->out_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
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
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (sample_time(thread, middle) < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    ((struct wp_thread *)(uintptr_t)thread)->found_sample = low; /* no part of what the thread is */
    return low;
}

void wp_timeline_push_sample(struct wp_timeline *timeline, struct wp_thread *thread, uint64_t time_ns, uint32_t stack)
{
    uint64_t count = thread->sample_end - thread->first_sample;
    if (!thread->samples || count > thread->sample_mask) {
        uint32_t size = thread->samples ? (thread->sample_mask + 1) * 2 : 16;
        struct wp_sample *samples = realloc(thread->samples, size * sizeof(*samples));
        if (!samples) {
            timeline->failed = true;
            return;
        }
        for (uint64_t i = thread->first_sample; i < thread->sample_end; i++)
            if ((i & (size - 1)) != (i & thread->sample_mask))
                samples[i & (size - 1)] = samples[i & thread->sample_mask];
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
    wp_messages_forget(&timeline->messages, horizon_ns > WP_MESSAGE_HISTORY_NS ? horizon_ns - WP_MESSAGE_HISTORY_NS : 0);
    for (uint32_t i = 1; i < timeline->thread_count; i++) {
        struct wp_thread *thread = &timeline->threads[i];
        while (thread->slice_end - thread->first_slice > 1) {
            const struct wp_slice *slice = wp_thread_slice(thread, thread->first_slice);
            if (!slice->end_ns || slice->end_ns >= horizon_ns)
                break;
            thread->first_slice++;
        }
        while (thread->first_sample < thread->sample_end &&
               thread->samples[thread->first_sample & thread->sample_mask].time_ns < horizon_ns)
            thread->first_sample++;
        if (thread->is_dead && thread->slice_end - thread->first_slice == 1 &&
            wp_thread_slice(thread, thread->first_slice)->end_ns < horizon_ns) {
            free(thread->slices);
            free(thread->samples);
            thread->slices = NULL;
            thread->samples = NULL;
            thread->first_slice = thread->slice_end;
            thread->first_sample = thread->sample_end;
        }
    }
}
