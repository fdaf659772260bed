/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_FLEET_DAEMON_PROBE_H
#define WP_CLI_FLEET_DAEMON_PROBE_H
/* A daemon that was asked how it is. */
#include "cli/base/samples.h"
#include "common/buffer.h"

#define WP_COLLECTOR_METRICS "127.0.0.1:9469" /* as deploy/etc/wakepath has them */
#define WP_AGGREGATOR_METRICS "127.0.0.1:9470"
#define WP_DAEMON_PROBE_MS 3000u

enum wp_daemon_probe_kind {
    WP_DAEMON_PROBE_NOBODY /* nobody listens */,
    WP_DAEMON_PROBE_OTHER /* somebody else does, or does not answer */,
    WP_DAEMON_PROBE_COLLECTOR,
    WP_DAEMON_PROBE_AGGREGATOR
};

struct wp_daemon_probe {
    char address[300];
    enum wp_daemon_probe_kind kind;
    bool is_well;
    char trouble[512]; /* why it is not, fit for a terminal */
    struct wp_buffer text;
    struct wp_samples samples;
};

/* Reads /metrics of `address`, for at most WP_DAEMON_PROBE_MS. Cannot fail: kind, is_well and trouble say what came. */
void wp_daemon_probe_ask(struct wp_daemon_probe *daemon, const char *address);
/* Frees the text and the samples that point into it. */
void wp_daemon_probe_fini(struct wp_daemon_probe *daemon);
const char *wp_daemon_probe_name(const struct wp_daemon_probe *daemon); /* "wakepath-collector", ... */

#endif
