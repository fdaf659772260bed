/* SPDX-License-Identifier: Apache-2.0 */
/* Object files, and the services that were asked. */
#include "reporter/page/page_modules.h"

#include "reporter/code/modules.h"
#include "reporter/page/page_behind.h"
#include "reporter/requests/slow_requests.h"

#define TABLE_ROWS 1000u
#define NAME_BYTES 200u

static void add_modules(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Module", NULL, WP_CELL_NAME},
        {"Total", "Its functions on any stack, once each, with all that they waited for", WP_CELL_DURATION},
        {"Share", "Of the time of all control paths", WP_CELL_SHARE},
        {"Running", "One of its functions was the innermost of a run", WP_CELL_DURATION},
        {"Waiting", "One of its functions was the innermost of a wait", WP_CELL_DURATION},
        {"Pieces", "Such runs and waits", WP_CELL_COUNT},
        {"A piece", "On average", WP_CELL_DURATION},
        {"Functions", "That were seen", WP_CELL_COUNT},
        {"Contour", "All figures without its functions: what stood on them counts for who called them", WP_CELL_TEXT},
    };
    size_t count;
    const struct wp_module_fact *modules = wp_modules_build(&display->pool, facts, &count);
    struct wp_table *table = wp_display_table(display, "modules", columns, 9, count < TABLE_ROWS ? count : TABLE_ROWS);
    table->whole_ns = facts->total_ns;
    table->searchable = count > 10;
    table->empty = "No stack with a function was recorded.";
    for (size_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = *modules[i].name ? wp_pool_clip(&display->pool, modules[i].name, NAME_BYTES) : "(no file)";
        if (*modules[i].name)
            row[0].link = wp_page_behind_link(display, facts, "module", modules[i].name);
        row[1].number = row[2].number = modules[i].inclusive_ns;
        row[1].link = row[0].link;
        row[3].number = modules[i].running_ns;
        row[4].number = modules[i].waiting_ns;
        row[5].number = modules[i].count;
        row[6].number = modules[i].count ? (modules[i].running_ns + modules[i].waiting_ns) / modules[i].count : 0;
        row[6].is_none = !modules[i].count;
        row[7].number = modules[i].functions;
        if (*modules[i].name) {
            row[8].text = "leave out";
            row[8].link = wp_page_behind_link(display, facts, "hide", modules[i].name);
            row[8].link.fragment = wp_pool_printf(&display->pool, "what=modules&%s", row[8].link.fragment);
        }
    }
}

static void add_services(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Service", "Where requests came in", WP_CELL_NAME},
        {"Requests", "That were answered", WP_CELL_COUNT},
        {"Together", "From their arrival until the reply began to leave", WP_CELL_DURATION},
        {"A request", "On average", WP_CELL_DURATION},
        {"Half up to", NULL, WP_CELL_DURATION},
        {"99 of 100 up to", NULL, WP_CELL_DURATION},
        {"Slowest", NULL, WP_CELL_DURATION},
    };
    size_t count;
    const struct wp_service_fact *services = wp_slow_requests_build(&display->pool, facts, &count);
    struct wp_table *table = wp_display_table(display, "services", columns, 7, count < TABLE_ROWS ? count : TABLE_ROWS);
    table->searchable = count > 10;
    table->empty = "No request was answered by the process of interest.";
    for (size_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, services[i].name, NAME_BYTES);
        row[0].link = wp_link_to(WP_PAGE_TRANSACTIONS, facts->release, facts->aggregate, NULL);
        row[1].number = services[i].count;
        row[2].number = services[i].sum_ns;
        row[3].number = services[i].count ? services[i].sum_ns / services[i].count : 0;
        row[4].number = services[i].median_ns;
        row[5].number = services[i].p99_ns;
        row[6].number = services[i].slowest_ns;
    }
}

void wp_page_modules(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Time by the file that the functions are in. A name leads to what stands behind it: hosts, "
        "times, functions, callers. One that is left out is a contour: what stood on its functions counts for who "
        "called them. There others can "
        "be left out too, and the flame shows the same.");
    wp_display_heading(display, "Modules");
    add_modules(display, facts);
    wp_display_heading(display, "Services");
    add_services(display, facts);
}
