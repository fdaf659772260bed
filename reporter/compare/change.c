/* SPDX-License-Identifier: Apache-2.0 */
/* One row of a comparison: its rates, what they vary by, and whether they differ by more than that. */
#include "reporter/compare/change.h"

#include "reporter/compare/compare_build.h"
#include "reporter/compare/compare_pace.h"
#include "reporter/compare/contention.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LISTED_SHARE 0.001   /* of the whole of one side: less is not a row */
#define LEAST_SPREAD 0.1     /* between recordings, of a row that one side has nothing of: less is chance */
#define LARGE_SHARE 0.01     /* of the whole of each side */
#define LEAST_ALIKE 5.0      /* what large rows of a category say of each other, in degrees of freedom */
#define LEAST_RELATIVE 0.005 /* the same of a row that both have */
#define IDLE_SHARE 0.5       /* of a difference: a row that has more is of threads with nothing to do */
#define SMALL_SHARE 0.3      /* an error of the logarithm */
#define OF_CONTENTION 0.25   /* so much of what requests wait for a CPU others make of any other time */
#define LEAST_PIECES 5u      /* on the fuller side: fewer happenings are no distribution */

bool wp_change_is_listed(const struct wp_compare *compare, uint64_t before, uint64_t after)
{
    return (double)before >= LISTED_SHARE * (double)compare->operand[WP_BEFORE].total_ns + 1 ||
        (double)after >= LISTED_SHARE * (double)compare->operand[WP_AFTER].total_ns + 1;
}

/* What happens once in some recordings is in all three of one side and in none of the other in every 64th comparison of
 * equals, by chance. From start to end a command does the same each time; a service's recording begins anywhere. */
static bool is_regular(const struct wp_compare_build *build, const struct wp_change *change, int operand)
{
    const struct wp_operand *of = &build->compare->operand[operand];
    bool is_command = build->compare->options.per == WP_PER_RECORDING;
    return change->count[operand] >= (uint64_t)LEAST_PIECES * build->intervals[operand].count ||
        (is_command && (double)change->ns[operand] >= LARGE_SHARE * (double)of->total_ns);
}

/* In every recording of one side and in none of the other, where there are recordings to say so. */
static bool is_lone(
    const struct wp_compare_build *build, const struct wp_change *change, const struct wp_row_sums *sums, uint32_t row)
{
    int operand = change->ns[WP_AFTER] ? WP_AFTER : WP_BEFORE;
    uint32_t buckets = build->compare->operand[operand].buckets;
    return change->ns[operand] && !change->ns[!operand] && build->intervals[operand].count > 1 &&
        build->intervals[!operand].count > 1 && is_regular(build, change, operand) &&
        wp_intervals_have_all(&build->intervals[operand], &sums->parts[operand][(size_t)row * buckets], buckets);
}

/* Where recordings of commands are the unit: each has a figure of the row, however few pieces that is the sum of. */
static bool is_in_all(
    const struct wp_compare_build *build, const struct wp_change *change, const struct wp_row_sums *sums, uint32_t row)
{
    bool is = build->compare->options.per == WP_PER_RECORDING;
    double largest = 0;
    for (int i = 0; i < 2 && is; i++) {
        const struct wp_operand *operand = &build->compare->operand[i];
        largest = fmax(largest, (double)change->ns[i] / fmax(1, (double)operand->total_ns));
        is = build->intervals[i].count > 1 &&
            wp_intervals_have_all(
                &build->intervals[i], &sums->parts[i][(size_t)row * operand->buckets], operand->buckets);
    }
    return is && largest >= LARGE_SHARE;
}

/* What requests have of a row varies by as much as the whole of it does; what is mostly other time, as requests do
 * among themselves. */
static void take_request(struct wp_measured_rate *rate, const struct wp_row_sums *sums, int operand, uint32_t row)
{
    double share = rate->value > 0 ? rate->error / rate->value : 0, value = sums->request[operand][row];
    double whole = share * fmax(rate->value, value - sums->apart[operand][row]);
    rate->value = value;
    rate->error = hypot(whole, sqrt(sums->apart_variance[operand][row]));
}

void wp_change_fill(
    const struct wp_compare_build *build, struct wp_change *change, const struct wp_row_sums *sums, uint32_t row)
{
    bool itself = build->compare->options.per == WP_PER_RECORDING;
    for (int i = 0; i < 2; i++) {
        const struct wp_operand *operand = &build->compare->operand[i];
        const double *parts = &sums->parts[i][(size_t)row * operand->buckets];
        change->ns[i] = sums->ns[i][row];
        change->count[i] = sums->count[i][row];
        change->rate[i].value = (double)change->ns[i] / operand->units;
        if (!operand->buckets)
            continue;
        change->rate[i] = wp_rate_of(parts, build->activity[i], operand->buckets, operand->units);
        change->is_paced |= wp_compare_pace_take(build, change, i, parts, &change->rate[i]);
        if (sums->request[i])
            take_request(&change->rate[i], sums, i, row);
        change->between[i] = wp_intervals_rate(&build->intervals[i], &change->rate[i], parts, build->activity[i],
            operand->buckets, itself ? WP_INTERVAL_ITSELF : WP_INTERVAL_SIZE);
    }
    for (int i = 0; i < 2 && !build->tree.is_by_request; i++)
        change->idle_delta +=
            (i == WP_AFTER ? 1 : -1) * (double)sums->idle_ns[i][row] / build->compare->operand[i].units;
    change->is_lone = is_lone(build, change, sums, row);
    change->is_in_all = is_in_all(build, change, sums, row);
}

static bool has_ratio(const struct wp_change *change, int operand)
{
    return change->between[operand].freedom > 0 && change->rate[operand].freedom > 0 && change->rate[operand].error > 0;
}

static struct wp_variance_ratio ratio_of(const struct wp_change *change, int operand)
{
    double ratio = change->between[operand].error / change->rate[operand].error;
    return (struct wp_variance_ratio){ratio * ratio, change->between[operand].freedom};
}

static bool is_few(const struct wp_change *change)
{
    if (change->is_lone || change->is_in_all)
        return false;
    bool testable = change->rate[WP_BEFORE].freedom > 0 && change->rate[WP_AFTER].freedom > 0;
    return !testable || (change->count[WP_BEFORE] < LEAST_PIECES && change->count[WP_AFTER] < LEAST_PIECES);
}

bool wp_compare_is_by_recording(const struct wp_compare *compare)
{
    bool is_unit = compare->options.per == WP_PER_RECORDING || compare->options.per == WP_PER_WORK;
    return is_unit && compare->operand[WP_BEFORE].intervals > 1 && compare->operand[WP_AFTER].intervals > 1;
}

/* Small rows vary by more of themselves: they do not speak for large ones, nor these for them. */
static bool is_large(const struct wp_compare *compare, const struct wp_change *change)
{
    bool is = true;
    for (int i = 0; i < 2; i++)
        is &= change->rate[i].value * compare->operand[i].units >= LARGE_SHARE * (double)compare->operand[i].total_ns;
    return is;
}

/* By how many recordings of equal length a side's are worth. */
static double worth(const struct wp_compare *compare, const struct wp_change *change, int operand)
{
    bool is_known = change->between[operand].freedom > 0;
    return is_known ? change->between[operand].freedom + 1 : (double)compare->operand[operand].intervals;
}

/* The relative variance between recordings, one for both sides; freedom 0: a side has nothing of the row. */
static struct wp_variance_ratio relative_variance(const struct wp_compare *compare, const struct wp_change *change)
{
    double squares = 0, freedom = 0;
    for (int i = 0; i < 2; i++) {
        double n = worth(compare, change, i);
        if (change->rate[i].value <= 0)
            return (struct wp_variance_ratio){0};
        double spread = change->between[i].error / change->rate[i].value;
        squares += spread * spread * n * (n - 1);
        freedom += n - 1;
    }
    return (struct wp_variance_ratio){squares / freedom, freedom};
}

/* Of large rows of one category. */
static size_t collect_relative(const struct wp_compare *compare, int category, struct wp_variance_ratio *ratios)
{
    const struct wp_changes *changes = &compare->changes[WP_CHANGE_HOPS];
    size_t count = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct wp_change *change = &changes->rows[i];
        if (change->category != category || is_few(change) || !is_large(compare, change))
            continue;
        ratios[count] = relative_variance(compare, change);
        count += ratios[count].freedom > 0;
    }
    return count;
}

int wp_compare_moderate(struct wp_compare *compare)
{
    const struct wp_changes *changes = &compare->changes[WP_CHANGE_HOPS];
    struct wp_variance_ratio *ratios = calloc(changes->count * 2 + 1, sizeof(*ratios));
    size_t count = 0;
    if (!ratios)
        return -ENOMEM;
    for (size_t i = 0; i < changes->count; i++)
        for (int operand = 0; operand < 2; operand++)
            if (has_ratio(&changes->rows[i], operand) && !is_few(&changes->rows[i]))
                ratios[count++] = ratio_of(&changes->rows[i], operand);
    compare->moderation = wp_moderation_of(ratios, count);
    for (int category = 0; category < WP_CATEGORIES && wp_compare_is_by_recording(compare); category++) {
        struct wp_moderation *moderation = &compare->by_category[category];
        *moderation = wp_moderation_of(ratios, collect_relative(compare, category, ratios));
        if (moderation->freedom > 0)
            moderation->freedom = fmax(moderation->freedom, LEAST_ALIKE);
    }
    free(ratios);
    return 0;
}

/* What the recordings say of a row, in the error inside of them; a side of one recording is taken to vary like the
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
        bool is_lone = compare->operand[i].intervals < 2 && compare->operand[!i].intervals > 1;
        struct wp_variance_ratio ratio = is_lone ? known[!i] : known[i];
        if (ratio.freedom <= 0 || change->rate[i].freedom <= 0)
            continue;
        shared = is_lone ? ratio.freedom : shared;
        change->rate[i].error *= sqrt(is_lone ? fmax(ratio.ratio, 1) : ratio.ratio);
        change->rate[i].freedom = fmin(change->rate[i].freedom + change->between[i].freedom, ratio.freedom);
    }
    return shared;
}

/*
 * What one side has nothing of: were the sides equal, they would have one variance, so that the spread of the side that
 * has it tells it for both. Pieces and buckets do not matter: one long sleep in each recording is a change.
 */
static struct wp_welch lone_test(const struct wp_compare *compare, const struct wp_change *change)
{
    int operand = change->rate[WP_AFTER].value > 0 ? WP_AFTER : WP_BEFORE;
    double here = worth(compare, change, operand), there = worth(compare, change, !operand), freedom = here + there - 2;
    double value = change->rate[operand].value;
    double spread = fmax(change->between[operand].error * sqrt(here), LEAST_SPREAD * value);
    double variance = spread * spread * (here - 1) / freedom;
    double t = value > 0 ? change->delta / sqrt(variance * (1 / here + 1 / there)) : 0;
    return (struct wp_welch){t, freedom, wp_student_tail(t, freedom)};
}

/* The figure of a recording is no average of many pieces. */
static bool is_of_few(const struct wp_compare *compare, const struct wp_change *change)
{
    bool is = true;
    for (int i = 0; i < 2; i++)
        is &= change->count[i] < (uint64_t)LEAST_PIECES * compare->operand[i].intervals;
    return is;
}

/*
 * Recordings of commands: each is one figure of a row, and its spread from one to the next is one for both sides and of
 * the size of the row. It is drawn towards that of other rows (moderated t). The difference is by the mean of both.
 */
static struct wp_welch recordings_test(const struct wp_compare *compare, struct wp_change *change)
{
    struct wp_variance_ratio relative = relative_variance(compare, change);
    double sum = change->rate[WP_BEFORE].value + change->rate[WP_AFTER].value;
    if (relative.freedom <= 0)
        return lone_test(compare, change);
    if (change->category >= 0 && is_large(compare, change))
        relative = wp_moderate(&compare->by_category[change->category], &relative);
    relative.ratio = fmax(relative.ratio, LEAST_RELATIVE * LEAST_RELATIVE);
    double squares = 0;
    for (int i = 0; i < 2; i++) {
        double variance = relative.ratio / worth(compare, change, i);
        squares += variance;
        change->rate[i].error = change->rate[i].value * sqrt(variance);
        change->rate[i].freedom = relative.freedom;
    }
    double t = 2 * change->delta / sum / sqrt(squares), p = wp_student_tail(t, relative.freedom);
    if (is_of_few(compare, change)) /* three that lie anywhere, alike, have a p of a thousandth twice as often */
        p = fmin(1, 2 * p);
    return (struct wp_welch){t, relative.freedom, p};
}

/* Times vary by shares of themselves: where these are small, the logarithms are tested. Of a time that is a hundred
 * times as long, else the error of the longer one alone would count. */
static struct wp_welch share_test(const struct wp_measured_rate rates[2])
{
    struct wp_measured_rate logs[2];
    bool is_small = true;
    for (int i = 0; i < 2; i++) {
        is_small &= rates[i].value > 0 && rates[i].error <= SMALL_SHARE * rates[i].value;
        logs[i] = rates[i];
        logs[i].value = rates[i].value > 0 ? log(rates[i].value) : 0;
        logs[i].error = rates[i].value > 0 ? rates[i].error / rates[i].value : 0;
    }
    return is_small ? wp_welch_test(&logs[WP_BEFORE], &logs[WP_AFTER])
                    : wp_welch_test(&rates[WP_BEFORE], &rates[WP_AFTER]);
}

/* The rates without what others on the machine make of the difference, as far as requests tell: who waits less for a
 * CPU does not run as fast in each recording, either. */
static struct wp_welch calm_test(const struct wp_compare *compare, const struct wp_change *change)
{
    const struct wp_operand *operands = compare->operand;
    struct wp_measured_rate rates[2] = {change->rate[WP_BEFORE], change->rate[WP_AFTER]};
    double before = rates[WP_BEFORE].value, ratio = rates[WP_AFTER].value / fmax(before, 1e-9);
    double moves = change->is_paced ? OF_CONTENTION : 1; /* who runs, waits for no CPU */
    if (before > 0 && ratio > 0)
        rates[WP_AFTER].value = before *
            exp(wp_contention_rest(
                log(ratio), moves * operands[WP_BEFORE].contention, moves * operands[WP_AFTER].contention));
    for (int i = 0; i < 2; i++) {
        double share = operands[i].contention * OF_CONTENTION / sqrt(fmax(1, operands[i].intervals));
        rates[i] = wp_rate_with_known(rates[i], rates[i].value * share);
    }
    return share_test(rates);
}

/* From what varies inside of recordings, and between them where there are several. */
static struct wp_welch buckets_test(const struct wp_compare *compare, struct wp_change *change)
{
    /* Of few recordings that requests tell, how the buckets of one differ from those of another is in their errors. */
    double shared = compare->is_unsettled ? 0 : widen(compare, change);
    struct wp_welch welch = calm_test(compare, change);
    if (shared > 0 && welch.freedom > shared) /* both errors are one estimate: its degrees of freedom do not add up */
        welch.p = wp_student_tail(welch.t, shared);
    if (change->is_lone) /* the smaller of two p is twice that */
        welch.p = fmin(1, 2 * fmin(welch.p, lone_test(compare, change).p));
    return welch;
}

void wp_change_test(const struct wp_compare *compare, struct wp_change *change)
{
    change->delta = change->rate[WP_AFTER].value - change->rate[WP_BEFORE].value;
    change->percent = change->rate[WP_BEFORE].value > 0 ? 100 * change->delta / change->rate[WP_BEFORE].value
        : change->delta > 0                             ? INFINITY
                                                        : 0;
    bool has_few = is_few(change);
    struct wp_welch test =
        wp_compare_is_by_recording(compare) ? recordings_test(compare, change) : buckets_test(compare, change);
    change->t = test.t;
    change->p = change->adjusted = test.p;
    if (has_few)
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
    bool is_worse = (change->delta > 0) != (change->kind == WP_CHANGE_RATE);
    change->verdict = is_worse ? WP_VERDICT_WORSE : WP_VERDICT_BETTER;
}

bool wp_change_is_idle(const struct wp_change *change)
{
    return fabs(change->delta) > 0 && change->idle_delta / change->delta >= IDLE_SHARE;
}

bool wp_change_is_moved(const struct wp_compare *compare, const struct wp_change *change)
{
    bool is_worse = change->verdict == WP_VERDICT_WORSE, is_better = change->verdict == WP_VERDICT_BETTER;
    if (change->kind != WP_CHANGE_TIME)
        return compare->is_worse_whole && is_better;
    return (compare->is_worse_whole && is_better) || (compare->is_better_whole && is_worse) ||
        (wp_change_is_idle(change) && (is_worse || is_better));
}
