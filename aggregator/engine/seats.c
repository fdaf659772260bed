/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/seats.h"

#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PROBES 8u /* of a host's clock, close together */
#define FIRST_PROBES_NS 100000000u
#define PROBES_NS WP_NS_PER_S
#define FINISHED 65536u /* remembered ones; of those before them the store knows */

void wp_seats_fini(struct wp_seats *seats)
{
    free(seats->all);
    wp_intmap_fini(&seats->by_peer);
}

struct wp_seat *wp_seats_find(const struct wp_seats *seats, uint32_t peer)
{
    uint32_t index;
    return wp_intmap_get(&seats->by_peer, (struct wp_intkey){peer, 0}, &index) ? &seats->all[index] : NULL;
}

bool wp_seats_has_ended(const struct wp_seats *seats, const uint8_t id[16])
{
    for (uint32_t i = 0; i < seats->count; i++)
        if (seats->all[i].is_committed && !memcmp(seats->all[i].id, id, 16))
            return true;
    return false;
}

/* Forgets the older half of the finished sessions. */
static void forget_finished(struct wp_seats *seats)
{
    uint32_t kept = 0, drop = (seats->count - seats->live) / 2;
    wp_intmap_clear(&seats->by_peer);
    for (uint32_t i = 0; i < seats->count; i++) {
        if (!seats->all[i].session && drop) {
            drop--;
            continue;
        }
        seats->all[kept] = seats->all[i];
        wp_intmap_put(&seats->by_peer, (struct wp_intkey){seats->all[kept].peer, 0}, kept); /* smaller than before */
        kept++;
    }
    seats->count = kept;
}

struct wp_seat *wp_seats_add(struct wp_seats *seats, uint32_t peer, struct wp_error *err)
{
    if (seats->count - seats->live >= FINISHED)
        forget_finished(seats);
    if (WP_ARRAY_FIT(seats->all, seats->room, seats->count + 1)) {
        wp_error_set(err, -ENOMEM, "out of memory for a session");
        return NULL;
    }
    if (wp_intmap_put(&seats->by_peer, (struct wp_intkey){peer, 0}, seats->count)) {
        wp_error_set(err, -ENOMEM, "out of memory for a session");
        return NULL;
    }
    struct wp_seat *seat = &seats->all[seats->count++];
    *seat = (struct wp_seat){.peer = peer};
    return seat;
}

uint32_t wp_seats_of_host(const struct wp_seats *seats, const uint8_t host[16], struct wp_host_session **oldest)
{
    uint64_t heard = UINT64_MAX;
    uint32_t live = 0;
    *oldest = NULL;
    for (uint32_t i = 0; i < seats->count; i++) {
        struct wp_seat *seat = &seats->all[i];
        if (!seat->session || seat->session->is_closing || memcmp(seat->session->host, host, 16))
            continue;
        live++;
        if (seat->heard < heard) {
            heard = seat->heard;
            *oldest = seat->session;
        }
    }
    return live;
}

bool wp_seat_is_due(struct wp_seat *seat, uint64_t now_ns)
{
    uint64_t interval_ns = seat->probes < FIRST_PROBES ? FIRST_PROBES_NS : PROBES_NS;
    if (!seat->session || seat->session->is_closing || now_ns - seat->probed_ns < interval_ns)
        return false;
    seat->probed_ns = now_ns;
    seat->probes++;
    return true;
}

int wp_seats_move(
    struct wp_seats *seats, uint32_t peer, const struct wp_hello *hello, struct wp_seat **out, struct wp_error *err)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        struct wp_seat *seat = &seats->all[i];
        if (!seat->session || memcmp(seat->session->id, hello->session, 16))
            continue;
        if (memcmp(seat->session->host, hello->host, 16))
            return wp_error_set(err, -EACCES, "host '%.100s' says Hello with the session of host '%.100s'",
                hello->hostname ? hello->hostname : "", seat->session->hostname);
        if (wp_intmap_put(&seats->by_peer, (struct wp_intkey){peer, 0}, i))
            return wp_error_set(err, -ENOMEM, "out of memory for a session");
        wp_intmap_remove(&seats->by_peer, (struct wp_intkey){seat->peer, 0});
        seat->peer = peer;
        *out = seat;
        break;
    }
    return 0;
}

int wp_seats_refuse_clone(
    const struct wp_seats *seats, const struct wp_fleet *fleet, const struct wp_hello *hello, struct wp_error *err)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        const struct wp_host_session *other = seats->all[i].session;
        if (!other || other->is_closing || memcmp(other->host, hello->host, 16) || !hello->boot_id ||
            !*hello->boot_id || !strcmp(other->hello.boot_id, hello->boot_id))
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
