/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/woken.h"

#include "common/array.h"

#include <stdlib.h>

void wp_woken_init(struct wp_woken *woken)
{
    wp_idtable_init(&woken->threads, sizeof(struct wp_woken_list));
    woken->row_bytes = 0;
}

void wp_woken_fini(struct wp_woken *woken)
{
    for (uint32_t i = 0; i < woken->threads.room; i++)
        wp_woken_forget(woken, i);
    wp_idtable_fini(&woken->threads);
}

static size_t bytes_of(const struct wp_woken_list *list)
{
    return list->rows ? (list->ring.mask + (size_t)1) * sizeof(*list->rows) : 0;
}

void wp_woken_forget(struct wp_woken *woken, uint32_t waker)
{
    if (!wp_idtable_has(&woken->threads, waker))
        return;
    struct wp_woken_list *list = (struct wp_woken_list *)woken->threads.items + waker;
    woken->row_bytes -= bytes_of(list);
    free(list->rows);
    wp_idtable_drop(&woken->threads, waker);
}

size_t wp_woken_bytes(const struct wp_woken *woken)
{
    return wp_idtable_bytes(&woken->threads) + woken->row_bytes;
}

static void push(struct wp_woken *woken, struct wp_woken_list *list)
{
    void *rows = list->rows;
    woken->row_bytes -= bytes_of(list);
    bool has_room = wp_message_ring_room(&rows, &list->ring, sizeof(*list->rows), list->last.time_ns);
    list->rows = rows;
    woken->row_bytes += bytes_of(list);
    if (has_room)
        list->rows[list->ring.end++ & list->ring.mask] = list->last;
}

void wp_woken_turn(struct wp_woken *woken, uint32_t waker, uint32_t thread, uint64_t time_ns)
{
    if (wp_idtable_reserve(&woken->threads, waker))
        return;
    wp_idtable_use(&woken->threads, waker);
    struct wp_woken_list *list = (struct wp_woken_list *)woken->threads.items + waker;
    if (list->last.thread)
        push(woken, list);
    list->last = (struct wp_woken_one){time_ns, thread};
}

uint64_t wp_woken_since(const struct wp_woken_list *list, uint64_t time_ns)
{
    return WP_LOWER_BOUND(middle, list->ring.first, list->ring.end, wp_woken_at(list, middle)->time_ns < time_ns);
}
