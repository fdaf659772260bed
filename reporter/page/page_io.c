/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_io.h"

#include "reporter/page/page_behind.h"
#include "reporter/waits/io_facts.h"

#include <inttypes.h>

#define TABLE_ROWS 1000u
#define NAME_BYTES 120u

static struct wp_link node_link(struct wp_display *display, const struct wp_facts *facts, const struct wp_io_row *row)
{
    return row->permalink ? wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
                                wp_pool_printf(&display->pool, "node=%08" PRIx32, row->permalink))
                          : (struct wp_link){0};
}

static struct wp_link behind_link(struct wp_display *display, const struct wp_facts *facts, const struct wp_io_row *row)
{
    if (!row->nodes || row->node_count > WP_IO_NODES)
        return wp_page_behind_node(display, facts, row->permalink);
    return wp_link_to(
        WP_PAGE_BEHIND, facts->release, facts->aggregate, wp_pool_printf(&display->pool, "nodes=%s", row->nodes));
}

static void add_disks(struct wp_display *display, const struct wp_facts *facts, const struct wp_io_facts *io)
{
    static const struct wp_column columns[] = {
        {"Disk", NULL, WP_CELL_NAME},
        {"File", "What it was for, where the kernel could tell; N and H stand for numbers and hashes", WP_CELL_NAME},
        {"Waited by", "The process, and its function", WP_CELL_NAME},
        {"Time", "At the device and in its queue", WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
        {"At the device", NULL, WP_CELL_DURATION},
        {"Queued", "Before it was given to the device", WP_CELL_DURATION},
        {"Waits", NULL, WP_CELL_COUNT},
        {"A wait", "At the device, on average", WP_CELL_DURATION},
    };
    struct wp_table *table =
        wp_display_table(display, "disks", columns, 9, io->disk_count < TABLE_ROWS ? io->disk_count : TABLE_ROWS);
    table->whole_ns = facts->total_ns;
    table->searchable = io->disk_count > 10;
    table->empty = "Nothing waited for a disk.";
    for (size_t i = 0; i < io->disk_count; i++) {
        const struct wp_io_row *disk = &io->disks[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, disk->what, NAME_BYTES);
        row[0].link = node_link(display, facts, disk);
        row[0].note = *disk->kind ? disk->kind : NULL;
        row[1].text = disk->file;
        row[2].text = disk->process;
        row[2].note = disk->function;
        row[3].number = row[4].number = disk->total_ns;
        row[3].link = behind_link(display, facts, disk);
        row[5].number = disk->device_ns;
        row[6].number = disk->queue_ns;
        row[7].number = disk->count;
        row[8].number = disk->count ? disk->device_ns / disk->count : 0;
    }
}

static void add_connections(struct wp_display *display, const struct wp_facts *facts, const struct wp_io_facts *io)
{
    static const struct wp_column columns[] = {
        {"Address", "Of the other end", WP_CELL_NAME},
        {"Waited by", NULL, WP_CELL_NAME},
        {"Time", "With what the other end did meanwhile", WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
        {"On the way", "Sent and not yet there", WP_CELL_DURATION},
        {"Not recorded", "At an end that nobody records", WP_CELL_DURATION},
        {"At the other end", "In a process that is recorded", WP_CELL_DURATION},
        {"Pieces", "Of that time, on the way and at either end", WP_CELL_COUNT},
    };
    struct wp_table *table = wp_display_table(
        display, "connections", columns, 8, io->connection_count < TABLE_ROWS ? io->connection_count : TABLE_ROWS);
    table->whole_ns = facts->total_ns;
    table->searchable = io->connection_count > 10;
    table->empty = "Nothing waited for a message of a socket.";
    for (size_t i = 0; i < io->connection_count; i++) {
        const struct wp_io_row *connection = &io->connections[i];
        struct wp_field *row = wp_display_row(table);
        uint64_t here = connection->device_ns + connection->queue_ns;
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, connection->what, NAME_BYTES);
        row[0].link = node_link(display, facts, connection);
        row[0].note = *connection->kind ? connection->kind : NULL;
        row[1].text = connection->process;
        row[2].number = row[3].number = connection->total_ns;
        row[2].link = behind_link(display, facts, connection);
        row[4].number = connection->device_ns;
        row[5].number = connection->queue_ns;
        row[6].number = connection->total_ns > here ? connection->total_ns - here : 0;
        row[7].number = connection->pieces;
    }
}

void wp_page_io(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_io_facts io;
    wp_io_facts_build(&io, &display->pool, facts);
    if (display->pool.failed)
        return;
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "What control paths waited for outside of processes. The file is named "
        "where the kernel could tell which it was; else the function that waits says what it was about.");
    wp_display_heading(display, "Disks");
    add_disks(display, facts, &io);
    wp_display_heading(display, "Connections");
    add_connections(display, facts, &io);
}
