/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_OWED_H
#define WP_AGGREGATOR_NET_OWED_H
/*
 * The side of a TCP connection that serves: which one that is, and whether it owes an answer. A request is what was
 * read since something was last sent there.
 */
#include "aggregator/net/messages_types.h"

/* At that time socket `id` serves, nothing was read on it since its last send, and it is not over: what comes next is
 * a request. */
bool wp_owed_nothing(const struct wp_messages *messages, uint32_t id, uint64_t at_ns);
/* Has the thread served anybody, as far as is remembered? */
bool wp_owed_ever(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns);
/* The same over streams, of its last 32 reads. */
bool wp_owed_over_streams(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns);
/* Before that it read a request which nobody had answered at that time; of its last 32 reads. */
bool wp_owed_by(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns);

/* The same on two connections at least: it works for several. */
bool wp_owed_by_several(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns);

/* A request that a thread has read and not answered yet. */
struct wp_owed {
    uint64_t sent_ns; /* when its answer began to leave; 0: it has not, by the time asked for */
    uint32_t socket;
};

/* Of the requests that the thread had read before `before_ns`, of its last 32 reads, and owed an answer then, which it
 * sends itself: the one that it answers first, by `until_ns`. One that is not answered by then counts where the thread
 * has answered on that connection before, or read there once only. False: it owed nobody, and *owed is left alone. */
bool wp_owed_first(
    const struct wp_messages *messages, uint32_t thread, uint64_t before_ns, uint64_t until_ns, struct wp_owed *owed);
/* When something was first sent on socket `id` after `since_ns`, and by whom. False: nothing was. */
bool wp_owed_sent(const struct wp_messages *messages, uint32_t id, uint64_t since_ns, struct wp_send *send);

#endif
