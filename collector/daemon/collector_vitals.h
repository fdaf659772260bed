/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_DAEMON_COLLECTOR_VITALS_H
#define WP_COLLECTOR_DAEMON_COLLECTOR_VITALS_H
/* What a collector reports of itself (wakepath-metrics(5) lists it): looked at once a second in its loop, told by
 * common/health.h. */
#include "collector/batch/batcher.h"
#include "collector/batch/load_shedding.h"
#include "collector/send/uplink.h"

struct wp_collector_vitals;

/* Listens from now on, and answers from a thread of its own. `listen` and errors are those of wp_health_open; `logger`
 * is used during the call only. */
int wp_collector_vitals_open(
    struct wp_collector_vitals **vitals, const char *listen, const struct wp_logger *logger, struct wp_error *err);
/* NULL-safe, as the next one. */
void wp_collector_vitals_close(struct wp_collector_vitals *vitals);

/* All borrowed for the call. */
struct wp_collector_view {
    const struct wp_hello *hello;
    struct wp_source *source;
    const struct wp_batcher *batcher;
    const struct wp_uplink *uplink;
    const struct wp_fleet_names *fleet; /* NULL: none */
    const struct wp_load_shedding *shedding;
};
/* From the loop, as often as it likes. */
void wp_collector_vitals_tick(
    struct wp_collector_vitals *vitals, const struct wp_collector_view *view, uint64_t now_ns);

#endif
