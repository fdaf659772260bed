/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/stack_choice.h"

#include "reporter/facts/flame_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNT "count"

/* What cells are compared by. */
struct order {
    const struct wp_cell *cells;
    bool is_count;
};

bool wp_stack_choice_has_measure(const char *name)
{
    return !name || !strcmp(name, "ns") || !strcmp(name, COUNT);
}

static bool is_count(const struct wp_export_choice *choice)
{
    return choice->order && !strcmp(choice->order, COUNT);
}

static uint64_t amount(const struct wp_cell *cell, bool is_by_count)
{
    return is_by_count ? cell->count : cell->ns;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t of_a = amount(&order->cells[a], order->is_count), of_b = amount(&order->cells[b], order->is_count);
    return of_a != of_b ? (of_a > of_b ? -1 : 1) : a < b ? -1 : a > b;
}

static uint32_t *sorted(const struct wp_flame *flame, bool is_sorted, bool is_by_count)
{
    uint32_t *places = calloc(flame->cell_count + 1u, sizeof(*places));
    struct order order = {flame->cells, is_by_count};
    for (uint32_t i = 0; places && i < flame->cell_count; i++)
        places[i] = i;
    if (places && is_sorted)
        qsort_r(places, flame->cell_count, sizeof(*places), compare, &order);
    return places;
}

uint32_t *wp_stack_choice_order(const struct wp_flame *flame, const struct wp_export_choice *choice)
{
    return sorted(flame, choice->order, is_count(choice));
}

/* Keeps those that are marked; a node's cells stand together, in the order of the nodes. */
static void keep_stacks(struct wp_flame *flame, const bool *is_kept)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < flame->count; i++) {
        struct wp_flame_node *node = &flame->nodes[i];
        uint32_t first = node->cell, end = node->cell + node->cell_count;
        node->cell = left;
        for (uint32_t cell = first; cell < end; cell++)
            if (is_kept[cell])
                flame->cells[left++] = flame->cells[cell];
        node->cell_count = left - node->cell;
    }
    flame->cell_count = left;
}

int wp_stack_choice_apply(
    struct wp_flame *flame, const struct wp_export_choice *choice, uint64_t total_ns, struct wp_error *err)
{
    const struct wp_row_limit *limit = &choice->limit;
    bool is_by_count = is_count(choice);
    size_t most = choice->top ? choice->top : flame->cell_count;
    if (!choice->top && !limit->least && limit->percent <= 0)
        return 0;
    uint32_t *places = sorted(flame, true, is_by_count);
    bool *is_kept = calloc(flame->cell_count + 1u, sizeof(*is_kept));
    int rc = places && is_kept ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the stacks");
    for (uint32_t i = 0; !rc && i < flame->cell_count && i < most; i++) {
        uint64_t has = amount(&flame->cells[places[i]], is_by_count);
        is_kept[places[i]] = has >= limit->least && (double)has * 100 >= limit->percent * (double)total_ns;
    }
    if (!rc)
        keep_stacks(flame, is_kept);
    free(places);
    free(is_kept);
    return rc;
}
