/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_QUEUE_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_QUEUE_H
/*
 * One after the other: who ended a sleep may have served others before it turned to the sleeper. Over TCP the request's
 * read says when it did. Pipes, unix sockets, eventfds and lists under a lock say nothing of reads, but the waker woke
 * those whom it was done with: who slept at the same place as the sleeper waited for the same service. Private to the
 * explanation.
 */
#include "aggregator/explain/explain_types.h"

struct wp_queue {
    uint64_t until_ns; /* the waker was done with the other one then, and turned to the sleeper */
    uint32_t thread;   /* that other one; the sleeper itself, should its request have been read then */
};

/* Whom the waker of that sleep, which a task ended, served last before the sleeper; since then nobody made it turn to
 * something else. */
bool wp_explain_queue(const struct wp_explainer *x, const struct wp_wait *wait, struct wp_queue *queue);

/* The server answered at `at_ns`. When it was done with the call that did: where it lost its CPU in it, to whom it woke
 * mostly, after it came back. Such a call ends within `fit_ns` on a CPU. */
uint64_t wp_explain_answer_end(const struct wp_thread *server, uint64_t at_ns, uint64_t fit_ns);

#endif
