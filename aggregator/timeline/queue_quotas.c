/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/queue_quotas.h"

#include "common/clock.h"

#define LOOKS 256u /* at times of a thread for one wait */

void wp_queue_quotas_init(struct wp_queue_quotas *quotas)
{
    wp_thread_rings_init(&quotas->rings, sizeof(struct wp_queue_quota));
}

void wp_queue_quotas_fini(struct wp_queue_quotas *quotas)
{
    wp_thread_rings_fini(&quotas->rings);
}

void wp_queue_quotas_forget(struct wp_queue_quotas *quotas, uint32_t thread)
{
    wp_thread_rings_forget(&quotas->rings, thread);
}

size_t wp_queue_quotas_bytes(const struct wp_queue_quotas *quotas)
{
    return wp_thread_rings_bytes(&quotas->rings);
}

void wp_queue_quotas_add(struct wp_queue_quotas *quotas, const struct wp_event *event, uint32_t thread)
{
    if (event->a > event->time_ns || event->b > event->time_ns - event->a)
        return;
    struct wp_queue_quota row = {.time_ns = event->time_ns,
        .from_ns = event->time_ns - event->b - event->a,
        .to_ns = event->time_ns - event->b,
        .cgroup = event->wait};
    wp_thread_rings_add(&quotas->rings, thread, &row);
}

uint64_t wp_queue_quota_period_ns(const struct wp_event *event)
{
    return (uint64_t)(event->c >> 8) * (uint64_t)WP_NS_PER_US;
}

bool wp_queue_quotas_last(const struct wp_queue_quotas *quotas, uint32_t thread, struct wp_queue_quota *in)
{
    const struct wp_thread_ring *list = wp_thread_rings_of(&quotas->rings, thread);
    const struct wp_queue_quota *found = NULL;
    uint64_t i = list ? wp_thread_ring_since(list, sizeof(*in), in->from_ns) : 0;
    for (uint32_t looks = 0; list && i < list->ring.end && looks < LOOKS; i++, looks++) {
        const struct wp_queue_quota *row = (const struct wp_queue_quota *)list->rows + (i & list->ring.mask);
        if (row->time_ns > in->time_ns)
            break;
        if (row->from_ns < in->to_ns && row->to_ns > in->from_ns && row->from_ns < row->to_ns &&
            (!found || row->to_ns > found->to_ns))
            found = row;
    }
    if (!found)
        return false;
    in->from_ns = found->from_ns > in->from_ns ? found->from_ns : in->from_ns;
    in->to_ns = found->to_ns < in->to_ns ? found->to_ns : in->to_ns;
    in->cgroup = found->cgroup;
    return true;
}
