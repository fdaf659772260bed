/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_HTTP_GET_H
#define WP_CLI_BASE_HTTP_GET_H
/* One question to a daemon's /metrics or /healthz (common/health.h): HTTP/1.0, bounded in time and size, since who
 * answers at a port may be anybody. */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>

/* Whether text is the address of a port: "HOST:PORT", "[V6]:PORT" or "PORT". */
bool wp_http_address_valid(const char *address);
/* Connects to "HOST:PORT", "[V6]:PORT" or "PORT" of this host: a descriptor, -ECONNREFUSED, -ETIMEDOUT, ... */
int wp_http_dial(const char *address, unsigned timeout_ms, struct wp_error *err);
/* Appends the body to `body`; the status (200, 503 ...), or -errno. -EPROTO: what answers there does not speak HTTP. */
int wp_http_get(
    const char *address, const char *path, unsigned timeout_ms, struct wp_buffer *body, struct wp_error *err);

#endif
