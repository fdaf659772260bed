/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/top_k.h"

#include "common/array.h"

#include <stdlib.h>
#include <string.h>

void wp_top_k_add(struct wp_top_k *top, uint64_t length)
{
    if (WP_ARRAY_FIT(top->lengths, top->room, top->count + (size_t)1))
        top->has_failed = true;
    else
        top->lengths[top->count++] = length;
    top->is_sorted = false;
}

static int longest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

void wp_top_k_choose(struct wp_top_k *top, uint32_t limit)
{
    top->least = 0;
    top->ties = UINT32_MAX;
    if (top->has_failed || top->count <= limit)
        return;
    if (!top->is_sorted)
        qsort(top->lengths, top->count, sizeof(*top->lengths), longest_first);
    top->is_sorted = true;
    top->least = limit ? top->lengths[limit - 1] : UINT64_MAX;
    top->ties = 0;
    for (uint32_t i = limit; i > 0 && top->lengths[i - 1] == top->least; i--)
        top->ties++;
}

bool wp_top_k_has(struct wp_top_k *top, uint64_t length)
{
    if (length != top->least || top->ties == UINT32_MAX)
        return length >= top->least;
    return top->ties && top->ties--;
}

void wp_top_k_fini(struct wp_top_k *top)
{
    free(top->lengths);
    *top = (struct wp_top_k){0};
}
