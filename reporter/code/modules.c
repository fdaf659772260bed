/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/code/modules.h"

#include "common/intern.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct building {
    const struct wp_facts *facts;
    struct wp_intern *names;     /* owned; id of an object file's name: its row */
    struct wp_module_fact *rows; /* in the pool */
    uint32_t *module;            /* owned; by frame: row, NONE no function */
    uint32_t *open;              /* owned; by row: how often it stands on the current stack */
    uint32_t frame_count, row_count;
};

static bool find_modules(struct building *building, struct wp_pool *pool)
{
    const struct wp_frame_info *frames = wp_report_frames(building->facts->report, &building->frame_count);
    building->names = wp_intern_create();
    building->module = calloc(building->frame_count + 1u, sizeof(*building->module));
    building->open = calloc(building->frame_count + 2u, sizeof(*building->open));
    building->rows = wp_pool_alloc(pool, (building->frame_count + 2u) * sizeof(*building->rows));
    if (!building->names || !building->module || !building->open || !building->rows)
        return false;
    for (uint32_t i = 0; i < building->frame_count; i++) {
        bool is_kernel = i && frames[i].style == WP_STYLE_KERNEL;
        building->module[i] = NONE;
        if (!i || (!is_kernel && frames[i].style != WP_STYLE_USER))
            continue;
        building->module[i] = wp_intern_str(
            building->names, is_kernel ? WP_MODULE_KERNEL : wp_report_text(building->facts->report, frames[i].object));
        if (building->module[i] == NONE)
            return false;
    }
    building->row_count = wp_intern_count(building->names);
    for (uint32_t i = 0; i < building->row_count; i++)
        building->rows[i].name = wp_pool_text(pool, wp_intern_text(building->names, i));
    return true;
}

/* The file of the function that a node's own time belongs to, as functions.c finds it. */
static uint32_t innermost(const struct building *building, uint32_t node)
{
    const struct wp_flame_node *nodes = building->facts->flame.nodes;
    for (; node; node = nodes[node].parent) {
        if (building->module[nodes[node].frame] != NONE)
            return building->module[nodes[node].frame];
        if (wp_facts_frame_style(building->facts, nodes[node].frame) == WP_STYLE_PROCESS)
            break;
    }
    return NONE;
}

static void add_own(struct building *building, uint32_t node)
{
    const struct wp_flame *flame = &building->facts->flame;
    uint32_t module = flame->nodes[node].cell_count ? innermost(building, node) : NONE;
    for (uint32_t i = flame->nodes[node].cell;
         module != NONE && i < flame->nodes[node].cell + flame->nodes[node].cell_count; i++) {
        struct wp_module_fact *row = &building->rows[module];
        *(flame->cells[i].category == WP_UNDERSTOOD_FUNCTIONS ? &row->running_ns : &row->waiting_ns) +=
            flame->cells[i].ns;
        row->count += flame->cells[i].count;
    }
}

/* Preorder with closing: a file's time counts once a stack. */
static void walk(struct building *building)
{
    const struct wp_flame_node *nodes = building->facts->flame.nodes;
    uint32_t top = 0;
    for (uint32_t i = 1; i < building->facts->flame.count; i++) {
        for (; top && nodes[top].end <= i; top = nodes[top].parent)
            if (building->module[nodes[top].frame] != NONE)
                building->open[building->module[nodes[top].frame]]--;
        top = i;
        uint32_t module = building->module[nodes[i].frame];
        if (module != NONE && !building->open[module]++)
            building->rows[module].inclusive_ns += nodes[i].total_ns;
        add_own(building, i);
    }
    for (size_t i = 0; i < building->facts->function_count; i++)
        building->rows[building->module[building->facts->functions[i].frame]].functions++;
}

static int compare(const void *left, const void *right)
{
    const struct wp_module_fact *a = left, *b = right;
    if (a->inclusive_ns != b->inclusive_ns)
        return a->inclusive_ns > b->inclusive_ns ? -1 : 1;
    if (a->running_ns != b->running_ns)
        return a->running_ns > b->running_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

struct wp_module_fact *wp_modules_build(struct wp_pool *pool, const struct wp_facts *facts, size_t *count)
{
    struct building building = {.facts = facts};
    *count = 0;
    if (find_modules(&building, pool)) {
        walk(&building);
        for (uint32_t i = 0; i < building.row_count; i++)
            if (building.rows[i].inclusive_ns)
                building.rows[(*count)++] = building.rows[i]; /* in place: never past the row just read */
        if (*count)
            qsort(building.rows, *count, sizeof(*building.rows), compare);
    } else {
        pool->failed = true;
    }
    wp_intern_destroy(building.names);
    free(building.module);
    free(building.open);
    return *count ? building.rows : NULL;
}
