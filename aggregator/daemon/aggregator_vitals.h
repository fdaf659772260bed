/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_AGGREGATOR_VITALS_H
#define WP_AGGREGATOR_DAEMON_AGGREGATOR_VITALS_H
/* What an aggregator reports of itself (wakepath-metrics(5) lists it), by common/health.h. Looking costs at most a
 * hundredth of the loop's time: with many hosts it looks less often than once a second. */
#include "aggregator/engine/engine.h"
#include "proto/transport_server.h"

struct wp_aggregator_vitals;

/* All borrowed. */
struct wp_aggregator_vitals_options {
    const char *listen, *store, *shard;
    struct wp_engine *engine;
    const struct wp_server *server;
    const struct wp_symbol_broker *names;
    const struct wp_logger *logger;
};

/* Listens at `listen`. The struct is copied, what it points to is needed until wp_aggregator_vitals_close(). -ENOMEM,
 * or as wp_health_open(); err says why, *vitals is left alone. */
int wp_aggregator_vitals_open(
    struct wp_aggregator_vitals **vitals, const struct wp_aggregator_vitals_options *options, struct wp_error *err);
/* NULL-safe, as the next ones. */
void wp_aggregator_vitals_close(struct wp_aggregator_vitals *vitals);
/* The engine was asked to commit, which took so long; `code` is its answer. */
void wp_aggregator_vitals_committed(struct wp_aggregator_vitals *vitals, uint64_t took_ns, int code);
/* From the loop, as often as it likes. */
void wp_aggregator_vitals_tick(struct wp_aggregator_vitals *vitals, uint64_t now_ns, uint64_t real_now_ns);

#endif
