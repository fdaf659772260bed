/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/waits/wait_locks.h"

#include "common/array.h"
#include "common/intmap.h"
#include "common/lock_call.h"
#include "reporter/facts/stack_text.h"
#include "reporter/findings/causes.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 80u

struct building {
    struct wp_pool *pool;
    const struct wp_facts *facts;
    uint32_t *locations;
    struct wp_intmap index; /* frames of the lock and of the thread's location and process -> row + 1 */
    struct wp_lock_wait *rows;
    uint32_t *cells; /* by row: the last cell that was counted, + 1 */
    uint32_t count, room, cell_room;
};

static uint32_t frame_at(const struct building *building, uint32_t node)
{
    return building->facts->flame.nodes[node].frame;
}

static uint32_t process_of(const struct building *building, uint32_t node)
{
    while (node && wp_facts_frame_style(building->facts, frame_at(building, node)) != WP_STYLE_PROCESS)
        node = building->facts->flame.nodes[node].parent;
    return node;
}

static void name_row(struct building *building, struct wp_lock_wait *row, uint32_t sleep, uint32_t thread)
{
    struct wp_pool *pool = building->pool;
    const char *lock = "",
               *process = wp_facts_frame_name(building->facts, frame_at(building, process_of(building, thread)));
    uint32_t location = building->locations[thread], at = building->locations[sleep];
    const char *function = location ? wp_facts_frame_name(building->facts, frame_at(building, location)) : NULL;
    const char *plain = wp_stack_plain_process(pool, process);
    const char *language = wp_cause_language_lock(building->facts, sleep);
    bool is_of_process = language && wp_lock_is_of_interpreter(language);
    wp_cause_is_lock(building->facts, sleep, &lock);
    row->thread = function ? wp_pool_printf(pool, "%s in %s", plain, wp_pool_clip(pool, function, NAME_BYTES)) : plain;
    row->thread_name = function ? function : plain;
    row->lock_frame = *lock ? lock : wp_facts_frame_name(building->facts, frame_at(building, at ? at : sleep));
    row->lock = *lock   ? wp_pool_clip(pool, lock, NAME_BYTES)
        : is_of_process ? wp_pool_printf(pool, "%s (%s)", language, plain)
        : at            ? wp_pool_printf(
                              pool, "a %s in %s", language ? language : "lock", wp_pool_clip(pool, row->lock_frame, NAME_BYTES))
             : wp_pool_printf(pool, "a %s of %s", language ? language : "lock", plain);
}

/* The row of `sleep`'s lock and the thread that stands at `thread`; NULL out of memory. */
static struct wp_lock_wait *row_of(struct building *building, uint32_t sleep, uint32_t thread, bool is_holder)
{
    const char *lock = "";
    bool is_named = wp_cause_is_lock(building->facts, sleep, &lock) && *lock;
    uint32_t what = is_named || !building->locations[sleep] ? sleep : building->locations[sleep], row;
    uint32_t location = building->locations[thread];
    struct wp_intkey key = {(uint64_t)frame_at(building, what) << 32 | frame_at(building, process_of(building, thread)),
        (uint64_t)(location ? frame_at(building, location) : 0) << 1 | is_holder};
    if (wp_intmap_get(&building->index, key, &row))
        return &building->rows[row];
    if (WP_ARRAY_FIT(building->rows, building->room, building->count + 1) ||
        WP_ARRAY_FIT(building->cells, building->cell_room, building->count + 1) ||
        wp_intmap_put(&building->index, key, building->count)) {
        building->pool->failed = true;
        return NULL;
    }
    building->cells[building->count] = 0;
    building->rows[building->count] = (struct wp_lock_wait){.is_holder = is_holder};
    name_row(building, &building->rows[building->count], sleep, thread);
    return &building->rows[building->count++];
}

/* `node` leads to the place in the flame. */
static void add(struct building *building, struct wp_lock_wait *row, const struct wp_cell *cell, uint32_t node)
{
    uint32_t number = (uint32_t)(cell - building->facts->flame.cells) + 1;
    if (!row || building->cells[row - building->rows] == number)
        return;
    building->cells[row - building->rows] = number;
    row->ns += cell->ns;
    row->count += cell->count;
    if (cell->ns <= row->largest_ns)
        return;
    row->largest_ns = cell->ns;
    row->permalink = building->facts->flame.nodes[node].permalink;
}

/* From the cell down: `above` is the top of the layer that stands on the one that is looked at. */
static void add_cell(struct building *building, const struct wp_cell *cell)
{
    const struct wp_flame_node *nodes = building->facts->flame.nodes;
    uint32_t top = cell->node, above = 0;
    const char *lock;
    for (uint32_t at = cell->node; at && !building->pool->failed; at = nodes[at].parent) {
        uint32_t style = wp_facts_frame_style(building->facts, nodes[at].frame);
        if (style == WP_STYLE_SLEEP && wp_cause_is_lock(building->facts, at, &lock)) {
            add(building, row_of(building, at, at, false), cell, at);
            if (above)
                add(building, row_of(building, at, above, true), cell, above);
        }
        if (style == WP_STYLE_PROCESS) {
            above = top;
            top = nodes[at].parent;
        }
    }
}

void wp_lock_waits_build(struct wp_lock_waits *waits, struct wp_pool *pool, const struct wp_facts *facts)
{
    struct building building = {.pool = pool, .facts = facts, .locations = wp_code_locations_build(pool, facts)};
    *waits = (struct wp_lock_waits){0};
    for (uint32_t i = 0; building.locations && i < facts->flame.cell_count && !pool->failed; i++)
        if (facts->flame.cells[i].ns)
            add_cell(&building, &facts->flame.cells[i]);
    waits->rows = wp_pool_alloc(pool, (building.count + 1u) * sizeof(*waits->rows));
    if (waits->rows && building.count) {
        memcpy(waits->rows, building.rows, building.count * sizeof(*waits->rows));
        waits->count = building.count;
    }
    wp_intmap_fini(&building.index);
    free(building.rows);
    free(building.cells);
}
