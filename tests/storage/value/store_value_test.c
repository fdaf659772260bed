/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around a value, and the grammar of keys. */
#include "tests/storage/made_report.h"

#include "storage/env/network_fs.h"
#include "storage/value/keys.h"
#include "storage/value/latency.h"
#include "storage/value/value.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static const uint8_t frame_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

static struct wp_buffer wrap(const void *raw, size_t size, const char *head)
{
    struct wp_buffer out = {0}, head_bytes = {0};
    wp_buffer_puts(&head_bytes, head);
    assert_int_equal(wp_value_wrap(NULL, &(struct wp_raw_value){WP_VALUE_BLOB, &head_bytes, raw, size}, &out, NULL), 0);
    wp_buffer_fini(&head_bytes);
    return out;
}

static void body_comes_back(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (size_t size = 0; size < 5000; size = size < 200 ? size + 1 : size * 2) {
        for (int noise = 0; noise < 2; noise++) {
            uint8_t *raw = calloc(size + 1, 1);
            for (size_t i = 0; noise && i < size; i++)
                raw[i] = (uint8_t)made_random(&seed);
            struct wp_buffer stored = wrap(raw, size, "head"), back = {0};
            struct wp_value value;
            assert_int_equal(wp_value_parse(&value, stored.data, stored.size, NULL), 0);
            assert_int_equal(value.kind, WP_VALUE_BLOB);
            assert_int_equal(value.head_size, 4);
            assert_memory_equal(value.head, "head", 4);
            assert_int_equal(wp_value_unwrap(NULL, &value, &back, NULL), 0);
            assert_int_equal(back.size, size);
            assert_memory_equal(back.data, raw, size);
            if (value.codec == WP_CODEC_ZSTD) {
                assert_memory_equal(value.body, frame_magic, 4);
                assert_true(value.body_size >= 14 && value.body_size < size);
            }
            assert_int_equal(value.codec == WP_CODEC_ZSTD, size >= 64 && !noise);
            wp_buffer_fini(&stored);
            wp_buffer_fini(&back);
            free(raw);
        }
    }
}

/* Reads the value; what is taken must be the `wanted` body (NULL: any). */
static int read_all(const uint8_t *bytes, size_t size, const char *wanted, struct wp_error *err)
{
    struct wp_value value;
    struct wp_buffer raw = {0};
    int rc = wp_value_parse(&value, bytes, size, err);
    if (!rc)
        rc = wp_value_unwrap(NULL, &value, &raw, err);
    if (!rc && wanted)
        assert_memory_equal(raw.data, wanted, raw.size);
    wp_buffer_fini(&raw);
    return rc;
}

static void every_bit_counts(void **state)
{
    (void)state;
    char text[400];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i * i % 7);
    for (int small = 0; small < 2; small++) {
        struct wp_buffer stored = wrap(text, small ? 20 : sizeof(text), "head of it");
        unsigned meaningless =
            0; /* zstd frames have a few unused bits (RFC 8878, 3.1.1.1.1.3): the content stays right */
        assert_int_equal(read_all(stored.data, stored.size, text, NULL), 0);
        for (size_t i = 0; i < stored.size * 8; i++) {
            struct wp_error err = {0};
            stored.data[i / 8] ^= (uint8_t)(1u << i % 8);
            int rc = read_all(stored.data, stored.size, text, &err);
            if (rc != -EBADMSG && rc != -EPROTONOSUPPORT && (small || i / 8 < WP_VALUE_HEADER || ++meaningless > 8))
                fail_msg("bit %zu of byte %zu may be wrong: %d", i % 8, i / 8, rc);
            assert_true(*err.text || !rc);
            stored.data[i / 8] ^= (uint8_t)(1u << i % 8);
        }
        for (size_t size = 0; size < stored.size; size++) {
            uint8_t *exact = malloc(size + 1);
            memcpy(exact, stored.data, size);
            assert_int_equal(read_all(exact, size, NULL, NULL), -EBADMSG);
            free(exact);
        }
        wp_buffer_fini(&stored);
    }
}

static void newer_versions_are_named(void **state)
{
    (void)state;
    struct wp_error err = {0};
    struct wp_buffer stored = wrap("x", 1, "");
    stored.data[3] = '2';
    assert_int_equal(read_all(stored.data, stored.size, NULL, &err), -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "WPV2"));
    wp_buffer_fini(&stored);
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    struct wp_buffer out = {0}, head = {0};
    assert_int_equal(wp_buffer_reserve(&head, WP_VALUE_HEAD_LIMIT + 1), 0);
    head.size = WP_VALUE_HEAD_LIMIT + 1;
    assert_int_equal(
        wp_value_wrap(NULL, &(struct wp_raw_value){WP_VALUE_BLOB, &head, (const uint8_t *)"x", 1}, &out, NULL), -EFBIG);
    assert_int_equal(
        wp_value_wrap(NULL,
            &(struct wp_raw_value){WP_VALUE_BLOB, NULL, (const uint8_t *)"x", WP_VALUE_RAW_LIMIT + (size_t)1}, &out,
            NULL),
        -EFBIG);
    assert_int_equal(out.size, 0);
    wp_buffer_fini(&head);
    wp_buffer_fini(&out);
}

static void keys_go_both_ways(void **state)
{
    (void)state;
    static const char *const good[] = {"__state__/shard.web-1", "__state__/metadata.a.b.c",
        "__state__/last_sample.10.0.0.5", "__state__/genealogy.s", "__state__/genealogy.s.~0000000001",
        "__state__/sourcemap.10.0.0.5.~0000000012", "__state__/source.s", "__state__/clock.s",
        "__state__/processed.00112233-4455-6677-8899-aabbccddeeff.web-1",
        "__source__/00/11/00112233445566778899aabbccddeeff", "main/metadata.s", "main/report.1790000000.s",
        "main/report.1790000000.10.0.0.5", "main/report.0.s.~9999999999", "main/trace.18446744073709551615.s",
        "report/report.1.report", "a+b_c-d.e/metadata.+", "main/report.1.s@web-1",
        "main/report.1.s@web-1.example.org.~0000000001", "main/report.1.s~0123abcd@web..~0000000001",
        "main/report.1.s@a_b@0123456789abcdef.~0000000002"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct wp_key key;
        struct wp_error err = {0};
        char text[WP_KEY_ROOM];
        if (wp_key_parse(&key, good[i], &err) || wp_key_format(&key, text, &err))
            fail_msg("%s: %s", good[i], err.text);
        assert_string_equal(text, good[i]);
    }
    struct wp_key key;
    wp_key_parse(&key, "main/report.1790000000.10.0.0.5", NULL);
    assert_string_equal(key.shard, "10.0.0.5");
    assert_false(key.has_delta);
    wp_key_parse(&key, "main/report.1790000000.10.0.0.5.~0000000007", NULL);
    assert_string_equal(key.shard, "10.0.0.5");
    assert_int_equal(key.delta, 7);
}

static void other_keys_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "/", "x", "__state__", "__state__/", "__state__/shard", "__state__/shard.",
        "__state__/shard.a/b", "__state__/shard..", "__state__/report.1.s", "__state__/nothing.s",
        "__state__/shard.s.~0000000001", "__state__/processed.s",
        "__state__/processed.00112233-4455-6677-8899-AABBCCDDEEFF.s",
        "__state__/processed.00112233-4455-6677-8899-aabbccddeeff.",
        "__source__/00/11/zz112233445566778899aabbccddeeff", "__source__/01/11/00112233445566778899aabbccddeeff",
        "__source__/00/11/0011", "main/report.1", "main/report..s", "main/report.01.s", "main/report.-1.s",
        "main/report.18446744073709551616.s", "main/report.1.", "main/report.1.s.~1", "main/report.1.s.~00000000012",
        "main/report.1.s.~000000000x", "main/trace.1.s.~0000000001", "main/shard.s", "main/x.1.s", "../metadata.s",
        "./metadata.s", "a b/metadata.s", "main/metadata.s\n", "main/main/metadata.s", "main/report.1.s .~0000000001",
        "main/report.1.s@", "main/report.1.s@.", "main/report.1.s@..", "main/report.1.s@a b", "main/report.1.s@a@b",
        "main/report.1.s@a@", "main/report.1.s@a@0123456789abcdeF", "main/report.1.s@a@0123456789abcdef0",
        "main/report.1.@a", "main/trace.1.s@a", "main/exemplars.1.s@a", "main/metadata.s@a", "__state__/clock.s@a",
        "main/report.1.s@a~0123abcd", "main/report.1.s@~0123abcd",
        "main/report.1.s@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct wp_key key;
        if (wp_key_parse(&key, bad[i], NULL) != -EINVAL)
            fail_msg("'%s' was taken for a key", bad[i]);
    }
    char text[WP_KEY_ROOM], longest[200];
    memset(longest, 'a', sizeof(longest));
    struct wp_key key = {.kind = WP_VALUE_REPORT, .shard = "s", .aggregate = "__state__"};
    assert_int_equal(wp_key_format(&key, text, NULL), -EINVAL);
    memcpy(key.aggregate, longest, 128);
    memcpy(key.shard, longest, 128);
    key.timebox_s = UINT64_MAX;
    key.has_delta = true;
    key.delta = WP_DELTA_LIMIT;
    assert_int_equal(wp_key_format(&key, text, NULL), 0);
    assert_true(strlen(text) < 511); /* LMDB's limit */
    key.delta++;
    assert_int_equal(wp_key_format(&key, text, NULL), -EINVAL);
}

static void network_file_systems_are_known(void **state)
{
    (void)state;
    assert_string_equal(wp_network_fs_name(0x6969, NULL), "NFS");
    assert_string_equal(wp_network_fs_name(0xff534d42, NULL), "CIFS");
    assert_string_equal(wp_network_fs_name(0x65735546, "fuse.sshfs"), "fuse.sshfs");
    assert_null(wp_network_fs_name(0x65735546, "fuseblk"));
    assert_null(wp_network_fs_name(0x65735546, NULL));
    assert_null(wp_network_fs_name(0xef53, NULL));             /* ext4 */
    assert_null(wp_network_fs_name(0x01021994, "fuse.sshfs")); /* tmpfs */
}

static void latencies_fall_into_their_bucket(void **state)
{
    (void)state;
    const uint64_t times[] = {0, 1, 1023, 1024, 1151, 1152, 2047, 2048, 123456789, 1ull << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        unsigned bucket = wp_latency_bucket(times[i]);
        assert_true(bucket < WP_LATENCY_BUCKETS && wp_latency_floor(bucket) <= times[i]);
        assert_true(bucket == WP_LATENCY_BUCKETS - 1 || times[i] < wp_latency_floor(bucket + 1));
    }
    for (unsigned bucket = 1; bucket < WP_LATENCY_BUCKETS; bucket++) {
        assert_int_equal(wp_latency_bucket(wp_latency_floor(bucket)), bucket);
        assert_int_equal(wp_latency_bucket(wp_latency_floor(bucket) - 1), bucket - 1);
        assert_true(
            bucket == 1 || (wp_latency_floor(bucket) - wp_latency_floor(bucket - 1)) * 8 <= wp_latency_floor(bucket));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(body_comes_back), cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(newer_versions_are_named), cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(keys_go_both_ways), cmocka_unit_test(other_keys_are_refused),
        cmocka_unit_test(network_file_systems_are_known), cmocka_unit_test(latencies_fall_into_their_bucket)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
