/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_WATCHED_H
#define WP_CLI_WATCHED_H
/* A daemon that was asked how it is. */
#include "cli/samples.h"
#include "common/buffer.h"

#define WP_COLLECTOR_METRICS "127.0.0.1:9469" /* as deploy/etc/wakepath has them */
#define WP_AGGREGATOR_METRICS "127.0.0.1:9470"
#define WP_WATCHED_MS 3000u

enum wp_watched_kind {
    WP_WATCHED_NOBODY /* nobody listens */,
    WP_WATCHED_OTHER /* somebody else does, or does not answer */,
    WP_WATCHED_COLLECTOR,
    WP_WATCHED_AGGREGATOR
};

struct wp_watched {
    char address[300];
    enum wp_watched_kind kind;
    bool is_well;
    char trouble[512]; /* why it is not, fit for a terminal */
    struct wp_buffer text;
    struct wp_samples samples;
};

void wp_watched_ask(struct wp_watched *watched, const char *address);
void wp_watched_fini(struct wp_watched *watched);
const char *wp_watched_name(const struct wp_watched *watched); /* "wakepath-collector", ... */

#endif
