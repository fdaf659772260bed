/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that are heard: hosts of other shards, and ends of connections of theirs that have no other end there. */
#include "aggregator/peer/shard_stubs.h"

#include "aggregator/net/socket_key.h"
#include "aggregator/peer/shard_peers.h"
#include "aggregator/peer/shard_state.h"
#include "common/array.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STUB_ENDS 262144u /* of one host of another shard */
#define TCP_ESTABLISHED 1 /* include/net/tcp_states.h */

static int make_stub(struct wp_shards *shards, uint32_t shard, const Wakepath__Shard__Host *m)
{
    if (WP_ARRAY_FIT(shards->stubs, shards->stub_room, shards->stub_count + 1))
        return -ENOMEM;
    struct wp_stub *stub = calloc(1, sizeof(*stub));
    if (!stub)
        return -ENOMEM;
    stub->shard = shard;
    stub->place = m->place;
    memcpy(stub->session, m->session.data, 16);
    snprintf(stub->hostname, sizeof(stub->hostname), "%s", *m->hostname ? m->hostname : "unknown");
    int rc = wp_fleet_join(shards->fleet, &stub->timeline, stub->hostname, m->real_offset_ns, &stub->host);
    if (!rc && wp_intmap_put(&shards->places, (struct wp_intkey){shard, m->place}, shards->stub_count)) {
        wp_fleet_leave(shards->fleet, stub->host);
        rc = -ENOMEM;
    }
    if (rc) {
        free(stub);
        return rc;
    }
    shards->fleet->hosts[stub->host].is_foreign = true;
    shards->fleet->hosts[stub->host].session = stub;
    shards->stubs[shards->stub_count++] = stub;
    shards->shards[shard].hosts++;
    return 0;
}

static bool find_stub(const struct wp_shards *shards, uint32_t shard, uint32_t place, uint32_t *index)
{
    return wp_intmap_get(&shards->places, (struct wp_intkey){shard, place}, index);
}

static void take_host(struct wp_shards *shards, uint32_t shard, const Wakepath__Shard__Host *m)
{
    uint32_t index;
    bool is_there = find_stub(shards, shard, m->place, &index);
    if (is_there && (m->is_gone || memcmp(shards->stubs[index]->session, m->session.data, 16))) {
        wp_shards_remove_stub(shards, index);
        is_there = false;
    }
    if (m->is_gone || (!is_there && make_stub(shards, shard, m)) || !find_stub(shards, shard, m->place, &index))
        return;
    struct wp_stub *stub = shards->stubs[index];
    struct wp_fleet_host *host = &shards->fleet->hosts[stub->host];
    const struct wp_shard *of = &shards->shards[shard];
    stub->start_ns = m->start_ns;
    stub->timeline.start_ns = m->start_ns ? m->start_ns : 1;
    stub->timeline.now_ns = m->known_ns;
    host->known_ns = m->known_ns;
    host->resolved_ns = m->resolved_ns;
    host->heard_ns = shards->fleet->now_ns;
    host->is_over = m->is_over;
    host->is_resolved = m->is_resolved;
    host->is_followed = m->is_followed;
    if (m->n_probe != 4 || !of->has_clock)
        return;
    wp_clocks_message(shards->fleet->clocks, of->clock, m->probe[0], host->clock, m->probe[1]);
    wp_clocks_message(shards->fleet->clocks, host->clock, m->probe[2], of->clock, m->probe[3]);
}

static void add_end(struct wp_shards *shards, struct wp_stub *stub, const Wakepath__Shard__End *m)
{
    struct wp_socket_entry entry = {.family = (uint8_t)m->family,
        .protocol = IPPROTO_TCP,
        .local_port = (uint16_t)m->local_port,
        .remote_port = (uint16_t)m->remote_port};
    if (stub->ends >= STUB_ENDS) {
        shards->counts.ends_lost++;
        return;
    }
    memcpy(entry.local, m->local.data, m->local.len);
    memcpy(entry.remote, m->remote.data, m->remote.len);
    stub->ends++;
    shards->counts.ends_heard++;
    wp_connections_add(shards->fleet->connections, stub->host, m->socket, &entry);
    memcpy(entry.remote, entry.local, sizeof(entry.remote));
    entry.local_port = entry.remote_port = 0;
    if (shards->addresses.count < STUB_ENDS)
        wp_intmap_put(&shards->addresses, wp_socket_key(&entry, false, 0), stub->shard);
}

static void replay(
    struct wp_shards *shards, const struct wp_stub *stub, const Wakepath__Shard__End *m, struct wp_event event)
{
    event.d = m->socket;
    wp_connections_event(shards->fleet->connections, stub->host, &event);
}

static void take_end(struct wp_shards *shards, struct wp_stub *stub, const Wakepath__Shard__End *m)
{
    struct wp_connections *connections = shards->fleet->connections;
    bool is_known = wp_connections_has(connections, stub->host, m->socket);
    if (m->is_closed) {
        stub->ends -= is_known;
        wp_connections_remove(connections, stub->host, m->socket);
        return;
    }
    if (!is_known)
        add_end(shards, stub, m);
    if (m->sequence)
        replay(shards, stub, m, (struct wp_event){.kind = WP_EVENT_SOCK_STATE, .c = TCP_ESTABLISHED, .a = m->sequence});
    for (size_t i = 0; i < m->n_left; i++)
        replay(
            shards, stub, m, (struct wp_event){.kind = WP_EVENT_SOCK_LEAVE, .a = m->left[i], .time_ns = m->left_ns[i]});
    for (size_t i = 0; i < m->n_arrived; i++)
        replay(shards, stub, m,
            (struct wp_event){.kind = WP_EVENT_SOCK_ARRIVE, .a = m->arrived[i], .time_ns = m->arrived_ns[i]});
    if (m->has_sent)
        replay(shards, stub, m, (struct wp_event){.kind = WP_EVENT_SOCK_SEND, .a = m->sent_end});
}

static void take_datagrams(struct wp_shards *shards, uint32_t shard, const Wakepath__Shard__Facts *facts)
{
    uint32_t index;
    for (size_t i = 0; i < facts->n_taken; i++)
        if (find_stub(shards, shard, facts->taken_place[i], &index))
            wp_connections_datagram_taken(shards->fleet->connections, facts->taken[i], shards->stubs[index]->host);
    for (size_t i = 0; i < facts->n_sent; i++)
        if (find_stub(shards, shard, facts->sent_place[i], &index))
            wp_connections_datagram(shards->fleet->connections, facts->sent[i], shards->stubs[index]->host);
}

void wp_shard_stubs_take(struct wp_shards *shards, uint32_t shard, const Wakepath__Shard__Facts *facts)
{
    if (memcmp(facts->run.data, shards->shards[shard].run, 16))
        return;
    for (size_t i = 0; i < facts->n_hosts; i++)
        take_host(shards, shard, facts->hosts[i]);
    for (size_t i = 0; i < facts->n_ends; i++) {
        uint32_t index;
        if (find_stub(shards, shard, facts->ends[i]->place, &index))
            take_end(shards, shards->stubs[index], facts->ends[i]);
    }
    take_datagrams(shards, shard, facts);
}
