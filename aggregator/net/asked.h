/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_ASKED_H
#define WP_AGGREGATOR_NET_ASKED_H
/*
 * Requests that a thread has sent over TCP connections that its side opened, and that have not been answered yet: does
 * a sleep that times out wait for something? The last few of each thread are remembered, and the answers that it read:
 * one that comes while the thread runs wakes nobody. Fed in the order of time. Not thread safe.
 */
#include "aggregator/net/message_ring.h"
#include "common/clock.h"
#include "common/idtable.h"

#define WP_ASKED 8u /* of a thread; a further one takes the place of the oldest */
#define WP_ASKED_SPAN_NS                                                                                               \
    (10 * WP_NS_PER_S) /* one that was last sent before that does not count: a restart does not know it; the default   \
                          of span_ns */

/* A request of a thread that waits for its answer. */
struct wp_asked_request {
    uint64_t sent_ns; /* the last send; 0: none */
    uint32_t socket;
};

/* One read on a connection that the thread's side opened. Those that follow on the same one within a millisecond count
 * as one. */
struct wp_answer {
    uint64_t read_ns;
    uint64_t asked_ns;    /* what was last sent there before */
    uint64_t arrived_ns;  /* the last byte that was read */
    uint32_t socket, end; /* position behind that byte */
};

/* The last answers that one thread read. */
struct wp_answers {
    struct wp_answer *rows; /* owned */
    struct wp_message_ring ring;
};

/* Embedded; zeroed is not enough, wp_asked_init() comes first. */
struct wp_asked {
    struct wp_idtable threads; /* WP_ASKED requests each, by thread index */
    struct wp_idtable answers; /* struct wp_answers, by thread index */
    size_t answer_bytes;
    uint64_t span_ns; /* how long a request counts; more, where no restart goes on */
};

/* Allocates nothing. */
void wp_asked_init(struct wp_asked *asked);
/* Forgets all threads and frees the tables; it may be used again. */
void wp_asked_fini(struct wp_asked *asked);
/* The thread of that index is gone. */
void wp_asked_forget(struct wp_asked *asked, uint32_t thread);
/* The thread sent something on a connection that its side opened: it is outstanding since then. Out of memory: it is
 * not remembered. */
void wp_asked_send(struct wp_asked *asked, uint32_t thread, uint32_t socket, uint64_t time_ns);
/* What it had asked for there has come, or never will. */
void wp_asked_answer(struct wp_asked *asked, uint32_t thread, uint32_t socket);
/* Where it asked last without an answer yet, socket + 1; 0 nowhere. */
uint32_t wp_asked_last(const struct wp_asked *asked, uint32_t thread, uint64_t now_ns);
/* The same of what it asked at `since_ns` or later. */
uint32_t wp_asked_since(const struct wp_asked *asked, uint32_t thread, uint64_t since_ns, uint64_t now_ns);
/* Of a thread that has ever asked, by wp_asked_is_waiting(). */
bool wp_asked_has_open(const struct wp_asked *asked, uint32_t thread, uint64_t now_ns);
/* Has it asked, as things stand? */
static inline bool wp_asked_is_waiting(const struct wp_asked *asked, uint32_t thread, uint64_t now_ns)
{
    return wp_idtable_has(&asked->threads, thread) && wp_asked_has_open(asked, thread, now_ns);
}

/* It read that. */
void wp_asked_read(struct wp_asked *asked, uint32_t thread, const struct wp_answer *answer);
/* The first answer that was read in (`after_ns`, `until_ns`], arrived after that, and had been asked for by `asked_ns`;
 * of the first 64 there. `*passed` others came before it. */
struct wp_answer_wanted {
    uint64_t after_ns, until_ns, asked_ns;
};
/* False: there is none, and *answer and *passed are left alone. */
bool wp_asked_answered(const struct wp_asked *asked, uint32_t thread, const struct wp_answer_wanted *wanted,
    struct wp_answer *answer, uint32_t *passed);
/* What is held on the heap. */
size_t wp_asked_bytes(const struct wp_asked *asked);

#endif
