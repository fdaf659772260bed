/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline_block.h"

#include "aggregator/timeline/blockops.h"

/* That a request has been served may be told as it ends, by a soft interrupt whose thread had to wait for a CPU. Who
 * served it waits for work again, and has done so since it was done. */
static uint64_t served_ns(const struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread)
{
    const struct wp_blockops *blockops = &timeline->blockops;
    const struct wp_blockop *op = wp_blockops_at(blockops, wp_blockops_number(blockops, event->d, event->b));
    const struct wp_slice *last = wp_thread_last(&timeline->threads[thread]);
    bool is_idle = op && last && !last->in_ns && last->state == WP_STATE_IDLE && op->issue_ns < last->out_ns;
    return is_idle ? last->out_ns : event->time_ns;
}

void wp_timeline_block(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread)
{
    if (!thread || event->kind != WP_EVENT_BLOCK_ISSUE || !(event->flags & WP_BLOCK_SERVED)) {
        wp_blockops_event(&timeline->blockops, event, thread);
        return;
    }
    struct wp_event told = *event;
    told.time_ns = served_ns(timeline, event, thread);
    wp_blockops_event(&timeline->blockops, &told, thread);
}
