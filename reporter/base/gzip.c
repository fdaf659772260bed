/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/base/gzip.h"

#include <errno.h>
#include <limits.h>
#include <zlib.h>

#define WITH_GZIP_HEADER 16

/* zlib counts in unsigned ints: a long input goes in by pieces. */
static void feed(z_stream *stream, size_t *left)
{
    uInt size = *left < UINT_MAX ? (uInt)*left : UINT_MAX;
    if (!stream->avail_in) {
        stream->avail_in = size;
        *left -= size;
    }
}

int wp_gzip(struct wp_buffer *out, const void *bytes, size_t size, struct wp_error *err)
{
    z_stream stream = {.next_in = (z_const Bytef *)bytes};
    size_t left = size;
    unsigned char room[65536];
    int rc =
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + WITH_GZIP_HEADER, 8, Z_DEFAULT_STRATEGY);
    if (rc != Z_OK)
        return wp_error_set(err, -ENOMEM, "cannot start zlib (%d)", rc);
    do {
        feed(&stream, &left);
        stream.next_out = room;
        stream.avail_out = sizeof(room);
        rc = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
        wp_buffer_append(out, room, sizeof(room) - stream.avail_out);
    } while (rc == Z_OK && !out->failed);
    deflateEnd(&stream);
    return rc == Z_STREAM_END && !out->failed
        ? 0
        : wp_error_set(err, -ENOMEM, "out of memory for %zu bytes compressed", size);
}
