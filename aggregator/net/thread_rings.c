/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/thread_rings.h"

#include "common/array.h"

#include <stdlib.h>
#include <string.h>

void wp_thread_rings_init(struct wp_thread_rings *rings, size_t row_size)
{
    wp_idtable_init(&rings->threads, sizeof(struct wp_thread_ring));
    rings->row_size = row_size;
    rings->row_bytes = 0;
}

void wp_thread_rings_fini(struct wp_thread_rings *rings)
{
    for (uint32_t i = 0; i < rings->threads.room; i++)
        wp_thread_rings_forget(rings, i);
    wp_idtable_fini(&rings->threads);
}

static struct wp_thread_ring *list_of(const struct wp_thread_rings *rings, uint32_t thread)
{
    return wp_idtable_has(&rings->threads, thread) ? (struct wp_thread_ring *)rings->threads.items + thread : NULL;
}

const struct wp_thread_ring *wp_thread_rings_of(const struct wp_thread_rings *rings, uint32_t thread)
{
    return list_of(rings, thread);
}

static size_t bytes_of(const struct wp_thread_rings *rings, const struct wp_thread_ring *list)
{
    return list->rows ? (list->ring.mask + (size_t)1) * rings->row_size : 0;
}

void wp_thread_rings_forget(struct wp_thread_rings *rings, uint32_t thread)
{
    struct wp_thread_ring *list = list_of(rings, thread);
    if (!list)
        return;
    rings->row_bytes -= bytes_of(rings, list);
    free(list->rows);
    wp_idtable_drop(&rings->threads, thread);
}

size_t wp_thread_rings_bytes(const struct wp_thread_rings *rings)
{
    return wp_idtable_bytes(&rings->threads) + rings->row_bytes;
}

static char *row_at(const struct wp_thread_ring *list, size_t row_size, uint64_t i)
{
    return (char *)list->rows + (i & list->ring.mask) * row_size;
}

static uint64_t time_at(const struct wp_thread_ring *list, size_t row_size, uint64_t i)
{
    uint64_t time_ns;
    memcpy(&time_ns, row_at(list, row_size, i), sizeof(time_ns));
    return time_ns;
}

bool wp_thread_rings_add(struct wp_thread_rings *rings, uint32_t thread, const void *row)
{
    uint64_t time_ns;
    memcpy(&time_ns, row, sizeof(time_ns));
    if (wp_idtable_reserve(&rings->threads, thread))
        return true;
    wp_idtable_use(&rings->threads, thread);
    struct wp_thread_ring *list = list_of(rings, thread);
    if (list->ring.end > list->ring.first && time_ns < time_at(list, rings->row_size, list->ring.end - 1))
        return false;
    rings->row_bytes -= bytes_of(rings, list);
    bool has_room = wp_message_ring_room(&list->rows, &list->ring, rings->row_size, time_ns);
    rings->row_bytes += bytes_of(rings, list);
    if (has_room)
        memcpy(row_at(list, rings->row_size, list->ring.end++), row, rings->row_size);
    return true;
}

uint64_t wp_thread_ring_since(const struct wp_thread_ring *list, size_t row_size, uint64_t time_ns)
{
    return WP_LOWER_BOUND(middle, list->ring.first, list->ring.end, time_at(list, row_size, middle) < time_ns);
}
