/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_SERVICES_H
#define WP_AGGREGATOR_TIMELINE_SERVICES_H
/* Services of a host that nobody named: the container ("NAMESPACE-CONTAINER" in Kubernetes), else the systemd unit,
 * else the cgroup, else the name of the process. */
#include "aggregator/timeline/timeline.h"
#include "common/path.h"

#include <stdbool.h>

struct wp_host_service {
    char name[WP_ID_ROOM];
    uint64_t running_ns;
};

/* The service of an identity as an aggregate id; false for kernel threads and for Wakepath itself. */
bool wp_service_name(const struct wp_timeline *timeline, uint32_t identity, char *name, size_t room);
/* The busiest services by time on CPUs so far, at most `limit`; *services is the caller's (free). Returns how many. */
uint32_t wp_services_busiest(const struct wp_timeline *timeline, uint32_t limit, struct wp_host_service **services);

#endif
