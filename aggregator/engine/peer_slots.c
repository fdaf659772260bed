/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/peer_slots.h"

#include "aggregator/fleet/fleet.h"
#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PROBES 8u /* of a host's clock, close together */
#define FIRST_PROBES_NS 100000000u
#define PROBES_NS WP_NS_PER_S
#define FINISHED 65536u /* remembered ones; of those before them the store knows */

void wp_peer_slots_fini(struct wp_peer_slots *slots)
{
    free(slots->all);
    wp_intmap_fini(&slots->by_peer);
}

struct wp_peer_slot *wp_peer_slots_find(const struct wp_peer_slots *slots, uint32_t peer)
{
    uint32_t index;
    return wp_intmap_get(&slots->by_peer, (struct wp_intkey){peer, 0}, &index) ? &slots->all[index] : NULL;
}

bool wp_peer_slots_has_ended(const struct wp_peer_slots *slots, const uint8_t id[16])
{
    for (uint32_t i = 0; i < slots->count; i++)
        if (slots->all[i].is_committed && !memcmp(slots->all[i].id, id, 16))
            return true;
    return false;
}

/* Forgets the older half of the finished sessions. */
static void forget_finished(struct wp_peer_slots *slots)
{
    uint32_t kept = 0, drop = (slots->count - slots->live) / 2;
    wp_intmap_clear(&slots->by_peer);
    for (uint32_t i = 0; i < slots->count; i++) {
        if (!slots->all[i].session && drop) {
            drop--;
            continue;
        }
        slots->all[kept] = slots->all[i];
        wp_intmap_put(&slots->by_peer, (struct wp_intkey){slots->all[kept].peer, 0}, kept); /* smaller than before */
        kept++;
    }
    slots->count = kept;
}

struct wp_peer_slot *wp_peer_slots_add(struct wp_peer_slots *slots, uint32_t peer, struct wp_error *err)
{
    if (slots->count - slots->live >= FINISHED)
        forget_finished(slots);
    if (WP_ARRAY_FIT(slots->all, slots->room, slots->count + 1)) {
        wp_error_set(err, -ENOMEM, "out of memory for a session");
        return NULL;
    }
    if (wp_intmap_put(&slots->by_peer, (struct wp_intkey){peer, 0}, slots->count)) {
        wp_error_set(err, -ENOMEM, "out of memory for a session");
        return NULL;
    }
    struct wp_peer_slot *slot = &slots->all[slots->count++];
    *slot = (struct wp_peer_slot){.peer = peer};
    return slot;
}

uint32_t wp_peer_slots_of_host(
    const struct wp_peer_slots *slots, const uint8_t host[16], struct wp_host_session **oldest)
{
    uint64_t heard = UINT64_MAX;
    uint32_t live = 0;
    *oldest = NULL;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct wp_peer_slot *slot = &slots->all[i];
        if (!slot->session || wp_host_session_progress(slot->session)->is_closing ||
            memcmp(wp_host_session_source(slot->session)->host, host, 16))
            continue;
        live++;
        if (slot->heard < heard) {
            heard = slot->heard;
            *oldest = slot->session;
        }
    }
    return live;
}

bool wp_peer_slot_is_due(struct wp_peer_slot *slot, uint64_t now_ns)
{
    uint64_t interval_ns = slot->probes < FIRST_PROBES ? FIRST_PROBES_NS : PROBES_NS;
    if (!slot->session || wp_host_session_progress(slot->session)->is_closing || now_ns - slot->probed_ns < interval_ns)
        return false;
    slot->probed_ns = now_ns;
    slot->probes++;
    return true;
}

bool wp_peer_slot_wants_commit(const struct wp_peer_slot *slot)
{
    if (!slot->session || slot->is_committed)
        return false;
    const struct wp_session_progress *progress = wp_host_session_progress(slot->session);
    return progress->is_ended || progress->resolved_ns > progress->committed_ns;
}

bool wp_peer_slot_is_over(struct wp_peer_slot *slot)
{
    if (!slot->session || !wp_host_session_progress(slot->session)->is_ended)
        return false;
    bool is_first = !slot->is_committed;
    slot->is_committed = true;
    return is_first && !wp_host_session_timeline(slot->session)->goes_on;
}

bool wp_peer_slot_has_ack(struct wp_peer_slot *slot)
{
    const struct wp_session_progress *progress = slot->session ? wp_host_session_progress(slot->session) : NULL;
    uint64_t seq = progress ? progress->acked_seq : slot->last_seq;
    uint64_t taken = progress ? progress->last_seq : slot->last_seq;
    bool has_ack = seq > slot->told_seq || taken > slot->told_taken;
    slot->told_seq = has_ack ? seq : slot->told_seq;
    slot->told_taken = has_ack ? taken : slot->told_taken;
    return has_ack;
}

int wp_peer_slots_move(struct wp_peer_slots *slots, uint32_t peer, const struct wp_hello *hello,
    struct wp_peer_slot **out, struct wp_error *err)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        struct wp_peer_slot *slot = &slots->all[i];
        if (!slot->session || memcmp(wp_host_session_source(slot->session)->id, hello->session, 16))
            continue;
        if (memcmp(wp_host_session_source(slot->session)->host, hello->host, 16))
            return wp_error_set(err, -EACCES, "host '%.100s' says Hello with the session of host '%.100s'",
                hello->hostname ? hello->hostname : "", wp_host_session_source(slot->session)->hostname);
        if (wp_intmap_put(&slots->by_peer, (struct wp_intkey){peer, 0}, i))
            return wp_error_set(err, -ENOMEM, "out of memory for a session");
        wp_intmap_remove(&slots->by_peer, (struct wp_intkey){slot->peer, 0});
        slot->peer = peer;
        *out = slot;
        break;
    }
    return 0;
}

int wp_peer_slots_refuse_clone(
    const struct wp_peer_slots *slots, const struct wp_fleet *fleet, const struct wp_hello *hello, struct wp_error *err)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct wp_host_session *session = slots->all[i].session;
        if (!session || wp_host_session_progress(session)->is_closing)
            continue;
        const struct wp_session_source *other = wp_host_session_source(session);
        if (memcmp(other->host, hello->host, 16) || !hello->boot_id || !*hello->boot_id ||
            !strcmp(other->hello.boot_id, hello->boot_id))
            continue;
        const struct wp_fleet_host *host = &fleet->hosts[other->home];
        if (fleet->now_ns > host->heard_ns + fleet->give_up_ns)
            continue;
        return wp_error_set(err, -EACCES,
            "host '%.100s' has the UUID of host '%.100s', which is recorded now: a cloned machine? "
            "Remove its /etc/machine-id and run systemd-machine-id-setup",
            hello->hostname ? hello->hostname : "", other->hostname);
    }
    return 0;
}
