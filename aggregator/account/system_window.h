/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_SYSTEM_WINDOW_H
#define WP_AGGREGATOR_ACCOUNT_SYSTEM_WINDOW_H
/*
 * All that happened on the host of one session, for its timeline: every thread that ran, with a row for each program
 * that it executed, on which CPU it ran, block requests, messages and interrupts, and what woke whom. Of a session that
 * has more than WP_SYSTEM_ROWS of a kind the shortest runs and sleeps are left out (storage/report/trace_coarsen.h). A
 * row of 40 bytes each: at most 120 MiB.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_SYSTEM_ROWS 600000u /* runs; sleeps; links; operations */

struct wp_fleet;
struct wp_system_window;

/* NULL: out of memory. For wp_system_window_destroy. */
struct wp_system_window *wp_system_window_create(void);
/* NULL is allowed. Its session may have gone. */
void wp_system_window_destroy(struct wp_system_window *window);
/* All that host `home` of the fleet did up to `until_ns` of its time is in its timeline and explained. The first host
 * that comes is the window's; others are ignored. `is_final`: nothing follows. */
void wp_system_window_extend(
    struct wp_system_window *window, struct wp_fleet *fleet, uint32_t home, uint64_t until_ns, bool is_final);
/* Whether anything is in it. */
bool wp_system_window_has_rows(const struct wp_system_window *window);
/* Appends a Trace message (proto/store.proto). -ENOMEM, -EFBIG. */
int wp_system_window_encode(struct wp_system_window *window, struct wp_buffer *out, struct wp_error *err);

#endif
