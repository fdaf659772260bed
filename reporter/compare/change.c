/* SPDX-License-Identifier: Apache-2.0 */
/* One row of a comparison: its rates, what they vary by, and whether they differ by more than that. */
#include "reporter/compare/change.h"

#include "reporter/compare/compare_build.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LISTED_SHARE 0.001 /* of the whole of one side: less is not a row */
#define LEAST_PIECES 5u    /* on the fuller side: fewer happenings are no distribution */

bool wp_change_is_listed(const struct wp_compare *compare, uint64_t before, uint64_t after)
{
    return (double)before >= LISTED_SHARE * (double)compare->side[WP_BEFORE].total_ns + 1 ||
        (double)after >= LISTED_SHARE * (double)compare->side[WP_AFTER].total_ns + 1;
}

void wp_change_fill(
    const struct wp_compare_build *build, struct wp_change *change, const struct wp_row_sums *sums, uint32_t row)
{
    bool itself = build->compare->options.per == WP_PER_RECORDING;
    for (int i = 0; i < 2; i++) {
        const struct wp_side *side = &build->compare->side[i];
        const double *parts = &sums->parts[i][(size_t)row * side->buckets];
        change->ns[i] = sums->ns[i][row];
        change->count[i] = sums->count[i][row];
        change->rate[i].value = (double)change->ns[i] / side->units;
        if (!side->buckets)
            continue;
        change->rate[i] = wp_rate_of(parts, build->activity[i], side->buckets, side->units);
        change->between[i] = wp_stretches_rate(&build->stretches[i], &change->rate[i], parts, build->activity[i],
            side->buckets, itself ? WP_STRETCH_ITSELF : WP_STRETCH_SIZE);
    }
}

static bool has_ratio(const struct wp_change *change, int side)
{
    return change->between[side].freedom > 0 && change->rate[side].freedom > 0 && change->rate[side].error > 0;
}

static struct wp_variance_ratio ratio_of(const struct wp_change *change, int side)
{
    double ratio = change->between[side].error / change->rate[side].error;
    return (struct wp_variance_ratio){ratio * ratio, change->between[side].freedom};
}

static bool is_few(const struct wp_change *change)
{
    bool testable = change->rate[WP_BEFORE].freedom > 0 && change->rate[WP_AFTER].freedom > 0;
    return !testable || (change->count[WP_BEFORE] < LEAST_PIECES && change->count[WP_AFTER] < LEAST_PIECES);
}

int wp_compare_moderate(struct wp_compare *compare)
{
    const struct wp_changes *changes = &compare->changes[WP_CHANGE_HOPS];
    struct wp_variance_ratio *ratios = calloc(changes->count * 2 + 1, sizeof(*ratios));
    size_t count = 0;
    if (!ratios)
        return -ENOMEM;
    for (size_t i = 0; i < changes->count; i++)
        for (int side = 0; side < 2; side++)
            if (has_ratio(&changes->rows[i], side) && !is_few(&changes->rows[i]))
                ratios[count++] = ratio_of(&changes->rows[i], side);
    compare->moderation = wp_moderation_of(ratios, count);
    free(ratios);
    return 0;
}

/* What the recordings tell of a row, in the error inside of them; a side of one recording is taken to vary like the
 * other. */
static double widen(const struct wp_compare *compare, struct wp_change *change)
{
    struct wp_variance_ratio known[2] = {{0}};
    double shared = 0;
    for (int i = 0; i < 2; i++)
        if (has_ratio(change, i)) {
            known[i] = ratio_of(change, i);
            known[i] = wp_moderate(&compare->moderation, &known[i]);
        }
    for (int i = 0; i < 2; i++) {
        bool is_lone = compare->side[i].stretches < 2 && compare->side[!i].stretches > 1;
        struct wp_variance_ratio ratio = is_lone ? known[!i] : known[i];
        if (ratio.freedom <= 0 || change->rate[i].freedom <= 0)
            continue;
        shared = is_lone ? ratio.freedom : shared;
        change->rate[i].error *= sqrt(is_lone ? fmax(ratio.ratio, 1) : ratio.ratio);
        change->rate[i].freedom = fmin(change->rate[i].freedom + change->between[i].freedom, ratio.freedom);
    }
    return shared;
}

void wp_change_test(const struct wp_compare *compare, struct wp_change *change)
{
    double shared = widen(compare, change);
    change->delta = change->rate[WP_AFTER].value - change->rate[WP_BEFORE].value;
    change->percent = change->rate[WP_BEFORE].value > 0 ? 100 * change->delta / change->rate[WP_BEFORE].value
        : change->delta > 0                             ? INFINITY
                                                        : 0;
    struct wp_welch welch = wp_welch_test(&change->rate[WP_BEFORE], &change->rate[WP_AFTER]);
    if (shared > 0 && welch.freedom > shared) /* both errors are one estimate: its degrees of freedom do not add up */
        welch.p = wp_student_tail(welch.t, shared);
    change->t = welch.t;
    change->p = change->adjusted = welch.p;
    if (is_few(change))
        change->verdict = WP_VERDICT_FEW;
}

bool wp_change_is_tested(const struct wp_change *change)
{
    return change->verdict != WP_VERDICT_FEW && !change->is_ignored;
}

void wp_change_judge(const struct wp_compare *compare, struct wp_change *change, double material)
{
    if (!wp_change_is_tested(change) || change->adjusted >= compare->options.alpha || fabs(change->delta) < material ||
        fabs(change->percent) < compare->options.threshold_percent)
        return;
    change->verdict = change->delta > 0 ? WP_VERDICT_WORSE : WP_VERDICT_BETTER;
}
