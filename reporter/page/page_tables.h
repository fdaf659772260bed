/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_TABLES_H
#define WP_REPORTER_PAGE_PAGE_TABLES_H
/* Tables that several pages share. `rows` bounds a table. */
#include "reporter/display/display.h"
#include "reporter/display/page_id.h"
#include "reporter/facts/facts.h"

/* A row a category; `flame` is the page that rows link to, NULL: no links. Out of memory: display->pool.failed. */
void wp_page_categories(
    struct wp_display *display, const uint64_t categories[WP_CATEGORIES], const struct wp_page_id *flame);
/* Processes in the order of the facts. Out of memory: display->pool.failed. */
void wp_page_process_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
/* Functions, most own time (running and waiting) first. Out of memory: display->pool.failed. */
void wp_page_function_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
/* The functions that most time was spent in themselves, running or waiting. */
void wp_page_busiest_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
/* Waits that nothing explains, a row a stack. Out of memory: display->pool.failed. */
void wp_page_unexplained_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
/* A notice for each damaged value, 20 at most and one for the rest; nothing when there is none. */
void wp_page_damage(struct wp_display *display, const struct wp_facts *facts);

#endif
