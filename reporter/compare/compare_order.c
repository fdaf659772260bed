/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_order.h"

#include "reporter/compare/compare_findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int wp_compare_measure_find(const char *name)
{
    static const char *const names[WP_COMPARE_MEASURES] = {"sure", "difference", "percent", "old", "new"};
    for (int i = 0; i < WP_COMPARE_MEASURES; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

static double measured(const struct wp_change *change, enum wp_compare_measure measure)
{
    switch (measure) {
    case WP_COMPARE_DIFFERENCE:
        return fabs(change->delta);
    case WP_COMPARE_PERCENT:
        return fabs(change->percent);
    case WP_COMPARE_OLD:
        return change->rate[WP_BEFORE].value;
    case WP_COMPARE_NEW:
        return change->rate[WP_AFTER].value;
    default:
        return 0; /* as they stand */
    }
}

/* A row's place, and what it is ordered by. */
struct place {
    struct wp_change change;
    double value;
    size_t row;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Without memory they stay as they stand. */
static void sort(struct wp_changes *changes, enum wp_compare_measure measure)
{
    struct place *places = measure ? calloc(changes->count + 1, sizeof(*places)) : NULL;
    if (!places)
        return;
    for (size_t i = 0; i < changes->count; i++)
        places[i] = (struct place){changes->rows[i], measured(&changes->rows[i], measure), i};
    qsort(places, changes->count, sizeof(*places), compare_places);
    for (size_t i = 0; i < changes->count; i++)
        changes->rows[i] = places[i].change;
    free(places);
}

/* Takes so much on one side at least. */
static bool is_large(const struct wp_compare *compare, const struct wp_change *change, const struct wp_row_limit *limit)
{
    bool is_one = false;
    for (int i = 0; i < 2; i++)
        is_one |= change->ns[i] >= limit->least &&
            (double)change->ns[i] * 100 >= limit->percent * (double)compare->operand[i].total_ns;
    return is_one;
}

/* Sentences and verdicts are the same whatever is shown. */
static void keep_told(struct wp_compare *compare)
{
    const struct wp_change *first[WP_COMPARE_TOLD];
    if (compare->is_arranged)
        return;
    compare->told_count = wp_compare_first(compare, first, WP_COMPARE_TOLD);
    for (size_t i = 0; i < compare->told_count; i++)
        compare->told[i] = *first[i];
    compare->is_arranged = true;
}

void wp_compare_arrange(struct wp_compare *compare, const struct wp_compare_order *order)
{
    keep_told(compare);
    for (int family = WP_CHANGE_HOPS; family < WP_CHANGE_FAMILIES; family++) {
        struct wp_changes *changes = &compare->changes[family];
        size_t left = 0;
        if (changes->count)
            sort(changes, order->measure);
        for (size_t i = 0; i < changes->count; i++) {
            const struct wp_change *change = &changes->rows[i];
            bool is_shown = is_large(compare, change, &order->limit) && (!order->top || left < order->top);
            if (is_shown || (change->verdict == WP_VERDICT_WORSE && !change->is_ignored))
                changes->rows[left++] = *change;
        }
        changes->left_out += changes->count - left;
        changes->count = left;
    }
    compare->shown_rows = order->top;
}
