/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/latest.h"

#include <errno.h>
#include <stdlib.h>

/* rank: how many later ones of its kind there are. */
struct ranked {
    uint32_t row, rank;
};

static int compare_starts(const struct wp_latest *latest, uint32_t a, uint32_t b)
{
    uint64_t left = latest->start_ns(latest->rows, a), right = latest->start_ns(latest->rows, b);
    if (left != right)
        return left > right ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int by_kind(const void *left, const void *right, void *context)
{
    const struct wp_latest *latest = context;
    uint32_t a = ((const struct ranked *)left)->row, b = ((const struct ranked *)right)->row;
    int rc = latest->compare_kinds(latest->rows, a, b);
    return rc ? rc : compare_starts(latest, a, b);
}

static int by_start(const void *left, const void *right, void *context)
{
    return compare_starts(context, ((const struct ranked *)left)->row, ((const struct ranked *)right)->row);
}

static uint32_t count_below(const struct ranked *order, uint32_t count, uint32_t each)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += order[i].rank < each;
    return found;
}

int wp_latest_choose(const struct wp_latest *latest, bool *is_chosen)
{
    struct ranked *order = calloc(latest->count + 1u, sizeof(*order));
    uint32_t each = latest->limit, taken = 0;
    void *context = (void *)(uintptr_t)latest;
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < latest->count; i++)
        order[i].row = i;
    qsort_r(order, latest->count, sizeof(*order), by_kind, context);
    for (uint32_t i = 1; i < latest->count; i++)
        if (!latest->compare_kinds(latest->rows, order[i].row, order[i - 1].row))
            order[i].rank = order[i - 1].rank + 1;
    while (each > 1 && count_below(order, latest->count, each) > latest->limit)
        each /= 2;
    if (count_below(order, latest->count, each) > latest->limit) { /* more kinds than that */
        qsort_r(order, latest->count, sizeof(*order), by_start, context);
        each = UINT32_MAX;
    }
    for (uint32_t i = 0; i < latest->count; i++) {
        bool has_room = order[i].rank < each && taken < latest->limit;
        is_chosen[order[i].row] = has_room;
        taken += has_room;
    }
    free(order);
    return 0;
}
