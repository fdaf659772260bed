/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_INGEST_H
#define WP_AGGREGATOR_DAEMON_INGEST_H
/* The loop of the daemon: receives from the server's socket, feeds the engine, commits, acknowledges. */
#include "aggregator/daemon/ingest_options.h"
#include "aggregator/engine/engine.h"

/* Runs until *stop (after a last commit) or `exit_after_sessions`: 0; or an error: -errno, err says why. Closes
 * ready_fd when it listens. Options are borrowed meanwhile; a signal handler may set *stop and *reload. */
int wp_ingest_run(const struct wp_engine_options *engine, const struct wp_ingest_options *options,
    const struct wp_logger *logger, struct wp_error *err);

#endif
