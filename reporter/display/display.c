/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/display.h"

#include <string.h>

void wp_display_init(struct wp_display *display, const struct wp_page_id *page_id)
{
    memset(display, 0, sizeof(*display));
    display->page_id = *page_id;
    display->title = display->subtitle = "";
}

void wp_display_fini(struct wp_display *display)
{
    wp_pool_fini(&display->pool);
    memset(display, 0, sizeof(*display));
}

struct wp_item *wp_display_add(struct wp_display *display, enum wp_item_kind kind, const char *text)
{
    struct wp_item *item = wp_pool_alloc(&display->pool, sizeof(*item));
    if (!item)
        return NULL;
    item->kind = kind;
    item->label = item->note = "";
    item->text = text ? text : "";
    if (display->last)
        display->last->next = item;
    else
        display->first = item;
    display->last = item;
    return item;
}

void wp_display_heading(struct wp_display *display, const char *text)
{
    struct wp_item *item = wp_display_add(display, WP_ITEM_HEADING, text);
    if (item)
        item->number = 2;
}

void wp_display_fact(struct wp_display *display, const char *label, const char *text, const char *note)
{
    struct wp_item *item = wp_display_add(display, WP_ITEM_FACT, text);
    if (item) {
        item->label = label;
        item->note = note ? note : "";
    }
}

struct wp_table *wp_display_table(
    struct wp_display *display, const char *id, const struct wp_column *columns, size_t column_count, size_t row_room)
{
    struct wp_item *item = wp_display_add(display, WP_ITEM_TABLE, NULL);
    struct wp_table *table = item ? wp_pool_alloc(&display->pool, sizeof(*table)) : NULL;
    if (!table) {
        display->pool.failed = true;
        return &display->nowhere;
    }
    item->table = table;
    table->id = id;
    table->caption = "";
    table->empty = "Nothing to show.";
    table->columns = columns;
    table->column_count = column_count;
    table->fields = wp_pool_alloc(&display->pool, (row_room * column_count + 1) * sizeof(*table->fields));
    table->row_room = table->fields ? row_room : 0;
    return table;
}

struct wp_field *wp_display_row(struct wp_table *table)
{
    if (table->row_count >= table->row_room) {
        table->left_out++;
        return NULL;
    }
    struct wp_field *row = &table->fields[table->row_count++ * table->column_count];
    for (size_t i = 0; i < table->column_count; i++)
        row[i].text = "";
    return row;
}

struct wp_link wp_link_to_part(
    enum wp_page_kind page, const char *release, const char *aggregate, unsigned part, const char *fragment)
{
    return (struct wp_link){true, {page, release, aggregate}, fragment, part};
}

struct wp_link wp_link_to(enum wp_page_kind page, const char *release, const char *aggregate, const char *fragment)
{
    return wp_link_to_part(page, release, aggregate, 0, fragment);
}
