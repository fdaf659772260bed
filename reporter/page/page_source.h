/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_SOURCE_H
#define WP_REPORTER_PAGE_PAGE_SOURCE_H
/* Source files with time, and one of them line by line. */
#include "common/error.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/source/source_physical.h"
#include "reporter/source/source_text.h"

#include <stdbool.h>

/* One source file line by line; `all`: the texts of all that have a page, as wp_source_physical_build reads them. */
int wp_page_source(struct wp_display *display, const struct wp_facts *facts, const struct wp_source_text *text,
    const struct wp_source_physical *all, unsigned part, struct wp_error *err);
/* The last part there may be, and whether there is one. */
unsigned wp_page_source_parts(const struct wp_facts *facts);
/* Whether part `part` (from 1; 0: false) holds enough time for a page of its own. */
bool wp_page_source_has(const struct wp_facts *facts, unsigned part);
/* A table of source files, the first `rows`. Out of memory: display->pool.failed. */
void wp_page_source_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
/* The page of all source files: an introduction and that table. Out of memory: display->pool.failed. */
void wp_page_sources(struct wp_display *display, const struct wp_facts *facts);

#endif
