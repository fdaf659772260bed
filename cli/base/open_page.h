/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_OPEN_PAGE_H
#define WP_CLI_BASE_OPEN_PAGE_H
/* Shows a page in the user's browser. */
#include "common/error.h"

/* By $BROWSER, else xdg-open, x-www-browser or www-browser; does not wait for it. -ENOENT: there is none. */
int wp_open_page(const char *page, struct wp_error *err);

#endif
