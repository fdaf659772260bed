/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline_window.h"

#include "aggregator/timeline/timeline_cpus.h"

#include <string.h>

/* Each thread that is there is reported at the beginning of a window: one that was not, and did nothing either, is
 * gone.
 */
static void cut(struct wp_thread *thread, uint64_t at_ns)
{
    if (thread->slice_end == thread->first_slice)
        return;
    struct wp_slice *slice = wp_thread_slice(thread, thread->slice_end - 1);
    if (slice->is_cut)
        thread->is_dead = true;
    if (slice->end_ns)
        return;
    uint64_t earliest_ns = slice->in_ns  ? slice->in_ns
        : slice->wake_ns > slice->out_ns ? slice->wake_ns
                                         : slice->out_ns;
    slice->end_ns = at_ns > earliest_ns ? at_ns : earliest_ns;
    if (!slice->in_ns)
        slice->in_ns = slice->end_ns;
    slice->is_cut = true;
}

static void pause_at(struct wp_timeline *timeline, uint64_t at_ns)
{
    for (uint32_t i = 0; i < timeline->live_count; i++) {
        struct wp_thread *thread = &timeline->threads[timeline->live[i]];
        const struct wp_slice *run =
            thread->slice_end > thread->first_slice ? wp_thread_slice(thread, thread->slice_end - 1) : NULL;
        if (run && run->in_ns && !run->end_ns && at_ns > run->in_ns)
            wp_timeline_add_running(timeline, run->identity, at_ns - run->in_ns);
        cut(thread, at_ns);
        thread->early.time_ns = 0;
    }
    timeline->paused_ns = at_ns;
}

/* Who runs where is told by the threads' states; until then it is not known. */
static void resume_at(struct wp_timeline *timeline, uint64_t at_ns)
{
    wp_drop_spans_add(&timeline->pauses, timeline->paused_ns, at_ns - 1);
    timeline->paused_ns = 0;
    timeline->window_ns = timeline->messages.window_ns = at_ns;
    wp_timeline_cpu_unsee(timeline, at_ns);
}

void wp_timeline_window(struct wp_timeline *timeline, const struct wp_event *event)
{
    if (!event->c && !timeline->paused_ns)
        pause_at(timeline, event->time_ns);
    else if (event->c && timeline->paused_ns)
        resume_at(timeline, event->time_ns);
}

uint64_t wp_timeline_paused(const struct wp_timeline *timeline, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t paused_ns = wp_drop_spans_overlap(&timeline->pauses, from_ns, to_ns);
    if (from_ns <= timeline->start_ns)
        paused_ns += timeline->past_pauses_ns;
    uint64_t since_ns = timeline->paused_ns > from_ns ? timeline->paused_ns : from_ns;
    return timeline->paused_ns && since_ns < to_ns ? paused_ns + to_ns - since_ns : paused_ns;
}
