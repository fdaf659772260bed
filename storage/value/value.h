/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_VALUE_H
#define WP_STORAGE_VALUE_VALUE_H
/*
 * What stands around every value of a store: magic, kind, version, codec, sizes, digests, a small head that is read
 * without the body, and the body, compressed where that pays. wakepath-store(5) is the reference.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

#define WP_VALUE_MAGIC "WPV1"
#define WP_VALUE_HEADER 48u
#define WP_VALUE_VERSION 1u /* of the messages in the bodies; older ones are read forever */
#define WP_VALUE_HEAD_LIMIT 65536u
#define WP_VALUE_RAW_LIMIT (256u << 20)

enum wp_value_kind {
    WP_VALUE_SHARD = 1,
    WP_VALUE_METADATA,
    WP_VALUE_PROCESSED,
    WP_VALUE_LAST_SAMPLE,
    WP_VALUE_GENEALOGY,
    WP_VALUE_SOURCEMAP,
    WP_VALUE_SOURCE,
    WP_VALUE_CLOCK,
    WP_VALUE_REPORT,
    WP_VALUE_TRACE,
    WP_VALUE_BLOB,
    WP_VALUE_EXEMPLARS,
    WP_VALUE_KINDS
};

enum wp_value_codec { WP_CODEC_NONE, WP_CODEC_ZSTD, WP_CODECS };

struct wp_value { /* points into the stored bytes */
    enum wp_value_kind kind;
    unsigned version, codec;
    const uint8_t *head, *body;
    size_t head_size, body_size, raw_size;
    uint8_t digest[16]; /* XXH3-128 of the raw body, canonical (big-endian) form */
};

/* What zstd works with, kept from value to value: making it costs more than most values do. Starts zeroed; one thread
 * at a time. */
struct wp_value_zstd {
    struct ZSTD_CCtx_s *packing; /* owned, NULL until needed */
    struct ZSTD_DCtx_s *inflating;
};

/* Frees both contexts and zeroes it; a zeroed one is allowed. */
void wp_value_zstd_fini(struct wp_value_zstd *zstd);

/* "report", "trace" ... "?" for an unknown one. */
const char *wp_value_kind_name(enum wp_value_kind kind);
/* What a value is made of; all of it borrowed. */
struct wp_raw_value {
    enum wp_value_kind kind;
    const struct wp_buffer *head; /* NULL: none; it may be empty */
    const uint8_t *body;          /* not compressed */
    size_t size;
};
/* Appends the whole value. `zstd` NULL: for this one alone. -EFBIG, -ENOMEM. */
int wp_value_wrap(
    struct wp_value_zstd *zstd, const struct wp_raw_value *raw, struct wp_buffer *out, struct wp_error *err);
/* Reads the header and checks it and the head, not the body. -EBADMSG; -EPROTONOSUPPORT: written by a newer version. */
int wp_value_parse(struct wp_value *value, const uint8_t *bytes, size_t size, struct wp_error *err);
/* Appends the raw body, its digest checked. `zstd` NULL: for this one alone. -EBADMSG, -ENOMEM. */
int wp_value_unwrap(
    struct wp_value_zstd *zstd, const struct wp_value *value, struct wp_buffer *raw, struct wp_error *err);

#endif
