/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_findings.h"

#include "reporter/compare/compare_location.h"
#include "reporter/compare/compare_method.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/doing.h"
#include "reporter/facts/stack_text.h"

#include <math.h>
#include <string.h>

#define TIMES_FROM 100.0 /* percent from which a growth reads better as a factor */

static const char *rate_text(struct wp_pool *pool, double ns)
{
    return wp_human_duration(pool, ns > 0 ? (uint64_t)llround(fmin(ns, 9e18)) : 0);
}

/* Of the older side there is nothing: in all, or in what is measured, as where a request had none of it. */
static bool is_new(const struct wp_change *change)
{
    bool is_none = !change->ns[WP_BEFORE] || (change->kind == WP_CHANGE_TIME && change->rate[WP_BEFORE].value < 0.5);
    return is_none && change->ns[WP_AFTER];
}

static bool is_gone(const struct wp_change *change)
{
    return change->ns[WP_BEFORE] && !change->ns[WP_AFTER];
}

const char *wp_change_percent(struct wp_pool *pool, const struct wp_change *change)
{
    if (is_new(change))
        return "new";
    if (is_gone(change))
        return "gone";
    if (isinf(change->percent))
        return "–";
    if (change->percent >= TIMES_FROM)
        return wp_pool_printf(pool, "%.*f ×", change->percent < 900 ? 1 : 0, 1 + change->percent / 100);
    if (fabs(change->percent) < 0.05)
        return "0 %";
    return wp_pool_printf(pool, "%s%.*f %%", change->percent > 0 ? "+" : "−", fabs(change->percent) < 9.95 ? 1 : 0,
        fabs(change->percent));
}

/* "< 0.001", "0.024", "–" for a row that was not tested */
static const char *change_p(struct wp_pool *pool, const struct wp_change *change)
{
    if (change->verdict == WP_VERDICT_FEW || change->is_ignored)
        return "–";
    if (change->adjusted < 0.001)
        return "< 0.001";
    return wp_pool_printf(pool, "%.*f", change->adjusted < 0.1 ? 3 : 2, change->adjusted);
}

/* The whole is, whatever the method. */
static bool is_t_tested(const struct wp_compare *compare, const struct wp_change *change)
{
    return compare->options.method == WP_METHOD_T_TEST || change->kind != WP_CHANGE_TIME;
}

const char *wp_change_confidence(struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change)
{
    double confidence = change->assessment.confidence;
    if (is_t_tested(compare, change))
        return change_p(pool, change);
    if (isnan(confidence) || change->is_ignored)
        return "–";
    if (isinf(confidence))
        return "∞";
    return wp_pool_printf(pool, "%.*f", confidence < 10 ? 2 : 0, confidence);
}

/* In brackets behind a sentence: how sure, and by what. */
static const char *certainty(struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change)
{
    const struct wp_assessment *found = &change->assessment;
    if (!is_t_tested(compare, change))
        return isnan(found->confidence) || !found->confidence_kind
            ? wp_pool_printf(pool, "%s by %s", wp_severity_words(found), wp_method_key(compare->options.method))
            : wp_pool_printf(pool, "%s by %s, %s%s%s%s%s = %s", wp_severity_words(found),
                  wp_method_key(compare->options.method),
                  found->has_models ? wp_model_key(found->models[WP_BEFORE].model.kind) : "",
                  found->has_models ? " to " : "",
                  found->has_models ? wp_model_key(found->models[WP_AFTER].model.kind) : "",
                  found->has_models ? ", " : "", found->confidence_kind, wp_change_confidence(pool, compare, change));
    const char *p = change_p(pool, change);
    /* With spaces that no line breaks at. */
    return *p == '<' ? "p\u00a0<\u00a00.001" : wp_pool_printf(pool, "p\u00a0=\u00a0%s", p);
}

/* Who, and doing what; a category alone speaks for everybody. */
static const char *subject(struct wp_pool *pool, const struct wp_change *change)
{
    if (change->category >= 0 && change->process)
        return wp_pool_clip(pool, change->name, 160);
    if (change->category >= 0)
        return "Altogether it";
    return wp_stack_plain_process(pool, change->name);
}

/* "2.3", "47", "1 174" */
static const char *times(struct wp_pool *pool, double ratio)
{
    return ratio < 9.95 ? wp_pool_printf(pool, "%.1f", ratio)
        : ratio < 1e18  ? wp_human_count(pool, (uint64_t)(ratio + 0.5))
                        : "1e18";
}

static const char *more_or_less(struct wp_pool *pool, const struct wp_change *change, const char *more)
{
    if (change->percent >= TIMES_FROM)
        return wp_pool_printf(pool, "%s times as %s", times(pool, 1 + change->percent / 100), more);
    return wp_pool_printf(pool, "%s %s", wp_human_percent(pool, fabs(change->percent)),
        change->delta > 0 ? (!strcmp(more, "long") ? "longer" : "more") : "less");
}

const char *wp_change_value(struct wp_pool *pool, const struct wp_change *change, double value)
{
    return change->kind == WP_CHANGE_RATE
        ? wp_pool_printf(pool, "%.*f /s", value < 99.95 ? value < 9.995 ? 2 : 1 : 0, value)
        : rate_text(pool, value);
}

/* "One recording takes 46 % longer: 5.31 s instead of 3.63 s (p < 0.001)." */
static const char *whole_sentence(
    struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change)
{
    const char *before = wp_change_value(pool, change, change->rate[WP_BEFORE].value);
    const char *after = wp_change_value(pool, change, change->rate[WP_AFTER].value);
    const char *p = certainty(pool, compare, change);
    if (change->kind == WP_CHANGE_WALL)
        return wp_pool_printf(pool, "One recording takes %s: %s instead of %s (%s).",
            more_or_less(pool, change, "long"), after, before, p);
    if (change->kind == WP_CHANGE_LATENCY)
        return wp_pool_printf(pool, "The %s takes %s: %s instead of %s (%s).", change->name,
            more_or_less(pool, change, "long"), after, before, p);
    return wp_pool_printf(
        pool, "%s: %s, %s instead of %s (%s).", change->name, more_or_less(pool, change, "many"), after, before, p);
}

/* " in handle (shop.c:12)", " in plan, waited for in find_orders (shop.py:18)", "" */
static const char *in_place(struct wp_pool *pool, const struct wp_change *change)
{
    return wp_pool_printf(pool, "%s%s%s%s", change->place ? " in " : "", change->place ? change->place : "",
        change->caller ? ", waited for in " : "", change->caller ? change->caller : "");
}

/* ", 20 ms each": of what the older side has nothing of. */
static const char *each(struct wp_pool *pool, const struct wp_change *change)
{
    uint64_t count = change->count[WP_AFTER];
    return count > 1 ? wp_pool_printf(pool, ", %s each time", wp_human_duration(pool, change->ns[WP_AFTER] / count))
                     : "";
}

const char *wp_compare_sentence(struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change)
{
    if (change->kind != WP_CHANGE_TIME)
        return whole_sentence(pool, compare, change);
    const char *who = subject(pool, change), *unit = wp_per_unit(compare->options.per);
    const char *does = change->category >= 0 ? wp_category_doing((enum wp_category)change->category)
        : is_new(change) || is_gone(change)  ? "takes part"
                                             : "takes";
    const char *before = rate_text(pool, change->rate[WP_BEFORE].value), *where = in_place(pool, change);
    const char *after = rate_text(pool, change->rate[WP_AFTER].value), *p = certainty(pool, compare, change);
    const struct wp_operand *one = &compare->operand[WP_BEFORE], *other = &compare->operand[WP_AFTER];
    if (wp_compare_is_of_hosts(compare) && is_new(change))
        return wp_pool_printf(
            pool, "Only on %s: %s %s%s, %s in %s (%s).", other->label, who, does, where, after, unit, p);
    if (wp_compare_is_of_hosts(compare) && is_gone(change))
        return wp_pool_printf(
            pool, "Not on %s: %s %s, %s in %s on %s (%s).", other->label, who, does, before, unit, one->label, p);
    if (is_new(change))
        return wp_pool_printf(pool, "%s now %s%s%s: %s in %s, where it was nothing before (%s).", who, does, where,
            change->category >= 0 ? each(pool, change) : "", after, unit, p);
    if (is_gone(change))
        return wp_pool_printf(pool, "%s no longer %s: it was %s in %s (%s).", who, does, before, unit, p);
    return wp_pool_printf(pool, "%s %s%s%s %s: %s in %s instead of %s (%s).", who, does, where,
        strchr(where, ',') || strstr(where, WP_COMPARE_CALLS) ? "," : "", more_or_less(pool, change, "long"), after,
        unit, before, p);
}

/* Rows with that verdict of the first of the families from..to that has some. */
static size_t add_first(const struct wp_compare *compare, enum wp_verdict verdict, int from, int to,
    const struct wp_change **first, size_t room)
{
    size_t count = 0;
    for (int family = from; family < to && !count; family++) {
        if (!wp_compare_is_judged(compare, (enum wp_change_family)family))
            continue;
        const struct wp_changes *changes = &compare->changes[family];
        for (size_t i = 0; i < changes->count && count < room; i++)
            if (changes->rows[i].verdict == verdict)
                first[count++] = &changes->rows[i];
    }
    return count;
}

size_t wp_compare_first(const struct wp_compare *compare, const struct wp_change **first, size_t room)
{
    static const enum wp_verdict verdicts[] = {WP_VERDICT_WORSE, WP_VERDICT_BETTER};
    size_t count = 0;
    for (; compare->is_arranged && count < room && count < compare->told_count; count++)
        first[count] = &compare->told[count];
    if (compare->is_arranged)
        return count;
    for (size_t i = 0; i < 2; i++) {
        size_t whole = room > count ? 1 : 0; /* one sentence says it of the whole; the others follow from it */
        count += add_first(compare, verdicts[i], WP_CHANGE_WHOLE, WP_CHANGE_HOPS, first + count, whole);
        count += add_first(compare, verdicts[i], WP_CHANGE_HOPS, WP_CHANGE_FAMILIES, first + count, room - count);
    }
    return count;
}

const char *wp_compare_summary(struct wp_pool *pool, const struct wp_compare *compare)
{
    const struct wp_change *first[2] = {NULL};
    const char *before = compare->operand[WP_BEFORE].label, *after = compare->operand[WP_AFTER].label;
    size_t count = wp_compare_first(compare, first, 2);
    bool has_cause = count > 1 && first[0]->kind != WP_CHANGE_TIME && first[1]->verdict == first[0]->verdict;
    const char *cause = has_cause ? wp_pool_printf(pool, " %s", wp_compare_sentence(pool, compare, first[1])) : "";
    if (count)
        return wp_compare_is_of_hosts(compare)
            ? wp_pool_printf(
                  pool, "%s against %s: %s%s", after, before, wp_compare_sentence(pool, compare, first[0]), cause)
            : wp_pool_printf(pool, "Since %s: %s%s", before, wp_compare_sentence(pool, compare, first[0]), cause);
    if (!compare->judged && compare->options.method == WP_METHOD_T_TEST)
        return wp_pool_printf(
            pool, "%s and %s cannot be tested against each other: too little was recorded.", after, before);
    if (compare->perhaps.name)
        return wp_pool_printf(pool, "Perhaps, and more recordings of both would tell: %s",
            wp_compare_sentence(pool, compare, &compare->perhaps));
    return wp_pool_printf(pool,
        compare->options.method == WP_METHOD_T_TEST
            ? "Nothing in %s takes longer or shorter than in %s by more than it varies by itself."
            : "Nothing in %s has changed since %s.",
        after, before);
}
