/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/fleet/fleet.h"

#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wp_fleet_create(struct wp_fleet **out)
{
    struct wp_fleet *fleet = calloc(1, sizeof(*fleet));
    if (!fleet)
        return -ENOMEM;
    int rc = wp_clocks_create(&fleet->clocks);
    if (!rc)
        rc = wp_clocks_add(fleet->clocks, &fleet->reference);
    if (!rc)
        rc = wp_connections_create(&fleet->connections, fleet->clocks);
    if (rc) {
        wp_fleet_destroy(fleet);
        return rc;
    }
    fleet->give_up_ns = 5 * WP_NS_PER_S;
    *out = fleet;
    return 0;
}

void wp_fleet_destroy(struct wp_fleet *fleet)
{
    if (!fleet)
        return;
    for (uint32_t i = 0; i < WP_AGGREGATES; i++)
        free(fleet->followed[i].rows);
    wp_connections_destroy(fleet->connections);
    wp_clocks_destroy(fleet->clocks);
    free(fleet->hosts);
    free(fleet);
}

int wp_fleet_join(
    struct wp_fleet *fleet, struct wp_timeline *timeline, const char *hostname, int64_t real_offset_ns, uint32_t *out)
{
    uint32_t host = 0, clock;
    while (host < fleet->count && fleet->hosts[host].timeline)
        host++;
    if (host == WP_FLEET_HOSTS)
        return -ENOSPC;
    if (WP_ARRAY_FIT_ZERO(fleet->hosts, fleet->room, host + 1))
        return -ENOMEM;
    int rc = wp_clocks_add(fleet->clocks, &clock);
    if (!rc)
        rc = wp_connections_host(fleet->connections, host, clock);
    if (rc)
        return rc;
    uint32_t generation = fleet->hosts[host].generation;
    fleet->hosts[host] = (struct wp_fleet_host){.timeline = timeline,
        .hostname = hostname,
        .clock = clock,
        .generation = generation,
        .real_offset_ns = real_offset_ns,
        .horizon_ns = UINT64_MAX,
        .frame = WP_FRAME_NONE,
        .heard_ns = fleet->now_ns};
    fleet->joined++;
    if (host == fleet->count)
        fleet->count++;
    timeline->messages.connections = fleet->connections;
    timeline->messages.host = host;
    *out = host;
    return 0;
}

void wp_fleet_leave(struct wp_fleet *fleet, uint32_t host)
{
    struct wp_fleet_host *row = &fleet->hosts[host];
    row->timeline->messages.connections = NULL;
    wp_connections_remove_host(fleet->connections, host);
    wp_clocks_remove(fleet->clocks, row->clock);
    *row = (struct wp_fleet_host){.generation = row->generation + 1};
    fleet->leaves++;
    for (uint32_t i = 0; i < fleet->name_count; i++) {
        struct wp_intervals *followed = &fleet->followed[i];
        uint32_t kept = 0;
        for (uint32_t j = 0; j < followed->count; j++)
            if (followed->rows[j].host != host)
                followed->rows[kept++] = followed->rows[j];
        followed->count = kept;
    }
}

int wp_fleet_find_aggregate(const struct wp_fleet *fleet, const char *name, const char *release)
{
    for (uint32_t i = 0; i < fleet->name_count; i++)
        if (!strcmp(fleet->names[i], name) && !strcmp(fleet->releases[i], release))
            return (int)i;
    return -ENOENT;
}

int wp_fleet_aggregate(struct wp_fleet *fleet, const char *name, const char *release)
{
    int number = wp_fleet_find_aggregate(fleet, name, release);
    if (number >= 0)
        return number;
    if (fleet->name_count == WP_AGGREGATES)
        return -ENOSPC;
    snprintf(fleet->releases[fleet->name_count], sizeof(fleet->releases[0]), "%s", release);
    snprintf(fleet->names[fleet->name_count], sizeof(fleet->names[0]), "%s", name);
    return (int)fleet->name_count++;
}

bool wp_fleet_offset(struct wp_fleet *fleet, uint32_t from, uint64_t at_ns, uint32_t to, struct wp_offset *offset)
{
    *offset = (struct wp_offset){.offset_ns = 0};
    return from == to || wp_clocks_map(fleet->clocks, fleet->hosts[from].clock, at_ns, fleet->hosts[to].clock, offset);
}

bool wp_fleet_has_drops(const struct wp_fleet *fleet, uint32_t host, uint64_t start_ns, uint64_t end_ns)
{
    const struct wp_fleet_host *row = &fleet->hosts[host];
    return row->has_drops && row->has_drops(row->session, start_ns, end_ns);
}

int wp_intervals_add(struct wp_intervals *intervals, const struct wp_interval *interval)
{
    if (WP_ARRAY_FIT(intervals->rows, intervals->room, intervals->count + 1))
        return -ENOMEM;
    intervals->rows[intervals->count++] = *interval;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct wp_interval *a = left, *b = right;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

void wp_intervals_sort(struct wp_intervals *intervals)
{
    uint32_t sorted = 1; /* mostly they are, but for the last few */
    while (sorted < intervals->count && compare(&intervals->rows[sorted - 1], &intervals->rows[sorted]) <= 0)
        sorted++;
    if (sorted < intervals->count)
        qsort(intervals->rows, intervals->count, sizeof(*intervals->rows), compare);
}
