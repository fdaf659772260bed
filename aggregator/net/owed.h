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
/* Before that it read a request which nobody had answered at that time; of its last 32 reads. */
bool wp_owed_by(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns);

#endif
