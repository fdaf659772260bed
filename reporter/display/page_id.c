/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/page_id.h"

#include <string.h>

static const struct {
    const char *title, *file;
} pages[WP_PAGES] = {
    [WP_PAGE_INDEX] = {"Releases", "index.html"},
    [WP_PAGE_RELEASE] = {"Release", "index.html"},
    [WP_PAGE_OVERVIEW] = {"Overview", "index.html"},
    [WP_PAGE_COMPARE] = {"Comparison", "compare.html"},
    [WP_PAGE_FLAME] = {"Flame", "flame.html"},
    [WP_PAGE_BEHIND] = {"Behind a figure", "behind.html"},
    [WP_PAGE_CHRONO] = {"Chronology", "chronology.html"},
    [WP_PAGE_RUNNING] = {"Timeline", "running.html"},
    [WP_PAGE_EXEMPLARS] = {"Exemplars", "exemplars.html"},
    [WP_PAGE_EXEMPLAR] = {"Exemplar", "exemplar"},
    [WP_PAGE_EXEMPLAR_ROWS] = {"Exemplar by thread", "exemplar-rows"},
    [WP_PAGE_WAITS] = {"Waits", "waits.html"},
    [WP_PAGE_TRANSACTIONS] = {"Requests", "requests.html"},
    [WP_PAGE_PROCESSES] = {"Processes", "processes.html"},
    [WP_PAGE_FUNCTIONS] = {"Functions", "functions.html"},
    [WP_PAGE_FUNCTION] = {"Callers and callees", "functions"},
    [WP_PAGE_MODULES] = {"Modules and services", "modules.html"},
    [WP_PAGE_SOURCES] = {"Source files", "sources.html"},
    [WP_PAGE_SOURCE] = {"Source", "source"},
    [WP_PAGE_IO] = {"Disks and network", "io.html"},
    [WP_PAGE_HOSTS] = {"Hosts", "hosts.html"},
    [WP_PAGE_CANARY] = {"Canary", "canary.html"},
    [WP_PAGE_UNEXPLAINED] = {"Unexplained", "unexplained.html"},
    [WP_PAGE_ABOUT] = {"About this data", "about.html"},
    [WP_PAGE_DETACHED] = {"Work nobody waited for", "detached.html"},
    [WP_PAGE_CYCLE] = {"Cycle of functions", "cycle"},
    [WP_PAGE_WAIT_CYCLE] = {"Cycle of processes", "wait-cycle"},
    [WP_PAGE_TREE] = {"Process tree", "tree.html"},
    [WP_PAGE_PROCESSOR] = {"Processor", "processor.html"},
};

const char *wp_page_title(enum wp_page_kind page)
{
    return pages[page].title;
}

void wp_page_id_folder(struct wp_buffer *out, const char *id)
{
    wp_buffer_puts(out, id);
    /* '~' is in no id, so a marked name can never meet another id. */
    if (!strcmp(id, "index.html") || !strcmp(id, "summary.json") || !strcmp(id, "assets") || !strcmp(id, "store") ||
        id[0] == '.')
        wp_buffer_putc(out, '~');
}

enum wp_page_kind wp_page_tab(enum wp_page_kind page)
{
    if (page == WP_PAGE_EXEMPLAR || page == WP_PAGE_EXEMPLAR_ROWS)
        return WP_PAGE_EXEMPLARS;
    if (page == WP_PAGE_BEHIND)
        return WP_PAGE_FLAME;
    if (page == WP_PAGE_CANARY)
        return WP_PAGE_HOSTS;
    if (page == WP_PAGE_WAIT_CYCLE)
        return WP_PAGE_WAITS;
    if (page == WP_PAGE_DETACHED || page == WP_PAGE_TREE)
        return WP_PAGE_PROCESSES;
    if (page == WP_PAGE_PROCESSOR)
        return WP_PAGE_WAITS;
    return page == WP_PAGE_FUNCTION || page == WP_PAGE_CYCLE || page == WP_PAGE_MODULES || page == WP_PAGE_SOURCES ||
            page == WP_PAGE_SOURCE
        ? WP_PAGE_FUNCTIONS
        : page;
}

bool wp_page_in_parts(enum wp_page_kind page)
{
    return wp_page_tab(page) != page && page != WP_PAGE_SOURCES && page != WP_PAGE_MODULES && page != WP_PAGE_BEHIND &&
        page != WP_PAGE_CANARY && page != WP_PAGE_DETACHED && page != WP_PAGE_TREE && page != WP_PAGE_PROCESSOR;
}

void wp_page_id_path_part(struct wp_buffer *out, const struct wp_page_id *page_id, unsigned part)
{
    if (page_id->page >= WP_PAGE_RELEASE) {
        wp_page_id_folder(out, page_id->release);
        wp_buffer_putc(out, '/');
    }
    if (page_id->page >= WP_PAGE_OVERVIEW) {
        wp_page_id_folder(out, page_id->aggregate);
        wp_buffer_putc(out, '/');
    }
    wp_buffer_puts(out, pages[page_id->page].file);
    if (part)
        wp_buffer_printf(out, "-%u.html", part);
}

const char *wp_page_id_root(enum wp_page_kind page)
{
    return page == WP_PAGE_INDEX ? "" : page == WP_PAGE_RELEASE ? "../" : "../../";
}
