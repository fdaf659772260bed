/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/peer/shard_peers.h"

#include "aggregator/net/socket_key.h"
#include "common/array.h"
#include "proto/shard_wire.h"

#include <stdlib.h>
#include <string.h>

#define PROCESSES (1u << 20)
#define TRIES 8u                 /* for processes that a peer gives one key */
#define STEP 0x9e3779b97f4a7c15u /* between these */

struct wp_stub *wp_shards_stub(const struct wp_shards *shards, uint32_t host)
{
    const struct wp_fleet_host *row = host < shards->fleet->count ? &shards->fleet->hosts[host] : NULL;
    return row && row->is_foreign ? (struct wp_stub *)(uintptr_t)row->session : NULL;
}

const uint8_t *wp_shards_own_session(const struct wp_shards *shards, uint32_t host)
{
    return shards->fleet->hosts[host].session_id;
}

bool wp_shards_has_link(const struct wp_shards *shards, uint32_t shard)
{
    for (uint32_t i = 0; i < shards->options.links; i++)
        if (shards->links[i].shard == shard)
            return true;
    return false;
}

uint32_t wp_shards_link_to(const struct wp_shards *shards, uint32_t shard)
{
    for (uint32_t i = 0; i < shards->options.links; i++)
        if (shards->links[i].shard == shard && shards->links[i].is_welcome)
            return i;
    return UINT32_MAX;
}

int wp_shards_tell(struct wp_shards *shards, uint32_t link, enum wp_frame_type type, const ProtobufCMessage *message)
{
    wp_buffer_clear(&shards->raw);
    int rc = wp_shard_pack(message, &shards->raw);
    return rc ? rc : shards->options.tell(shards->options.context, link, type, shards->raw.data, shards->raw.size);
}

void wp_shards_remove_stub(struct wp_shards *shards, uint32_t index)
{
    struct wp_stub *stub = shards->stubs[index], *last = shards->stubs[--shards->stub_count];
    shards->shards[stub->shard].hosts--;
    wp_intmap_remove(&shards->places, (struct wp_intkey){stub->shard, stub->place});
    wp_fleet_leave(shards->fleet, stub->host);
    shards->stubs[index] = last;
    if (last != stub)
        wp_intmap_put(&shards->places, (struct wp_intkey){last->shard, last->place}, index); /* replaces */
    free(stub);
}

uint32_t wp_shards_open(const struct wp_shards *shards, uint32_t owner)
{
    return owner & WP_SHARDS_ASKED ? shards->asked_open[owner & ~WP_SHARDS_ASKED]
                                   : shards->fleet->hosts[owner].open_questions;
}

bool wp_shards_concern(const struct wp_shards *shards, uint32_t host)
{
    for (uint32_t i = 0; i < shards->stub_count; i++)
        if (wp_connections_talk(shards->fleet->connections, host, shards->stubs[i]->host))
            return true;
    return false;
}

bool wp_shards_is_lost(const struct wp_shards *shards, const struct wp_socket_entry *entry)
{
    struct wp_socket_entry address = *entry;
    uint32_t shard;
    memcpy(address.local, entry->remote, sizeof(address.local));
    address.local_port = address.remote_port = 0;
    return entry->remote_port && wp_intmap_get(&shards->addresses, wp_socket_key(&address, false, 0), &shard) &&
        !shards->shards[shard].is_up;
}

uint32_t wp_shards_process_number(struct wp_shards *shards, const struct wp_shard_process *process)
{
    struct wp_shard_row row = {wp_intern_str(shards->strings, process->hostname),
        wp_intern_str(shards->strings, process->comm), process->pid, process->start_real_ns};
    struct wp_intkey key = {(uint64_t)row.host << 32 | row.comm, (uint64_t)row.pid << 40 ^ row.start_ns};
    uint32_t number;
    if (row.host == UINT32_MAX || row.comm == UINT32_MAX)
        return UINT32_MAX;
    for (uint32_t tries = 0; wp_intmap_get(&shards->process_index, key, &number); tries++, key.b += STEP) {
        if (shards->processes[number].pid == row.pid && shards->processes[number].start_ns == row.start_ns &&
            shards->processes[number].host == row.host && shards->processes[number].comm == row.comm)
            return number;
        if (tries == TRIES)
            return UINT32_MAX;
    }
    if (shards->process_count >= PROCESSES ||
        WP_ARRAY_FIT(shards->processes, shards->process_room, shards->process_count + 1))
        return UINT32_MAX;
    if (wp_intmap_put(&shards->process_index, key, shards->process_count))
        return UINT32_MAX;
    shards->processes[shards->process_count] = row;
    return shards->process_count++;
}

bool wp_shards_process(const struct wp_shards *shards, uint32_t number, struct wp_shard_process *process)
{
    if (number >= shards->process_count)
        return false;
    const struct wp_shard_row *row = &shards->processes[number];
    *process = (struct wp_shard_process){wp_intern_text(shards->strings, row->host),
        wp_intern_text(shards->strings, row->comm), row->pid, row->start_ns};
    return true;
}

void wp_shards_count_open(struct wp_shards *shards, uint32_t owner, int change)
{
    uint32_t *open = &shards->asked_open[owner & ~WP_SHARDS_ASKED];
    if (change > 0 || *open)
        *open += (uint32_t)change;
}
