/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/lineup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wp_lineup_put(struct wp_lineup *lineup, const uint8_t *bytes, size_t size)
{
    if (lineup->count >= WP_LINEUP_LIMIT)
        return -ENOBUFS;
    struct wp_lineup_batch *batch = malloc(sizeof(*batch) + size);
    if (!batch)
        return -ENOMEM;
    batch->next = NULL;
    batch->size = size;
    memcpy(batch->bytes, bytes, size);
    if (lineup->last)
        lineup->last->next = batch;
    else
        lineup->first = batch;
    lineup->last = batch;
    lineup->count++;
    lineup->bytes += size;
    return 0;
}

struct wp_lineup_batch *wp_lineup_take(struct wp_lineup *lineup)
{
    struct wp_lineup_batch *batch = lineup->first;
    if (!batch)
        return NULL;
    lineup->first = batch->next;
    if (!lineup->first)
        lineup->last = NULL;
    lineup->count--;
    lineup->bytes -= batch->size;
    return batch;
}

void wp_lineup_clear(struct wp_lineup *lineup)
{
    for (struct wp_lineup_batch *batch; (batch = wp_lineup_take(lineup));)
        free(batch);
    lineup->is_leaving = false;
}
