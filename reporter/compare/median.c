/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/median.h"

#include <stdlib.h>

static int compare_values(const void *left, const void *right)
{
    const struct wp_weighted *a = left, *b = right;
    return a->value != b->value ? (a->value < b->value ? -1 : 1) : 0;
}

double wp_weighted_median(struct wp_weighted *values, uint32_t count)
{
    double whole = 0, half = 0;
    qsort(values, count, sizeof(*values), compare_values);
    for (uint32_t i = 0; i < count; i++)
        whole += values[i].weight;
    for (uint32_t i = 0; i < count; i++) {
        half += values[i].weight;
        if (half * 2 >= whole)
            return values[i].value;
    }
    return 0;
}
