/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ASKED_H
#define WP_AGGREGATOR_ASKED_H
/*
 * Requests that a thread has sent over TCP connections that its side opened, and that have not been answered yet: does a sleep that
 * times out wait for something? The last few of each thread are remembered. Fed in the order of time. Not thread safe.
 */
#include "common/idtable.h"

#define WP_ASKED 8u                      /* of a thread; a further one takes the place of the oldest */
#define WP_ASKED_SPAN_NS 10000000000u    /* one that was last sent before that does not count: a restart does not know it */

struct wp_asked_request {
    uint64_t sent_ns;        /* the last send; 0: none */
    uint32_t socket;
};

struct wp_asked {
    struct wp_idtable threads; /* WP_ASKED requests each, by thread index */
};

void wp_asked_init(struct wp_asked *asked);
void wp_asked_fini(struct wp_asked *asked);
/* The thread of that index is gone. */
void wp_asked_forget(struct wp_asked *asked, uint32_t thread);
void wp_asked_send(struct wp_asked *asked, uint32_t thread, uint32_t socket, uint64_t time_ns);
/* It read something there, or closed it. */
void wp_asked_answer(struct wp_asked *asked, uint32_t thread, uint32_t socket);
/* Has it asked, as things stand? */
bool wp_asked_is_waiting(const struct wp_asked *asked, uint32_t thread, uint64_t now_ns);

#endif
