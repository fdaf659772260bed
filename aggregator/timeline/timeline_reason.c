/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline_reason.h"

#include "aggregator/timeline/memory_shares.h"
#include "aggregator/timeline/process_ends.h"
#include "aggregator/timeline/timeline_cpus.h"
#include "aggregator/timeline/timeline_wait.h"

/* The process is one of that cgroup from now on. */
static void keep_quota(struct wp_timeline *timeline, uint32_t thread, const struct wp_event *event, uint64_t period_ns)
{
    const struct wp_identity *identity = &timeline->identities[timeline->threads[thread].identity];
    struct wp_quota *quota = &timeline->processes[identity->process].quota;
    if (quota->cgroup != event->wait)
        *quota = (struct wp_quota){event->wait, event->time_ns, period_ns};
    else if (period_ns)
        quota->period_ns = period_ns; /* somebody may have set another one */
}

static void add_queue_quota(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread)
{
    wp_queue_quotas_add(&timeline->queue_quotas, event, thread);
    keep_quota(timeline, thread, event, wp_queue_quota_period_ns(event));
}

static void end_quota(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread)
{
    struct wp_slice *slice = thread ? wp_thread_last(&timeline->threads[thread]) : NULL;
    if (!slice || slice->end_ns || wp_slice_quota_end(slice) != UINT64_MAX)
        return;
    uint64_t off_ns = (slice->in_ns ? slice->in_ns : event->time_ns) - slice->out_ns;
    uint64_t ns = event->a < off_ns ? event->a : off_ns;
    slice->cause_a = WP_THROTTLED_FOR(ns ? ns : 1);
    slice->wait = wp_timeline_set_wait(timeline, event->wait);
    keep_quota(timeline, thread, event, event->b);
}

/* What the thread has slept for since before the recording. */
static void name_old_sleep(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread)
{
    struct wp_slice *slice = thread ? wp_thread_last(&timeline->threads[thread]) : NULL;
    if (slice && slice->flags & WP_SLICE_FIRST && !slice->wake_ns && !slice->in_ns && !slice->wait)
        slice->wait = wp_timeline_set_wait(timeline, event->wait);
}

static void seize(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t kind = event->c == WP_REASON_INTERRUPT ? WP_OCCUPANT_INTERRUPT
        : event->c == WP_REASON_SOFT_INTERRUPT      ? WP_OCCUPANT_SOFT_INTERRUPT
                                                    : WP_OCCUPANT_STEAL;
    struct wp_occupant by = {.comm = event->c == WP_REASON_STEAL ? 0 : event->wait, .for_comm = kind};
    if (event->b <= UINT16_MAX)
        wp_timeline_cpu_seize(timeline, (uint32_t)event->b, event->time_ns, event->a, &by);
}

void wp_timeline_reason(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread)
{
    switch (event->c & 0xff) {
    case WP_REASON_QUOTA:
        end_quota(timeline, event, thread);
        break;
    case WP_REASON_QUEUE_QUOTA:
        if (thread)
            add_queue_quota(timeline, event, thread);
        break;
    case WP_REASON_INTERRUPT:
    case WP_REASON_SOFT_INTERRUPT:
    case WP_REASON_STEAL:
        seize(timeline, event);
        break;
    case WP_REASON_MEMORY:
        if (thread)
            wp_memory_shares_add(
                &timeline->memory, event, thread, timeline->identities[timeline->threads[thread].identity].process);
        break;
    case WP_REASON_SLEEP:
        name_old_sleep(timeline, event, thread);
        break;
    case WP_REASON_OOM:
        if (event->wait)
            wp_process_ends_event(timeline, event);
        break;
    default:
        break;
    }
}
