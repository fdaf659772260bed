/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/rollup.h"

#include "common/strings.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_compact.h"
#include "storage/value/rows.h"

#include <string.h>
#include <time.h>

#define LAST_YEAR_S 253402300800ull /* year 10000; what claims to be later is taken for a month of its own */

static void day_of(uint64_t at_s, uint64_t *start_s, uint64_t *end_s)
{
    *start_s = at_s / WP_DAY_S * WP_DAY_S;
    *end_s = wp_sum(*start_s, WP_DAY_S);
}

static void month_of(uint64_t at_s, uint64_t *start_s, uint64_t *end_s)
{
    time_t seconds = (time_t)at_s;
    struct tm tm;
    if (at_s >= LAST_YEAR_S || !gmtime_r(&seconds, &tm)) {
        day_of(at_s, start_s, end_s);
        return;
    }
    struct tm edge = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = 1};
    *start_s = (uint64_t)timegm(&edge);
    edge = (struct tm){.tm_year = tm.tm_year, .tm_mon = tm.tm_mon + 1, .tm_mday = 1};
    *end_s = (uint64_t)timegm(&edge);
}

struct newest_search {
    struct wp_newest *newest;
    uint64_t now_s;
};

static void raise_to(uint64_t *most, uint64_t *most_past, uint64_t at_s, uint64_t now_s)
{
    if (at_s > *most)
        *most = at_s;
    if (at_s <= now_s && at_s > *most_past)
        *most_past = at_s;
}

static int look_at(void *context, const char *text, size_t size)
{
    struct newest_search *search = context;
    struct wp_newest *newest = search->newest;
    struct wp_key key;
    (void)size;
    if (wp_key_parse(&key, text, NULL))
        return 0;
    if (key.kind == WP_VALUE_REPORT)
        raise_to(&newest->report_s, &newest->past_report_s, key.timebox_s, search->now_s);
    else if (key.kind == WP_VALUE_TRACE || key.kind == WP_VALUE_EXEMPLARS)
        raise_to(&newest->trace_s, &newest->past_trace_s, key.timebox_s, search->now_s);
    return 0;
}

int wp_txn_newest(struct wp_txn *txn, uint64_t now_s, struct wp_newest *newest, struct wp_error *err)
{
    *newest = (struct wp_newest){0};
    return wp_txn_visit(txn, "", look_at, &(struct newest_search){newest, now_s}, err);
}

struct level {
    void (*around)(uint64_t at_s, uint64_t *start_s, uint64_t *end_s);
    uint64_t age_s;
};

static bool is_ripe(const struct wp_roll_up *rule, uint64_t age_s, uint64_t start_s, uint64_t end_s)
{
    uint64_t wait_s = age_s > rule->late_s ? age_s : rule->late_s;
    const uint64_t kept[] = {rule->newest.report_s, rule->newest.past_report_s};
    for (size_t i = 0; i < 2; i++)
        if (kept[i] >= start_s && kept[i] < end_s)
            return false;
    return wp_sum(end_s, wait_s) <= rule->now_s;
}

struct roll {
    struct wp_txn *txn;
    struct wp_roll_up *rule;
    void (*done)(void *context, const char *key, size_t values);
    void *context;
};

/* Parts of one shard and host that begin in the same day or month. One that is the sum already is left alone. */
static int roll_group(
    struct roll *roll, const struct wp_report_parts *parts, uint64_t start_s, uint64_t end_s, struct wp_error *err)
{
    bool is_done;
    const struct wp_report_part *first = &parts->rows[0];
    struct wp_key key = first->key;
    char text[WP_KEY_ROOM];
    if (parts->count == 1 && !key.has_delta && key.timebox_s == start_s && first->length_s >= end_s - start_s)
        return 0;
    int rc = wp_txn_sum_parts(roll->txn, parts, start_s, end_s - start_s, &is_done, err);
    if (rc || !is_done)
        return rc;
    roll->rule->made++;
    roll->rule->merged += parts->count;
    key.timebox_s = start_s;
    key.has_delta = false;
    rc = wp_key_format(&key, text, err);
    if (!rc && roll->done)
        roll->done(roll->context, text, parts->count);
    return rc;
}

static int roll_aggregate(struct roll *roll, const char *aggregate, const struct level *level, struct wp_error *err)
{
    struct wp_report_parts all;
    int rc = wp_txn_report_parts(roll->txn, aggregate, NULL, &all, err);
    struct wp_report_part *parts = all.rows;
    size_t count = all.count;
    for (size_t from = 0, to; !rc && from < count; from = to) {
        uint64_t start_s, end_s;
        bool is_longer = false;
        level->around(parts[from].key.timebox_s, &start_s, &end_s);
        for (to = from; to < count && parts[to].key.timebox_s < end_s &&
             !strcmp(parts[to].key.shard, parts[from].key.shard) && !strcmp(parts[to].key.host, parts[from].key.host);
             to++)
            is_longer |= parts[to].length_s > end_s - start_s;
        if (!is_longer &&
            is_ripe(roll->rule, level->age_s, start_s, end_s)) /* in a month there are no days to be made */
            rc = roll_group(roll, &(struct wp_report_parts){parts + from, to - from}, start_s, end_s, err);
    }
    wp_report_parts_fini(&all);
    return rc;
}

int wp_txn_roll_up(struct wp_txn *txn, struct wp_roll_up *rule,
    void (*done)(void *context, const char *key, size_t values), void *context, struct wp_error *err)
{
    uint64_t days_s =
        rule->days_s > rule->hours_s ? rule->days_s : rule->hours_s; /* what is kept in hours is in no month */
    const struct level levels[] = {{day_of, rule->hours_s}, {month_of, days_s}};
    struct roll roll = {txn, rule, done, context};
    char **aggregates = NULL;
    size_t count = 0;
    int rc = wp_txn_newest(txn, rule->now_s, &rule->newest, err);
    if (!rc)
        rc = wp_txn_aggregates(txn, &aggregates, &count, err);
    for (size_t i = 0; !rc && i < 2; i++)
        for (size_t j = 0; !rc && j < count; j++)
            rc = roll_aggregate(&roll, aggregates[j], &levels[i], err);
    wp_strings_free(aggregates, count);
    return rc;
}
