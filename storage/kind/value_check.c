/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/value_check.h"

#include "proto/store.pb-c.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/sourcemap_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/exemplars.h"
#include "storage/report/head.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_read.h"
#include "storage/report/trace_decode.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

/* The head must say what the body holds. */
static int check_head(const struct wp_value *value, const struct wp_head *wanted, struct wp_error *err)
{
    struct wp_head head;
    if (!value->head_size)
        return 0;
    int rc = wp_head_decode(&head, value->head, value->head_size, err);
    if (rc)
        return rc;
    bool same = head.first_ns == wanted->first_ns && head.last_ns == wanted->last_ns &&
        head.wall_ns == wanted->wall_ns && head.total_ns == wanted->total_ns && head.hosts == wanted->hosts &&
        head.nodes == wanted->nodes && head.processes == wanted->processes && head.pieces == wanted->pieces &&
        head.events == wanted->events && head.dropped == wanted->dropped &&
        !memcmp(head.category_ns, wanted->category_ns, sizeof(head.category_ns));
    return same ? 0 : wp_error_set(err, -EBADMSG, "its head does not say what its body holds");
}

/* A host's own report names it, and no other. */
static int check_host(const struct wp_key *key, const struct wp_report *report, struct wp_error *err)
{
    char part[WP_HOST_PART_ROOM] = "";
    uint32_t count;
    const uint32_t *hosts = wp_report_hosts(report, &count);
    if (!*key->host)
        return 0;
    if (count == 1)
        wp_host_part(part, wp_report_text(report, hosts[0]));
    return strcmp(part, key->host)
        ? wp_error_set(err, -EBADMSG, "it is host '%s's by its key, and of %s by its content", key->host,
              count == 1  ? wp_report_text(report, hosts[0])
                  : count ? "several"
                          : "none")
        : 0;
}

static int check_report(
    const struct wp_key *key, const struct wp_value *value, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_report *report = NULL;
    struct wp_buffer again = {0};
    struct wp_head head;
    int rc = wp_report_decode(&report, raw->data, raw->size, err);
    if (!rc)
        rc = wp_report_encode(report, &again, err);
    if (!rc && (again.size != raw->size || (raw->size && memcmp(again.data, raw->data, raw->size))))
        rc = wp_error_set(err, -EBADMSG, "report is not in canonical order");
    if (!rc) {
        wp_head_of_report(&head, report);
        rc = check_head(value, &head, err);
    }
    if (!rc)
        rc = check_host(key, report, err);
    wp_report_destroy(report);
    wp_buffer_fini(&again);
    return rc;
}

static int check_trace(const struct wp_value *value, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_trace *trace = NULL;
    struct wp_head head;
    int rc = wp_trace_decode(&trace, raw->data, raw->size, err);
    if (!rc) {
        wp_head_of_trace(&head, trace);
        rc = check_head(value, &head, err);
    }
    wp_trace_destroy(trace);
    return rc;
}

static int check_exemplars(const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_exemplars set;
    int rc = wp_exemplars_decode(&set, raw->data, raw->size, err);
    wp_exemplars_fini(&set);
    return rc;
}

static int check_blob(const struct wp_key *key, const struct wp_buffer *raw, struct wp_error *err)
{
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(raw->data, raw->size));
    return memcmp(&digest, key->digest, sizeof(key->digest))
        ? wp_error_set(err, -EBADMSG, "its name is not the digest of its content")
        : 0;
}

int wp_value_check(
    const struct wp_key *key, const struct wp_value *value, const struct wp_buffer *raw, struct wp_error *err)
{
    switch (key->kind) {
    case WP_VALUE_SHARD:
        return raw->size ? wp_error_set(err, -EBADMSG, "a shard's flag is empty, this one has %zu bytes", raw->size)
                         : 0;
    case WP_VALUE_METADATA:
        return wp_metadata_check(raw->data, raw->size, err);
    case WP_VALUE_PROCESSED:
        return wp_processed_check(key, raw->data, raw->size, err);
    case WP_VALUE_LAST_SAMPLE:
        return wp_last_sample_check(raw->data, raw->size, err);
    case WP_VALUE_GENEALOGY:
        return wp_genealogy_check(raw->data, raw->size, err);
    case WP_VALUE_SOURCEMAP:
        return wp_sourcemap_check(raw->data, raw->size, err);
    case WP_VALUE_SOURCE:
        return wp_source_check(raw->data, raw->size, err);
    case WP_VALUE_CLOCK:
        return wp_clock_check(raw->data, raw->size, err);
    case WP_VALUE_REPORT:
        return check_report(key, value, raw, err);
    case WP_VALUE_TRACE:
        return check_trace(value, raw, err);
    case WP_VALUE_EXEMPLARS:
        return check_exemplars(raw, err);
    case WP_VALUE_BLOB:
        return check_blob(key, raw, err);
    case WP_VALUE_KINDS:
        break;
    }
    return wp_error_set(err, -EBADMSG, "unknown kind %d", (int)key->kind);
}
