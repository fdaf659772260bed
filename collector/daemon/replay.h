/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_DAEMON_REPLAY_H
#define WP_COLLECTOR_DAEMON_REPLAY_H
/* A captured session sent again, bit for bit and under its own name. */
#include "collector/daemon/collector_options.h"

int wp_replay_run(const struct wp_collector_options *options, const struct wp_logger *logger, struct wp_error *err);

#endif
