/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_DAEMON_REPLAY_H
#define WP_COLLECTOR_DAEMON_REPLAY_H
/* A captured session sent again, bit for bit and under its own name. */
#include "collector/daemon/collector_options.h"

/* Sends the capture and waits for its delivery. Writes "ready" to ready_fd and closes it before the first batch.
 * -ECANCELED: *stop was set; -EBADMSG: the capture is damaged; else an error of the uplink. */
int wp_replay_run(const struct wp_collector_options *options, const struct wp_logger *logger, struct wp_error *err);

#endif
