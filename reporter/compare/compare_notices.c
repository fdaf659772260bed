/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_notices.h"

#include "reporter/compare/compare.h"
#include "reporter/compare/compare_asks.h"
#include "reporter/display/humanize.h"
#include "reporter/recording/recorded_title.h"

#include <inttypes.h>

/* What one side's data cannot say; NULL: nothing. */
static const char *lack_of(struct wp_pool *pool, const struct wp_operand *operand)
{
    if (!operand->buckets)
        return wp_pool_printf(pool,
            "%s holds no samples of when its time was (an older version recorded it): changes are "
            "shown and not tested.",
            operand->label);
    if (operand->sampled_ns < operand->total_ns - operand->total_ns / 50)
        return wp_pool_printf(pool, "Only %s of the time of %s says when it was; the rest is not compared.",
            wp_human_share(pool, operand->sampled_ns, operand->total_ns), operand->label);
    if (operand->buckets < 4)
        return wp_pool_printf(
            pool, "%s is too short to tell what varies by itself: changes are shown and not tested.", operand->label);
    return NULL;
}

/* Why it is not by the unit that was asked for; NULL: it is. */
static const char *unit_of(struct wp_pool *pool, const struct wp_compare *compare)
{
    const char *unit = wp_per_unit(compare->options.per);
    if (compare->asked == WP_PER_WORK && compare->options.per != WP_PER_WORK)
        return wp_pool_printf(pool,
            "Not per work, as was asked, but in %s: work takes two recordings or more of each, of about the same "
            "length and with three hops in common; there are %" PRIu32 " and %" PRIu32 ".",
            unit, compare->operand[WP_BEFORE].intervals, compare->operand[WP_AFTER].intervals);
    if (compare->asked == WP_PER_REQUEST && compare->options.per != WP_PER_REQUEST)
        return wp_pool_printf(pool,
            "Not per request, as was asked, but in %s: that takes a port which both serve a hundred times or more, "
            "for most of what they do.",
            unit);
    return NULL;
}

size_t wp_compare_notices(
    struct wp_pool *pool, const struct wp_compare *compare, const char *notices[WP_COMPARE_NOTICES])
{
    const struct wp_facts *const *facts = compare->facts;
    size_t count = 0;
    const char *unit = unit_of(pool, compare);
    if (unit)
        notices[count++] = unit;
    if (wp_recorded_differs(facts[WP_BEFORE], facts[WP_AFTER]))
        notices[count++] = wp_pool_printf(pool,
            "The commands differ: %s is of %s and %s of %s. RELEASE:AGGREGATE chooses others, which wakepath-store "
            "stat lists.",
            compare->operand[WP_BEFORE].label, wp_recorded_what(pool, facts[WP_BEFORE]),
            compare->operand[WP_AFTER].label, wp_recorded_what(pool, facts[WP_AFTER]));
    if (facts[WP_AFTER]->contour)
        notices[count++] = wp_pool_printf(pool, "Left out of the stacks of both: %s.", facts[WP_AFTER]->contour);
    for (int i = 0; i < 2; i++) {
        const struct wp_operand *operand = &compare->operand[i];
        if (operand->overlaps)
            notices[count++] = wp_pool_printf(pool, "%s: %s", operand->label, operand->overlaps);
        const char *lack = lack_of(pool, operand);
        if (lack)
            notices[count++] = lack;
    }
    return count + wp_compare_asks(pool, compare, notices + count);
}
