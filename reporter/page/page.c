/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page.h"

#include "reporter/page/page_about.h"
#include "reporter/page/page_behind.h"
#include "reporter/page/page_detached.h"
#include "reporter/page/page_exemplars.h"
#include "reporter/page/page_hosts.h"
#include "reporter/page/page_io.h"
#include "reporter/page/page_modules.h"
#include "reporter/page/page_overview.h"
#include "reporter/page/page_processor.h"
#include "reporter/page/page_source.h"
#include "reporter/page/page_tables.h"
#include "reporter/page/page_tabs.h"
#include "reporter/page/page_transactions.h"
#include "reporter/page/page_tree.h"
#include "reporter/page/page_views.h"
#include "reporter/page/page_waits.h"

#include <errno.h>

#define SOURCE_ROWS 20u /* below the functions */
#define ALL_ROWS 2000u  /* more rows than this nobody reads; the page says how many are left out */

static void processes(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Every process that stood in a control path. Time on paths is how long it was running or waited for there; "
        "running is the part in which it was itself on a CPU. What stands behind a time is of all processes of that "
        "name, by host.");
    struct wp_item *tree =
        facts->tree ? wp_display_add(display, WP_ITEM_PARAGRAPH, "Who forked and executed whom") : NULL;
    if (tree)
        tree->link = wp_link_to(WP_PAGE_TREE, facts->release, facts->aggregate, NULL);
    wp_page_process_table(display, facts, ALL_ROWS);
}

static void functions(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Total time counts a function once a stack, however often it stands on it, and goes through to the "
        "processes "
        "that it waited for. Running and waiting are exclusive: the function was the innermost one.");
    struct wp_item *modules = wp_display_add(display, WP_ITEM_PARAGRAPH, "By module and by service");
    if (modules)
        modules->link = wp_link_to(WP_PAGE_MODULES, facts->release, facts->aggregate, NULL);
    struct wp_item *sources =
        facts->source.file_count ? wp_display_add(display, WP_ITEM_PARAGRAPH, "By source file and line") : NULL;
    if (sources)
        sources->link = wp_link_to(WP_PAGE_SOURCES, facts->release, facts->aggregate, NULL);
    wp_page_function_table(display, facts, ALL_ROWS);
    if (!facts->source.file_count)
        return;
    wp_display_heading(display, "Source files");
    wp_page_source_table(display, facts, SOURCE_ROWS);
    struct wp_item *more = wp_display_add(display, WP_ITEM_PARAGRAPH, "All source files, and how their times are made");
    if (more)
        more->link = wp_link_to(WP_PAGE_SOURCES, facts->release, facts->aggregate, NULL);
}

static void unexplained(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Waits whose end nothing in the recording explains, the largest first, with the reason why the explanation "
        "stopped there.");
    wp_page_unexplained_table(display, facts, ALL_ROWS);
}

static void (*const builders[WP_PAGES])(struct wp_display *, const struct wp_facts *) = {
    [WP_PAGE_OVERVIEW] = wp_page_overview,
    [WP_PAGE_FLAME] = wp_page_flame,
    [WP_PAGE_BEHIND] = wp_page_behind,
    [WP_PAGE_CHRONO] = wp_page_chrono,
    [WP_PAGE_RUNNING] = wp_page_running,
    [WP_PAGE_EXEMPLARS] = wp_page_exemplars,
    [WP_PAGE_WAITS] = wp_page_waits,
    [WP_PAGE_TRANSACTIONS] = wp_page_transactions,
    [WP_PAGE_PROCESSES] = processes,
    [WP_PAGE_FUNCTIONS] = functions,
    [WP_PAGE_MODULES] = wp_page_modules,
    [WP_PAGE_SOURCES] = wp_page_sources,
    [WP_PAGE_IO] = wp_page_io,
    [WP_PAGE_HOSTS] = wp_page_hosts,
    [WP_PAGE_UNEXPLAINED] = unexplained,
    [WP_PAGE_ABOUT] = wp_page_about,
    [WP_PAGE_DETACHED] = wp_page_detached,
    [WP_PAGE_TREE] = wp_page_tree,
    [WP_PAGE_PROCESSOR] = wp_page_processor,
};

bool wp_page_is_of_facts(enum wp_page_kind page, const struct wp_facts *facts)
{
    return page != WP_PAGE_COMPARE && page != WP_PAGE_CANARY && !wp_page_in_parts(page) &&
        (page != WP_PAGE_SOURCES || facts->source.file_count) && (page != WP_PAGE_DETACHED || facts->detached) &&
        (page != WP_PAGE_TREE || facts->tree);
}

int wp_page_build(struct wp_display *display, const struct wp_facts *facts, struct wp_error *err)
{
    enum wp_page_kind page = display->page_id.page;
    if (page >= WP_PAGES || !builders[page])
        return wp_error_set(err, -EINVAL, "page %d is not a page of an aggregate", (int)page);
    wp_page_tabs(display, facts);
    display->title = page == WP_PAGE_OVERVIEW ? display->subject : wp_page_title(page);
    wp_page_damage(display, facts);
    builders[page](display, facts);
    return display->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for a page of %s", facts->aggregate) : 0;
}
