/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_work.h"

#include "reporter/compare/median.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_HOPS 3u
#define LEAST_ALIKE 0.55  /* of their number is what the recordings are worth: else one of them is most of the sums */
#define LEAST_TIMES 100.0 /* that a hop was taken on each side: less are few to tell by */
#define LEAST_SHARE 0.002 /* of the total of each side: smaller hops are noise */

/* Hops by recording, of both sides one after the other. */
struct hops {
    double *ns;    /* hop * recordings + recording; owned, as the next three */
    double *times; /* hop * 2 + side: how often it was taken; 0 where that says nothing */
    double *weight;
    double *size;                       /* by recording */
    uint32_t count, recordings, before; /* of them the older side's */
};

/* Whether the pieces of that category are as many as what was done: samples are by time, preemptions by load. */
static bool is_of_work(uint32_t category)
{
    return category != WP_UNDERSTOOD_FUNCTIONS && category != WP_INVOLUNTARY && category != WP_UNACCOUNTED;
}

/* The row of each cell: hop and category. */
static uint32_t row_of(
    struct wp_intmap *keys, const struct wp_compare_tree *tree, int operand, const struct wp_cell *cell)
{
    struct wp_intkey key = {tree->hop[tree->operand[operand].node[cell->node]], cell->category};
    uint32_t row = keys->count;
    return !wp_intmap_get(keys, key, &row) && wp_intmap_put(keys, key, row) ? UINT32_MAX : row;
}

static int sum_hops(struct hops *hops, struct wp_intmap *keys, const struct wp_compare_build *build)
{
    const struct wp_compare_tree *tree = &build->tree;
    for (int operand = 0; operand < 2; operand++)
        for (uint32_t i = 0; i < tree->operand[operand].cell_count; i++)
            if (row_of(keys, tree, operand, &tree->operand[operand].cells[i]) == UINT32_MAX)
                return -ENOMEM;
    hops->count = keys->count;
    hops->ns = calloc((size_t)hops->count * hops->recordings + 1, sizeof(*hops->ns));
    hops->times = calloc(2 * (size_t)hops->count + 1, sizeof(*hops->times));
    hops->weight = calloc(hops->count + 1u, sizeof(*hops->weight));
    if (!hops->ns || !hops->times || !hops->weight)
        return -ENOMEM;
    for (int operand = 0; operand < 2; operand++) {
        const struct wp_compare_operand *from = &tree->operand[operand];
        for (uint32_t i = 0; i < from->cell_count; i++)
            if (is_of_work(from->cells[i].category))
                hops->times[2 * (size_t)row_of(keys, tree, operand, &from->cells[i]) + (uint32_t)operand] +=
                    (double)from->cells[i].count;
        for (uint32_t i = 0; i < from->sample_count; i++) {
            const struct wp_cell_sample *sample = &from->samples[i];
            size_t row = row_of(keys, tree, operand, &from->cells[sample->cell]);
            uint32_t recording = build->intervals[operand].of_bucket[from->place[i]] + (operand ? hops->before : 0);
            hops->ns[row * hops->recordings + recording] += (double)sample->ns;
        }
    }
    return 0;
}

/* How much a hop counts: by the root of its size; not at all when a recording lacks it or it is small. */
static void weigh(struct hops *hops, const struct wp_compare_build *build)
{
    for (uint32_t hop = 0; hop < hops->count; hop++) {
        const double *ns = &hops->ns[(size_t)hop * hops->recordings];
        double share[2] = {0};
        bool has_all = true;
        for (uint32_t i = 0; i < hops->recordings; i++) {
            int operand = i < hops->before ? WP_BEFORE : WP_AFTER;
            share[operand] += ns[i] / fmax(1, (double)build->compare->operand[operand].total_ns);
            has_all &= ns[i] > 0;
        }
        double least = fmin(share[WP_BEFORE], share[WP_AFTER]);
        hops->weight[hop] = has_all && least >= LEAST_SHARE ? sqrt(least) : 0;
    }
}

/* No hop is more than half of what the others are, for the median is none of one. */
static void bound_weights(struct wp_weighted *ratios, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += ratios[i].weight;
    for (uint32_t i = 0; i < count; i++) {
        double others = sum - ratios[i].weight;
        ratios[i].weight = fmin(ratios[i].weight, others / 2);
    }
}

/* The work of the newer side by that of the older, by how often hops were taken, however long that took; false: too few
 * of them. */
static bool find_ratio(const struct hops *hops, struct wp_weighted *ratios, double *ratio)
{
    uint32_t count = 0;
    for (uint32_t hop = 0; hop < hops->count; hop++) {
        const double *times = &hops->times[2 * (size_t)hop];
        if (hops->weight[hop] > 0 && fmin(times[WP_BEFORE], times[WP_AFTER]) >= LEAST_TIMES)
            ratios[count++] = (struct wp_weighted){log(times[WP_AFTER] / times[WP_BEFORE]), hops->weight[hop]};
    }
    bound_weights(ratios, count);
    if (count >= LEAST_HOPS)
        *ratio = exp(wp_weighted_median(ratios, count));
    return count >= LEAST_HOPS;
}

/* The newer side's sizes are made so much of the older's. */
static void make_ratio(struct hops *hops, double ratio)
{
    double sums[2] = {0};
    for (uint32_t i = 0; i < hops->recordings; i++)
        sums[i < hops->before ? WP_BEFORE : WP_AFTER] += hops->size[i];
    for (uint32_t i = hops->before; i < hops->recordings; i++)
        hops->size[i] *= ratio * sums[WP_BEFORE] / sums[WP_AFTER];
}

/* Of each recording the median of the logarithms; false: too few hops. */
static bool find_sizes(struct hops *hops, struct wp_weighted *ratios)
{
    for (uint32_t recording = 0; recording < hops->recordings; recording++) {
        uint32_t count = 0;
        for (uint32_t hop = 0; hop < hops->count; hop++) {
            const double *ns = &hops->ns[(size_t)hop * hops->recordings];
            double mean = 0;
            if (hops->weight[hop] <= 0)
                continue;
            for (uint32_t i = 0; i < hops->recordings; i++)
                mean += log(ns[i]) / hops->recordings;
            ratios[count++] = (struct wp_weighted){log(ns[recording]) - mean, hops->weight[hop]};
        }
        if (count < LEAST_HOPS)
            return false;
        hops->size[recording] = exp(wp_weighted_median(ratios, count));
    }
    return true;
}

/* A second of the older side is the unit: its sizes add up to its wall time. */
static void scale(struct hops *hops, const struct wp_operand_intervals *before)
{
    double sizes = 0, walls = 0;
    for (uint32_t i = 0; i < hops->before; i++) {
        sizes += hops->size[i];
        walls += before->wall_ns[i];
    }
    for (uint32_t i = 0; i < hops->recordings; i++)
        hops->size[i] *= walls / sizes;
}

/* The standard error of the logarithm of the work in a second. */
static double spread_of(const double *size, const struct wp_operand_intervals *intervals)
{
    double n = intervals->count, mean = 0, squares = 0;
    for (uint32_t i = 0; i < intervals->count; i++)
        mean += log(size[i] / intervals->wall_ns[i]) / n;
    for (uint32_t i = 0; i < intervals->count; i++)
        squares += pow(log(size[i] / intervals->wall_ns[i]) - mean, 2);
    return sqrt(squares / (n - 1) / n);
}

/* The activity of each bucket as work. */
static int spread_out(struct wp_compare_build *build, int operand, const double *size)
{
    const struct wp_operand_intervals *intervals = &build->intervals[operand];
    const struct wp_compare_operand *from = &build->tree.operand[operand];
    double *activity = calloc(intervals->count, sizeof(*activity)), work = 0;
    build->work[operand] = calloc(from->buckets + (size_t)1, sizeof(*build->work[operand]));
    if (!activity || !build->work[operand]) {
        free(activity);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < from->buckets; i++)
        activity[intervals->of_bucket[i]] += from->activity[i];
    for (uint32_t i = 0; i < from->buckets; i++) {
        uint32_t at = intervals->of_bucket[i];
        build->work[operand][i] = activity[at] > 0 ? from->activity[i] / activity[at] * size[at] : 0;
    }
    for (uint32_t i = 0; i < intervals->count; i++)
        work += size[i] / 1e9;
    build->activity[operand] = build->work[operand];
    build->work_spread[operand] = spread_of(size, intervals);
    build->compare->operand[operand].units = work;
    free(activity);
    return 0;
}

/* Each recording is one figure, as good as any other: by their effective number (Kish, Survey Sampling, 1965). */
static bool are_alike(const struct wp_operand_intervals *intervals)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < intervals->count; i++) {
        sum += intervals->wall_ns[i];
        squares += intervals->wall_ns[i] * intervals->wall_ns[i];
    }
    return sum * sum > LEAST_ALIKE * intervals->count * squares;
}

static bool can_know(const struct wp_compare_build *build)
{
    bool can = true;
    for (int operand = 0; operand < 2; operand++) {
        const struct wp_operand_intervals *intervals = &build->intervals[operand];
        can &= intervals->count > 1 && are_alike(intervals);
        for (uint32_t i = 0; i < intervals->count; i++)
            can &= intervals->wall_ns[i] > 0;
    }
    return can;
}

int wp_compare_work(struct wp_compare_build *build, bool *is_known)
{
    struct hops hops = {.recordings = build->intervals[WP_BEFORE].count + build->intervals[WP_AFTER].count,
        .before = build->intervals[WP_BEFORE].count};
    struct wp_intmap keys = {0};
    struct wp_weighted *ratios = NULL;
    *is_known = false;
    if (!can_know(build))
        return 0;
    hops.size = calloc(hops.recordings, sizeof(*hops.size));
    int rc = hops.size ? sum_hops(&hops, &keys, build) : -ENOMEM;
    ratios = rc ? NULL : calloc(hops.count + 1u, sizeof(*ratios));
    rc = ratios ? 0 : -ENOMEM;
    if (!rc) {
        weigh(&hops, build);
        *is_known = find_sizes(&hops, ratios);
    }
    double ratio;
    if (*is_known && find_ratio(&hops, ratios, &ratio))
        make_ratio(&hops, ratio);
    if (*is_known) {
        scale(&hops, &build->intervals[WP_BEFORE]);
        for (int operand = 0; operand < 2 && !rc; operand++)
            rc = spread_out(build, operand, hops.size + (operand ? hops.before : 0));
    }
    wp_intmap_fini(&keys);
    free(ratios);
    free(hops.ns);
    free(hops.times);
    free(hops.weight);
    free(hops.size);
    return rc;
}
