/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_REPORTER_COMPARE_MADE_NOISE_H
#define WP_TESTS_REPORTER_COMPARE_MADE_NOISE_H
/* Numbers by chance, the same ones from the same seed, which moves on. */
#include <math.h>
#include <stdint.h>

static inline double chance(uint64_t *seed) /* splitmix64 (Steele, Lea and Flood); 0 to 1 */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(uint64_t *seed) /* Box and Muller */
{
    double r = sqrt(-2 * log(chance(seed)));
    return r * cos(2 * M_PI * chance(seed));
}

#endif
