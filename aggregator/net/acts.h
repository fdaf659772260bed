/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_ACTS_H
#define WP_AGGREGATOR_NET_ACTS_H
/*
 * What a thread sent and read, on which connection, in its order: whose request a loop or a pool's thread works for.
 * Kept of threads that ask others, from the first time on that they do, as long as messages are. Fed in the order of
 * time. Not thread safe.
 */
#include "aggregator/net/thread_rings.h"

enum wp_act_kind {
    WP_ACT_REQUEST, /* read from a connection that others opened */
    WP_ACT_ANSWER,  /* read from one that this side opened */
    WP_ACT_OTHER,   /* read from a unix stream */
    WP_ACT_REPLY,   /* sent where others ask */
    WP_ACT_ASK      /* sent where this side asks */
};

/* One send or read of a thread. */
struct wp_act {
    uint64_t time_ns;
    uint32_t socket; /* of OTHER the number of the stream */
    enum wp_act_kind kind;
};

/* Else it is a send. */
static inline bool wp_act_is_read(const struct wp_act *act)
{
    return act->kind <= WP_ACT_OTHER;
}

/* Embedded; wp_acts_init() comes first. */
struct wp_acts {
    struct wp_thread_rings rings; /* of struct wp_act */
};

/* Allocates nothing. */
void wp_acts_init(struct wp_acts *acts);
/* Forgets all threads and frees the table; it may be used again. */
void wp_acts_fini(struct wp_acts *acts);
/* The thread of that index is gone. */
void wp_acts_forget(struct wp_acts *acts, uint32_t thread);
/* What is held on the heap. */
size_t wp_acts_bytes(const struct wp_acts *acts);
/* Copies an act; one of a thread that has never asked, or that is older than its last, is left out. Out of memory: it
 * is not remembered. */
void wp_acts_add(struct wp_acts *acts, uint32_t thread, const struct wp_act *act);

/* Acts of one thread, back from some time; valid until the next one is added. */
struct wp_acts_back {
    const struct wp_thread_ring *list; /* NULL: it has none */
    uint64_t next;                     /* the one behind the next act */
};

/* Those of the thread before that. */
struct wp_acts_back wp_acts_before(const struct wp_acts *acts, uint32_t thread, uint64_t before_ns);
/* The next one back; NULL: there is none. Borrowed. */
const struct wp_act *wp_acts_next(struct wp_acts_back *back);
/* The thread's first act at `since_ns` or later; NULL: there is none. Borrowed until the next one is added. */
const struct wp_act *wp_acts_since(const struct wp_acts *acts, uint32_t thread, uint64_t since_ns);

#endif
