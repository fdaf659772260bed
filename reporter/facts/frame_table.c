/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/frame_table.h"

#include "storage/report/report_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wp_frame_table_build(struct wp_frame_table *table, const struct wp_facts *facts, struct wp_error *err)
{
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    table->numbers = calloc(frames + 1u, sizeof(*table->numbers));
    table->frames = calloc(frames + 1u, sizeof(*table->frames));
    table->count = 0;
    if (!table->numbers || !table->frames) {
        wp_frame_table_fini(table);
        return wp_error_set(err, -ENOMEM, "out of memory for %u frames", frames);
    }
    for (uint32_t i = 1; i < facts->flame.count; i++) {
        uint32_t frame = facts->flame.nodes[i].frame;
        if (table->numbers[frame])
            continue;
        table->frames[table->count++] = frame;
        table->numbers[frame] = table->count;
    }
    return 0;
}

void wp_frame_table_fini(struct wp_frame_table *table)
{
    free(table->numbers);
    free(table->frames);
    memset(table, 0, sizeof(*table));
}

void wp_stack_walk_init(struct wp_stack_walk *walk, const struct wp_flame *flame)
{
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < flame->count; i++)
        if (flame->nodes[i].depth > deepest)
            deepest = flame->nodes[i].depth;
    *walk =
        (struct wp_stack_walk){.flame = flame, .stack = calloc(deepest + 1u, sizeof(*walk->stack)), .node = UINT32_MAX};
    walk->failed = !walk->stack;
}

bool wp_stack_walk_next(struct wp_stack_walk *walk)
{
    const struct wp_flame *flame = walk->flame;
    if (walk->failed || walk->next >= flame->cell_count)
        return false;
    walk->cell = &flame->cells[walk->next++];
    if (walk->cell->node != walk->node) { /* the cells stand in the order of their nodes */
        walk->node = walk->cell->node;
        walk->depth = flame->nodes[walk->node].depth;
        for (uint32_t at = walk->node, i = walk->depth; i; at = flame->nodes[at].parent)
            walk->stack[--i] = at;
    }
    return true;
}

void wp_stack_walk_fini(struct wp_stack_walk *walk)
{
    free(walk->stack);
    memset(walk, 0, sizeof(*walk));
}
