/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind a figure: the drawn part is summed up in the browser, for what its address names; the tables are
 * of all. */
#include "reporter/page/page_behind.h"

#include "reporter/code/modules.h"
#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/page_context.h"
#include "reporter/page/page_time.h"

#include <inttypes.h>

#define NAME_BYTES 400u /* as the flame's data has them: a longer name is found by its beginning there too */

struct wp_link wp_page_behind_link(
    struct wp_display *display, const struct wp_facts *facts, const char *key, const char *value)
{
    struct wp_buffer buffer = {0};
    wp_buffer_printf(&buffer, "%s=", key);
    wp_escape_url(&buffer, wp_pool_clip(&display->pool, value, NAME_BYTES));
    const char *fragment = wp_pool_text(&display->pool, buffer.data ? (const char *)buffer.data : "");
    wp_buffer_fini(&buffer);
    return wp_link_to(WP_PAGE_BEHIND, facts->release, facts->aggregate, fragment);
}

struct wp_link wp_page_behind_function(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_function_fact *function)
{
    const char *file = function->style == WP_STYLE_KERNEL ? WP_MODULE_KERNEL : function->object;
    struct wp_link link = wp_page_behind_link(display, facts, "gather", function->name);
    struct wp_link other = wp_page_behind_link(display, facts, "file", file);
    if (*file)
        link.fragment = wp_pool_printf(&display->pool, "%s&%s", link.fragment, other.fragment);
    return link;
}

struct wp_link wp_page_behind_node(struct wp_display *display, const struct wp_facts *facts, uint32_t permalink)
{
    return permalink ? wp_link_to(WP_PAGE_BEHIND, facts->release, facts->aggregate,
                           wp_pool_printf(&display->pool, "node=%08" PRIx32, permalink))
                     : (struct wp_link){0};
}

static void add_origins(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Host", "Of the process of interest", WP_CELL_NAME},
        {"Time", NULL, WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
    };
    const struct wp_origins *origins = &wp_page_context(display)->origins;
    if (!origins->count)
        return;
    wp_display_heading(display, "Whose time all of it is");
    struct wp_table *table = wp_display_table(display, "origins", columns, 3, origins->count);
    table->whole_ns = facts->total_ns;
    for (size_t i = 0; i < origins->count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        row[0].text = origins->rows[i].name;
        row[0].note = *origins->rows[i].hosts ? origins->rows[i].hosts : NULL;
        row[1].number = row[2].number = origins->rows[i].total_ns;
    }
    if (origins->count == 1 && origins->rows[0].host_count > 1)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            "One aggregator has summed them up, so their times are not separated. What passed on "
            "another host than that of the process of interest is named by that host all the same.");
    if (origins->missing_ns)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(&display->pool, "Of %s it could not be read whose they are.",
                wp_human_duration(&display->pool, origins->missing_ns)));
}

void wp_page_behind(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Whose time a figure is, when and where it passed, what it was, what is in it and who leads to "
        "it. Every figure of the tables leads here; the address says which one, of which hosts and times.");
    display->view = "behind";
    wp_display_add(display, WP_ITEM_VIEW, "behind");
    add_origins(display, facts);
    wp_page_over_time(display, facts);
    struct wp_item *more = wp_display_add(display, WP_ITEM_PARAGRAPH, "All windows that were kept event by event");
    if (more)
        more->link = wp_link_to(WP_PAGE_EXEMPLARS, facts->release, facts->aggregate, NULL);
}
