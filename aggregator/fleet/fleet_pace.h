/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_FLEET_FLEET_PACE_H
#define WP_AGGREGATOR_FLEET_FLEET_PACE_H
/* Pacing: an explanation needs what the others did. */
#include "aggregator/fleet/fleet.h"

/* True when all facts that the time of `host` up to until_ns can rest on are there, or their hosts have been given up;
 * sets the horizons of them all. */
bool wp_fleet_may_resolve(struct wp_fleet *fleet, uint32_t host, uint64_t until_ns, uint64_t lateness_ns);
/* What of the host's own time others may still ask for: from here on. */
uint64_t wp_fleet_needed_since(const struct wp_fleet *fleet, uint32_t host, uint64_t resolved_ns);
/* True when hosts of other shards may still ask this one to follow a path. */
bool wp_fleet_is_asked(struct wp_fleet *fleet, uint32_t host);
/* True when a host that is resolved is of no use to any other any more. */
bool wp_fleet_may_leave(const struct wp_fleet *fleet, uint32_t host);

#endif
