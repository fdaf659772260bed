/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/waits/io_facts.h"

#include "common/intern.h"
#include "reporter/base/io_name.h"
#include "reporter/facts/stack_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct building {
    struct wp_pool *pool;
    const struct wp_facts *facts;
    struct wp_intern *names; /* what, kind, process, function, one after the other; id - 1 is the row */
    struct wp_io_row *rows;  /* malloc */
    bool *is_disk;
    uint32_t *row;    /* by flame node: the row whose time stands there, NONE none */
    uint32_t *begins; /* by flame node: the row that begins there */
    uint32_t *open;   /* by row: how often it stands on the current stack */
    uint64_t *pieces; /* by flame node: those of all nodes before it */
    uint32_t count, room;
    bool failed;
};

static uint32_t row_of(struct building *building, bool is_disk, const struct wp_io_row *key)
{
    const char *text = wp_pool_printf(building->pool, "%c%s\x1f%s\x1f%s\x1f%s\x1f%s", is_disk ? 'd' : 'c', key->what,
        key->kind, key->file, key->process, key->function);
    uint32_t id = wp_intern_str(building->names, text);
    if (id == UINT32_MAX) {
        building->failed = true;
        return NONE;
    }
    if (id <= building->count)
        return id - 1;
    building->rows[building->count] = *key; /* at most one row a node: there is room */
    building->is_disk[building->count] = is_disk;
    return building->count++;
}

static uint32_t disk_row(struct building *building, uint32_t node, const char *name)
{
    uint32_t source = building->facts->flame.nodes[node].source;
    struct wp_io_row key = {.what = wp_io_device(building->pool, name),
        .kind = wp_io_kind(name),
        .file = wp_pool_clip(building->pool, wp_io_file(name), 200)};
    key.process = wp_stack_plain_process(building->pool, wp_stack_process(building->facts, source));
    const char *top = wp_stack_top(building->facts, source);
    key.function =
        top == name ? "" : wp_pool_clip(building->pool, top, 120); /* no function is known: no name made up */
    return row_of(building, true, &key);
}

static uint32_t connection_row(struct building *building, uint32_t node, const char *name)
{
    struct wp_io_row key = {.what = wp_net_address(building->pool, name),
        .kind = wp_net_missing(building->pool, name),
        .file = "",
        .function = ""};
    key.process = wp_stack_plain_process(
        building->pool, wp_stack_process(building->facts, building->facts->flame.nodes[node].source));
    return row_of(building, false, &key);
}

/* A process above a message is another place: its own disk waits are its own. */
static void assign(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    building->row[0] = NONE;
    for (uint32_t i = 1; i < flame->count && !building->failed; i++) {
        uint32_t style = wp_facts_frame_style(building->facts, flame->nodes[i].frame),
                 below = building->row[flame->nodes[i].parent];
        const char *name = wp_facts_frame_name(building->facts, flame->nodes[i].frame);
        building->row[i] = style == WP_STYLE_PROCESS ? NONE : below;
        building->begins[i] = NONE;
        if (style == WP_STYLE_IO && (below == NONE || !building->is_disk[below]))
            building->row[i] = building->begins[i] = disk_row(building, i, name);
        else if (style == WP_STYLE_NET)
            building->row[i] = building->begins[i] = connection_row(building, i, name);
    }
}

static void add_up_pieces(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    for (uint32_t i = 0; i < flame->count; i++) {
        const struct wp_flame_node *node = &flame->nodes[i];
        building->pieces[i + 1] = building->pieces[i];
        for (uint32_t cell = node->cell; cell < node->cell + node->cell_count; cell++)
            building->pieces[i + 1] += flame->cells[cell].count;
    }
}

/* Preorder with closing: a row's time counts once a stack. */
static void sum(struct building *building)
{
    const struct wp_flame_node *nodes = building->facts->flame.nodes;
    uint32_t top = 0;
    for (uint32_t i = 1; i < building->facts->flame.count; i++) {
        for (; top && nodes[top].end <= i; top = nodes[top].parent)
            if (building->begins[top] != NONE)
                building->open[building->begins[top]]--;
        top = i;
        if (building->begins[i] == NONE || building->open[building->begins[i]]++)
            continue;
        struct wp_io_row *row = &building->rows[building->begins[i]];
        row->total_ns += nodes[i].total_ns;
        row->pieces += building->pieces[nodes[i].end] - building->pieces[i];
        if (row->node_count++ < WP_IO_NODES)
            row->nodes = wp_pool_printf(building->pool, "%s%s%08" PRIx32, row->nodes ? row->nodes : "",
                row->nodes ? "." : "", nodes[i].permalink);
        if (nodes[i].total_ns > row->largest_ns) {
            row->largest_ns = nodes[i].total_ns;
            row->permalink = nodes[i].permalink;
        }
    }
}

static void take_cells(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        const struct wp_cell *cell = &flame->cells[i];
        uint32_t place = building->row[cell->node];
        if (place == NONE)
            continue;
        struct wp_io_row *row = &building->rows[place];
        bool is_there = cell->category == WP_BLOCKING_IO || cell->category == WP_MESSAGE_IN_FLIGHT;
        bool is_before = cell->category == WP_IO_QUEUE || cell->category == WP_REMOTE_NOT_TRACED;
        row->device_ns += is_there ? cell->ns : 0;
        row->queue_ns += is_before ? cell->ns : 0;
        row->count += is_there || cell->category == WP_REMOTE_NOT_TRACED ? cell->count : 0;
    }
}

static int compare(const void *left, const void *right)
{
    const struct wp_io_row *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    int rc = strcmp(a->what, b->what);
    rc = rc ? rc : strcmp(a->kind, b->kind);
    rc = rc ? rc : strcmp(a->file, b->file);
    rc = rc ? rc : strcmp(a->process, b->process);
    return rc ? rc : strcmp(a->function, b->function);
}

static void hand_over(struct building *building, struct wp_io_facts *io)
{
    io->disks = wp_pool_alloc(building->pool, (building->count + 1u) * sizeof(*io->disks));
    io->connections = wp_pool_alloc(building->pool, (building->count + 1u) * sizeof(*io->connections));
    if (!io->disks || !io->connections)
        return;
    for (uint32_t i = 0; i < building->count; i++)
        if (building->is_disk[i])
            io->disks[io->disk_count++] = building->rows[i];
        else
            io->connections[io->connection_count++] = building->rows[i];
    qsort(io->disks, io->disk_count, sizeof(*io->disks), compare);
    qsort(io->connections, io->connection_count, sizeof(*io->connections), compare);
}

void wp_io_facts_build(struct wp_io_facts *io, struct wp_pool *pool, const struct wp_facts *facts)
{
    struct building building = {.pool = pool, .facts = facts};
    size_t room = facts->flame.count + (size_t)1;
    memset(io, 0, sizeof(*io));
    building.names = wp_intern_create();
    building.rows = calloc(room, sizeof(*building.rows));
    building.is_disk = calloc(room, sizeof(*building.is_disk));
    building.row = calloc(room, sizeof(*building.row));
    building.begins = calloc(room, sizeof(*building.begins));
    building.open = calloc(room, sizeof(*building.open));
    building.pieces = calloc(room + 1, sizeof(*building.pieces));
    building.failed = !building.names || !building.rows || !building.is_disk || !building.row || !building.begins ||
        !building.open || !building.pieces;
    if (!building.failed)
        assign(&building);
    if (!building.failed) {
        add_up_pieces(&building);
        sum(&building);
        take_cells(&building);
        hand_over(&building, io);
    }
    pool->failed |= building.failed;
    wp_intern_destroy(building.names);
    free(building.rows);
    free(building.is_disk);
    free(building.row);
    free(building.begins);
    free(building.open);
    free(building.pieces);
}
