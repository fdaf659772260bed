/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_MESSAGE_REPLIES_H
#define WP_AGGREGATOR_NET_MESSAGE_REPLIES_H
/* When a request on a connection that others opened is answered (struct wp_reply). */
#include "aggregator/net/messages_types.h"
#include "proto/event.h"

/* A send of `thread` on such a connection, not yet among the socket's: is it the first one after a read?
 * Of a request that came before the recording last went on nothing is noted. */
void wp_messages_note_reply(
    struct wp_messages *messages, const struct wp_socket *socket, const struct wp_event *event, uint32_t thread);

#endif
