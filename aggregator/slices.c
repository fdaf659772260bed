/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in the rings of slices and samples, and forgetting what is old. timeline.c fills them. */
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
    uint64_t low = thread->first_slice, high = thread->slice_end;
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

uint64_t wp_thread_find_sample(const struct wp_thread *thread, uint64_t at_ns)
{
    uint64_t low = thread->first_sample, high = thread->sample_end;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (thread->samples[middle & thread->sample_mask].time_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
