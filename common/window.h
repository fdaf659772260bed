/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_WINDOW_H
#define WP_COMMON_WINDOW_H
/*
 * When to record, if not always: so long of each period of wall time, counted from the epoch (1970-01-01), so that
 * hosts whose clocks are set record the same intervals without talking to each other.
 */
#include "common/clock.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_WINDOW_LEAST_NS 10000000ull          /* 10 ms */
#define WP_WINDOW_MOST_NS (86400 * WP_NS_PER_S) /* a day */

struct wp_window {
    uint64_t length_ns, every_ns; /* 0 and 0: nothing is said; equal: always */
};

/* "1s every 60s" (units ms, s, m, h; from 10 ms up to a day), "always". -EINVAL: neither. */
int wp_window_parse(struct wp_window *window, const char *text, struct wp_error *err);
/* What a peer says: 0 when it makes sense, or -EINVAL. */
int wp_window_check(const struct wp_window *window);
/* Is that instant, nanoseconds since the epoch, to be recorded? Of a window that says nothing: yes. */
bool wp_window_is_open(const struct wp_window *window, uint64_t real_ns);
/* "500ms every 1000ms", "always"; in `text`. */
const char *wp_window_text(const struct wp_window *window, char text[64]);
/* How long it stays so; UINT64_MAX: for ever. */
uint64_t wp_window_left(const struct wp_window *window, uint64_t real_ns);

#endif
