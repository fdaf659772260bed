/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_links.h"

#include "reporter/display/escape.h"
#include "reporter/source/source_listing.h"

#include <inttypes.h>

#define MOST_FUNCTIONS 200u
#define LEAST_SHARE 1000u /* a function below a thousandth of the total has no page */
#define NAME_BYTES 160u

struct wp_link wp_page_flame_link(
    struct wp_display *display, const struct wp_facts *facts, const char *key, const char *value)
{
    struct wp_buffer buffer = {0};
    wp_buffer_printf(&buffer, "%s=", key);
    wp_escape_url(&buffer, value);
    const char *fragment = wp_pool_text(&display->pool, buffer.data ? (const char *)buffer.data : "");
    wp_buffer_fini(&buffer);
    return wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate, fragment);
}

size_t wp_page_function_count(const struct wp_facts *facts)
{
    size_t count = 0;
    while (count < facts->function_count && count < MOST_FUNCTIONS &&
        facts->functions[count].inclusive_ns >= facts->total_ns / LEAST_SHARE)
        count++;
    return count;
}

const char *wp_page_function_anchor(struct wp_display *display, const struct wp_function_fact *function)
{
    uint32_t hash = 2166136261u;
    for (const char *at = function->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    for (const char *at = function->object; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    return wp_pool_printf(&display->pool, "f%08" PRIx32 "-%" PRIu32, hash, function->style);
}

struct wp_link wp_page_function_link(struct wp_display *display, const struct wp_facts *facts, size_t function)
{
    const struct wp_function_fact *fact = &facts->functions[function];
    if (function >= MOST_FUNCTIONS || fact->inclusive_ns < facts->total_ns / LEAST_SHARE)
        return wp_page_flame_link(display, facts, "search", wp_pool_clip(&display->pool, fact->name, NAME_BYTES));
    return wp_link_to_part(WP_PAGE_FUNCTION, facts->release, facts->aggregate,
        (unsigned)(function / WP_PAGE_FUNCTIONS_EACH) + 1, wp_page_function_anchor(display, fact));
}

struct wp_link wp_page_source_link(struct wp_display *display, const struct wp_facts *facts, uint32_t site)
{
    struct wp_source_map map = {&facts->source, facts->release, facts->aggregate, facts->total_ns, NULL, NULL};
    const struct wp_source_site *at = site < facts->source.site_count ? &facts->source.sites[site] : NULL;
    return at ? wp_source_line_link(&map, &display->pool, at->file, at->line) : (struct wp_link){0};
}
