/* SPDX-License-Identifier: Apache-2.0 */
/* The difference flames: what each node of one side's flame takes on the other side, and whether that is a change. */
#include "reporter/compare/compare_flame.h"

#include "reporter/compare/change.h"
#include "reporter/compare/compare_build.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct flame_rows {
    const uint32_t *place; /* of a node of the tree in the flame */
    uint32_t *row;         /* by place in the flame: the nearest tested node at or below */
};

static uint32_t flame_row(void *context, uint32_t node, uint32_t category)
{
    const struct flame_rows *rows = context;
    (void)category;
    return rows->row[rows->place[node]];
}

/* Where a node of the flame is shown: its own place, or that of the largest whose name differs by chance. */
static uint32_t place_of(const struct wp_compare_build *build, int which, uint32_t node)
{
    uint32_t source = build->facts[which]->flame.nodes[node].source;
    return node ? build->tree.place[which][build->tree.operand[which].node[source]] : 0;
}

/* Nodes whose names differ by chance share what the other side's took, by their own times. */
static int share_other(struct wp_compare_build *build, int which, uint64_t *other_ns)
{
    const struct wp_flame *flame = &build->facts[which]->flame;
    uint64_t *block = calloc((size_t)flame->count * 2 + 1, sizeof(*block));
    uint64_t *whole = block, *other = block + flame->count;
    if (!block)
        return -ENOMEM;
    memcpy(other, other_ns, flame->count * sizeof(*other));
    for (uint32_t i = 1; i < flame->count; i++)
        whole[place_of(build, which, i)] += flame->nodes[i].total_ns;
    for (uint32_t i = 1; i < flame->count; i++) {
        uint32_t place = place_of(build, which, i);
        if (place == i || !whole[place])
            continue;
        other_ns[i] = (uint64_t)((double)other[place] * (double)flame->nodes[i].total_ns / (double)whole[place]);
        other_ns[place] -= other_ns[i] < other_ns[place] ? other_ns[i] : other_ns[place];
    }
    free(block);
    return 0;
}

/* What each node takes on the other side; nodes that are only there count for the nearest one that is here, too. */
static int sum_other(struct wp_compare_build *build, int which)
{
    struct wp_compare *compare = build->compare;
    struct wp_compare_flame *drawn = &compare->flames[which];
    const struct wp_flame *flame = &build->facts[which]->flame;
    const struct wp_compare_operand *other = &build->tree.operand[!which];
    double scale = compare->operand[which].units / compare->operand[!which].units;
    drawn->count = flame->count;
    drawn->other_ns = wp_pool_alloc(&compare->pool, (flame->count + (size_t)1) * sizeof(*drawn->other_ns));
    drawn->marks = wp_pool_alloc(&compare->pool, flame->count + (size_t)1);
    if (!drawn->other_ns || !drawn->marks)
        return -ENOMEM;
    for (uint32_t i = 0; i < other->cell_count; i++)
        drawn->other_ns[build->tree.place[which][other->node[other->cells[i].node]]] += other->cells[i].ns;
    if (share_other(build, which, drawn->other_ns))
        return -ENOMEM;
    for (uint32_t i = flame->count; i-- > 1;)
        drawn->other_ns[flame->nodes[i].parent] += drawn->other_ns[i];
    for (uint32_t i = 0; i < flame->count; i++)
        drawn->other_ns[i] = (uint64_t)llround(fmin((double)drawn->other_ns[i] * scale, 9e18));
    return 0;
}

/* A subtree's sums from its nodes' own: rows stand parents first. */
static void include_children(struct wp_row_sums *sums, const uint32_t *parent, const struct wp_compare *compare)
{
    for (uint32_t row = sums->rows; row-- > 1;)
        for (int operand = 0; operand < 2; operand++) {
            uint32_t buckets = compare->operand[operand].buckets;
            sums->ns[operand][parent[row]] += sums->ns[operand][row];
            sums->count[operand][parent[row]] += sums->count[operand][row];
            sums->idle_ns[operand][parent[row]] += sums->idle_ns[operand][row];
            for (uint32_t i = 0; i < buckets; i++)
                sums->parts[operand][(size_t)parent[row] * buckets + i] +=
                    sums->parts[operand][(size_t)row * buckets + i];
        }
}

static int test_nodes(struct wp_compare_build *build, uint8_t *marks, const uint32_t *place, const uint32_t *parent,
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
        changes[i].category = -1;
        wp_change_fill(build, &changes[i], &sums, i);
        wp_change_test(compare, &changes[i]);
        p[i] = wp_change_is_tested(&changes[i]) ? changes[i].p : 1;
    }
    int rc = wp_adjust_hochberg(p, p, count);
    for (uint32_t i = 0; i < count && !rc; i++) {
        changes[i].adjusted = p[i];
        wp_change_judge(compare, &changes[i], 0);
        bool is_moved = wp_change_is_moved(compare, &changes[i]);
        marks[place[i]] = (uint8_t)(is_moved ? WP_VERDICT_SAME : changes[i].verdict);
    }
    free(p);
    wp_row_sums_fini(&sums);
    return rc;
}

/* Tests the nodes of a flame that are large enough on either side; the others stay uncoloured. */
static int mark_flame(struct wp_compare_build *build, int which)
{
    struct wp_compare *compare = build->compare;
    struct wp_compare_flame *drawn = &compare->flames[which];
    const struct wp_flame *flame = &build->facts[which]->flame;
    double scale = compare->operand[which].units / compare->operand[!which].units;
    uint32_t *block = calloc((size_t)flame->count * 3 + 3, sizeof(*block)), count = 0;
    if (!block)
        return -ENOMEM;
    uint32_t *place = block, *parent = block + flame->count + 1;
    struct flame_rows rows = {build->tree.place[which], block + ((size_t)flame->count + 1) * 2};
    for (uint32_t i = 0; i < flame->count; i++) {
        uint32_t below = i ? rows.row[flame->nodes[i].parent] : 0;
        uint64_t other = (uint64_t)((double)drawn->other_ns[i] / scale), own = flame->nodes[i].total_ns;
        if (i && !wp_change_is_listed(compare, which == WP_AFTER ? other : own, which == WP_AFTER ? own : other)) {
            rows.row[i] = below;
            drawn->marks[i] = WP_VERDICT_FEW;
            continue;
        }
        place[count] = i;
        parent[count] = below;
        rows.row[i] = count++;
    }
    int rc = test_nodes(build, drawn->marks, place, parent, &rows, count);
    for (uint32_t i = 1; i < flame->count; i++)
        drawn->marks[i] = drawn->marks[place_of(build, which, i)];
    free(block);
    return rc;
}

int wp_compare_flame(struct wp_compare_build *build, int operand)
{
    int rc = sum_other(build, operand);
    return rc ? rc : mark_flame(build, operand);
}
