/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom among the sessions themselves. An epoch of one host can be explained when every host that it talks to,
 * directly or over others, has told what it did up to there. The clocks are brought together roughly here, once an epoch;
 * explanations ask for each offset and its bound.
 */
#include "aggregator/fleet.h"

#define GETTING_ACQUAINTED_NS 10000000000u /* so long a host waits for others that it may turn out to talk to */
#define KEEP_NS 30000000000u               /* at most so much more than its own history is kept for slower ones */

static void align(struct wp_fleet *fleet, uint32_t host)
{
    struct wp_fleet_host *row = &fleet->hosts[host];
    struct wp_offset offset;
    uint64_t at_ns = row->timeline->now_ns;
    row->is_aligned = wp_clocks_map(fleet->clocks, row->clock, at_ns, fleet->reference, &offset);
    for (uint32_t i = 0; !row->is_aligned && i < fleet->count; i++) { /* recordings that are replayed have no clock but each other's */
        const struct wp_fleet_host *other = &fleet->hosts[i];
        if (i == host) {
            row->is_aligned = true;
            offset = (struct wp_offset){.offset_ns = 0};
        } else if (other->timeline && wp_connections_talk(fleet->connections, i, host)) {
            if (!other->is_aligned)
                align(fleet, i); /* a smaller number: this ends */
            row->is_aligned = other->is_aligned &&
                wp_clocks_map(fleet->clocks, row->clock, at_ns, other->clock, &offset);
            offset.offset_ns += other->align_ns;
        }
    }
    row->align_ns = offset.offset_ns;
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
static bool knows(struct wp_fleet *fleet, const struct wp_fleet_host *row, struct wp_fleet_host *other, uint64_t until_ns,
    bool talk)
{
    if (other->is_over || is_silent(fleet, other))
        return true;
    bool is_comparable = talk && row->is_aligned && other->is_aligned;
    if (is_comparable)
        return aligned(other, other->known_ns) >= aligned(row, until_ns);
    uint64_t start = row->timeline->start_ns, age = until_ns > start ? until_ns - start : 0;
    uint64_t other_age = other->known_ns > other->timeline->start_ns ? other->known_ns - other->timeline->start_ns : 0;
    return age > GETTING_ACQUAINTED_NS || (other->timeline->start_ns && other_age >= age) || talk;
}

bool wp_fleet_may_resolve(struct wp_fleet *fleet, uint32_t host, uint64_t until_ns, uint64_t lateness_ns)
{
    struct wp_fleet_host *row = &fleet->hosts[host];
    row->horizon_ns = until_ns + lateness_ns - 1;
    if (fleet->joined < fleet->expected)
        return false;
    if (fleet->count == 1)
        return true;
    align(fleet, host);
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct wp_fleet_host *other = &fleet->hosts[i];
        if (i == host || !other->timeline)
            continue;
        bool talk = wp_connections_talk(fleet->connections, host, i);
        if (talk && !other->is_aligned)
            align(fleet, i);
        if (!knows(fleet, row, other, until_ns + lateness_ns, talk))
            return false;
        other->horizon_ns = other->is_over || !talk ? UINT64_MAX
                                                    : (uint64_t)(aligned(row, row->horizon_ns) - other->align_ns);
    }
    return true;
}

uint64_t wp_fleet_needed_since(const struct wp_fleet *fleet, uint32_t host, uint64_t resolved_ns)
{
    const struct wp_fleet_host *row = &fleet->hosts[host];
    uint64_t since = resolved_ns;
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct wp_fleet_host *other = &fleet->hosts[i];
        if (i == host || !other->timeline || other->is_resolved || !other->is_aligned || !row->is_aligned ||
            !wp_connections_talk(fleet->connections, host, i))
            continue;
        int64_t there = aligned(other, other->resolved_ns) - row->align_ns;
        if (there < (int64_t)since)
            since = there > 0 ? (uint64_t)there : 0;
    }
    return since + KEEP_NS < resolved_ns ? resolved_ns - KEEP_NS : since;
}

bool wp_fleet_may_leave(const struct wp_fleet *fleet, uint32_t host)
{
    const struct wp_fleet_host *row = &fleet->hosts[host];
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct wp_fleet_host *other = &fleet->hosts[i];
        if (i == host || !other->timeline || other->is_resolved || is_silent(fleet, other) ||
            !wp_connections_talk(fleet->connections, host, i))
            continue;
        if (!other->is_aligned || !row->is_aligned || aligned(other, other->resolved_ns) < aligned(row, row->timeline->now_ns))
            return false;
    }
    return true;
}
