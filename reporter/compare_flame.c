/* SPDX-License-Identifier: Apache-2.0 */
/* The difference flame: what each node of the newer flame took before, and whether that is a change. */
#include "reporter/compare_build.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct flame_rows {
    const struct wp_compare_tree *tree;
    uint32_t *row;   /* by place in the flame: the nearest tested node at or below */
};

static uint32_t flame_place(void *context, uint32_t node, uint32_t category)
{
    const struct flame_rows *rows = context;
    (void)category;
    return rows->tree->after[node];
}

static uint32_t flame_row(void *context, uint32_t node, uint32_t category)
{
    const struct flame_rows *rows = context;
    (void)category;
    return rows->row[rows->tree->after[node]];
}

/* What each node took before; nodes that are gone count for the nearest one that is still there. */
static int sum_before(struct wp_compare_build *build)
{
    struct wp_compare *compare = build->compare;
    const struct wp_flame *flame = &build->facts[WP_AFTER]->flame;
    const struct wp_compare_side *side = &build->tree.side[WP_BEFORE];
    struct flame_rows rows = {&build->tree, NULL};
    double scale = compare->side[WP_AFTER].units / compare->side[WP_BEFORE].units;
    compare->flame_count = flame->count;
    compare->was_ns = wp_pool_alloc(&compare->pool, (flame->count + (size_t)1) * sizeof(*compare->was_ns));
    compare->marks = wp_pool_alloc(&compare->pool, flame->count + (size_t)1);
    if (!compare->was_ns || !compare->marks)
        return -ENOMEM;
    for (uint32_t i = 0; i < side->cell_count; i++)
        compare->was_ns[flame_place(&rows, side->node[side->cells[i].node], 0)] += side->cells[i].ns;
    for (uint32_t i = flame->count; i-- > 1;)
        compare->was_ns[flame->nodes[i].parent] += compare->was_ns[i];
    for (uint32_t i = 0; i < flame->count; i++)
        compare->was_ns[i] = (uint64_t)llround(fmin((double)compare->was_ns[i] * scale, 9e18));
    return 0;
}

/* A subtree's sums from its nodes' own: rows stand parents first. */
static void include_children(struct wp_row_sums *sums, const uint32_t *parent, const struct wp_compare *compare)
{
    for (uint32_t row = sums->rows; row-- > 1;)
        for (int side = 0; side < 2; side++) {
            uint32_t buckets = compare->side[side].buckets;
            sums->ns[side][parent[row]] += sums->ns[side][row];
            sums->count[side][parent[row]] += sums->count[side][row];
            for (uint32_t i = 0; i < buckets; i++)
                sums->parts[side][(size_t)parent[row] * buckets + i] += sums->parts[side][(size_t)row * buckets + i];
        }
}

static int test_nodes(struct wp_compare_build *build, const uint32_t *place, const uint32_t *parent,
    struct flame_rows *rows, uint32_t count)
{
    struct wp_compare *compare = build->compare;
    struct wp_row_sums sums;
    struct wp_change *changes = wp_pool_alloc(&compare->pool, (count + (size_t)1) * sizeof(*changes));
    double *p = calloc(count + (size_t)1, sizeof(*p));
    if (!changes || !p || wp_row_sums_init(&sums, &build->tree, count, flame_row, rows)) {
        free(p);
        return -ENOMEM;
    }
    include_children(&sums, parent, compare);
    for (uint32_t i = 0; i < count; i++) {
        wp_change_fill(build, &changes[i], &sums, i);
        wp_change_test(compare, &changes[i]);
        p[i] = wp_change_is_tested(&changes[i]) ? changes[i].p : 1;
    }
    int rc = wp_adjust_hochberg(p, p, count);
    for (uint32_t i = 0; i < count && !rc; i++) {
        changes[i].adjusted = p[i];
        wp_change_judge(compare, &changes[i], 0);
        compare->marks[place[i]] = (uint8_t)changes[i].verdict;
    }
    free(p);
    wp_row_sums_fini(&sums);
    return rc;
}

/* Tests the nodes of the newer flame that are large enough on either side; the others stay uncoloured. */
static int mark_flame(struct wp_compare_build *build)
{
    struct wp_compare *compare = build->compare;
    const struct wp_flame *flame = &build->facts[WP_AFTER]->flame;
    double scale = compare->side[WP_AFTER].units / compare->side[WP_BEFORE].units;
    uint32_t *block = calloc((size_t)flame->count * 3 + 3, sizeof(*block)), count = 0;
    if (!block)
        return -ENOMEM;
    uint32_t *place = block, *parent = block + flame->count + 1;
    struct flame_rows rows = {&build->tree, block + ((size_t)flame->count + 1) * 2};
    for (uint32_t i = 0; i < flame->count; i++) {
        uint32_t below = i ? rows.row[flame->nodes[i].parent] : 0;
        if (i && !wp_change_is_listed(compare, (uint64_t)((double)compare->was_ns[i] / scale), flame->nodes[i].total_ns)) {
            rows.row[i] = below;
            compare->marks[i] = WP_VERDICT_FEW;
            continue;
        }
        place[count] = i;
        parent[count] = below;
        rows.row[i] = count++;
    }
    int rc = test_nodes(build, place, parent, &rows, count);
    free(block);
    return rc;
}

int wp_compare_flame(struct wp_compare_build *build)
{
    int rc = sum_before(build);
    return rc ? rc : mark_flame(build);
}
