/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_COMPARE_H
#define WP_REPORTER_PAGE_PAGE_COMPARE_H
/* One release against another. */
#include "common/error.h"
#include "reporter/compare/compare_types.h"
#include "reporter/display/display.h"

#include <stdbool.h>

/* One release against another, and the same for a mail or a terminal. */
int wp_page_compare(
    struct wp_display *display, const struct wp_compare *compare, bool has_compare_tab, struct wp_error *err);
/* The digest: fewer rows and no drawn view. -ENOMEM. */
int wp_page_compare_digest(struct wp_display *display, const struct wp_compare *compare, struct wp_error *err);

#endif
