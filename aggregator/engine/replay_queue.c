/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/replay_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wp_replay_queue_put(struct wp_replay_queue *queue, const uint8_t *bytes, size_t size)
{
    if (queue->count >= WP_REPLAY_QUEUE_LIMIT)
        return -ENOBUFS;
    struct wp_replay_batch *batch = malloc(sizeof(*batch) + size);
    if (!batch)
        return -ENOMEM;
    batch->next = NULL;
    batch->size = size;
    memcpy(batch->bytes, bytes, size);
    if (queue->last)
        queue->last->next = batch;
    else
        queue->first = batch;
    queue->last = batch;
    queue->count++;
    queue->bytes += size;
    return 0;
}

struct wp_replay_batch *wp_replay_queue_take(struct wp_replay_queue *queue)
{
    struct wp_replay_batch *batch = queue->first;
    if (!batch)
        return NULL;
    queue->first = batch->next;
    if (!queue->first)
        queue->last = NULL;
    queue->count--;
    queue->bytes -= batch->size;
    return batch;
}

void wp_replay_queue_clear(struct wp_replay_queue *queue)
{
    for (struct wp_replay_batch *batch; (batch = wp_replay_queue_take(queue));)
        free(batch);
    queue->is_leaving = false;
}
