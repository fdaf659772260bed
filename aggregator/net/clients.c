/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/clients.h"

#include "common/clock.h"

#include <string.h>

void wp_clients_init(struct wp_clients *clients)
{
    *clients = (struct wp_clients){0};
    wp_idtable_init(&clients->threads, WP_CLIENT_SERVERS * sizeof(struct wp_client_server));
}

void wp_clients_fini(struct wp_clients *clients)
{
    wp_idtable_fini(&clients->threads);
    memset(clients->last, 0, sizeof(clients->last));
}

void wp_clients_forget(struct wp_clients *clients, uint32_t client)
{
    struct wp_client_last *last = &clients->last[client % WP_CLIENT_LASTS];
    wp_idtable_drop(&clients->threads, client);
    if (last->client == client)
        last->client = 0;
}

size_t wp_clients_bytes(const struct wp_clients *clients)
{
    return wp_idtable_bytes(&clients->threads);
}

/* NULL: it has asked nobody. */
static struct wp_client_server *servers_of(const struct wp_clients *clients, uint32_t client)
{
    return wp_idtable_has(&clients->threads, client)
        ? (struct wp_client_server *)clients->threads.items + (size_t)client * WP_CLIENT_SERVERS
        : NULL;
}

static uint64_t newest_ns(const struct wp_client_server *entry)
{
    return entry->count ? entry->asked_ns[(entry->count - 1) % WP_CLIENT_TIMES] : 0;
}

/* The entry of that place, or the one that it takes. */
static struct wp_client_server *entry_of(struct wp_client_server *rows, const struct wp_asked_place *place)
{
    struct wp_client_server *oldest = rows;
    for (uint32_t i = 0; i < WP_CLIENT_SERVERS; i++) {
        if (wp_asked_place_is(&rows[i].place, place))
            return &rows[i];
        if (newest_ns(&rows[i]) < newest_ns(oldest))
            oldest = &rows[i];
    }
    *oldest = (struct wp_client_server){.place = *place};
    return oldest;
}

void wp_clients_note(struct wp_clients *clients, uint32_t client, const struct wp_asked_place *place, uint64_t time_ns)
{
    if (wp_idtable_reserve(&clients->threads, client))
        return;
    wp_idtable_use(&clients->threads, client);
    struct wp_client_server *entry = entry_of(servers_of(clients, client), place);
    clients->last[client % WP_CLIENT_LASTS] = (struct wp_client_last){
        .until_ns = (time_ns / WP_NS_PER_S + 1) * WP_NS_PER_S, .place = *place, .client = client};
    if (!entry->count || newest_ns(entry) / WP_NS_PER_S != time_ns / WP_NS_PER_S)
        entry->asked_ns[entry->count++ % WP_CLIENT_TIMES] = time_ns;
}

static uint64_t latest_before(const struct wp_client_server *entry, uint64_t before_ns)
{
    uint64_t latest_ns = 0;
    for (uint32_t i = 0; i < WP_CLIENT_TIMES && i < entry->count; i++)
        if (entry->asked_ns[i] < before_ns && entry->asked_ns[i] > latest_ns)
            latest_ns = entry->asked_ns[i];
    return latest_ns;
}

uint32_t wp_clients_places(const struct wp_clients *clients, uint32_t client, uint64_t before_ns,
    struct wp_asked_place places[WP_CLIENT_SERVERS])
{
    const struct wp_client_server *rows = servers_of(clients, client);
    uint32_t count = 0;
    for (uint32_t i = 0; rows && i < WP_CLIENT_SERVERS; i++)
        if (latest_before(&rows[i], before_ns))
            places[count++] = rows[i].place;
    return count;
}

uint64_t wp_clients_asked(const struct wp_clients *clients, uint32_t client, uint32_t server, uint64_t before_ns,
    struct wp_asked_place *place)
{
    const struct wp_client_server *rows = servers_of(clients, client);
    uint64_t asked_ns = 0;
    for (uint32_t i = 0; rows && i < WP_CLIENT_SERVERS; i++) {
        uint64_t latest_ns = rows[i].place.server == server ? latest_before(&rows[i], before_ns) : 0;
        if (latest_ns <= asked_ns)
            continue;
        asked_ns = latest_ns;
        *place = rows[i].place;
    }
    return asked_ns;
}
