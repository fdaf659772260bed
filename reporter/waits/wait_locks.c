/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/waits/wait_locks.h"

#include "common/array.h"
#include "common/intmap.h"
#include "common/lock_call.h"
#include "reporter/facts/stack_text.h"
#include "reporter/evidence/cause_lock.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 80u

/* What is known of a row besides. */
struct behind {
    uint32_t cell;          /* the last one that was counted, + 1 */
    uint32_t sleep, thread; /* nodes: of the lock, and where the thread stands most */
};

struct building {
    struct wp_pool *pool;
    const struct wp_facts *facts;
    uint32_t *locations;
    struct wp_intmap index; /* frames of the lock and of the thread's location and process -> row + 1 */
    struct wp_lock_wait *rows;
    struct behind *behind;   /* by row */
    struct wp_intmap places; /* frames of a thread's location and process -> the row that has it with most time */
    uint32_t count, room, behind_room;
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

static struct wp_intkey place_of(const struct building *building, uint32_t thread)
{
    uint32_t location = building->locations[thread];
    return (struct wp_intkey){
        location ? frame_at(building, location) : 0, frame_at(building, process_of(building, thread))};
}

/* " (reports.py:212)": the line that the function stands on most, whether it waits or is waited for; "" not known. */
static const char *line_text(struct building *building, uint32_t row)
{
    uint32_t at = row;
    wp_intmap_get(&building->places, place_of(building, building->behind[row].thread), &at);
    struct wp_code_location place =
        wp_code_location_at(building->facts, building->locations, building->behind[at].thread);
    return place.file && place.line
        ? wp_pool_printf(building->pool, " (%s:%u)",
              wp_pool_clip(building->pool, wp_source_base(place.file), NAME_BYTES), place.line)
        : "";
}

static void name_row(struct building *building, uint32_t number)
{
    struct wp_pool *pool = building->pool;
    struct wp_lock_wait *row = &building->rows[number];
    uint32_t sleep = building->behind[number].sleep, thread = building->behind[number].thread;
    const char *lock = "",
               *process = wp_facts_frame_name(building->facts, frame_at(building, process_of(building, thread)));
    uint32_t location = building->locations[thread], at = building->locations[sleep];
    const char *function = location ? wp_facts_frame_name(building->facts, frame_at(building, location)) : NULL;
    const char *plain = wp_stack_plain_process(pool, process);
    const char *language = wp_cause_language_lock(building->facts, sleep);
    bool is_of_process = language && wp_lock_is_of_interpreter(language);
    wp_cause_is_lock(building->facts, sleep, &lock);
    row->thread = function ? wp_pool_printf(pool, "%s in %s%s", plain, wp_pool_clip(pool, function, NAME_BYTES),
                                 line_text(building, number))
                           : plain;
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
        WP_ARRAY_FIT(building->behind, building->behind_room, building->count + 1) ||
        wp_intmap_put(&building->index, key, building->count)) {
        building->pool->failed = true;
        return NULL;
    }
    building->behind[building->count] = (struct behind){.sleep = sleep, .thread = thread};
    building->rows[building->count] = (struct wp_lock_wait){.is_holder = is_holder};
    return &building->rows[building->count++];
}

/* `node` leads to the place in the flame. */
static void add(struct building *building, struct wp_lock_wait *row, const struct wp_cell *cell, uint32_t node)
{
    uint32_t number = (uint32_t)(cell - building->facts->flame.cells) + 1;
    struct behind *behind = row ? &building->behind[row - building->rows] : NULL;
    if (!row || behind->cell == number)
        return;
    behind->cell = number;
    row->ns += cell->ns;
    row->count += cell->count;
    if (cell->ns <= row->largest_ns)
        return;
    row->largest_ns = cell->ns;
    row->permalink = building->facts->flame.nodes[node].permalink;
    behind->thread = node;
}

/* Parties are one by their names: a function has one line in all its rows. */
static void name_rows(struct building *building)
{
    for (uint32_t i = 0, best; i < building->count && !building->pool->failed; i++) {
        struct wp_intkey key = place_of(building, building->behind[i].thread);
        if (!wp_intmap_get(&building->places, key, &best) ||
            building->rows[i].largest_ns > building->rows[best].largest_ns)
            building->pool->failed |= wp_intmap_put(&building->places, key, i) != 0;
    }
    for (uint32_t i = 0; i < building->count && !building->pool->failed; i++)
        name_row(building, i);
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
    name_rows(&building);
    waits->rows = wp_pool_alloc(pool, (building.count + 1u) * sizeof(*waits->rows));
    if (waits->rows && building.count) {
        memcpy(waits->rows, building.rows, building.count * sizeof(*waits->rows));
        waits->count = building.count;
    }
    wp_intmap_fini(&building.index);
    free(building.rows);
    wp_intmap_fini(&building.places);
    free(building.behind);
}
