/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/waits/top_waits.h"

#include "common/intmap.h"
#include "reporter/facts/code_location.h"
#include "reporter/facts/doing.h"
#include "reporter/facts/stack_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A row while it is summed: the cell with most time speaks for it. */
struct sum {
    uint64_t ns, largest_ns;
    uint32_t base, top, node, category; /* process nodes, and the cell's */
};

/* Rows while they are made. */
struct summing {
    const struct wp_facts *facts;
    struct wp_pool *pool;
    struct sum *sums;
    struct wp_intmap index; /* row + 1 of a sum */
    const uint32_t *places;
};

/* Of each node the outermost and the innermost process of its stack. */
struct layers {
    uint32_t *base, *top;
};

static void find_layers(struct layers *layers, const struct wp_facts *facts)
{
    for (uint32_t i = 1; i < facts->flame.count; i++) {
        uint32_t parent = facts->flame.nodes[i].parent;
        bool is_process = wp_facts_frame_style(facts, facts->flame.nodes[i].frame) == WP_STYLE_PROCESS;
        layers->top[i] = is_process ? i : layers->top[parent];
        layers->base[i] = layers->base[parent] ? layers->base[parent] : layers->top[i];
    }
}

static uint32_t frame_at(const struct wp_facts *facts, uint32_t node)
{
    return facts->flame.nodes[node].frame;
}

static void add_cell(struct summing *summing, const struct layers *layers, const struct wp_cell *cell)
{
    const struct wp_facts *facts = summing->facts;
    struct wp_intmap *index = &summing->index;
    uint32_t base = layers->base[cell->node], top = layers->top[cell->node], row = index->count;
    struct wp_intkey key = {(uint64_t)frame_at(facts, base) << 32 | frame_at(facts, top),
        (uint64_t)frame_at(facts, summing->places[cell->node]) << 8 | cell->category};
    if (!wp_intmap_get(index, key, &row) && wp_intmap_put(index, key, row)) {
        summing->pool->failed = true;
        return;
    }
    struct sum *sum = &summing->sums[row];
    sum->ns += cell->ns;
    if (cell->ns < sum->largest_ns)
        return;
    *sum = (struct sum){sum->ns, cell->ns, base, top, cell->node, cell->category};
}

static int compare_rows(const void *left, const void *right)
{
    const struct wp_top_wait *a = left, *b = right;
    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : strcmp(a->whom, b->whom);
}

static const char *name_of(const struct summing *summing, uint32_t node)
{
    const struct wp_facts *facts = summing->facts;
    return wp_stack_plain_process(summing->pool, wp_facts_frame_name(facts, frame_at(facts, node)));
}

static void describe(struct wp_top_waits *waits, const struct summing *summing, const struct sum *sum)
{
    const struct wp_facts *facts = summing->facts;
    struct wp_code_location place = wp_code_location_at(facts, summing->places, sum->node);
    const char *who = name_of(summing, sum->base);
    waits->rows[waits->count++] = (struct wp_top_wait){.who = who,
        .whom = frame_at(facts, sum->base) == frame_at(facts, sum->top) ? who : name_of(summing, sum->top),
        .doing = wp_category_doing((enum wp_category)sum->category),
        .where = wp_code_location_text(summing->pool, &place),
        .ns = sum->ns};
}

int wp_top_waits_build(
    struct wp_top_waits *waits, struct wp_pool *pool, const struct wp_facts *facts, struct wp_error *err)
{
    const struct wp_flame *flame = &facts->flame;
    struct layers layers = {calloc(flame->count + 1u, sizeof(uint32_t)), calloc(flame->count + 1u, sizeof(uint32_t))};
    struct summing summing = {.facts = facts,
        .pool = pool,
        .sums = calloc(flame->cell_count + 1u, sizeof(struct sum)),
        .places = wp_code_locations_build(pool, facts)};
    *waits = (struct wp_top_waits){wp_pool_alloc(pool, (flame->cell_count + 1u) * sizeof(*waits->rows)), 0};
    bool has_all = layers.base && layers.top && summing.sums && summing.places && waits->rows;
    if (has_all) {
        find_layers(&layers, facts);
        for (uint32_t i = 0; i < flame->cell_count; i++)
            add_cell(&summing, &layers, &flame->cells[i]);
        for (uint32_t i = 0; i < summing.index.count; i++)
            if (summing.sums[i].base)
                describe(waits, &summing, &summing.sums[i]);
        has_all = !pool->failed;
    }
    if (has_all && waits->count)
        qsort(waits->rows, waits->count, sizeof(*waits->rows), compare_rows);
    wp_intmap_fini(&summing.index);
    free(layers.base);
    free(layers.top);
    free(summing.sums);
    return has_all ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the waits of %s", facts->aggregate);
}
