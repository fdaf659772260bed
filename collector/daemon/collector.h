/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_DAEMON_COLLECTOR_H
#define WP_COLLECTOR_DAEMON_COLLECTOR_H
/* The work of the collector: a source, batches, and where they go (an aggregator, a file, or both). */
#include "collector/daemon/collector_options.h"

/* 0 when the source has ended or was stopped and everything has arrived. */
int wp_collector_run(const struct wp_collector_options *options, const struct wp_logger *logger, struct wp_error *err);

#endif
