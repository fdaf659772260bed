/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_MESSAGE_ROLES_H
#define WP_AGGREGATOR_NET_MESSAGE_ROLES_H
/* Who opened a connection, and who asks there. */
#include "aggregator/net/messages_types.h"

/* Which end opened the connection; UNKNOWN also for a socket of which nothing is known. */
enum wp_opener wp_messages_opener(const struct wp_messages *messages, uint32_t id);
/* Which end asks there: who opened it, if nothing else was found out. */
enum wp_opener wp_messages_asker(const struct wp_messages *messages, uint32_t id);
/* Found out of both ends of a connection on this host, which are known: whether who accepted it asks there. */
void wp_messages_judge(struct wp_messages *messages, uint32_t accepted, uint32_t opened, bool is_accepted_asking);
/* Others ask there, as who opened it mostly does, and this end answers. Where it is not known who did, the smaller
 * port. */
bool wp_messages_is_served(const struct wp_messages *messages, const struct wp_socket *socket, uint32_t id);

#endif
