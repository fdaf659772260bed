/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/top_k.h"

#include "common/array.h"

#include <stdlib.h>

#define DIGIT_BITS 8u
#define DIGITS (1u << DIGIT_BITS)

void wp_top_k_add(struct wp_top_k *top, uint64_t length)
{
    if (WP_ARRAY_FIT(top->lengths, top->room, top->count + (size_t)1))
        top->has_failed = true;
    else
        top->lengths[top->count++] = length;
}

/* Of the lengths that are `prefix` above that digit: how many have which. */
static void count_digits(const struct wp_top_k *top, uint64_t prefix, unsigned shift, uint32_t counts[DIGITS])
{
    uint64_t above = shift + DIGIT_BITS < 64 ? UINT64_MAX << (shift + DIGIT_BITS) : 0;
    for (uint32_t i = 0; i < DIGITS; i++)
        counts[i] = 0;
    for (uint32_t i = 0; i < top->count; i++)
        counts[top->lengths[i] >> shift & (DIGITS - 1)] += (top->lengths[i] & above) == prefix;
}

/* Digit by digit from the largest one: in a time that depends on the number of lengths alone, whatever they are. */
void wp_top_k_choose(struct wp_top_k *top, uint32_t limit)
{
    uint32_t counts[DIGITS], left = limit;
    uint64_t all = 0;
    top->least = 0;
    top->ties = UINT32_MAX;
    if (top->has_failed || top->count <= limit)
        return;
    top->least = limit ? 0 : UINT64_MAX;
    top->ties = 0;
    for (uint32_t i = 0; i < top->count; i++)
        all |= top->lengths[i];
    for (unsigned shift = 64; limit && shift > 0;) {
        shift -= DIGIT_BITS;
        if (!(all >> shift)) /* none is so long */
            continue;
        uint32_t digit = DIGITS - 1;
        count_digits(top, top->least, shift, counts);
        for (; counts[digit] < left; digit--)
            left -= counts[digit];
        top->least |= (uint64_t)digit << shift;
    }
    top->ties = limit ? left : 0;
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
