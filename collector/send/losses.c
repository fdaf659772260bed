/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/losses.h"

#include "proto/batch_decode.h"
#include "proto/frame.h"

static void span(struct wp_losses *l, uint64_t from_ns, uint64_t to_ns)
{
    if (!l->from_ns || from_ns < l->from_ns)
        l->from_ns = from_ns;
    if (to_ns > l->to_ns)
        l->to_ns = to_ns;
}

int wp_losses_batch(struct wp_losses *l, const struct wp_batch *batch)
{
    for (uint32_t i = 0; i < batch->event_count; i++)
        l->counts[batch->events[i].kind < WP_EVENT_KINDS ? batch->events[i].kind : 0]++;
    l->events += batch->event_count;
    if (batch->event_count)
        span(l, batch->events[0].time_ns, batch->events[batch->event_count - 1].time_ns);
    for (uint32_t i = 0; i < batch->drop_count; i++) {
        const struct wp_drop *drop = &batch->drops[i];
        if (drop->reason != WP_DROP_NO_ROOM)
            continue;
        l->counts[drop->kind < WP_EVENT_KINDS ? drop->kind : 0] += drop->count;
        span(l, drop->from_ns, drop->to_ns);
    }
    return 0;
}

void wp_losses_send_queue(struct wp_losses *l, struct wp_send_queue *queue)
{
    struct wp_frame_reader *reader = wp_frame_reader_create();
    struct wp_batch batch = {0};
    struct wp_frame frame;
    const uint8_t *bytes;
    size_t size;
    l->sessions++;
    for (uint64_t seq = wp_send_queue_acked(queue) + 1; reader && seq <= wp_send_queue_last(queue); seq++) {
        bool is_there = !wp_send_queue_read(queue, &seq, "", &bytes, &size, NULL) &&
            !wp_frame_read(reader, bytes, size, &frame, NULL) &&
            !wp_batch_decode(&batch, frame.payload, frame.size, NULL);
        if (is_there)
            wp_losses_batch(l, &batch);
    }
    wp_batch_fini(&batch);
    wp_frame_reader_destroy(reader);
}

bool wp_losses_next(struct wp_losses *l, struct wp_drop *drop)
{
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++) {
        if (!l->counts[kind])
            continue;
        *drop = (struct wp_drop){.kind = kind, .count = l->counts[kind], .from_ns = l->from_ns, .to_ns = l->to_ns};
        l->counts[kind] = 0;
        return true;
    }
    l->from_ns = l->to_ns = 0;
    return false;
}
