/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/value_join.h"

#include "proto/store.pb-c.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/sourcemap_store.h"
#include "storage/report/exemplars.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_bytes(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    size_t size = a.len < b.len ? a.len : b.len;
    int rc = size ? memcmp(a.data, b.data, size) : 0;
    return rc ? rc : a.len < b.len ? -1 : a.len > b.len;
}

#define COMPARE(a, b)                                                                                                  \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

/* --- lists of entries, each with a name: the greater of two entries of the same name stays --- */

static int name_metadata(const void *left, const void *right)
{
    const Wakepath__Store__Metadata__Entry *a = left, *b = right;
    return compare_bytes(a->key, b->key);
}

static int rank_metadata(const void *left, const void *right)
{
    const Wakepath__Store__Metadata__Entry *a = left, *b = right;
    COMPARE(a->real_s, b->real_s);
    return compare_bytes(a->value, b->value);
}

static int name_last(const void *left, const void *right)
{
    const Wakepath__Store__LastSample__Entry *a = left, *b = right;
    return compare_bytes(a->session, b->session);
}

static int rank_last(const void *left, const void *right)
{
    const Wakepath__Store__LastSample__Entry *a = left, *b = right;
    COMPARE(a->real_s, b->real_s);
    return 0;
}

static int name_span(const void *left, const void *right)
{
    const Wakepath__Store__Clock__Span *a = left, *b = right;
    int rc = compare_bytes(a->host, b->host);
    if (rc)
        return rc;
    COMPARE(a->from_mono_ns, b->from_mono_ns);
    return compare_bytes(a->method, b->method);
}

static int rank_span(const void *left, const void *right)
{
    const Wakepath__Store__Clock__Span *a = left, *b = right;
    COMPARE(a->to_mono_ns, b->to_mono_ns); /* the one that has been kept up longer */
    COMPARE(a->offset_ns, b->offset_ns);
    COMPARE(a->bound_ns, b->bound_ns);
    return compare_bytes(a->hostname, b->hostname);
}

struct list { /* how a message holds its entries */
    const ProtobufCMessageDescriptor *type;
    int (*name)(const void *left, const void *right);
    int (*rank)(const void *left, const void *right);
};

static const struct list *list_of(enum wp_value_kind kind)
{
    static const struct list lists[WP_VALUE_KINDS] = {
        [WP_VALUE_METADATA] = {&wakepath__store__metadata__descriptor, name_metadata, rank_metadata},
        [WP_VALUE_LAST_SAMPLE] = {&wakepath__store__last_sample__descriptor, name_last, rank_last},
        [WP_VALUE_CLOCK] = {&wakepath__store__clock__descriptor, name_span, rank_span},
    };
    return (unsigned)kind < WP_VALUE_KINDS && lists[kind].type ? &lists[kind] : NULL;
}

/* Each of these messages is one repeated field. */
struct entries {
    ProtobufCMessage base;
    size_t count;
    void **entries;
};

static void take_greatest(const struct list *list, struct entries *out, void *entry)
{
    size_t at = 0, end = out->count;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (list->name(out->entries[middle], entry) < 0)
            at = middle + 1;
        else
            end = middle;
    }
    if (at < out->count && !list->name(out->entries[at], entry)) {
        if (list->rank(entry, out->entries[at]) > 0)
            out->entries[at] = entry;
        return;
    }
    memmove(out->entries + at + 1, out->entries + at, (out->count - at) * sizeof(*out->entries));
    out->entries[at] = entry;
    out->count++;
}

static int join_lists(const struct list *list, const struct entries *a, const struct entries *b,
    struct wp_buffer *bytes, struct wp_error *err)
{
    struct entries out = {.base = PROTOBUF_C_MESSAGE_INIT(list->type)};
    out.entries = calloc(a->count + b->count + 1, sizeof(*out.entries));
    if (!out.entries)
        return wp_error_set(err, -ENOMEM, "out of memory for joining %s", list->type->short_name);
    for (size_t i = 0; i < a->count; i++)
        take_greatest(list, &out, a->entries[i]);
    for (size_t i = 0; i < b->count; i++)
        take_greatest(list, &out, b->entries[i]);
    int rc = wp_message_pack(&out.base, bytes, err);
    free(out.entries);
    return rc;
}

static int join_messages(const struct list *list, const struct wp_buffer *a, const struct wp_buffer *b,
    struct wp_buffer *out, struct wp_error *err)
{
    const char *what = list->type->short_name;
    ProtobufCMessage *one = wp_message_unpack(list->type, a->data, a->size, what, err);
    ProtobufCMessage *other = one ? wp_message_unpack(list->type, b->data, b->size, what, err) : NULL;
    int rc = one && other ? join_lists(list, (struct entries *)one, (struct entries *)other, out, err) : -errno;
    protobuf_c_message_free_unpacked(one, NULL);
    protobuf_c_message_free_unpacked(other, NULL);
    return rc;
}

/* The resume point that is further. */
static int join_processed(
    const struct wp_buffer *a, const struct wp_buffer *b, const struct wp_buffer **greater, struct wp_error *err)
{
    const ProtobufCMessageDescriptor *type = &wakepath__store__processed__descriptor;
    ProtobufCMessage *one = wp_message_unpack(type, a->data, a->size, "processed", err);
    ProtobufCMessage *other = one ? wp_message_unpack(type, b->data, b->size, "processed", err) : NULL;
    int rc = one && other ? 0 : -errno;
    if (!rc) {
        const Wakepath__Store__Processed *x = (const Wakepath__Store__Processed *)one;
        const Wakepath__Store__Processed *y = (const Wakepath__Store__Processed *)other;
        bool is_less = x->seq != y->seq ? x->seq < y->seq
            : x->ended != y->ended      ? y->ended
                                        : x->until_mono_ns < y->until_mono_ns;
        *greater = is_less ? b : a;
    }
    protobuf_c_message_free_unpacked(one, NULL);
    protobuf_c_message_free_unpacked(other, NULL);
    return rc;
}

/* Whole windows: the one that holds more, then the greater bytes. */
static const struct wp_buffer *greater_bytes(const struct wp_buffer *a, const struct wp_buffer *b)
{
    if (a->size != b->size)
        return a->size > b->size ? a : b;
    return !a->size || memcmp(a->data, b->data, a->size) >= 0 ? a : b;
}

static int join_exemplars(
    const struct wp_buffer *a, const struct wp_buffer *b, struct wp_buffer *out, struct wp_error *err)
{
    struct wp_exemplars one = {0}, other = {0};
    int rc = wp_exemplars_decode(&one, a->data, a->size, err);
    if (!rc)
        rc = wp_exemplars_decode(&other, b->data, b->size, err);
    if (!rc && wp_exemplars_join(&one, &other))
        rc = wp_error_set(err, -ENOMEM, "out of memory for joining exemplars");
    if (!rc)
        rc = wp_exemplars_encode(&one, out, err);
    wp_exemplars_fini(&one);
    wp_exemplars_fini(&other);
    return rc;
}

int wp_value_join(enum wp_value_kind kind, const struct wp_buffer *a, const struct wp_buffer *b, struct wp_buffer *out,
    struct wp_error *err)
{
    const struct wp_buffer *greater = NULL, both[] = {*a, *b};
    const struct list *list = list_of(kind);
    int rc = 0;
    if (list)
        return join_messages(list, a, b, out, err);
    if (kind == WP_VALUE_GENEALOGY)
        return wp_genealogy_join(both, 2, out, err);
    if (kind == WP_VALUE_SOURCEMAP)
        return wp_sourcemap_join(both, 2, out, err);
    if (kind == WP_VALUE_EXEMPLARS)
        return join_exemplars(a, b, out, err);
    if (kind == WP_VALUE_SOURCE)
        return wp_source_join(both, 2, out, err);
    if (kind == WP_VALUE_PROCESSED)
        rc = join_processed(a, b, &greater, err);
    else
        greater = greater_bytes(a, b);
    if (!rc && greater->size && wp_buffer_append(out, greater->data, greater->size))
        rc = wp_error_set(err, -ENOMEM, "out of memory for joining %s", wp_value_kind_name(kind));
    return rc;
}
