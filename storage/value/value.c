/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/value.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define LEVEL 3
/* Below this a zstd frame saves nothing. Above it, with its checksum, a frame is never shorter than 14 bytes. */
#define COMPRESS_FROM 64u

static const char *const kind_names[WP_VALUE_KINDS] = {"?", "shard", "metadata", "processed", "last_sample",
    "genealogy", "sourcemap", "source", "clock", "report", "trace", "blob", "exemplars"};

const char *wp_value_kind_name(enum wp_value_kind kind)
{
    return (unsigned)kind < WP_VALUE_KINDS ? kind_names[kind] : kind_names[0];
}

static void put_u32(uint8_t *at, uint32_t number)
{
    number = htole32(number);
    memcpy(at, &number, sizeof(number));
}

static void put_u64(uint8_t *at, uint64_t number)
{
    number = htole64(number);
    memcpy(at, &number, sizeof(number));
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof(number));
    return le32toh(number);
}

static uint64_t get_u64(const uint8_t *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof(number));
    return le64toh(number);
}

/* Over the header up to itself, and the head: they are believed without the body. */
static uint64_t header_check(const uint8_t *header, const uint8_t *head, size_t head_size)
{
    return XXH3_64bits(header, 40) ^ XXH3_64bits_withSeed(head, head_size, 0x57505631);
}

void wp_value_zstd_fini(struct wp_value_zstd *zstd)
{
    ZSTD_freeCCtx(zstd->packing);
    ZSTD_freeDCtx(zstd->inflating);
    *zstd = (struct wp_value_zstd){0};
}

static int compress(
    struct wp_value_zstd *zstd, const uint8_t *raw, size_t raw_size, struct wp_buffer *out, struct wp_error *err)
{
    size_t bound = ZSTD_compressBound(raw_size);
    if (!zstd->packing && (zstd->packing = ZSTD_createCCtx())) {
        ZSTD_CCtx_setParameter(zstd->packing, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(zstd->packing, ZSTD_c_checksumFlag, 1);
    }
    if (!zstd->packing || wp_buffer_reserve(out, bound))
        return wp_error_set(err, -ENOMEM, "out of memory for compressing");
    size_t size = ZSTD_compress2(zstd->packing, out->data + out->size, bound, raw, raw_size);
    if (ZSTD_isError(size))
        return wp_error_set(err, -ENOMEM, "cannot compress: %s", ZSTD_getErrorName(size));
    out->size += size;
    return 0;
}

/* The body behind what is in `out`: how it is coded, in `codec`. */
static int put_body(struct wp_value_zstd *zstd, const struct wp_raw_value *raw, struct wp_buffer *out, unsigned *codec,
    struct wp_error *err)
{
    struct wp_value_zstd own = {0};
    size_t body = out->size;
    int rc = 0;
    *codec = raw->size >= COMPRESS_FROM ? WP_CODEC_ZSTD : WP_CODEC_NONE;
    if (*codec)
        rc = compress(zstd ? zstd : &own, raw->body, raw->size, out, err);
    wp_value_zstd_fini(&own);
    if (rc || (*codec && out->size - body < raw->size))
        return rc;
    *codec = WP_CODEC_NONE;
    out->size = body;
    return raw->size && wp_buffer_append(out, raw->body, raw->size)
        ? wp_error_set(err, -ENOMEM, "out of memory for a body")
        : 0;
}

int wp_value_wrap(
    struct wp_value_zstd *zstd, const struct wp_raw_value *raw, struct wp_buffer *out, struct wp_error *err)
{
    const struct wp_buffer *head = raw->head;
    const char *name = wp_value_kind_name(raw->kind);
    uint8_t header[WP_VALUE_HEADER] = WP_VALUE_MAGIC;
    size_t head_size = head ? head->size : 0, start = out->size;
    if (raw->size > WP_VALUE_RAW_LIMIT || head_size > WP_VALUE_HEAD_LIMIT)
        return wp_error_set(
            err, -EFBIG, "a %s of %zu bytes is over the limit of %u", name, raw->size, WP_VALUE_RAW_LIMIT);
    if (wp_buffer_append(out, header, sizeof(header)) || (head_size && wp_buffer_append(out, head->data, head_size)))
        return wp_error_set(err, -ENOMEM, "out of memory for a %s", name);
    unsigned codec;
    int rc = put_body(zstd, raw, out, &codec, err);
    if (rc) {
        out->size = start;
        return rc;
    }
    header[4] = (uint8_t)raw->kind;
    header[5] = (uint8_t)codec;
    header[6] = WP_VALUE_VERSION;
    put_u32(header + 8, (uint32_t)head_size);
    put_u64(header + 16, raw->size);
    XXH128_canonicalFromHash((XXH128_canonical_t *)(void *)(header + 24), XXH3_128bits(raw->body, raw->size));
    put_u64(header + 40, header_check(header, head ? head->data : NULL, head_size));
    memcpy(out->data + start, header, sizeof(header));
    return 0;
}

int wp_value_parse(struct wp_value *value, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    if (size >= 4 && !memcmp(bytes, "WPV", 3) && bytes[3] > '1' && bytes[3] <= '9')
        return wp_error_set(err, -EPROTONOSUPPORT,
            "written in format %.4s by a newer version; this one reads " WP_VALUE_MAGIC, (const char *)bytes);
    if (size < WP_VALUE_HEADER || memcmp(bytes, WP_VALUE_MAGIC, 4))
        return wp_error_set(err, -EBADMSG, "not a value: its first bytes are not a " WP_VALUE_MAGIC " header");
    *value = (struct wp_value){.kind = bytes[4],
        .codec = bytes[5],
        .version = (unsigned)bytes[6] | (unsigned)bytes[7] << 8,
        .head = bytes + WP_VALUE_HEADER,
        .head_size = get_u32(bytes + 8)};
    uint64_t raw_size = get_u64(bytes + 16);
    if (value->head_size > WP_VALUE_HEAD_LIMIT || value->head_size > size - WP_VALUE_HEADER)
        return wp_error_set(
            err, -EBADMSG, "header is damaged: a head of %zu bytes in a value of %zu", value->head_size, size);
    if (header_check(bytes, value->head, value->head_size) != get_u64(bytes + 40))
        return wp_error_set(err, -EBADMSG, "header is damaged: its check sum does not match");
    if (value->version > WP_VALUE_VERSION)
        return wp_error_set(err, -EPROTONOSUPPORT, "written in version %u by a newer program; this one reads up to %u",
            value->version, WP_VALUE_VERSION);
    value->body = value->head + value->head_size;
    value->body_size = size - WP_VALUE_HEADER - value->head_size;
    if (raw_size > WP_VALUE_RAW_LIMIT || value->codec >= WP_CODECS || !value->kind || value->kind >= WP_VALUE_KINDS ||
        (value->codec == WP_CODEC_NONE && raw_size != value->body_size))
        return wp_error_set(err, -EBADMSG, "header is wrong: kind %u, codec %u, raw size %llu", value->kind,
            value->codec, (unsigned long long)raw_size);
    value->raw_size = (size_t)raw_size;
    memcpy(value->digest, bytes + 24, sizeof(value->digest));
    return 0;
}

/* A frame says itself how large it is; one that claims more than the header is not inflated at all. */
static int inflate(struct wp_value_zstd *zstd, const struct wp_value *value, uint8_t *raw, struct wp_error *err)
{
    if (ZSTD_getFrameContentSize(value->body, value->body_size) != value->raw_size)
        return wp_error_set(err, -EBADMSG, "body is damaged: its frame does not hold %zu bytes", value->raw_size);
    if (!zstd->inflating && !(zstd->inflating = ZSTD_createDCtx()))
        return wp_error_set(err, -ENOMEM, "out of memory for a body");
    size_t got = ZSTD_decompressDCtx(zstd->inflating, raw, value->raw_size, value->body, value->body_size);
    if (ZSTD_isError(got))
        return wp_error_set(err, -EBADMSG, "body is damaged: %s", ZSTD_getErrorName(got));
    return got == value->raw_size
        ? 0
        : wp_error_set(err, -EBADMSG, "body is damaged: %zu bytes of %zu", got, value->raw_size);
}

int wp_value_unwrap(
    struct wp_value_zstd *zstd, const struct wp_value *value, struct wp_buffer *out, struct wp_error *err)
{
    struct wp_value_zstd own = {0};
    if (wp_buffer_reserve(out, value->raw_size))
        return wp_error_set(err, -ENOMEM, "out of memory for a body of %zu bytes", value->raw_size);
    uint8_t *raw = out->data + out->size;
    int rc = 0;
    if (value->codec == WP_CODEC_ZSTD)
        rc = inflate(zstd ? zstd : &own, value, raw, err);
    else if (value->raw_size)
        memcpy(raw, value->body, value->raw_size);
    wp_value_zstd_fini(&own);
    if (rc)
        return rc;
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(raw, value->raw_size));
    if (memcmp(&digest, value->digest, sizeof(value->digest)))
        return wp_error_set(err, -EBADMSG, "body is damaged: its digest does not match");
    out->size += value->raw_size;
    out->data[out->size] = 0;
    return 0;
}
