/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stored value. The first byte's lowest bit says what the rest is: the stored bytes as they are, or the second byte's
 * kind of body with a sound digest, so that what is behind that is reached. A body goes through a stored form,
 * compressed and with a header, when the next bit says so: always, this would be most of the time, and no decoder's.
 * What a check lets pass must decode; a report that decodes must be the same when it is encoded and decoded again, and
 * merge with itself.
 */
#include "fuzz.h"

#include "storage/kind/value_check.h"
#include "storage/report/exemplars.h"
#include "storage/report/head.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/trace_decode.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void need(int is_so)
{
    if (!is_so)
        abort();
}

static void try_report(const struct wp_buffer *raw)
{
    struct wp_report *report, *again = NULL;
    struct wp_buffer first = {0}, second = {0};
    struct wp_error err = {0};
    if (!wp_report_decode(&report, raw->data, raw->size, &err)) {
        need(!wp_report_encode(report, &first, &err) && !wp_report_decode(&again, first.data, first.size, &err));
        need(!wp_report_encode(again, &second, &err) && first.size == second.size &&
            !memcmp(first.data, second.data, first.size));
        need(!wp_report_merge(report, again, &err));
        wp_report_destroy(again);
        wp_report_destroy(report);
    }
    wp_buffer_fini(&first);
    wp_buffer_fini(&second);
}

static void try_trace(const struct wp_buffer *raw)
{
    struct wp_trace *trace;
    struct wp_error err = {0};
    if (!wp_trace_decode(&trace, raw->data, raw->size, &err))
        wp_trace_destroy(trace);
}

static void try_exemplars(const struct wp_buffer *raw)
{
    struct wp_exemplars set;
    struct wp_error err = {0};
    if (wp_exemplars_decode(&set, raw->data, raw->size, &err))
        need(*err.text);
    wp_exemplars_fini(&set);
}

static void try_value(struct wp_value_zstd *zstd, const struct wp_value *value)
{
    struct wp_buffer raw = {0};
    struct wp_error err = {0};
    struct wp_key key = {.kind = value->kind};
    if (value->raw_size <= 1 << 20 && !wp_value_unwrap(zstd, value, &raw, &err)) {
        need(!wp_value_check(&key, value, &raw, &err) || *err.text);
        if (value->kind == WP_VALUE_REPORT)
            try_report(&raw);
        if (value->kind == WP_VALUE_TRACE)
            try_trace(&raw);
        if (value->kind == WP_VALUE_EXEMPLARS)
            try_exemplars(&raw);
    }
    wp_buffer_fini(&raw);
}

static void try_stored(struct wp_value_zstd *zstd, const uint8_t *bytes, size_t size)
{
    struct wp_value value;
    struct wp_head head;
    struct wp_error err = {0};
    if (wp_value_parse(&value, bytes, size, &err)) {
        need(*err.text); /* refused with a reason */
        return;
    }
    wp_head_decode(&head, value.head, value.head_size, NULL);
    try_value(zstd, &value);
}

static void try_body(struct wp_value_zstd *zstd, enum wp_value_kind kind, const uint8_t *bytes, size_t size)
{
    struct wp_value value = {.kind = kind,
        .codec = WP_CODEC_NONE,
        .version = WP_VALUE_VERSION,
        .raw_size = size,
        .head = bytes,
        .body = bytes,
        .body_size = size};
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, size));
    memcpy(value.digest, &digest, sizeof(value.digest));
    try_value(zstd, &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct wp_value_zstd zstd; /* for all inputs */
    struct wp_buffer stored = {0};
    struct wp_buffer head = {0};
    if (size < 2)
        return 0;
    enum wp_value_kind kind = (enum wp_value_kind)(1 + bytes[1] % (WP_VALUE_KINDS - 1));
    if (!(bytes[0] & 1))
        try_stored(&zstd, bytes + 1, size - 1);
    else if (!(bytes[0] & 2))
        try_body(&zstd, kind, bytes + 2, size - 2);
    else if (!wp_value_wrap(&zstd, &(struct wp_raw_value){kind, &head, bytes + 2, size - 2}, &stored, NULL))
        try_stored(&zstd, stored.data, stored.size);
    wp_buffer_fini(&stored);
    return 0;
}
