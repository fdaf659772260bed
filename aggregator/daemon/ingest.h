/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_INGEST_H
#define WP_AGGREGATOR_DAEMON_INGEST_H
/* The loop of the daemon: receives from the server's socket, feeds the engine, commits, acknowledges. */
#include "aggregator/daemon/ingest_options.h"
#include "aggregator/engine/engine.h"

int wp_ingest_run(const struct wp_engine_options *engine, const struct wp_ingest_options *options,
    const struct wp_logger *logger, struct wp_error *err);

#endif
