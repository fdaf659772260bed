/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_asks.h"

#include "reporter/display/humanize.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"

#include <math.h>
#include <string.h>

#define LEAST_REQUESTS 100.0 /* on each side */
#define LEAST_TIMES 2.0
#define LEAST_MORE 0.7 /* of a request */

/* By request of each side. */
struct rates {
    const struct wp_ask_fact *ask;
    bool is_opens;
    double each[2];
};

static double more(const struct rates *rates)
{
    return fabs(rates->each[WP_AFTER] - rates->each[WP_BEFORE]);
}

static double requests_of(const struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_transaction *rows = wp_report_transactions(facts->report, &count);
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += rows[i].part == WP_PART_WHOLE ? (double)rows[i].count : 0;
    return sum;
}

static const struct wp_ask_fact *find(const struct wp_facts *facts, const struct wp_ask_fact *like)
{
    for (size_t i = 0; i < facts->ask_count; i++)
        if (!strcmp(facts->asks[i].who, like->who) && !strcmp(facts->asks[i].peer, like->peer))
            return &facts->asks[i];
    return NULL;
}

static void keep_rates(struct rates kept[WP_COMPARE_ASKS], const struct rates *rates)
{
    double low = fmin(rates->each[WP_BEFORE], rates->each[WP_AFTER]);
    struct rates row = *rates;
    if (more(&row) < LEAST_MORE || low + more(&row) < LEAST_TIMES * low)
        return;
    for (size_t i = 0; i < WP_COMPARE_ASKS; i++)
        if (!kept[i].ask || more(&row) > more(&kept[i])) {
            struct rates moved = kept[i];
            kept[i] = row;
            row = moved;
        }
}

/* "30", "1.4", "0" */
static const char *number(struct wp_pool *pool, double value)
{
    return fabs(value - round(value)) < 0.05 || value >= 9.95 ? wp_human_count(pool, (uint64_t)(value + 0.5))
                                                              : wp_pool_printf(pool, "%.1f", value);
}

static const char *sentence(struct wp_pool *pool, const struct wp_compare *compare, const struct rates *rates)
{
    return wp_pool_printf(pool, "%s of %s to %s for each request that it serves: %s in %s, instead of %s in %s.",
        rates->is_opens ? "New connections" : "Requests", wp_pool_clip(pool, rates->ask->who, 60),
        wp_pool_clip(pool, rates->ask->peer, 80), number(pool, rates->each[WP_AFTER]), compare->operand[WP_AFTER].label,
        number(pool, rates->each[WP_BEFORE]), compare->operand[WP_BEFORE].label);
}

size_t wp_compare_asks(struct wp_pool *pool, const struct wp_compare *compare, const char *sentences[WP_COMPARE_ASKS])
{
    const struct wp_facts *const *facts = compare->facts;
    const double requests[2] = {requests_of(facts[WP_BEFORE]), requests_of(facts[WP_AFTER])};
    struct rates kept[WP_COMPARE_ASKS] = {{0}};
    size_t count = 0;
    if (requests[WP_BEFORE] < LEAST_REQUESTS || requests[WP_AFTER] < LEAST_REQUESTS)
        return 0;
    for (size_t i = 0; i < facts[WP_AFTER]->ask_count; i++) {
        const struct wp_ask_fact *after = &facts[WP_AFTER]->asks[i], *before = find(facts[WP_BEFORE], after);
        if (!before) /* another peer, or an older version recorded it */
            continue;
        struct rates asks = {
            after, false, {(double)before->asks / requests[WP_BEFORE], (double)after->asks / requests[WP_AFTER]}};
        struct rates opens = {
            after, true, {(double)before->opens / requests[WP_BEFORE], (double)after->opens / requests[WP_AFTER]}};
        keep_rates(kept, &asks);
        keep_rates(kept, &opens);
    }
    for (; count < WP_COMPARE_ASKS && kept[count].ask; count++)
        sentences[count] = sentence(pool, compare, &kept[count]);
    return count;
}
