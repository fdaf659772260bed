/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/retention.h"

#include "storage/report_store.h"
#include "storage/rows.h"

#include <stdio.h>
#include <string.h>

int wp_retention_delete(struct wp_txn *txn, const struct wp_retention *rule, const char *key, const char *why,
    struct wp_error *err)
{
    const uint8_t *bytes;
    size_t size;
    int rc = wp_txn_stored(txn, key, &bytes, &size, err);
    if (!rc)
        rc = wp_txn_delete(txn, key, err);
    if (!rc && rule->gone)
        rule->gone(rule->context, key, size + strlen(key), why);
    return rc;
}

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

static int drop_old(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = wp_txn_keys(txn, "", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (wp_key_parse(&key, keys[i], NULL) || (key.kind != WP_VALUE_REPORT && key.kind != WP_VALUE_TRACE &&
                key.kind != WP_VALUE_EXEMPLARS))
            continue;
        uint64_t length_s = key.kind == WP_VALUE_REPORT ? wp_txn_timebox_length(txn, keys[i]) : 0;
        const char *why = verdict(rule, &key, length_s);
        if (why)
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

/* Whether a report or trace of the aggregate covers this instant. */
static bool is_covered(struct wp_txn *txn, char **keys, size_t count, uint64_t at_s)
{
    struct wp_key key;
    for (size_t i = 0; i < count; i++) {
        if (wp_key_parse(&key, keys[i], NULL) || key.kind == WP_VALUE_METADATA || key.timebox_s > at_s)
            continue;
        uint64_t length_s = key.kind == WP_VALUE_REPORT ? wp_txn_timebox_length(txn, keys[i]) : 0;
        if (at_s - key.timebox_s < (length_s ? length_s : WP_RAW_TIMEBOX_S))
            return true;
    }
    return false;
}

static int drop_timeboxes(struct wp_txn *txn, const struct wp_retention *rule, char **keys, size_t count, struct wp_error *err)
{
    struct wp_key key;
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        if (!wp_key_parse(&key, keys[i], NULL) && key.has_timebox && !is_covered(txn, keys, count, key.timebox_s))
            rc = wp_retention_delete(txn, rule, keys[i], "metadata of a timebox without data", err);
    return rc;
}

int wp_txn_drop_empty(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err)
{
    char **aggregates = NULL, **keys;
    size_t count = 0, key_count;
    int rc = wp_txn_aggregates(txn, &aggregates, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = wp_txn_list(txn, aggregates[i], "", &keys, &key_count, err);
        if (rc)
            break;
        bool found = has_data(keys, key_count);
        if (found)
            rc = drop_timeboxes(txn, rule, keys, key_count, err);
        for (size_t j = 0; !rc && !found && j < key_count; j++)
            rc = wp_retention_delete(txn, rule, keys[j], "metadata of an aggregate without data", err);
        wp_strings_free(keys, key_count);
    }
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
