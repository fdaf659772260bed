/* SPDX-License-Identifier: Apache-2.0 */
/* Reports and traces in a release: deltas appended, merged when read, compacted. */
#include "storage/kind/report_store.h"

#include "common/array.h"
#include "common/intern.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/report/head.h"
#include "storage/report/report_body.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/trace_decode.h"
#include "storage/report/trace_encode.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wp_txn_report_key(
    struct wp_key *key, enum wp_value_kind kind, const struct wp_report_place *place, struct wp_error *err)
{
    char text[WP_KEY_ROOM];
    *key = (struct wp_key){.kind = kind, .timebox_s = place->timebox_s};
    if (place->host)
        wp_host_part(key->host, place->host);
    if ((size_t)snprintf(key->aggregate, sizeof(key->aggregate), "%s", place->aggregate) >= sizeof(key->aggregate) ||
        (size_t)snprintf(key->shard, sizeof(key->shard), "%s", place->shard) >= sizeof(key->shard))
        return wp_error_set(err, -EINVAL, "the aggregate's or shard's id is over 128 bytes long");
    return wp_key_format(key, text, err);
}

int wp_report_pack_headed(const struct wp_report *report, uint64_t timebox_length_s, struct wp_buffer *body,
    struct wp_buffer *head_bytes, struct wp_error *err)
{
    struct wp_head head;
    wp_head_of_report(&head, report);
    head.timebox_length_s = timebox_length_s;
    int rc = wp_report_pack(report, body, &head.nodes, err);
    return rc ? rc : wp_head_encode(&head, head_bytes, err);
}

int wp_txn_put_trace(
    struct wp_txn *txn, const struct wp_report_place *place, const struct wp_trace *trace, struct wp_error *err)
{
    struct wp_buffer body = {0}, head_bytes = {0};
    char text[WP_KEY_ROOM];
    struct wp_head head;
    struct wp_key key;
    wp_head_of_trace(&head, trace);
    int rc = wp_txn_report_key(&key, WP_VALUE_TRACE, place, err);
    if (!rc)
        rc = wp_key_format(&key, text, err);
    if (!rc)
        rc = wp_trace_encode(trace, &body, err);
    if (!rc)
        rc = wp_head_encode(&head, &head_bytes, err);
    if (!rc)
        rc = wp_txn_put_headed(
            txn, text, &(struct wp_raw_value){WP_VALUE_TRACE, &head_bytes, body.data, body.size}, err);
    wp_buffer_fini(&body);
    wp_buffer_fini(&head_bytes);
    return rc;
}

static int keys_of(
    struct wp_txn *txn, const char *aggregate, const char *what, char ***keys, size_t *count, struct wp_error *err)
{
    char prefix[WP_KEY_ROOM];
    size_t kept = 0;
    snprintf(prefix, sizeof(prefix), "%.*s/%s", (int)wp_bucket_base(aggregate), aggregate, what);
    int rc = wp_txn_keys(txn, prefix, keys, count, err);
    for (size_t i = 0; !rc && i < *count; i++)
        if (wp_key_is_of((*keys)[i], aggregate))
            (*keys)[kept++] = (*keys)[i];
        else
            free((*keys)[i]);
    if (!rc)
        *count = kept;
    return rc;
}

int wp_txn_list(
    struct wp_txn *txn, const char *aggregate, const char *what, char ***keys, size_t *count, struct wp_error *err)
{
    char kind[32];
    if (!wp_aggregate_valid(aggregate))
        return wp_error_set(
            err, -EINVAL, "'%.150s' is not an aggregate's name: letters, digits and ._+- (1 to 128)", aggregate);
    snprintf(kind, sizeof(kind), "%s%s", what, *what ? "." : "");
    int rc = keys_of(txn, aggregate, kind, keys, count, err);
    if (rc || *count)
        return rc;
    char **any = NULL;
    size_t any_count = 0;
    rc = keys_of(txn, aggregate, "", &any, &any_count, err);
    wp_strings_free(any, any_count);
    if (!rc && !any_count)
        rc = wp_error_set(err, -ENOENT, "release '%s' of '%s' has no aggregate '%.*s'", txn->env->release,
            txn->store->root, (int)wp_bucket_base(aggregate), aggregate);
    return rc;
}

int wp_txn_decode_report(struct wp_txn *txn, const char *key, struct wp_report **report, struct wp_error *err)
{
    struct wp_buffer body = {0};
    int rc = wp_txn_get(txn, key, WP_VALUE_REPORT, &body, err);
    if (!rc) {
        rc = wp_report_decode(report, body.data, body.size, err);
        if (rc)
            wp_error_wrap(err, rc, "%s", key);
    }
    wp_buffer_fini(&body);
    return rc;
}

bool wp_is_damage(int rc)
{
    return rc == -EBADMSG || rc == -EFBIG || rc == -EPROTONOSUPPORT;
}

int wp_txn_merge_report(struct wp_txn *txn, const char *key, struct wp_report **sum, struct wp_error *err)
{
    struct wp_report *report = NULL;
    int rc = wp_txn_decode_report(txn, key, &report, err);
    if (rc)
        return rc;
    if (!*sum) {
        *sum = report;
        return 0;
    }
    rc = wp_report_merge(*sum, report, err);
    wp_report_destroy(report);
    return rc;
}

void wp_damage_free(struct wp_damage *damage, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(damage[i].key);
        free(damage[i].reason);
    }
    free(damage);
}

static int add_damage(struct wp_damage **damage, size_t *count, const char *key, const char *reason)
{
    if (WP_ARRAY_NEXT(*damage, *count))
        return -ENOMEM;
    struct wp_damage *row = &(*damage)[*count];
    *row = (struct wp_damage){strdup(key), strdup(reason)};
    if (!row->key || !row->reason) {
        free(row->key);
        free(row->reason);
        return -ENOMEM;
    }
    (*count)++;
    return 0;
}

int wp_report_make_canonical(struct wp_report **report, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_report *canonical = NULL;
    int rc = wp_report_encode(*report, &bytes, err);
    if (!rc)
        rc = wp_report_decode(&canonical, bytes.data, bytes.size, err);
    wp_buffer_fini(&bytes);
    if (!rc) {
        wp_report_destroy(*report);
        *report = canonical;
    }
    return rc;
}

static int merge_meant(struct wp_txn *txn, const struct wp_selection *selection, const struct wp_key *key,
    const char *text, struct wp_report **sum, struct wp_error *err)
{
    struct wp_report *report = NULL;
    bool is_meant = false;
    int rc = wp_txn_decode_report(txn, text, &report, err);
    if (!rc)
        rc = wp_selection_has_hosts(selection, key, report, &is_meant, err);
    if (!rc && is_meant && *sum)
        rc = wp_report_merge(*sum, report, err);
    if (!rc && is_meant && !*sum)
        *sum = report;
    else
        wp_report_destroy(report);
    return rc;
}

/* With what was asked for; a bucket's digest is nothing that its reader knows. */
static int refuse_none(const struct wp_txn *txn, const char *aggregate, const char *what,
    const struct wp_selection *selection, struct wp_error *err)
{
    const char *hosts = selection ? selection->hosts : NULL;
    bool has_time = selection && (selection->since_s || selection->until_s);
    return wp_error_set(err, -ENOENT, "aggregate '%.*s' of release '%s' has no %s%s%.250s%s",
        (int)wp_bucket_base(aggregate), aggregate, txn->env->release, what, hosts ? " of hosts " : "",
        hosts ? hosts : "", has_time ? " in that time" : "");
}

int wp_txn_read_report(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_report_reading *reading, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    struct wp_report *sum = NULL;
    struct wp_key key;
    *reading = (struct wp_report_reading){0};
    int rc = wp_txn_list(txn, aggregate, "report", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_error reason = {0};
        if (wp_key_parse(&key, keys[i], NULL) || !wp_selection_has(selection, &key))
            continue;
        rc = merge_meant(txn, selection, &key, keys[i], &sum, &reason);
        if (wp_is_damage(rc))
            rc = add_damage(&reading->damage, &reading->damage_count, keys[i], reason.text);
        if (rc)
            wp_error_set(err, rc, "cannot read '%s': %s", keys[i], *reason.text ? reason.text : strerror(-rc));
    }
    wp_strings_free(keys, count);
    if (!rc && !sum && !reading->damage_count)
        rc = refuse_none(txn, aggregate, "report", selection, err);
    if (!rc && !sum && !(sum = wp_report_create()))
        rc = wp_error_set(err, -ENOMEM, "out of memory for a report");
    if (!rc)
        rc = wp_report_make_canonical(&sum, err);
    if (rc) {
        wp_report_destroy(sum);
        wp_damage_free(reading->damage, reading->damage_count);
        *reading = (struct wp_report_reading){0};
        return rc;
    }
    reading->report = sum;
    return 0;
}

/* `count`: none is left. */
static size_t newest_of(char **keys, size_t count, const struct wp_selection *selection)
{
    size_t newest = count;
    uint64_t newest_s = 0;
    struct wp_key key;
    for (size_t i = 0; i < count; i++) {
        if (!keys[i] || wp_key_parse(&key, keys[i], NULL) || !wp_selection_has(selection, &key) ||
            (newest < count && key.timebox_s < newest_s))
            continue;
        newest = i;
        newest_s = key.timebox_s;
    }
    return newest;
}

static int decode_trace(struct wp_txn *txn, const char *key, struct wp_trace **trace, struct wp_error *err)
{
    struct wp_buffer body = {0};
    int rc = wp_txn_get(txn, key, WP_VALUE_TRACE, &body, err);
    if (!rc && (rc = wp_trace_decode(trace, body.data, body.size, err)))
        wp_error_wrap(err, rc, "%s", key);
    wp_buffer_fini(&body);
    return rc;
}

/* A window of the hosts that are meant: its paths of interest are theirs. */
static bool is_trace_meant(const struct wp_trace *trace, const struct wp_selection *selection)
{
    bool is_meant = true;
    for (uint32_t i = 0; selection && selection->hosts && i < trace->path_count; i++) {
        uint32_t host = trace->threads[trace->paths[i].thread].host;
        is_meant &= !trace->paths[i].is_base || wp_hosts_match(selection->hosts, wp_intern_text(trace->strings, host));
    }
    return is_meant;
}

int wp_txn_read_trace(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_trace **trace, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    *trace = NULL;
    int rc = wp_txn_list(txn, aggregate, "trace", &keys, &count, err);
    while (!rc && !*trace) {
        size_t newest = newest_of(keys, count, selection);
        if (newest == count) {
            rc = refuse_none(txn, aggregate, "trace", selection, err);
            break;
        }
        rc = decode_trace(txn, keys[newest], trace, err);
        if (!rc && !is_trace_meant(*trace, selection)) {
            wp_trace_destroy(*trace);
            *trace = NULL;
        }
        free(keys[newest]);
        keys[newest] = NULL; /* has been looked at */
    }
    wp_strings_free(keys, count);
    return rc;
}

int wp_txn_read_traces(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    bool (*take)(void *context, struct wp_trace *trace), void *context, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0, newest;
    bool is_enough = false;
    int rc = wp_txn_list(txn, aggregate, "trace", &keys, &count, err);
    while (!rc && !is_enough && (newest = newest_of(keys, count, selection)) < count) {
        struct wp_trace *trace = NULL;
        rc = decode_trace(txn, keys[newest], &trace, err);
        if (!rc && is_trace_meant(trace, selection))
            is_enough = !take(context, trace);
        else if (!rc)
            wp_trace_destroy(trace);
        rc = wp_is_damage(rc) ? 0 : rc;
        free(keys[newest]);
        keys[newest] = NULL; /* has been looked at */
    }
    wp_strings_free(keys, count);
    return rc;
}

int wp_txn_put_report(struct wp_txn *txn, const struct wp_key *key, const struct wp_report *report,
    uint64_t timebox_length_s, struct wp_error *err)
{
    struct wp_buffer body = {0}, head_bytes = {0};
    char text[WP_KEY_ROOM];
    int rc = wp_report_pack_headed(report, timebox_length_s, &body, &head_bytes, err);
    if (!rc)
        rc = wp_key_format(key, text, err);
    if (!rc)
        rc = wp_txn_put_headed(
            txn, text, &(struct wp_raw_value){WP_VALUE_REPORT, &head_bytes, body.data, body.size}, err);
    wp_buffer_fini(&body);
    wp_buffer_fini(&head_bytes);
    return rc;
}

uint64_t wp_txn_timebox_length(struct wp_txn *txn, const char *key)
{
    const uint8_t *bytes;
    size_t size;
    struct wp_value value;
    struct wp_head head;
    if (wp_txn_stored(txn, key, &bytes, &size, NULL) || wp_value_parse(&value, bytes, size, NULL) || !value.head_size ||
        wp_head_decode(&head, value.head, value.head_size, NULL))
        return 0;
    return head.timebox_length_s;
}
