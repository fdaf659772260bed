/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_QUEUE_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_QUEUE_H
/*
 * One after the other: who ended a sleep may have served others before it turned to the sleeper. Over TCP the request's
 * read says when it did. Pipes, unix sockets, eventfds and lists under a lock say nothing of reads, but the waker woke
 * those whom it was done with: who slept at the same place as the sleeper waited for the same service, and who has
 * asked the waker is its client (explain_client.h). Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

/* [from, to) is the time of `server`, which ended that sleep itself or by a datagram, and had served somebody else
 * before it turned to the sleeper. False: nobody that is known, or something else made it turn since. */
bool wp_wait_in_queue(struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, uint32_t server,
    uint64_t from_ns, uint64_t to_ns);

/* Is there one whom it served so after `since_ns`? */
bool wp_wait_has_served(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, uint64_t since_ns);

/* The server answered at `at_ns`. When it was done with the call that did: where it lost its CPU in it, to whom it woke
 * mostly, after it came back. Such a call ends within `fit_ns` on a CPU. */
uint64_t wp_explain_answer_end(const struct wp_thread *server, uint64_t at_ns, uint64_t fit_ns);

/* When the server came back from its last answer to the sleeper before `from_ns`, as the sleeper's wakings have it, or
 * from `written_ns`: one that woke nobody, 0: none is known. 0: not known. */
uint64_t wp_explain_own_end(
    const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, uint64_t from_ns, uint64_t written_ns);
/* Is that thread explained, itself or for whom it waits? What is recorded meanwhile is repeated for those of whom the
 * same holds. */
bool wp_explain_is_layer(const struct wp_explainer *x, uint32_t thread);
struct wp_wait_part;

/* What a server did before it turned to the sleeper. */
struct wp_served {
    uint64_t until_ns;   /* it was busy with the other one until then */
    uint64_t written_ns; /* before that it answered the sleeper, which woke nobody; 0: not that is known */
    uint32_t client;     /* the other one; 0: not known */
};
/* The part of a sleep that is explained by the server's time: what it did for the other one is queue, unless it was
 * still without a CPU in the call that answered the sleeper last. The rest is the sleeper's. */
void wp_wait_on_server(struct wp_explainer *x, const struct wp_wait *wait, const struct wp_wait_part *part,
    const struct wp_served *before);

#endif
