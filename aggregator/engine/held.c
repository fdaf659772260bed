/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/held.h"

#include "aggregator/session/session_bytes.h"
#include "common/clock.h"

#include <errno.h>
#include <string.h>

#define LOOK_BYTES                                                                                                     \
    ((uint64_t)1 << 20) /* of batches; a batch may become so many times its size, and is bounded itself */
#define LOOK_NS WP_NS_PER_S

bool wp_held_is_due(struct wp_held *held, size_t bytes, uint64_t now_ns)
{
    held->taken += bytes;
    return held->taken >= LOOK_BYTES || now_ns - held->looked_ns >= LOOK_NS;
}

void wp_held_look(struct wp_held *held, struct wp_peer_slots *slots, uint64_t now_ns)
{
    held->bytes = held->taken = 0;
    held->looked_ns = now_ns;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct wp_peer_slot *slot = &slots->all[i];
        slot->held_bytes = slot->session ? wp_session_bytes(slot->session) + slot->queue.bytes : 0;
        held->bytes += slot->held_bytes;
    }
}

static bool is_live(const struct wp_peer_slot *slot)
{
    return slot->session && !wp_host_session_progress(slot->session)->is_closing;
}

/* Of the sessions of the host of `slot`. */
static uint64_t by_host(const struct wp_peer_slots *slots, const uint8_t host[16], bool is_closing_too)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct wp_peer_slot *slot = &slots->all[i];
        if (slot->session && (is_closing_too || is_live(slot)) &&
            !memcmp(wp_host_session_source(slot->session)->host, host, 16))
            bytes += slot->held_bytes;
    }
    return bytes;
}

static struct wp_peer_slot *largest_of(const struct wp_peer_slots *slots, const uint8_t host[16])
{
    struct wp_peer_slot *largest = NULL;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct wp_peer_slot *slot = &slots->all[i];
        if (is_live(slot) && !memcmp(wp_host_session_source(slot->session)->host, host, 16) &&
            (!largest || slot->held_bytes > largest->held_bytes))
            largest = slot;
    }
    return largest;
}

struct wp_peer_slot *wp_held_excess(const struct wp_held *held, const struct wp_peer_slots *slots, uint64_t *limit)
{
    uint64_t all = 0, most = 0;
    const struct wp_peer_slot *of_most = NULL;
    for (uint32_t i = 0; i < slots->count; i++)
        all += is_live(&slots->all[i]) ? slots->all[i].held_bytes : 0;
    bool is_beyond = held->limit && all > held->limit;
    if (!is_beyond && !(held->host_limit && all > held->host_limit))
        return NULL;
    for (uint32_t i = 0; i < slots->count; i++) {
        uint64_t bytes =
            is_live(&slots->all[i]) ? by_host(slots, wp_host_session_source(slots->all[i].session)->host, false) : 0;
        if (bytes > most) {
            most = bytes;
            of_most = &slots->all[i];
        }
    }
    if (!of_most || (!is_beyond && most <= held->host_limit))
        return NULL;
    *limit = held->host_limit && most > held->host_limit ? held->host_limit : held->limit;
    return largest_of(slots, wp_host_session_source(of_most->session)->host);
}

void wp_held_shed(struct wp_held *held, struct wp_peer_slot *slot)
{
    wp_host_session_shed(slot->session);
    slot->is_shed = true;
    held->shed++;
    wp_replay_queue_clear(&slot->queue);
}

int wp_held_admit(
    const struct wp_held *held, const struct wp_peer_slots *slots, const uint8_t host[16], struct wp_error *err)
{
    uint64_t bytes = held->host_limit ? by_host(slots, host, true) : 0;
    if (held->host_limit && bytes > held->host_limit)
        return wp_error_set(err, -EAGAIN,
            "the sessions of this host hold %llu bytes of %llu (--host-memory): try again when they are written",
            (unsigned long long)bytes, (unsigned long long)held->host_limit);
    if (held->limit && held->bytes > held->limit && bytes)
        return wp_error_set(err, -EAGAIN,
            "all sessions hold %llu bytes of %llu (--memory): try again when some are written",
            (unsigned long long)held->bytes, (unsigned long long)held->limit);
    return 0;
}
