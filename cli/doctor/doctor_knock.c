/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_knock.h"

#include "cli/base/installed.h"
#include "collector/host/identity.h"
#include "common/clock.h"
#include "proto/curve_keys.h"
#include "proto/transport_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VALUE 512u
#define KNOCK_NS (uint64_t)(3 * WP_NS_PER_S)
#define LOOK_MS 50

/* A handshake with the collector's own keys, which is all that is said: 0, -ECONNREFUSED and why, or -ETIMEDOUT. */
static int knock(const struct wp_client_options *options, struct wp_error *err)
{
    struct wp_client *client = NULL;
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR, .hostname = "doctor"};
    uint64_t end = wp_clock_ns() + KNOCK_NS;
    int rc = wp_client_open_with(&client, options, &hello, err);
    while (!rc && !wp_client_is_connected(client) && !*wp_client_trouble(client)) {
        rc = wp_client_poll(client, LOOK_MS, err);
        rc = rc > 0 ? 0 : rc;
        if (!rc && wp_clock_ns() > end)
            rc = wp_error_set(err, -ETIMEDOUT, "%s does not answer", options->endpoint);
    }
    if (!rc && !wp_client_is_connected(client))
        rc = wp_error_set(err, -ECONNREFUSED, "%s: %s", options->endpoint, wp_client_trouble(client));
    wp_client_drop(client);
    return rc;
}

/* A key that is listed may still be another host's: one that came with a cloned disk. */
static void look_at_public(struct wp_findings *f, const struct wp_installed *collector, const char *key)
{
    char path[VALUE + 8], word[VALUE], text[WP_HOST_TEXT];
    struct wp_public_key public;
    struct wp_error err = {0};
    uint8_t host[16];
    size_t size = strlen(key);
    if (size < 5 || strcmp(key + size - 4, ".key") || wp_installed_value(collector, "netns", 0, word, sizeof(word)))
        return;
    snprintf(path, sizeof(path), "%.*s.pub", (int)(size - 4), key);
    if (wp_public_key_read(&public, path, &err))
        return;
    wp_identity_host(host, NULL);
    wp_host_format(host, text);
    if (public.kind == WP_KEY_OF_ANY || (public.kind == WP_KEY_OF_HOST && !memcmp(public.host, host, 16)))
        return;
    wp_findings_add(f, WP_FINDING_WRONG, "key",
        "make this host's own: wakepath keygen --host this, and list its .pub at the aggregator",
        "%s does not speak for this host, which is %s", key, text);
}

void wp_doctor_knock(struct wp_findings *f, const struct wp_installed *collector)
{
    char endpoint[VALUE], key[VALUE], server[VALUE];
    if (!wp_installed_value(collector, "key", 0, key, sizeof(key)))
        return;
    look_at_public(f, collector, key);
    for (unsigned i = 0;
         i < WP_INSTALLED_VALUES && wp_installed_value(collector, "connect", i, endpoint, sizeof(endpoint)); i++) {
        struct wp_error err = {0};
        if (strncmp(endpoint, "tcp://", 6) ||
            (!wp_installed_value(collector, "server-key", i, server, sizeof(server)) &&
                !wp_installed_value(collector, "server-key", 0, server, sizeof(server))))
            continue;
        int rc =
            knock(&(struct wp_client_options){.endpoint = endpoint, .key_path = key, .server_key_path = server}, &err);
        if (rc == -ECONNREFUSED)
            wp_findings_add(f, WP_FINDING_WRONG, "key",
                "at the aggregator, put this collector's NAME.pub into its --allow; here, its NAME.pub is the "
                "--server-key (docs/security.md)",
                "%s", err.text);
        else if (!rc)
            wp_findings_add(f, WP_FINDING_GOOD, "key", NULL, "%s accepts this collector's key", endpoint);
    }
}
