/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_HEALTH_H
#define WP_COMMON_HEALTH_H
/*
 * What a daemon tells those who watch it, by HTTP (libmicrohttpd) from a thread of its own: /metrics is the text that
 * the daemon's loop published last, /healthz is 200 while all is well and else 503 with the reason, also when the loop
 * has not published for half a minute; /livez is 503 for the latter alone. The thread shares a locked snapshot with the
 * loop and nothing else, blocks all signals, and has the capabilities of the thread that opens it.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "common/log.h"

struct argp_state;
struct wp_health;

/* Where to listen: "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT" of 127.0.0.1; numbers, no names; port 0 takes a free one.
 * -EINVAL says what is wrong. */
int wp_health_check(const char *listen, struct wp_error *err);
/* Listens, and says where in the log. -EADDRINUSE or another -errno of bind(). */
int wp_health_open(struct wp_health **health, const char *listen, const struct wp_logger *logger, struct wp_error *err);
void wp_health_close(struct wp_health *health); /* NULL-safe */
/* From now on this is what is told; trouble NULL: all is well. Copies both. */
void wp_health_publish(struct wp_health *health, const struct wp_buffer *metrics, const char *trouble);

/* What the option --metrics takes: an address for wp_health_open, NULL for "none"; refuses others. */
const char *wp_health_option(const struct argp_state *state, const char *text);

#endif
