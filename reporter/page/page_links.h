/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_LINKS_H
#define WP_REPORTER_PAGE_PAGE_LINKS_H
/* Links from one page to another, which several pages make. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

#define WP_PAGE_FUNCTIONS_EACH 20u /* functions on a page of callers and callees; as mdprof pages them */

/* How many functions have a place on such a page: the others hold little. */
size_t wp_page_function_count(const struct wp_facts *facts);
/* The function's own: it stays when others overtake it, unless it moves to another page. */
const char *wp_page_function_anchor(struct wp_display *display, const struct wp_function_fact *function);

/* To the line of a site (a place in facts->source.sites). */
struct wp_link wp_page_source_link(struct wp_display *display, const struct wp_facts *facts, uint32_t site);
/* Where the function at this place of facts->functions is shown: on such a page, or in the flame. */
struct wp_link wp_page_function_link(struct wp_display *display, const struct wp_facts *facts, size_t function);
/* The flame with "key=value" in its address. */
struct wp_link wp_page_flame_link(
    struct wp_display *display, const struct wp_facts *facts, const char *key, const char *value);

#endif
