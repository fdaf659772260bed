/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_OPEN_PAGE_H
#define WP_CLI_BASE_OPEN_PAGE_H
/* Shows a page in the user's browser. */
#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* By $BROWSER, else xdg-open, x-www-browser or www-browser; does not wait for it: *pid, 0 when nothing was started.
 * -ENOENT: there is none. */
int wp_open_page(const char *page, pid_t *pid, struct wp_error *err);
/* Waits so long for its end, from which on *pid is 0. True: it has ended unsuccessfully, as xdg-open does at once that
 * knows no browser. */
bool wp_open_page_failed(pid_t *pid, unsigned wait_ms, struct wp_error *err);

#endif
