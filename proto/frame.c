/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"

#include "proto/session.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define WINDOW_LOG 25    /* 32 MiB: no frame needs more, none may ask for more */
#define PLAIN_BELOW 128u /* smaller payloads are not worth compressing */

enum { CODEC_PLAIN, CODEC_ZSTD };

/* All numbers little-endian. */
struct header {
    char magic[4];
    uint8_t major, type, codec, zero;
    uint32_t raw_size, payload_size;
    uint64_t checksum; /* XXH3-64 of the payload as it travels */
    uint64_t reserved; /* 0 */
};
_Static_assert(sizeof(struct header) == WP_FRAME_HEADER, "the header has no holes");

static const char magic[4] = {'W', 'P', 'F', '1'};

struct wp_frame_writer {
    ZSTD_CCtx *context;
};

struct wp_frame_reader {
    ZSTD_DCtx *context;
    struct wp_buffer raw;
};

struct wp_frame_writer *wp_frame_writer_create(int zstd_level)
{
    struct wp_frame_writer *writer = calloc(1, sizeof(*writer));
    if (!writer || !(writer->context = ZSTD_createCCtx())) {
        free(writer);
        return NULL;
    }
    ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, zstd_level);
    return writer;
}

void wp_frame_writer_destroy(struct wp_frame_writer *writer)
{
    if (!writer)
        return;
    ZSTD_freeCCtx(writer->context);
    free(writer);
}

int wp_frame_write(struct wp_frame_writer *writer, enum wp_frame_type type, const uint8_t *raw, size_t size,
    struct wp_buffer *out, struct wp_error *err)
{
    if (size > WP_FRAME_RAW_LIMIT)
        return wp_error_set(err, -E2BIG, "a frame of %zu bytes, at most %u fit", size, WP_FRAME_RAW_LIMIT);
    if (wp_buffer_reserve(out, WP_FRAME_HEADER + ZSTD_compressBound(size)))
        return wp_error_set(err, -ENOMEM, "out of memory for a frame");
    uint8_t *payload = out->data + out->size + WP_FRAME_HEADER;
    size_t payload_size = size;
    uint8_t codec = CODEC_PLAIN;
    if (size >= PLAIN_BELOW) {
        payload_size = ZSTD_compress2(writer->context, payload, ZSTD_compressBound(size), raw, size);
        if (ZSTD_isError(payload_size))
            return wp_error_set(err, -EIO, "cannot compress a frame: %s", ZSTD_getErrorName(payload_size));
        codec = CODEC_ZSTD;
    }
    if (codec == CODEC_PLAIN || payload_size >= size) {
        codec = CODEC_PLAIN;
        payload_size = size;
        if (size)
            memcpy(payload, raw, size);
    }
    struct header header = {.major = WP_WIRE_MAJOR,
        .type = (uint8_t)type,
        .codec = codec,
        .raw_size = htole32((uint32_t)size),
        .payload_size = htole32((uint32_t)payload_size),
        .checksum = htole64(XXH3_64bits(payload, payload_size))};
    memcpy(header.magic, magic, sizeof(magic));
    memcpy(out->data + out->size, &header, sizeof(header));
    out->size += sizeof(header) + payload_size;
    return 0;
}

bool wp_frame_is_head(const uint8_t *bytes, size_t size)
{
    return size >= WP_FRAME_HEADER && !memcmp(bytes, magic, sizeof(magic));
}

struct wp_frame_reader *wp_frame_reader_create(void)
{
    struct wp_frame_reader *reader = calloc(1, sizeof(*reader));
    if (!reader || !(reader->context = ZSTD_createDCtx())) {
        free(reader);
        return NULL;
    }
    ZSTD_DCtx_setParameter(reader->context, ZSTD_d_windowLogMax, WINDOW_LOG);
    return reader;
}

void wp_frame_reader_destroy(struct wp_frame_reader *reader)
{
    if (!reader)
        return;
    ZSTD_freeDCtx(reader->context);
    wp_buffer_fini(&reader->raw);
    free(reader);
}

static int check_header(const struct header *header, uint32_t raw_size, uint32_t payload_size, struct wp_error *err)
{
    if (memcmp(header->magic, magic, sizeof(magic)))
        return wp_error_set(err, -EBADMSG, "not a frame: it does not start with WPF1");
    if (header->major != WP_WIRE_MAJOR)
        return wp_error_set(err, -EPROTONOSUPPORT, "a frame of wire version %u, this side speaks version %u",
            header->major, WP_WIRE_MAJOR);
    if (header->type < WP_FRAME_HELLO || header->type >= WP_FRAME_TYPES)
        return wp_error_set(err, -EBADMSG, "a frame of the unknown type %u", header->type);
    if (header->codec > CODEC_ZSTD)
        return wp_error_set(err, -EBADMSG, "a frame of the unknown codec %u", header->codec);
    if (header->zero || header->reserved)
        return wp_error_set(err, -EBADMSG, "a frame with reserved bits set");
    if (raw_size > WP_FRAME_RAW_LIMIT || payload_size > WP_FRAME_RAW_LIMIT)
        return wp_error_set(
            err, -E2BIG, "a frame that claims %u bytes, at most %u are taken", raw_size, WP_FRAME_RAW_LIMIT);
    if (header->codec == CODEC_PLAIN && raw_size != payload_size)
        return wp_error_set(err, -EBADMSG, "a plain frame of two sizes, %u and %u", raw_size, payload_size);
    return 0;
}

static int inflate(
    struct wp_frame_reader *reader, const uint8_t *payload, size_t size, size_t raw_size, struct wp_error *err)
{
    wp_buffer_clear(&reader->raw);
    if (wp_buffer_reserve(&reader->raw, raw_size))
        return wp_error_set(err, -ENOMEM, "out of memory for a frame");
    size_t got = ZSTD_decompressDCtx(reader->context, reader->raw.data, raw_size, payload, size);
    if (ZSTD_isError(got))
        return wp_error_set(err, -EBADMSG, "a frame that cannot be inflated: %s", ZSTD_getErrorName(got));
    if (got != raw_size)
        return wp_error_set(err, -EBADMSG, "a frame that claims %zu bytes and holds %zu", raw_size, got);
    reader->raw.size = got;
    return 0;
}

int wp_frame_read(
    struct wp_frame_reader *reader, const uint8_t *bytes, size_t size, struct wp_frame *frame, struct wp_error *err)
{
    struct header header;
    if (size < sizeof(header)) {
        size_t known = size < sizeof(magic) ? size : sizeof(magic);
        if (known && memcmp(bytes, magic, known))
            return wp_error_set(err, -EBADMSG, "not a frame: it does not start with WPF1");
        return wp_error_set(err, -EAGAIN, "a frame cut short: %zu bytes of a header of %zu", size, sizeof(header));
    }
    memcpy(&header, bytes, sizeof(header));
    uint32_t raw_size = le32toh(header.raw_size), payload_size = le32toh(header.payload_size);
    int rc = check_header(&header, raw_size, payload_size, err);
    if (rc)
        return rc;
    if (size - sizeof(header) < payload_size)
        return wp_error_set(err, -EAGAIN, "a frame cut short: %zu bytes of %zu", size, sizeof(header) + payload_size);
    const uint8_t *payload = bytes + sizeof(header);
    if (XXH3_64bits(payload, payload_size) != le64toh(header.checksum))
        return wp_error_set(err, -EBADMSG, "a damaged frame: its checksum is wrong");
    *frame = (struct wp_frame){
        .type = header.type, .payload = payload, .size = payload_size, .consumed = sizeof(header) + payload_size};
    if (header.codec == CODEC_PLAIN)
        return 0;
    rc = inflate(reader, payload, payload_size, raw_size, err);
    frame->payload = reader->raw.data;
    frame->size = raw_size;
    return rc;
}
