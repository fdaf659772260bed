/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/daemon_probe.h"

#include "cli/base/http_get.h"
#include "common/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void complain(struct wp_daemon_probe *daemon, const char *text)
{
    char line[sizeof(daemon->trouble)];
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\r\n"), text);
    wp_metric_clean(line, daemon->trouble, sizeof(daemon->trouble));
}

static void judge(struct wp_daemon_probe *daemon)
{
    struct wp_buffer body = {0};
    struct wp_error err = {0};
    int status = wp_http_get(daemon->address, "/healthz", WP_DAEMON_PROBE_MS, &body, &err);
    daemon->is_well = status == 200;
    if (status < 0)
        complain(daemon, err.text);
    else if (!daemon->is_well)
        complain(daemon, body.data && body.size ? (const char *)body.data : "it does not say why");
    wp_buffer_fini(&body);
}

/* It goes to a terminal, and who answers may be anybody. */
static void disarm(struct wp_buffer *text)
{
    for (size_t i = 0; i < text->size; i++) {
        uint8_t *c = &text->data[i];
        if (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0)
            c[0] = c[1] = '?';
        else if ((*c < 0x20 && *c != '\n') || *c == 0x7F)
            *c = '?';
    }
}

void wp_daemon_probe_ask(struct wp_daemon_probe *daemon, const char *address)
{
    struct wp_error err = {0};
    *daemon = (struct wp_daemon_probe){.kind = WP_DAEMON_PROBE_OTHER};
    snprintf(daemon->address, sizeof(daemon->address), "%s", address);
    int status = wp_http_get(address, "/metrics", WP_DAEMON_PROBE_MS, &daemon->text, &err);
    if (status == -ECONNREFUSED)
        daemon->kind = WP_DAEMON_PROBE_NOBODY;
    if (status < 0)
        complain(daemon, err.text);
    if (status < 0)
        return;
    disarm(&daemon->text);
    if (status != 200 || wp_samples_parse(&daemon->samples, (char *)daemon->text.data) || !daemon->samples.count) {
        complain(daemon, "what answers there is not Wakepath");
        return;
    }
    if (wp_samples_find(&daemon->samples, "wakepath_collector_info", NULL, NULL))
        daemon->kind = WP_DAEMON_PROBE_COLLECTOR;
    else if (wp_samples_find(&daemon->samples, "wakepath_aggregator_info", NULL, NULL))
        daemon->kind = WP_DAEMON_PROBE_AGGREGATOR;
    if (daemon->kind != WP_DAEMON_PROBE_OTHER ||
        wp_samples_find(&daemon->samples, "wakepath_snapshot_age_seconds", NULL, NULL))
        judge(daemon); /* one that is just starting has nothing else to tell */
    else
        complain(daemon, "what answers there is not Wakepath");
}

void wp_daemon_probe_fini(struct wp_daemon_probe *daemon)
{
    wp_samples_fini(&daemon->samples);
    wp_buffer_fini(&daemon->text);
}

const char *wp_daemon_probe_name(const struct wp_daemon_probe *daemon)
{
    return daemon->kind == WP_DAEMON_PROBE_COLLECTOR ? "wakepath-collector"
        : daemon->kind == WP_DAEMON_PROBE_AGGREGATOR ? "wakepath-aggregator"
                                                     : "?";
}
