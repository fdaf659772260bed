/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/reads.h"

#include "common/array.h"

#include <stdlib.h>

void wp_reads_init(struct wp_reads *reads)
{
    wp_idtable_init(&reads->threads, sizeof(struct wp_read_list));
    reads->row_bytes = 0;
}

void wp_reads_fini(struct wp_reads *reads)
{
    for (uint32_t i = 0; i < reads->threads.room; i++)
        wp_reads_forget(reads, i);
    wp_idtable_fini(&reads->threads);
}

/* NULL: it has none. */
static struct wp_read_list *list_of(const struct wp_reads *reads, uint32_t thread)
{
    return wp_idtable_has(&reads->threads, thread) ? (struct wp_read_list *)reads->threads.items + thread : NULL;
}

static size_t bytes_of(const struct wp_read_list *list)
{
    return list->rows ? (list->ring.mask + (size_t)1) * sizeof(*list->rows) : 0;
}

static const struct wp_read *read_at(const struct wp_read_list *list, uint64_t i)
{
    return &list->rows[i & list->ring.mask];
}

void wp_reads_forget(struct wp_reads *reads, uint32_t thread)
{
    struct wp_read_list *list = list_of(reads, thread);
    if (!list)
        return;
    reads->row_bytes -= bytes_of(list);
    free(list->rows);
    wp_idtable_drop(&reads->threads, thread);
}

size_t wp_reads_bytes(const struct wp_reads *reads)
{
    return wp_idtable_bytes(&reads->threads) + reads->row_bytes;
}

void wp_reads_add(struct wp_reads *reads, uint32_t thread, const struct wp_read *read)
{
    if (wp_idtable_reserve(&reads->threads, thread))
        return;
    wp_idtable_use(&reads->threads, thread);
    struct wp_read_list *list = list_of(reads, thread);
    if (list->ring.end > list->ring.first && read->time_ns < read_at(list, list->ring.end - 1)->time_ns)
        return;
    void *rows = list->rows;
    reads->row_bytes -= bytes_of(list);
    bool has_room = wp_message_ring_room(&rows, &list->ring, sizeof(*list->rows), read->time_ns);
    list->rows = rows;
    reads->row_bytes += bytes_of(list);
    if (has_room)
        list->rows[list->ring.end++ & list->ring.mask] = *read;
}

bool wp_reads_next(const struct wp_reads *reads, uint32_t thread, uint64_t since_ns, struct wp_read *read)
{
    const struct wp_read_list *list = list_of(reads, thread);
    if (!list)
        return false;
    uint64_t i = WP_LOWER_BOUND(middle, list->ring.first, list->ring.end, read_at(list, middle)->time_ns < since_ns);
    if (i == list->ring.end)
        return false;
    *read = *read_at(list, i);
    return true;
}
