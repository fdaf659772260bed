/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"
#include "proto/session.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include <cmocka.h>

static struct wp_buffer make(const void *raw, size_t size)
{
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    struct wp_buffer out = {0};
    assert_int_equal(wp_frame_write(writer, WP_FRAME_BATCH, raw, size, &out, NULL), 0);
    wp_frame_writer_destroy(writer);
    return out;
}

static int read_frame(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct wp_frame_reader *reader = wp_frame_reader_create();
    struct wp_frame frame;
    int rc = wp_frame_read(reader, bytes, size, &frame, err);
    wp_frame_reader_destroy(reader);
    return rc;
}

static void round_trip(void **state)
{
    (void)state;
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    struct wp_frame_reader *reader = wp_frame_reader_create();
    struct wp_buffer out = {0};
    size_t sizes[] = {0, 1, 127, 128, 5000, 1 << 20, WP_FRAME_RAW_LIMIT};
    uint8_t *raw = malloc(WP_FRAME_RAW_LIMIT);
    for (size_t i = 0; i < WP_FRAME_RAW_LIMIT; i++)
        raw[i] = (uint8_t)(i * i >> (i % 7));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_int_equal(wp_frame_write(writer, (enum wp_frame_type)(1 + i % 6), raw, sizes[i], &out, NULL), 0);
    size_t at = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct wp_frame frame;
        struct wp_error err = {0};
        if (wp_frame_read(reader, out.data + at, out.size - at, &frame, &err))
            fail_msg("frame %zu: %s", i, err.text);
        assert_int_equal(frame.type, 1 + i % 6);
        assert_int_equal(frame.size, sizes[i]);
        assert_true(!memcmp(frame.payload, raw, sizes[i]));
        at += frame.consumed;
    }
    assert_int_equal(at, out.size);
    assert_int_equal(wp_frame_write(writer, WP_FRAME_BATCH, raw, (size_t)WP_FRAME_RAW_LIMIT + 1, &out, NULL), -E2BIG);
    wp_frame_writer_destroy(writer);
    wp_frame_reader_destroy(reader);
    wp_buffer_fini(&out);
    free(raw);
}

static void cut_anywhere(void **state)
{
    (void)state;
    char raw[400];
    memset(raw, 'x', sizeof(raw));
    struct wp_buffer frame = make(raw, sizeof(raw));
    for (size_t cut = 0; cut < frame.size; cut++) {
        struct wp_error err = {0};
        uint8_t *bytes = malloc(cut + 1);
        memcpy(bytes, frame.data, cut);
        assert_int_equal(read_frame(bytes, cut, &err), -EAGAIN);
        assert_non_null(strstr(err.text, "cut short"));
        free(bytes);
    }
    wp_buffer_fini(&frame);
}

static void every_bit_counts(void **state)
{
    (void)state;
    char raw[400];
    memset(raw, 'x', sizeof(raw));
    struct wp_buffer frame = make(raw, sizeof(raw));
    for (size_t i = 0; i < frame.size * 8; i++) {
        struct wp_error err = {0};
        frame.data[i / 8] ^= (uint8_t)(1u << i % 8);
        int rc = read_frame(frame.data, frame.size, &err);
        if (rc != -EBADMSG && rc != -EPROTONOSUPPORT && rc != -E2BIG && rc != -EAGAIN && i / 8 != 5)
            fail_msg("bit %zu of byte %zu: %d %s", i % 8, i / 8, rc, err.text); /* byte 5: another type is good too */
        frame.data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    assert_int_equal(read_frame(frame.data, frame.size, NULL), 0);
    wp_buffer_fini(&frame);
}

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, 4);
}

/* A whole frame around a payload that is what its maker likes. */
static struct wp_buffer wrap(uint8_t codec, uint32_t raw_size, const void *payload, uint32_t size)
{
    struct wp_buffer out = {0};
    uint8_t header[WP_FRAME_HEADER] = {'W', 'P', 'F', '1', WP_WIRE_MAJOR, WP_FRAME_BATCH, codec};
    uint64_t sum = XXH3_64bits(payload, size);
    put32(header + 8, raw_size);
    put32(header + 12, size);
    memcpy(header + 16, &sum, 8);
    wp_buffer_append(&out, header, sizeof(header));
    wp_buffer_append(&out, payload, size);
    return out;
}

static void reasons(void **state)
{
    (void)state;
    struct wp_error err = {0};
    struct wp_buffer frame = wrap(0, 3, "abc", 3);
    assert_int_equal(read_frame(frame.data, frame.size, &err), 0);
    frame.data[4] = 9;
    assert_int_equal(read_frame(frame.data, frame.size, &err), -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "version 9"));
    assert_non_null(strstr(err.text, "version 1"));
    wp_buffer_fini(&frame);
    assert_int_equal(read_frame((const uint8_t *)"GET / HTTP/1.1\r\n", 16, &err), -EBADMSG);
    assert_int_equal(read_frame((const uint8_t *)"G", 1, &err), -EBADMSG);
    frame = wrap(0, WP_FRAME_RAW_LIMIT + 1, "abc", 3);
    assert_int_equal(read_frame(frame.data, frame.size, &err), -E2BIG);
    wp_buffer_fini(&frame);
    frame = wrap(0, 4, "abc", 3);
    assert_int_equal(read_frame(frame.data, frame.size, &err), -EBADMSG);
    wp_buffer_fini(&frame);
    frame = wrap(7, 3, "abc", 3);
    assert_int_equal(read_frame(frame.data, frame.size, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "codec"));
    wp_buffer_fini(&frame);
    frame = wrap(1, 300, "this is no zstd frame", 21);
    assert_int_equal(read_frame(frame.data, frame.size, &err), -EBADMSG);
    wp_buffer_fini(&frame);
}

/* Compressed zeros that would be far more than they claim, and less. */
static void bombs(void **state)
{
    (void)state;
    struct wp_error err = {0};
    size_t size = (size_t)64 << 20, bound = ZSTD_compressBound(size);
    uint8_t *zeros = calloc(1, size), *packed = malloc(bound);
    uint32_t packed_size = (uint32_t)ZSTD_compress(packed, bound, zeros, size, 1);
    struct wp_buffer frame = wrap(1, 1000, packed, packed_size);
    assert_int_equal(read_frame(frame.data, frame.size, &err), -EBADMSG);
    wp_buffer_fini(&frame);
    packed_size = (uint32_t)ZSTD_compress(packed, bound, zeros, 1000, 1);
    frame = wrap(1, 2000, packed, packed_size);
    assert_int_equal(read_frame(frame.data, frame.size, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "2000"));
    wp_buffer_fini(&frame);
    free(zeros);
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(every_bit_counts), cmocka_unit_test(reasons), cmocka_unit_test(bombs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
