/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_FRAME_H
#define WP_PROTO_FRAME_H
/*
 * The envelope of everything on a socket and in a capture file: magic "WPF1", version, type, codec, raw size (bounded
 * before anything is inflated), payload size, XXH3-64 of the payload as it travels, then the payload (plain or zstd).
 * A capture file is frames one after the other: HELLO, BATCH..., BYE.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wp_frame_type {
    WP_FRAME_HELLO = 1,
    WP_FRAME_WELCOME,
    WP_FRAME_BATCH,
    WP_FRAME_ACK,
    WP_FRAME_BYE,
    WP_FRAME_REFUSED,
    WP_FRAME_TIME_PROBE,
    WP_FRAME_TIME_REPLY,
    WP_FRAME_CHECKPOINT, /* never travels */
    WP_FRAME_SHARD_HELLO,
    WP_FRAME_SHARD_WELCOME,
    WP_FRAME_SHARD_FACTS,
    WP_FRAME_SHARD_QUESTIONS,
    WP_FRAME_SHARD_ANSWERS,
    WP_FRAME_NAME_QUESTION,
    WP_FRAME_NAME_ANSWER,
    WP_FRAME_TYPES
};

#define WP_FRAME_HEADER 32u            /* bytes before the payload */
#define WP_FRAME_RAW_LIMIT (32u << 20) /* a frame that claims more raw bytes is refused */

struct wp_frame_writer; /* keeps its compression context between frames; not thread safe */

/* `zstd_level` as zstd has it. NULL when out of memory. */
struct wp_frame_writer *wp_frame_writer_create(int zstd_level);
/* Frees the compression context, too; NULL is allowed. */
void wp_frame_writer_destroy(struct wp_frame_writer *writer);
/* Appends one whole frame to `out`. */
int wp_frame_write(struct wp_frame_writer *writer, enum wp_frame_type type, const uint8_t *raw, size_t size,
    struct wp_buffer *out, struct wp_error *err);

struct wp_frame_reader;

/* One thread at a time. NULL when out of memory. */
struct wp_frame_reader *wp_frame_reader_create(void);
/* Frees the last frame's payload, too; NULL is allowed. */
void wp_frame_reader_destroy(struct wp_frame_reader *reader);

/* A frame that was read. */
struct wp_frame {
    enum wp_frame_type type;
    const uint8_t *payload; /* raw bytes: the reader's, valid until its next call, or part of its input */
    size_t size;
    size_t consumed; /* bytes of the input that the frame took */
};

/* Whether a frame may begin so; a header is WP_FRAME_HEADER bytes. */
bool wp_frame_is_head(const uint8_t *bytes, size_t size);
/* Reads the first frame at `bytes`. -EAGAIN: not whole yet (err says how many bytes it has and wants); -EBADMSG: not a
 * frame, bad checksum or damaged; -EPROTONOSUPPORT: another major version (err names both); -E2BIG: over the limit. */
int wp_frame_read(
    struct wp_frame_reader *reader, const uint8_t *bytes, size_t size, struct wp_frame *frame, struct wp_error *err);

#endif
