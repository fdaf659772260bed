/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_H
#define WP_REPORTER_PAGE_PAGE_H
/* Page builders: facts -> display. A new page is a kind in query.h and a builder here; the formatters never learn of it. */
#include "reporter/facts/calls.h"
#include "reporter/compare/compare.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/facts/hosts.h"
#include "reporter/facts/release_facts.h"
#include "reporter/page/site_summary.h"
#include "reporter/source/source_listing.h"
#include "reporter/source/source_text.h"
#include "reporter/facts/slow_requests.h"

/* Any page of one aggregate, by display->query.page. Out of memory: -ENOMEM. */
int wp_page_build(struct wp_display *display, const struct wp_facts *facts, struct wp_error *err);
/* Callers and callees of some functions, and how many such pages there are: the functions that hold little have none. */
int wp_page_function(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls, unsigned part,
    struct wp_error *err);
unsigned wp_page_function_parts(const struct wp_facts *facts);
/* One source file line by line; `all`: the texts of all that have a page, as wp_source_physical_build reads them. */
int wp_page_source(struct wp_display *display, const struct wp_facts *facts, const struct wp_source_text *text,
    const struct wp_source_physical *all, unsigned part, struct wp_error *err);
/* The last part there may be, and whether there is one. */
unsigned wp_page_source_parts(const struct wp_facts *facts);
bool wp_page_source_has(const struct wp_facts *facts, unsigned part);
/* To the line of a site (a place in facts->source.sites). */
struct wp_link wp_page_source_link(struct wp_display *display, const struct wp_facts *facts, uint32_t site);
/* One of facts->exemplars, from 1: WP_PAGE_EXEMPLAR or _ROWS, as display->query says. */
int wp_page_exemplar(struct wp_display *display, const struct wp_facts *facts, unsigned number, struct wp_error *err);
struct wp_link wp_page_exemplar_link(const struct wp_facts *facts, unsigned number);
/* Where the function at this place of facts->functions is shown: on such a page, or in the flame. */
struct wp_link wp_page_function_link(struct wp_display *display, const struct wp_facts *facts, size_t function);
/* The page of one release, and the first page of the site. */
/* facts NULL: of a release that cannot be read. */
int wp_page_release(struct wp_display *display, const struct wp_release_summary *release, const struct wp_release_facts *facts,
    struct wp_error *err);
int wp_page_index(struct wp_display *display, const struct wp_site_summary *site, struct wp_error *err);
/* One release against another, and the same for a mail or a terminal. */
int wp_page_compare(struct wp_display *display, const struct wp_compare *compare, bool has_compare_tab, struct wp_error *err);
int wp_page_compare_digest(struct wp_display *display, const struct wp_compare *compare, struct wp_error *err);
/* A mail or terminal digest: findings, categories, the largest processes, functions and unexplained waits. */
int wp_page_digest(struct wp_display *display, const struct wp_facts *facts, struct wp_error *err);

/* Pieces that several pages share. `rows` bounds a table. */
void wp_page_categories(struct wp_display *display, const uint64_t categories[WP_CATEGORIES], const struct wp_query *flame);
/* The flame with "key=value" in its address. */
struct wp_link wp_page_flame_link(struct wp_display *display, const struct wp_facts *facts, const char *key,
    const char *value);
/* What stands behind a figure (behind.js): "key=value", or a node of the flame. */
struct wp_link wp_page_behind_link(struct wp_display *display, const struct wp_facts *facts, const char *key, const char *value);
struct wp_link wp_page_behind_function(struct wp_display *display, const struct wp_facts *facts, const struct wp_function_fact *function);
struct wp_link wp_page_behind_node(struct wp_display *display, const struct wp_facts *facts, uint32_t permalink);
void wp_page_behind(struct wp_display *display, const struct wp_facts *facts);
void wp_page_modules(struct wp_display *display, const struct wp_facts *facts);
void wp_page_process_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
void wp_page_function_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
/* The functions that most time was spent in themselves, running or waiting. */
void wp_page_busiest_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
void wp_page_unexplained_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
void wp_page_damage(struct wp_display *display, const struct wp_facts *facts);
void wp_page_source_table(struct wp_display *display, const struct wp_facts *facts, size_t rows);
void wp_page_sources(struct wp_display *display, const struct wp_facts *facts);
void wp_page_overview(struct wp_display *display, const struct wp_facts *facts);
void wp_page_flame(struct wp_display *display, const struct wp_facts *facts);
void wp_page_chrono(struct wp_display *display, const struct wp_facts *facts);
void wp_page_running(struct wp_display *display, const struct wp_facts *facts);
/* A table of the windows that Chronology or Running, whichever it is, might show instead. */
void wp_page_other_windows(struct wp_display *display, const struct wp_facts *facts);
void wp_page_exemplars(struct wp_display *display, const struct wp_facts *facts);
/* The drawn view of a window, stacks over time or threads, and its table. */
void wp_page_window(struct wp_display *display, const struct wp_facts *facts, const struct wp_trace *trace, bool is_stacks);
/* A heading, the categories over time and the same as a table; nothing when all is one moment. */
void wp_page_over_time(struct wp_display *display, const struct wp_facts *facts);
void wp_page_waits(struct wp_display *display, const struct wp_facts *facts);
void wp_page_transactions(struct wp_display *display, const struct wp_facts *facts);
void wp_page_latency(struct wp_display *display, const struct wp_service_fact *service);
void wp_page_io(struct wp_display *display, const struct wp_facts *facts);
void wp_page_release_facts(struct wp_display *display, const struct wp_release_summary *release,
    const struct wp_release_facts *facts);
void wp_page_host_identities(struct wp_display *display, const struct wp_hosts *hosts);
void wp_page_host_clocks(struct wp_display *display, const struct wp_hosts *hosts);
void wp_page_hosts(struct wp_display *display, const struct wp_facts *facts);
void wp_page_about(struct wp_display *display, const struct wp_facts *facts);

#endif
