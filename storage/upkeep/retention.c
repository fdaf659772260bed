/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/retention.h"

#include "common/strings.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_store.h"
#include "storage/upkeep/expiry.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why it goes, or NULL. */
static const char *verdict(const struct wp_retention *rule, const struct wp_key *key, uint64_t length_s)
{
    const struct wp_newest *newest = &rule->roll_up.newest;
    uint64_t end_s = wp_sum(key->timebox_s, length_s ? length_s : WP_RAW_TIMEBOX_S), age_s;
    const char *why;
    if (key->kind == WP_VALUE_TRACE || key->kind == WP_VALUE_EXEMPLARS) {
        if (key->timebox_s == newest->trace_s || key->timebox_s == newest->past_trace_s)
            return NULL;
        age_s = rule->traces_s;
        why = "old trace";
    } else if (key->timebox_s == newest->report_s || key->timebox_s == newest->past_report_s) {
        return NULL;
    } else if (length_s > WP_DAY_S) {
        age_s = rule->months_s;
        why = "old month";
    } else {
        if (rule->is_rolled)
            return NULL; /* their roll-up has been, or waits for its day or month to be over */
        age_s = length_s == WP_DAY_S ? rule->roll_up.days_s : rule->roll_up.hours_s;
        why = length_s == WP_DAY_S ? "old day" : "old hour";
    }
    return wp_sum(end_s, age_s) <= rule->roll_up.now_s && age_s != WP_FOREVER ? why : NULL;
}

/* What cannot be read is for verify and repair, and for the newer version that wrote it: its length is not known
 * either. */
static bool is_readable(struct wp_txn *txn, const char *key)
{
    struct wp_value value;
    const uint8_t *bytes;
    size_t size;
    return !wp_txn_stored(txn, key, &bytes, &size, NULL) && !wp_value_parse(&value, bytes, size, NULL);
}

static int drop_old(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = wp_txn_keys(txn, "", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (wp_key_parse(&key, keys[i], NULL) ||
            (key.kind != WP_VALUE_REPORT && key.kind != WP_VALUE_TRACE && key.kind != WP_VALUE_EXEMPLARS))
            continue;
        uint64_t length_s = key.kind == WP_VALUE_REPORT ? wp_txn_timebox_length(txn, keys[i]) : 0;
        const char *why = verdict(rule, &key, length_s);
        if (why && is_readable(txn, keys[i]))
            rc = wp_retention_delete(txn, rule, keys[i], why, err);
    }
    wp_strings_free(keys, count);
    return rc;
}

static bool has_data(char **keys, size_t count)
{
    struct wp_key key;
    for (size_t i = 0; i < count; i++)
        if (wp_key_parse(&key, keys[i], NULL) || key.kind != WP_VALUE_METADATA)
            return true;
    return false;
}

struct interval {
    uint64_t start_s, end_s;
};

/* What reports and traces of the aggregate cover, by start and none in another. */
struct cover {
    struct interval *rows;
    size_t count;
};

static int compare_intervals(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    return a->start_s < b->start_s ? -1 : a->start_s > b->start_s;
}

static int find_cover(struct wp_txn *txn, char **keys, size_t count, struct cover *cover, struct wp_error *err)
{
    struct wp_key key;
    size_t found = 0;
    *cover = (struct cover){calloc(count + 1, sizeof(*cover->rows)), 0};
    if (!cover->rows)
        return wp_error_set(err, -ENOMEM, "out of memory for timeboxes");
    for (size_t i = 0; i < count; i++) {
        if (wp_key_parse(&key, keys[i], NULL) || key.kind == WP_VALUE_METADATA)
            continue;
        uint64_t length_s = key.kind == WP_VALUE_REPORT ? wp_txn_timebox_length(txn, keys[i]) : 0;
        cover->rows[found++] =
            (struct interval){key.timebox_s, wp_sum(key.timebox_s, length_s ? length_s : WP_RAW_TIMEBOX_S)};
    }
    if (found)
        qsort(cover->rows, found, sizeof(*cover->rows), compare_intervals);
    for (size_t i = 0; i < found; i++) {
        struct interval *last = cover->count ? &cover->rows[cover->count - 1] : NULL;
        if (!last || cover->rows[i].start_s > last->end_s)
            cover->rows[cover->count++] = cover->rows[i];
        else if (cover->rows[i].end_s > last->end_s)
            last->end_s = cover->rows[i].end_s;
    }
    return 0;
}

static int compare_instant(const void *instant, const void *row)
{
    uint64_t at_s = *(const uint64_t *)instant;
    const struct interval *interval = row;
    return at_s < interval->start_s ? -1 : at_s >= interval->end_s;
}

static bool is_covered(const struct cover *cover, uint64_t at_s)
{
    return cover->count && bsearch(&at_s, cover->rows, cover->count, sizeof(*cover->rows), compare_instant);
}

static int drop_timeboxes(
    struct wp_txn *txn, const struct wp_retention *rule, char **keys, size_t count, struct wp_error *err)
{
    struct wp_key key;
    struct cover cover;
    int rc = find_cover(txn, keys, count, &cover, err);
    for (size_t i = 0; !rc && i < count; i++)
        if (!wp_key_parse(&key, keys[i], NULL) && key.has_timebox && !is_covered(&cover, key.timebox_s))
            rc = wp_retention_delete(txn, rule, keys[i], "metadata of a timebox without data", err);
    free(cover.rows);
    return rc;
}

int wp_txn_drop_empty_of(
    struct wp_txn *txn, const struct wp_retention *rule, const char *aggregate, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    int rc = wp_txn_list(txn, aggregate, "", &keys, &count, err);
    bool found = !rc && has_data(keys, count);
    if (found)
        rc = drop_timeboxes(txn, rule, keys, count, err);
    for (size_t i = 0; !rc && !found && i < count; i++)
        rc = wp_retention_delete(txn, rule, keys[i], "metadata of an aggregate without data", err);
    wp_strings_free(keys, count);
    return rc;
}

int wp_txn_drop_empty(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err)
{
    char **aggregates = NULL;
    size_t count = 0;
    int rc = wp_txn_aggregates(txn, &aggregates, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = wp_txn_drop_empty_of(txn, rule, aggregates[i], err);
    wp_strings_free(aggregates, count);
    return rc;
}

static void tell_merged(void *context, const char *key, size_t values)
{
    const struct wp_retention *rule = context;
    char why[64];
    snprintf(why, sizeof(why), "sum of %zu values", values);
    if (rule->gone)
        rule->gone(rule->context, key, 0, why);
}

int wp_txn_retain(struct wp_txn *txn, struct wp_retention *rule, struct wp_error *err)
{
    int rc = wp_txn_newest(txn, rule->roll_up.now_s, &rule->roll_up.newest, err);
    if (!rc && rule->is_rolled)
        rc = wp_txn_roll_up(txn, &rule->roll_up, tell_merged, rule, err);
    if (!rc)
        rc = drop_old(txn, rule, err);
    if (!rc)
        rc = wp_txn_drop_empty(txn, rule, err);
    if (!rc)
        rc = wp_txn_expire_state(txn, rule, err);
    return rc ? rc : wp_txn_drop_blobs(txn, rule, err);
}
