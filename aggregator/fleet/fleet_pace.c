/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom among the sessions themselves. An epoch of one host can be explained when every host that it talks
 * to, directly or over others, has told what it did up to there. The clocks are brought together roughly here, once an
 * epoch; explanations ask for each offset and its bound.
 */
#include "aggregator/fleet/fleet_pace.h"

#include "aggregator/fleet/fleet.h"
#include "common/clock.h"

#define GETTING_ACQUAINTED_NS (10 * WP_NS_PER_S) /* so long a host waits for others that it may turn out to talk to */
#define KEEP_NS (30 * WP_NS_PER_S)               /* at most so much more than its own history is kept for slower ones */

static void align(struct wp_fleet *fleet, uint32_t host);

/* By the clock of another host that it talks to. */
static bool align_with(struct wp_fleet *fleet, uint32_t host, uint32_t other)
{
    struct wp_fleet_host *row = &fleet->hosts[host];
    const struct wp_fleet_host *to = &fleet->hosts[other];
    struct wp_offset offset;
    if (!wp_clocks_map(fleet->clocks, row->clock, row->timeline->now_ns, to->clock, &offset))
        return false;
    row->frame = to->frame;
    row->align_ns = offset.offset_ns + to->align_ns;
    return true;
}

/* By the aggregator's clock, else by another host's; recordings that are replayed have no clock but each other's. */
static void align(struct wp_fleet *fleet, uint32_t host)
{
    struct wp_fleet_host *row = &fleet->hosts[host];
    struct wp_offset offset;
    if (wp_clocks_map(fleet->clocks, row->clock, row->timeline->now_ns, fleet->reference, &offset)) {
        row->frame = WP_FRAME_REFERENCE;
        row->align_ns = offset.offset_ns;
        return;
    }
    for (uint32_t i = 0; i < fleet->count; i++)
        if (i != host && fleet->hosts[i].timeline && fleet->hosts[i].frame == WP_FRAME_REFERENCE &&
            wp_connections_talk(fleet->connections, i, host) && align_with(fleet, host, i))
            return;
    for (uint32_t i = 0; i < host; i++) { /* smaller numbers only: this ends */
        if (!fleet->hosts[i].timeline || !wp_connections_talk(fleet->connections, i, host))
            continue;
        if (fleet->hosts[i].frame == WP_FRAME_NONE)
            align(fleet, i);
        if (align_with(fleet, host, i))
            return;
    }
    row->frame = host;
    row->align_ns = 0;
}

static int64_t aligned(const struct wp_fleet_host *row, uint64_t time_ns)
{
    return (int64_t)time_ns + row->align_ns;
}

static bool is_silent(const struct wp_fleet *fleet, const struct wp_fleet_host *row)
{
    return !row->is_over && fleet->now_ns > row->heard_ns + fleet->give_up_ns;
}

/* False: the facts of `other` up to that time of `row` are not there and may come. */
static bool has_told(const struct wp_fleet_host *row, const struct wp_fleet_host *other, uint64_t until_ns, bool talk)
{
    if (talk)
        return row->frame != other->frame || aligned(other, other->known_ns) >= aligned(row, until_ns);
    uint64_t start = row->timeline->start_ns, age = until_ns > start ? until_ns - start : 0;
    uint64_t other_age = other->known_ns > other->timeline->start_ns ? other->known_ns - other->timeline->start_ns : 0;
    return age > GETTING_ACQUAINTED_NS || (other->timeline->start_ns && other_age >= age);
}

/* It goes on being given up, though it may be heard again, until it has told what was wanted of it: a host that comes
 * back an hour late does not hold up the others for as long as it takes to catch up. What is yet to come is not wanted
 * of anybody: one that says it is ahead of the aggregator waits, and the others are none the worse for it. */
static void give_up(
    const struct wp_fleet *fleet, const struct wp_fleet_host *row, struct wp_fleet_host *other, uint64_t until_ns)
{
    int64_t at_ns = aligned(row, until_ns), wanted_ns = at_ns - other->align_ns;
    if (row->frame != WP_FRAME_REFERENCE || other->frame != WP_FRAME_REFERENCE || at_ns > (int64_t)fleet->now_ns ||
        wanted_ns < 0)
        return;
    other->given_up_count += !other->is_given_up;
    other->is_given_up = true;
    if ((uint64_t)wanted_ns > other->wanted_ns)
        other->wanted_ns = (uint64_t)wanted_ns;
}

/*
 * Not silent, and no use waiting for: so far behind the aggregator's clock, and for that long no nearer to it. One that
 * sends what it had to keep while the aggregator was away comes nearer. Of clocks that cannot be compared with the
 * aggregator's it only counts how long the other one has been held up.
 */
static bool is_hopeless(const struct wp_fleet *fleet, const struct wp_fleet_host *row, struct wp_fleet_host *other)
{
    if (fleet->expected > 1)
        return false;
    if (row->frame != WP_FRAME_REFERENCE || other->frame != WP_FRAME_REFERENCE)
        return row->waits_since_ns && fleet->now_ns > row->waits_since_ns + fleet->give_up_ns;
    int64_t lag_ns = (int64_t)fleet->now_ns - aligned(other, other->known_ns);
    if (lag_ns <= (int64_t)fleet->give_up_ns || lag_ns < other->least_lag_ns) {
        other->least_lag_ns = lag_ns;
        other->least_lag_at_ns = fleet->now_ns;
    }
    return lag_ns > (int64_t)fleet->give_up_ns && fleet->now_ns > other->least_lag_at_ns + fleet->give_up_ns;
}

static bool waits_for(const struct wp_fleet *fleet, const struct wp_fleet_host *row, struct wp_fleet_host *other,
    uint64_t until_ns, bool talk)
{
    if (other->known_ns >= other->wanted_ns)
        other->is_given_up = false;
    if (other->is_over || has_told(row, other, until_ns, talk))
        return false;
    if (!other->is_given_up && !is_silent(fleet, other) && !is_hopeless(fleet, row, other))
        return true;
    if (talk)
        give_up(fleet, row, other, until_ns);
    return false;
}

/* It waited for that one, and still does: nobody else need be asked, and no clock. */
static bool still_waits(const struct wp_fleet *fleet, uint32_t host, uint64_t until_ns)
{
    const struct wp_fleet_host *row = &fleet->hosts[host];
    uint32_t on = row->waits_on;
    if (!row->waits_since_ns || on == host || on >= fleet->count || !fleet->hosts[on].timeline)
        return false;
    bool talk = wp_connections_talk(fleet->connections, host, on);
    return (!talk || fleet->hosts[on].frame == row->frame) && waits_for(fleet, row, &fleet->hosts[on], until_ns, talk);
}

bool wp_fleet_may_resolve(struct wp_fleet *fleet, uint32_t host, uint64_t until_ns, uint64_t lateness_ns)
{
    struct wp_fleet_host *row = &fleet->hosts[host];
    if (fleet->walking) /* the horizons are those of an epoch that has begun */
        return false;
    row->horizon_ns = until_ns + lateness_ns - 1;
    fleet->lateness_ns = lateness_ns;
    if (fleet->joined < fleet->expected)
        return false;
    if (fleet->count == 1)
        return true;
    if (still_waits(fleet, host, until_ns + lateness_ns))
        return false;
    align(fleet, host);
    bool is_without = false;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct wp_fleet_host *other = &fleet->hosts[i];
        if (i == host || !other->timeline)
            continue;
        bool talk = wp_connections_talk(fleet->connections, host, i);
        if (talk && other->frame != row->frame)
            align(fleet, i);
        if (waits_for(fleet, row, other, until_ns + lateness_ns, talk)) {
            if (!row->waits_since_ns)
                row->waits_since_ns = fleet->now_ns;
            row->waits_on = i;
            return false;
        }
        is_without |= !other->is_over && !has_told(row, other, until_ns + lateness_ns, talk);
        /* Of one that is over as well: when it said so must not matter. */
        bool is_comparable = talk && other->frame == row->frame;
        other->horizon_ns = is_comparable ? (uint64_t)(aligned(row, row->horizon_ns) - other->align_ns) : UINT64_MAX;
    }
    if (!is_without) /* else it will not wait for the same ones again */
        row->waits_since_ns = 0;
    return true;
}

uint64_t wp_fleet_needed_since(const struct wp_fleet *fleet, uint32_t host, uint64_t resolved_ns)
{
    const struct wp_fleet_host *row = &fleet->hosts[host];
    uint64_t since = resolved_ns;
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct wp_fleet_host *other = &fleet->hosts[i];
        if (i == host || !other->timeline || other->is_resolved || other->frame != row->frame ||
            !wp_connections_talk(fleet->connections, host, i))
            continue;
        int64_t there = aligned(other, other->resolved_ns) - row->align_ns;
        if (there < (int64_t)since)
            since = there > 0 ? (uint64_t)there : 0;
    }
    return since + KEEP_NS < resolved_ns ? resolved_ns - KEEP_NS : since;
}

bool wp_fleet_is_asked(struct wp_fleet *fleet, uint32_t host)
{
    for (uint32_t i = 0; fleet->shards && i < fleet->count; i++) {
        const struct wp_fleet_host *row = &fleet->hosts[host], *other = &fleet->hosts[i];
        bool is_behind =
            other->frame == row->frame && aligned(other, other->resolved_ns) < aligned(row, row->timeline->now_ns);
        if (other->is_foreign && !other->is_resolved && is_behind &&
            fleet->now_ns <= other->heard_ns + fleet->give_up_ns && wp_connections_talk(fleet->connections, host, i))
            return true;
    }
    return false;
}

bool wp_fleet_may_leave(const struct wp_fleet *fleet, uint32_t host)
{
    const struct wp_fleet_host *row = &fleet->hosts[host];
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct wp_fleet_host *other = &fleet->hosts[i];
        if (i == host || !other->timeline || (other->is_foreign ? other->is_followed : other->is_resolved) ||
            is_silent(fleet, other) || other->is_given_up || !wp_connections_talk(fleet->connections, host, i))
            continue;
        if (other->is_resolved || other->frame != row->frame ||
            aligned(other, other->resolved_ns) < aligned(row, row->timeline->now_ns))
            return false;
    }
    return true;
}
