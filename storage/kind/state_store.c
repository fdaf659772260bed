/* SPDX-License-Identifier: Apache-2.0 */
/* The small state values of a shard: resume points, last samples, clocks. */
#include "storage/kind/state_store.h"

#include "proto/store.pb-c.h"
#include "storage/env/txn.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int state_key(struct wp_key *key, enum wp_value_kind kind, const char *shard, struct wp_error *err)
{
    *key = (struct wp_key){.kind = kind};
    if ((size_t)snprintf(key->shard, sizeof(key->shard), "%s", shard) >= sizeof(key->shard))
        return wp_error_set(err, -EINVAL, "a shard's id has at most 128 bytes: '%.150s...'", shard);
    return 0;
}

/* The message of a state value, an empty one where there is none yet. */
static int load(struct wp_txn *txn, const struct wp_key *key, const ProtobufCMessageDescriptor *type,
    ProtobufCMessage **message, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    int rc = wp_txn_get_key(txn, key, &bytes, err);
    *message = NULL;
    if (!rc || rc == -ENOENT) {
        rc = 0;
        *message = wp_message_unpack(type, bytes.data, bytes.size, wp_value_kind_name(key->kind), err);
        if (!*message)
            rc = -errno;
    }
    wp_buffer_fini(&bytes);
    return rc;
}

static int save(struct wp_txn *txn, const struct wp_key *key, const ProtobufCMessage *message, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    int rc = wp_message_pack(message, &bytes, err);
    if (!rc)
        rc = wp_txn_put_key(txn, key, bytes.data, bytes.size, err);
    wp_buffer_fini(&bytes);
    return rc;
}

/* --- resume points --- */

int wp_txn_put_resume(struct wp_txn *txn, const char *shard, const struct wp_resume *resume, struct wp_error *err)
{
    Wakepath__Store__Processed message = WAKEPATH__STORE__PROCESSED__INIT;
    struct wp_key key;
    int rc = state_key(&key, WP_VALUE_PROCESSED, shard, err);
    if (rc)
        return rc;
    memcpy(key.session, resume->session, sizeof(key.session));
    message.session = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)resume->session};
    message.host = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)resume->host};
    message.hostname = (ProtobufCBinaryData){
        strnlen(resume->hostname, sizeof(resume->hostname) - 1), (uint8_t *)(uintptr_t)resume->hostname};
    message.seq = resume->seq;
    message.until_mono_ns = resume->until_mono_ns;
    message.ended = resume->ended;
    return save(txn, &key, &message.base, err);
}

static int take_resume(
    struct wp_resume *resume, const Wakepath__Store__Processed *m, const struct wp_key *key, struct wp_error *err)
{
    if (m->session.len != 16 || m->host.len != 16 || memcmp(m->session.data, key->session, 16) ||
        m->hostname.len >= sizeof(resume->hostname))
        return wp_error_set(err, -EBADMSG, "resume point of another session, or with ids of a wrong size");
    *resume = (struct wp_resume){.seq = m->seq, .until_mono_ns = m->until_mono_ns, .ended = m->ended};
    memcpy(resume->session, m->session.data, 16);
    memcpy(resume->host, m->host.data, 16);
    if (m->hostname.len)
        memcpy(resume->hostname, m->hostname.data, m->hostname.len);
    return 0;
}

int wp_txn_get_resume(
    struct wp_txn *txn, const char *shard, const uint8_t session[16], struct wp_resume *resume, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_key key;
    ProtobufCMessage *message = NULL;
    int rc = state_key(&key, WP_VALUE_PROCESSED, shard, err);
    memcpy(key.session, session, sizeof(key.session));
    if (!rc)
        rc = wp_txn_get_key(txn, &key, &bytes, err);
    if (!rc &&
        !(message =
                wp_message_unpack(&wakepath__store__processed__descriptor, bytes.data, bytes.size, "processed", err)))
        rc = -errno;
    if (!rc)
        rc = take_resume(resume, (const Wakepath__Store__Processed *)message, &key, err);
    protobuf_c_message_free_unpacked(message, NULL);
    wp_buffer_fini(&bytes);
    return rc;
}

int wp_processed_check(const struct wp_key *key, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct wp_resume resume;
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__processed__descriptor, bytes, size, "processed", err);
    int rc = message ? take_resume(&resume, (const Wakepath__Store__Processed *)message, key, err) : -errno;
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

/* --- last samples --- */

typedef Wakepath__Store__LastSample__Entry last_entry;

static int compare_last(const void *left, const void *right)
{
    const last_entry *a = *(last_entry *const *)left, *b = *(last_entry *const *)right;
    return memcmp(a->session.data, b->session.data, 16);
}

/* Of entries that stand next to each other for one session the latest stays. */
static size_t keep_latest(last_entry **entries, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && !compare_last(&entries[kept - 1], &entries[i])) {
            if (entries[i]->real_s > entries[kept - 1]->real_s)
                entries[kept - 1] = entries[i];
        } else {
            entries[kept++] = entries[i];
        }
    }
    return kept;
}

int wp_txn_put_last_samples(struct wp_txn *txn, const char *shard, const uint8_t (*sessions)[16], size_t count,
    uint64_t real_s, struct wp_error *err)
{
    struct wp_key key;
    ProtobufCMessage *message = NULL;
    int rc = state_key(&key, WP_VALUE_LAST_SAMPLE, shard, err);
    if (!rc)
        rc = load(txn, &key, &wakepath__store__last_sample__descriptor, &message, err);
    if (rc)
        return rc;
    Wakepath__Store__LastSample out = WAKEPATH__STORE__LAST_SAMPLE__INIT;
    const Wakepath__Store__LastSample *old = (const Wakepath__Store__LastSample *)message;
    last_entry *added = calloc(count + 1, sizeof(*added));
    out.entries = calloc(old->n_entries + count + 1, sizeof(*out.entries));
    if (!added || !out.entries)
        rc = wp_error_set(err, -ENOMEM, "out of memory for the last samples");
    for (size_t i = 0; !rc && i < old->n_entries; i++) {
        out.entries[out.n_entries++] = old->entries[i];
        if (old->entries[i]->session.len != 16)
            rc = wp_error_set(err, -EBADMSG, "last_sample: session of %zu bytes", old->entries[i]->session.len);
    }
    for (size_t i = 0; !rc && i < count; i++) {
        wakepath__store__last_sample__entry__init(&added[i]);
        added[i].session = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)sessions[i]};
        added[i].real_s = real_s;
        out.entries[out.n_entries++] = &added[i];
    }
    if (!rc) {
        qsort(out.entries, out.n_entries, sizeof(*out.entries), compare_last);
        out.n_entries = keep_latest(out.entries, out.n_entries);
        rc = save(txn, &key, &out.base, err);
    }
    free(out.entries);
    free(added);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

int wp_txn_put_last_sample(
    struct wp_txn *txn, const char *shard, const uint8_t session[16], uint64_t real_s, struct wp_error *err)
{
    uint8_t one[1][16];
    memcpy(one[0], session, 16);
    return wp_txn_put_last_samples(txn, shard, (const uint8_t(*)[16])one, 1, real_s, err);
}

int wp_last_sample_check(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__last_sample__descriptor, bytes, size, "last_sample", err);
    if (!message)
        return -errno;
    const Wakepath__Store__LastSample *m = (const Wakepath__Store__LastSample *)message;
    int rc = 0;
    for (size_t i = 0; !rc && i < m->n_entries; i++)
        if (m->entries[i]->session.len != 16 || (i && compare_last(&m->entries[i - 1], &m->entries[i]) >= 0))
            rc = wp_error_set(err, -EBADMSG, "last_sample: entry %zu is not in order or has no session id", i);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

/* --- clocks --- */

typedef Wakepath__Store__Clock__Span clock_span;

static int compare_bytes(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    size_t size = a.len < b.len ? a.len : b.len;
    int rc = size ? memcmp(a.data, b.data, size) : 0;
    return rc ? rc : a.len < b.len ? -1 : a.len > b.len;
}

static int compare_spans(const void *left, const void *right)
{
    const clock_span *a = *(clock_span *const *)left, *b = *(clock_span *const *)right;
    int rc = compare_bytes(a->host, b->host);
    if (!rc && a->from_mono_ns != b->from_mono_ns)
        rc = a->from_mono_ns < b->from_mono_ns ? -1 : 1;
    return rc ? rc : compare_bytes(a->method, b->method);
}

static void fill_span(clock_span *span, const struct wp_clock_row *row)
{
    wakepath__store__clock__span__init(span);
    span->host = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)row->host};
    span->hostname = (ProtobufCBinaryData){strnlen(row->hostname, 255), (uint8_t *)(uintptr_t)row->hostname};
    span->method = (ProtobufCBinaryData){strnlen(row->method, 255), (uint8_t *)(uintptr_t)row->method};
    span->from_mono_ns = row->from_mono_ns;
    span->to_mono_ns = row->to_mono_ns;
    span->offset_ns = row->offset_ns;
    span->bound_ns = row->bound_ns;
}

/* The new span takes the place of the one of the same host, start and method. */
static void put_span(Wakepath__Store__Clock *out, clock_span *span)
{
    size_t at = 0;
    while (at < out->n_spans && compare_spans(&out->spans[at], &span))
        at++;
    out->spans[at] = span;
    if (at == out->n_spans)
        out->n_spans++;
}

int wp_txn_put_clock(
    struct wp_txn *txn, const char *shard, const struct wp_clock_row *rows, size_t count, struct wp_error *err)
{
    struct wp_key key;
    ProtobufCMessage *message = NULL;
    int rc = state_key(&key, WP_VALUE_CLOCK, shard, err);
    if (!rc)
        rc = load(txn, &key, &wakepath__store__clock__descriptor, &message, err);
    if (rc)
        return rc;
    const Wakepath__Store__Clock *old = (const Wakepath__Store__Clock *)message;
    Wakepath__Store__Clock out = WAKEPATH__STORE__CLOCK__INIT;
    clock_span *added = calloc(count + 1, sizeof(*added));
    out.spans = calloc(old->n_spans + count + 1, sizeof(*out.spans));
    if (added && out.spans) {
        if (old->n_spans)
            memcpy(out.spans, old->spans, old->n_spans * sizeof(*out.spans));
        out.n_spans = old->n_spans;
        for (size_t i = 0; i < count; i++) {
            fill_span(&added[i], &rows[i]);
            put_span(&out, &added[i]);
        }
        qsort(out.spans, out.n_spans, sizeof(*out.spans), compare_spans);
        rc = save(txn, &key, &out.base, err);
    } else {
        rc = wp_error_set(err, -ENOMEM, "out of memory for the clock spans");
    }
    free(added);
    free(out.spans);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

int wp_clock_check(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    ProtobufCMessage *message = wp_message_unpack(&wakepath__store__clock__descriptor, bytes, size, "clock", err);
    if (!message)
        return -errno;
    const Wakepath__Store__Clock *m = (const Wakepath__Store__Clock *)message;
    int rc = 0;
    for (size_t i = 0; !rc && i < m->n_spans; i++)
        if (m->spans[i]->host.len != 16 || m->spans[i]->to_mono_ns < m->spans[i]->from_mono_ns ||
            (i && compare_spans(&m->spans[i - 1], &m->spans[i]) >= 0))
            rc = wp_error_set(err, -EBADMSG, "clock: span %zu is not in order, negative, or has no host id", i);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}
