/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watched.h"

#include "cli/http_get.h"
#include "common/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void complain(struct wp_watched *watched, const char *text)
{
    char line[sizeof(watched->trouble)];
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\r\n"), text);
    wp_metric_clean(line, watched->trouble, sizeof(watched->trouble));
}

static void judge(struct wp_watched *watched)
{
    struct wp_buffer body = {0};
    struct wp_error err = {0};
    int status = wp_http_get(watched->address, "/healthz", WP_WATCHED_MS, &body, &err);
    watched->is_well = status == 200;
    if (status < 0)
        complain(watched, err.text);
    else if (!watched->is_well)
        complain(watched, body.data && body.size ? (const char *)body.data : "it does not say why");
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

void wp_watched_ask(struct wp_watched *watched, const char *address)
{
    struct wp_error err = {0};
    *watched = (struct wp_watched){.kind = WP_WATCHED_OTHER};
    snprintf(watched->address, sizeof(watched->address), "%s", address);
    int status = wp_http_get(address, "/metrics", WP_WATCHED_MS, &watched->text, &err);
    if (status == -ECONNREFUSED)
        watched->kind = WP_WATCHED_NOBODY;
    if (status < 0)
        complain(watched, err.text);
    if (status < 0)
        return;
    disarm(&watched->text);
    if (status != 200 || wp_samples_parse(&watched->samples, (char *)watched->text.data) || !watched->samples.count) {
        complain(watched, "what answers there is not Wakepath");
        return;
    }
    if (wp_samples_find(&watched->samples, "wakepath_collector_info", NULL, NULL))
        watched->kind = WP_WATCHED_COLLECTOR;
    else if (wp_samples_find(&watched->samples, "wakepath_aggregator_info", NULL, NULL))
        watched->kind = WP_WATCHED_AGGREGATOR;
    if (watched->kind != WP_WATCHED_OTHER ||
        wp_samples_find(&watched->samples, "wakepath_snapshot_age_seconds", NULL, NULL))
        judge(watched); /* one that is just starting has nothing else to tell */
    else
        complain(watched, "what answers there is not Wakepath");
}

void wp_watched_fini(struct wp_watched *watched)
{
    wp_samples_fini(&watched->samples);
    wp_buffer_fini(&watched->text);
}

const char *wp_watched_name(const struct wp_watched *watched)
{
    return watched->kind == WP_WATCHED_COLLECTOR ? "wakepath-collector"
        : watched->kind == WP_WATCHED_AGGREGATOR ? "wakepath-aggregator"
                                                 : "?";
}
