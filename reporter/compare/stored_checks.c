/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/stored_checks.h"

#include "common/json.h"
#include "common/path.h"
#include "common/strings.h"
#include "reporter/compare/compare_findings.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PREFIX "check."
#define CHECKS_LIMIT 200u /* of an aggregate: more than this nobody reads */
#define SENTENCE_BYTES 1000u

/* --- reading --- */

static const char *text_of(struct wp_pool *pool, const struct json_object *object, const char *key)
{
    struct json_object *value = json_object_object_get(object, key);
    return wp_pool_clip(
        pool, json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "", SENTENCE_BYTES);
}

static uint64_t number_of(const struct json_object *object, const char *key)
{
    int64_t number = json_object_get_int64(json_object_object_get(object, key));
    return number > 0 ? (uint64_t)number : 0;
}

static double double_of(const struct json_object *object, const char *key)
{
    struct json_object *value = json_object_object_get(object, key);
    return value ? json_object_get_double(value) : NAN;
}

/* Whoever can write the store wrote it: it may be anything. */
static bool read_check(struct wp_stored_check *check, struct wp_pool *pool, const struct wp_metadata_fact *row)
{
    struct json_object *object = json_tokener_parse(row->value);
    bool is_check = json_object_is_type(object, json_type_object) && number_of(object, "schema") == 1;
    const char *against = strchr(row->key + strlen(PREFIX), '.');
    if (is_check && against)
        *check = (struct wp_stored_check){.method = text_of(pool, object, "method"),
            .against = against + 1,
            .severity = text_of(pool, object, "severity"),
            .sentence = text_of(pool, object, "sentence"),
            .worse = number_of(object, "worse"),
            .better = number_of(object, "better"),
            .real_s = row->real_s,
            .rate = double_of(object, "rate"),
            .confidence = double_of(object, "confidence")};
    json_object_put(object);
    return is_check && against;
}

size_t wp_stored_checks_read(struct wp_stored_check **checks, struct wp_pool *pool, const struct wp_metadata *metadata)
{
    size_t count = 0, size = strlen(PREFIX), first = wp_metadata_find(metadata, PREFIX), end = first;
    while (end < metadata->count && !strncmp(metadata->rows[end].key, PREFIX, size))
        end++;
    *checks = end > first ? wp_pool_alloc(pool, (end - first) * sizeof(**checks)) : NULL;
    for (size_t i = first; i < end && *checks && count < CHECKS_LIMIT; i++) {
        bool is_winner = i == first || strcmp(metadata->rows[i].key, metadata->rows[i - 1].key);
        if (is_winner && read_check(&(*checks)[count], pool, &metadata->rows[i]))
            count++;
    }
    return count;
}

/* --- writing --- */

struct keeping {
    const char *bucket, *key, *value;
    struct wp_error *err;
};

/* With the shard whose value holds now, so that the new one holds after it; else with the first. */
static int choose_shard(struct wp_txn *txn, const struct keeping *keeping, char shard[WP_ID_ROOM])
{
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_shards(txn, &shards, &count, keeping->err);
    if (!rc && !count)
        rc = wp_error_set(keeping->err, -ENOENT, "the release has no shard to store the check in");
    if (!rc)
        snprintf(shard, 129, "%s", shards[count - 1]); /* at the same second the greater one holds */
    wp_strings_free(shards, count);
    return rc;
}

static int keep_in(struct wp_txn *txn, void *context)
{
    struct keeping *keeping = context;
    struct wp_metadata_scope place = {.aggregate = keeping->bucket};
    char shard[WP_ID_ROOM];
    int rc = choose_shard(txn, keeping, shard);
    return rc ? rc
              : wp_txn_set_metadata(txn, &place, &(struct wp_metadata_writer){shard, (uint64_t)time(NULL)},
                    keeping->key, keeping->value, keeping->err);
}

/* One line; the row that speaks for it is the first finding. */
static const char *value_of(struct wp_pool *pool, const struct wp_compare *compare)
{
    struct wp_buffer text = {0};
    struct wp_json json = {.out = &text};
    const struct wp_change *first = NULL;
    wp_compare_first(compare, &first, 1);
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    wp_json_text(&json, "method", wp_method_key(compare->options.method));
    wp_json_text(&json, "per", wp_per_key(compare->options.per));
    wp_json_number(&json, "worse", compare->worse);
    wp_json_number(&json, "better", compare->better);
    if (first) {
        wp_json_text(&json, "severity", wp_severity_key(first->assessment.severity));
        wp_json_fixed(&json, "rate", first->assessment.rate);
        wp_json_fixed(&json, "confidence", first->assessment.confidence);
        wp_json_text(&json, "sentence", wp_pool_clip(pool, wp_compare_sentence(pool, compare, first), SENTENCE_BYTES));
    }
    wp_json_end(&json);
    const char *copy = text.failed ? NULL : wp_pool_text(pool, (const char *)text.data);
    wp_buffer_fini(&text);
    return copy;
}

int wp_check_store(const struct wp_stores *stores, const struct wp_compare *compare,
    const struct wp_operand_spec operand[2], const char *against, struct wp_error *err)
{
    const char *release = operand[WP_AFTER].release, *parts = against ? strpbrk(against, ":@/") : NULL;
    struct wp_pool pool = {0};
    struct wp_snapshot snapshot;
    struct wp_store *store = NULL;
    char bucket[WP_ID_ROOM] = "";
    struct keeping keeping = {.bucket = bucket, .value = value_of(&pool, compare), .err = err};
    /* HEAD~1 is another release tomorrow. */
    keeping.key = wp_pool_printf(&pool, PREFIX "%s.%s%.400s", wp_method_key(compare->options.method),
        operand[WP_BEFORE].release, parts ? parts : "");
    int rc = !keeping.value || pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for the check") : 0;
    if (!rc)
        rc = wp_snapshot_begin(&snapshot, stores, release, err);
    if (!rc) {
        rc = wp_snapshot_bucket(&snapshot, compare->operand[WP_AFTER].aggregate, bucket, err);
        for (size_t i = 0; i < stores->count && !store; i++)
            store = snapshot.txns[i] ? stores->stores[i] : NULL;
        wp_snapshot_end(&snapshot);
    }
    if (!rc)
        rc = wp_store_update(store, release, keep_in, &keeping, err);
    if (rc)
        wp_error_wrap(err, rc, "cannot store the check with release %s", release);
    wp_pool_fini(&pool);
    return rc;
}
