/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SOURCE_SOURCE_LISTING_H
#define WP_REPORTER_SOURCE_SOURCE_LISTING_H
/*
 * Puts times beside source text. The debug info counts logical lines: `#line` in generated code makes them another
 * file's, or numbers them anew. A page is a physical file: each of its lines is looked up under the name and number
 * that the compiler gave it.
 */
#include "reporter/display/listing.h"
#include "reporter/facts/source_lines.h"
#include "reporter/source/source_physical.h"

#define WP_SOURCE_PAGES 200u /* files with a page */

/* What pages of source are about. All borrowed. */
struct wp_source_map {
    const struct wp_source_lines *lines;
    const char *release, *aggregate;
    uint64_t whole_ns; /* the total */
    /* Where a function whose lines are not known is shown. */
    struct wp_link (*function_link)(void *context, const char *name);
    void *context;
};

/* A file that holds next to nothing has no page. */
bool wp_source_has_page(const struct wp_source_map *map, uint32_t file);
/* To the line, or unset when the file has no page. Line 0: to the page. */
struct wp_link wp_source_line_link(const struct wp_source_map *map, struct wp_pool *pool, uint32_t file, uint32_t line);
/* physical NULL or without lines: of lines with time alone. */
void wp_source_listing_build(struct wp_listing *listing, struct wp_pool *pool, const struct wp_source_map *map,
    uint32_t file, const struct wp_source_physical *physical);

#endif
