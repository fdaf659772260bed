/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_pace.h"

#include "reporter/compare/contention.h"
#include "reporter/compare/median.h"
#include "reporter/compare/significance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_HOPS 3u     /* beside the one that is held against them */
#define LEAST_SHARE 0.005 /* of the CPU time of requests: smaller hops are noise */
#define LARGE_SHARE 0.125 /* of the CPU time of requests */
#define LARGE_VARIES 0.1  /* as recordings of equal services with and without neighbours did */
#define SMALL_VARIES 0.2

static bool is_running(int category)
{
    return category == WP_UNDERSTOOD_FUNCTIONS || category == WP_RUNNING_NOT_SAMPLED;
}

/* The row of a cell that runs; UINT32_MAX: none, or no memory. */
static uint32_t row_of(struct wp_intmap *keys, const struct wp_compare_tree *tree, int side, const struct wp_cell *cell)
{
    struct wp_intkey key = {tree->hop[tree->operand[side].node[cell->node]], cell->category};
    uint32_t row = keys->count;
    if (!is_running((int)cell->category))
        return UINT32_MAX;
    return !wp_intmap_get(keys, key, &row) && wp_intmap_put(keys, key, row) ? UINT32_MAX : row;
}

static int sum_side(struct wp_compare_build *build, int side)
{
    struct wp_compare_pace *pace = &build->pace;
    const struct wp_compare_operand *from = &build->tree.operand[side];
    pace->part[side] = calloc((size_t)pace->keys.count * from->buckets + 1, sizeof(double));
    pace->whole[side] = calloc(pace->keys.count + (size_t)1, sizeof(double));
    pace->of_bucket[side] = calloc(from->buckets + (size_t)1, sizeof(double));
    if (!pace->part[side] || !pace->whole[side] || !pace->of_bucket[side])
        return -ENOMEM;
    for (uint32_t i = 0; i < from->sample_count; i++) {
        uint32_t row = row_of(&pace->keys, &build->tree, side, &from->cells[from->samples[i].cell]);
        if (row == UINT32_MAX)
            continue;
        pace->part[side][(size_t)row * from->buckets + from->place[i]] += (double)from->samples[i].ns;
        pace->whole[side][row] += (double)from->samples[i].ns;
    }
    return 0;
}

int wp_compare_pace_find(struct wp_compare_build *build)
{
    int rc = 0;
    if (!build->requests.count)
        return 0;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < build->tree.operand[side].cell_count; i++)
            row_of(&build->pace.keys, &build->tree, side, &build->tree.operand[side].cells[i]);
    for (int side = 0; side < 2 && !rc; side++)
        rc = sum_side(build, side);
    build->pace.ratios = calloc(build->pace.keys.count + (size_t)1, sizeof(struct wp_weighted));
    return rc || !build->pace.ratios ? -ENOMEM : 0;
}

static double all_of(const struct wp_compare_pace *pace, int side)
{
    double all = 0;
    for (uint32_t row = 0; row < pace->keys.count; row++)
        all += pace->whole[side][row];
    return all;
}

/* The median of what the hops but `own` have of theirs in each bucket, by the root of their size; false: too few. */
static bool find_others(const struct wp_compare_build *build, int side, uint32_t own)
{
    const struct wp_compare_pace *pace = &build->pace;
    uint32_t buckets = build->tree.operand[side].buckets, count = 0;
    struct wp_weighted *ratios = pace->ratios;
    double least = LEAST_SHARE * all_of(pace, side);
    for (uint32_t bucket = 0; bucket < buckets; bucket++, count = bucket < buckets ? 0 : count) {
        for (uint32_t row = 0; row < pace->keys.count; row++) {
            double whole = pace->whole[side][row];
            if (row != own && whole >= least)
                ratios[count++] =
                    (struct wp_weighted){pace->part[side][(size_t)row * buckets + bucket] / whole, sqrt(whole)};
        }
        if (count < LEAST_HOPS)
            return false;
        pace->of_bucket[side][bucket] = wp_weighted_median(ratios, count);
    }
    return buckets > 0;
}

/* How much it varies from one recording to the next, in shares of itself: the more the smaller it is. */
static double varies(const struct wp_compare_build *build, int side, uint32_t own)
{
    double least = LARGE_SHARE * all_of(&build->pace, side);
    double share = build->pace.whole[side][own] >= least ? LARGE_VARIES : SMALL_VARIES;
    return share / sqrt(fmax(1, build->intervals[side].count));
}

bool wp_compare_pace_take(const struct wp_compare_build *build, const struct wp_change *change, int side,
    const double *part, struct wp_measured_rate *rate)
{
    struct wp_intkey key = {change->hop, (uint64_t)change->category};
    uint32_t own;
    if (!is_running(change->category) || !wp_compare_is_unsettled(build) ||
        !wp_intmap_get(&build->pace.keys, key, &own) || !find_others(build, side, own))
        return false;
    struct wp_measured_rate paced = wp_rate_of(
        part, build->pace.of_bucket[side], build->tree.operand[side].buckets, build->compare->operand[side].units);
    if (paced.freedom > 0 && paced.error < rate->error)
        *rate = paced;
    *rate = wp_rate_with_known(*rate, varies(build, side, own) * rate->value);
    return true;
}

void wp_compare_pace_fini(struct wp_compare_build *build)
{
    for (int side = 0; side < 2; side++) {
        free(build->pace.part[side]);
        free(build->pace.whole[side]);
        free(build->pace.of_bucket[side]);
    }
    free(build->pace.ratios);
    wp_intmap_fini(&build->pace.keys);
    build->pace = (struct wp_compare_pace){0};
}
