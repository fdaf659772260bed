/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/message_roles.h"

bool wp_messages_is_served(const struct wp_messages *messages, const struct wp_socket *socket, uint32_t id)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    if (socket->asker)
        return socket->asker == WP_OPENER_THERE;
    if (socket->opener)
        return socket->opener == WP_OPENER_THERE;
    if (socket->connecting.time_ns)
        return false;
    return socket->opened_ns || (entry && entry->local_port < entry->remote_port);
}

enum wp_opener wp_messages_opener(const struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    return socket ? (enum wp_opener)socket->opener : WP_OPENER_UNKNOWN;
}

enum wp_opener wp_messages_asker(const struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    return !socket ? WP_OPENER_UNKNOWN : (enum wp_opener)(socket->asker ? socket->asker : socket->opener);
}

void wp_messages_judge(struct wp_messages *messages, uint32_t accepted, uint32_t opened, bool is_accepted_asking)
{
    struct wp_socket *all = messages->table.items, *ends[] = {&all[accepted], &all[opened]};
    for (int i = 0; i < 2; i++) {
        ends[i]->is_judged = true;
        ends[i]->asker = !is_accepted_asking ? WP_OPENER_UNKNOWN : i ? WP_OPENER_THERE : WP_OPENER_HERE;
    }
}
