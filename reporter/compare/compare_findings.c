/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_findings.h"

#include "reporter/compare/compare_method.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/doing.h"
#include "reporter/facts/stack_text.h"

#include <math.h>
#include <string.h>

#define TIMES_FROM 100.0 /* percent from which a growth reads better as a factor */

const char *wp_rate_text(struct wp_pool *pool, double ns)
{
    return wp_human_duration(pool, ns > 0 ? (uint64_t)llround(fmin(ns, 9e18)) : 0);
}

static bool is_new(const struct wp_change *change)
{
    return !change->ns[WP_BEFORE] && change->ns[WP_AFTER];
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

const char *wp_change_confidence(struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change)
{
    double confidence = change->assessment.confidence;
    if (compare->options.method == WP_METHOD_T_TEST)
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
    if (compare->options.method != WP_METHOD_T_TEST)
        return isnan(found->confidence) || !found->confidence_kind
            ? wp_pool_printf(pool, "%s by %s", wp_severity_words(found), wp_method_key(compare->options.method))
            : wp_pool_printf(pool, "%s by %s, %s%s%s%s%s = %s", wp_severity_words(found),
                  wp_method_key(compare->options.method), found->before ? found->before : "",
                  found->before ? " to " : "", found->after ? found->after : "", found->before ? ", " : "",
                  found->confidence_kind, wp_change_confidence(pool, compare, change));
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

const char *wp_compare_sentence(struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change)
{
    const char *who = subject(pool, change), *unit = wp_per_unit(compare->options.per);
    const char *does = change->category >= 0 ? wp_category_doing((enum wp_category)change->category)
        : is_new(change) || is_gone(change)  ? "takes part"
                                             : "takes";
    const char *before = wp_rate_text(pool, change->rate[WP_BEFORE].value);
    const char *after = wp_rate_text(pool, change->rate[WP_AFTER].value), *p = certainty(pool, compare, change);
    const struct wp_side *one = &compare->side[WP_BEFORE], *other = &compare->side[WP_AFTER];
    if (wp_compare_is_of_hosts(compare) && is_new(change))
        return wp_pool_printf(pool, "Only on %s: %s %s, %s in %s (%s).", other->label, who, does, after, unit, p);
    if (wp_compare_is_of_hosts(compare) && is_gone(change))
        return wp_pool_printf(
            pool, "Not on %s: %s %s, %s in %s on %s (%s).", other->label, who, does, before, unit, one->label, p);
    if (is_new(change))
        return wp_pool_printf(
            pool, "%s now %s: %s in %s, where it was nothing before (%s).", who, does, after, unit, p);
    if (is_gone(change))
        return wp_pool_printf(pool, "%s no longer %s: it was %s in %s (%s).", who, does, before, unit, p);
    if (change->percent >= TIMES_FROM)
        return wp_pool_printf(pool, "%s %s %s times as long: %s in %s instead of %s (%s).", who, does,
            times(pool, 1 + change->percent / 100), after, unit, before, p);
    return wp_pool_printf(pool, "%s %s %s %s: %s in %s instead of %s (%s).", who, does,
        wp_human_percent(pool, fabs(change->percent)), change->delta > 0 ? "longer" : "less", after, unit, before, p);
}

size_t wp_compare_first(const struct wp_compare *compare, const struct wp_change **first, size_t room)
{
    size_t count = 0;
    for (int family = 0; family < WP_CHANGE_FAMILIES && !count; family++) {
        if (!wp_compare_is_judged(compare, (enum wp_change_family)family))
            continue;
        const struct wp_changes *changes = &compare->changes[family];
        for (size_t i = 0; i < changes->count && count < room; i++)
            if (changes->rows[i].verdict == WP_VERDICT_WORSE || changes->rows[i].verdict == WP_VERDICT_BETTER)
                first[count++] = &changes->rows[i];
    }
    return count;
}

const char *wp_compare_summary(struct wp_pool *pool, const struct wp_compare *compare)
{
    const struct wp_change *first = NULL;
    const char *before = compare->side[WP_BEFORE].label, *after = compare->side[WP_AFTER].label;
    if (wp_compare_first(compare, &first, 1))
        return wp_compare_is_of_hosts(compare)
            ? wp_pool_printf(pool, "%s against %s: %s", after, before, wp_compare_sentence(pool, compare, first))
            : wp_pool_printf(pool, "Since %s: %s", before, wp_compare_sentence(pool, compare, first));
    if (!compare->judged && compare->options.method == WP_METHOD_T_TEST)
        return wp_pool_printf(
            pool, "%s and %s cannot be tested against each other: too little was recorded.", after, before);
    return wp_pool_printf(pool,
        compare->options.method == WP_METHOD_T_TEST
            ? "Nothing in %s takes longer or shorter than in %s by more than it varies by itself."
            : "Nothing in %s has changed since %s.",
        after, before);
}
