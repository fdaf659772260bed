/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/largest.h"

#include <stdlib.h>
#include <string.h>

void wp_largest_add(struct wp_largest *largest, uint64_t length)
{
    if (largest->count == largest->room) {
        uint32_t room = largest->room ? largest->room * 2 : 256;
        uint64_t *grown = room > largest->room ? reallocarray(largest->lengths, room, sizeof(*grown)) : NULL;
        if (!grown) {
            largest->has_failed = true;
            return;
        }
        largest->lengths = grown;
        largest->room = room;
    }
    largest->lengths[largest->count++] = length;
}

static int longest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

void wp_largest_choose(struct wp_largest *largest, uint32_t limit)
{
    largest->least = 0;
    largest->ties = UINT32_MAX;
    if (largest->has_failed || largest->count <= limit)
        return;
    qsort(largest->lengths, largest->count, sizeof(*largest->lengths), longest_first);
    largest->least = limit ? largest->lengths[limit - 1] : UINT64_MAX;
    largest->ties = 0;
    for (uint32_t i = limit; i > 0 && largest->lengths[i - 1] == largest->least; i--)
        largest->ties++;
}

bool wp_largest_has(struct wp_largest *largest, uint64_t length)
{
    if (length != largest->least || largest->ties == UINT32_MAX)
        return length >= largest->least;
    return largest->ties && largest->ties--;
}

void wp_largest_fini(struct wp_largest *largest)
{
    free(largest->lengths);
    *largest = (struct wp_largest){0};
}
