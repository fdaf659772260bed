/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_WOKEN_H
#define WP_AGGREGATOR_NET_WOKEN_H
/*
 * Whom a thread woke, in the order of time: of several wakings of one thread with no other in between the last is kept.
 * So of two threads that wake each other in turns next to nothing is held. Remembered as long as messages are. Not
 * thread safe.
 */
#include "aggregator/net/message_ring.h"
#include "common/idtable.h"

/* Who was woken, and when last. */
struct wp_woken_one {
    uint64_t time_ns;
    uint32_t thread; /* index */
};

/* Whom one thread woke. */
struct wp_woken_list {
    struct wp_woken_one *rows; /* owned */
    struct wp_message_ring ring;
    struct wp_woken_one last; /* not among the rows as long as nobody else is woken; thread 0: there is none yet */
};

/* Embedded; wp_woken_init() comes first. */
struct wp_woken {
    struct wp_idtable threads; /* struct wp_woken_list, by index of the waker */
    size_t row_bytes;
};

/* Allocates nothing. */
void wp_woken_init(struct wp_woken *woken);
/* Forgets all wakers and frees the table; it may be used again. */
void wp_woken_fini(struct wp_woken *woken);
/* The waker of that index is gone. */
void wp_woken_forget(struct wp_woken *woken, uint32_t waker);
/* What is held on the heap. */
size_t wp_woken_bytes(const struct wp_woken *woken);
/* Whom it woke; NULL: nobody. */
static inline const struct wp_woken_list *wp_woken_by(const struct wp_woken *woken, uint32_t waker)
{
    return wp_idtable_has(&woken->threads, waker) ? (const struct wp_woken_list *)woken->threads.items + waker : NULL;
}
/* `i` is in [list->ring.first, list->ring.end). Valid until the waker wakes another thread. */
static inline const struct wp_woken_one *wp_woken_at(const struct wp_woken_list *list, uint64_t i)
{
    return &list->rows[i & list->ring.mask];
}
/* Its next waking; `thread` is not 0. */
void wp_woken_turn(
    struct wp_woken *woken, uint32_t waker, uint32_t thread, uint64_t time_ns); /* another thread than the last time */
/* The waker wakes that thread (index, not 0). Out of memory: the waking before it may not be remembered. */
static inline void wp_woken_add(struct wp_woken *woken, uint32_t waker, uint32_t thread, uint64_t time_ns)
{
    if (wp_idtable_has(&woken->threads, waker)) {
        struct wp_woken_list *list = (struct wp_woken_list *)woken->threads.items + waker;
        if (list->last.thread == thread) {
            list->last.time_ns = time_ns;
            return;
        }
    }
    wp_woken_turn(woken, waker, thread, time_ns);
}
/* The first one of the rows at `time_ns` or later; list->ring.end when there is none. */
uint64_t wp_woken_since(const struct wp_woken_list *list, uint64_t time_ns);

#endif
