/* SPDX-License-Identifier: Apache-2.0 */
/* array, large memory, utf8, buffer, intern, intmap and error against plain models. */
#include "common/array.h"
#include "common/buffer.h"
#include "common/error.h"
#include "common/intern.h"
#include "common/idtable.h"
#include "common/intmap.h"
#include "common/json.h"
#include "common/large.h"
#include "common/syscall_table.h"
#include "common/utf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void lower_bound_is_where_a_row_would_go(void **state)
{
    (void)state;
    const uint32_t rows[] = {2, 4, 4, 7};
    for (uint32_t wanted = 0; wanted < 9; wanted++) {
        uint32_t first = 0;
        while (first < 4 && rows[first] < wanted)
            first++;
        assert_int_equal(WP_LOWER_BOUND(i, 0, 4u, rows[i] < wanted), first);
        assert_int_equal(WP_LOWER_BOUND(i, 2, 4u, rows[i] < wanted), first < 2 ? 2 : first);
    }
    assert_int_equal(WP_LOWER_BOUND(i, 3, 3u, rows[i] < 9), 3);
}

static void buffer_grows(void **state)
{
    (void)state;
    struct wp_buffer b = {0};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(wp_buffer_printf(&b, "%d,", i), 0);
    assert_int_equal(strlen((char *)b.data), b.size);
    assert_memory_equal(b.data, "0,1,2,3,", 8);
    wp_buffer_clear(&b);
    assert_int_equal(b.size, 0);
    assert_int_equal(wp_buffer_puts(&b, "abc"), 0);
    assert_int_equal(wp_buffer_putc(&b, 'd'), 0);
    assert_string_equal((char *)b.data, "abcd");
    assert_int_equal(wp_buffer_reserve(&b, SIZE_MAX - 1), -ENOMEM);
    assert_true(b.failed);
    assert_string_equal((char *)b.data, "abcd");
    wp_buffer_fini(&b);
}

static void arrays_grow(void **state)
{
    (void)state;
    uint64_t *rows = NULL, *zero = NULL, *single = NULL;
    uint32_t room = 0, zero_room = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(WP_ARRAY_FIT(rows, room, i + 1), 0);
        assert_int_equal(WP_ARRAY_NEXT(single, i), 0);
        rows[i] = single[i] = i;
    }
    for (uint32_t i = 0; i < 5000; i++)
        assert_true(rows[i] == i && single[i] == i);
    assert_int_equal(room, 8192);
    for (uint32_t had = 0, wanted = 7; wanted < 2000; had = wanted, wanted *= 7) {
        assert_int_equal(WP_ARRAY_FIT_ZERO(zero, zero_room, wanted), 0);
        for (uint32_t i = 0; i < zero_room; i++)
            assert_int_equal(zero[i], i < had);
        for (uint32_t i = 0; i < wanted; i++)
            zero[i] = 1;
    }
    uint64_t *before = rows;
    assert_int_equal(WP_ARRAY_FIT(rows, room, UINT32_MAX), -ENOMEM);
    assert_true(rows == before && room == 8192);
    free(rows);
    free(zero);
    free(single);
}

static void utf8_is_what_rfc_3629_says(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        uint32_t c;
    } rows[] = {{"a", 1, 'a'}, {"\xc2\x80", 2, 0x80}, {"\xdf\xbf", 2, 0x7ff}, {"\xe0\xa0\x80", 3, 0x800},
        {"\xed\x9f\xbf", 3, 0xd7ff}, {"\xee\x80\x80", 3, 0xe000}, {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff}, {"\xc1\xbf", 0, 0xfffd}, {"\xe0\x9f\xbf", 0, 0xfffd},
        {"\xed\xa0\x80", 0, 0xfffd}, {"\xf0\x8f\xbf\xbf", 0, 0xfffd}, {"\xf4\x90\x80\x80", 0, 0xfffd},
        {"\xf5\x80\x80\x80", 0, 0xfffd}, {"\x80", 0, 0xfffd}, {"\xe2\x82", 0, 0xfffd}, {"\xff", 0, 0xfffd}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t c;
        struct wp_buffer out = {0};
        assert_int_equal(wp_utf8_decode(rows[i].bytes, WP_UTF8_MOST, &c), rows[i].size);
        assert_int_equal(c, rows[i].c);
        wp_utf8_put(&out, c);
        assert_string_equal((char *)out.data, rows[i].size ? rows[i].bytes : "\xef\xbf\xbd");
        if (rows[i].size > 1)
            assert_int_equal(wp_utf8_decode(rows[i].bytes, rows[i].size - 1, &c), 0);
        wp_buffer_fini(&out);
    }
    static const char *const not_plain[] = {
        "", "a\x01", "a\x0bz", "\x7f", "a\xc2\x80", "a\xc2\x9f", "a\xe2\x82", "12345"};
    for (size_t i = 0; i < sizeof(not_plain) / sizeof(not_plain[0]); i++)
        assert_false(wp_utf8_is_plain(not_plain[i], 4));
    assert_true(wp_utf8_is_plain(" \xc2\xa0~", 4));
    struct wp_buffer out = {0};
    wp_utf8_clean(&out, "a\xe2\x82z\xc3\xa4", 6);
    assert_string_equal((char *)out.data, "a\xef\xbf\xbd\xef\xbf\xbdz\xc3\xa4");
    wp_buffer_fini(&out);
}

static void put_sample(struct wp_json *json)
{
    wp_json_object(json, NULL);
    wp_json_text(json, "a\n", "\"\\\b\f\n\r\t\x01/\x7f\xc2\x9b\xff\xc3\xa4");
    wp_json_array(json, "rows");
    wp_json_line(json);
    wp_json_number(json, NULL, UINT64_MAX);
    wp_json_line(json);
    wp_json_fixed(json, NULL, 2.5);
    wp_json_fixed(json, NULL, 3);
    wp_json_fixed(json, NULL, 1e300 * 1e300);
    wp_json_real(json, NULL, 1e-12);
    wp_json_exact(json, NULL, 7);
    wp_json_end(json);
    wp_json_object(json, "none");
    wp_json_end(json);
    wp_json_bool(json, "is", true);
    wp_json_text_or_null(json, "null", NULL);
    wp_json_end(json);
    assert_int_equal(wp_json_finish(json, "a test", NULL), 0);
}

static void json_is_written_as_it_goes(void **state)
{
    struct wp_buffer out = {0};
    struct wp_error err = {0};
    (void)state;
    put_sample(&(struct wp_json){.out = &out});
    assert_string_equal((char *)out.data,
        "{\"a\\n\":\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001/\\u007f\\u009b\xef\xbf\xbd\xc3\xa4\","
        "\"rows\":[\n18446744073709551615,\n2.5,3.0,null,1e-12,7.0],\"none\":{},\"is\":true,\"null\":null}\n");
    wp_buffer_clear(&out);
    put_sample(&(struct wp_json){.out = &out, .style = WP_JSON_SPACED});
    assert_non_null(strstr((char *)out.data, "  \"rows\": [\n    18446744073709551615,\n    2.5,\n"));
    assert_non_null(strstr((char *)out.data, "7.0\n  ],\n  \"none\": {},\n  \"is\": true,\n  \"null\": null\n}\n"));
    out.failed = true; /* out of memory somewhere in between: said at the end */
    struct wp_json json = {.out = &out};
    wp_json_array(&json, NULL);
    wp_json_end(&json);
    assert_int_equal(wp_json_finish(&json, "a test", &err), -ENOMEM);
    assert_non_null(strstr(err.text, "a test"));
    wp_buffer_fini(&out);
}

static void syscalls_have_names_and_numbers(void **state)
{
    (void)state;
    assert_string_equal(wp_syscall_name(0), "read");
    assert_string_equal(wp_syscall_name(202), "futex");
    assert_string_equal(wp_syscall_name(469), "file_setattr");
    assert_null(wp_syscall_name(400));
    assert_null(wp_syscall_name(UINT32_MAX));
    assert_int_equal(wp_syscall_of(EM_AARCH64, 115 + 1), wp_syscall_number("clock_nanosleep"));
    assert_int_equal(wp_syscall_of(EM_AARCH64, 63 + 1), wp_syscall_number("read"));
    assert_int_equal(wp_syscall_of(EM_AARCH64, 0), 0);
    assert_int_equal(wp_syscall_of(EM_X86_64, 231), 231);
    assert_int_equal(wp_syscall_of(EM_386, 5), 0);
    assert_int_equal(wp_syscall_of(EM_AARCH64, UINT32_MAX), 0);
    for (unsigned i = 0; i < 470; i++)
        assert_int_equal(wp_syscall_name(i) ? wp_syscall_number(wp_syscall_name(i)) : i + 1, i + 1);
    assert_int_equal(wp_syscall_number("newuname"), 63 + 1); /* the kernel's own name of it */
    assert_int_equal(wp_syscall_number("accep"), 0);
}

static void intern_is_dense_and_stable(void **state)
{
    (void)state;
    struct wp_intern *t = wp_intern_create();
    char text[32];
    assert_int_equal(wp_intern_str(t, ""), 0);
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(text, sizeof(text), "name %u", i);
        assert_int_equal(wp_intern_str(t, text), i + 1);
    }
    for (uint32_t i = 0; i < 20000; i += 7) {
        snprintf(text, sizeof(text), "name %u", i);
        assert_int_equal(wp_intern_str(t, text), i + 1);
        assert_int_equal(wp_intern_find(t, text, strlen(text)), i + 1);
        assert_string_equal(wp_intern_text(t, i + 1), text);
        assert_int_equal(wp_intern_size(t, i + 1), strlen(text));
    }
    assert_int_equal(wp_intern_count(t), 20001);
    assert_int_equal(wp_intern_find(t, "nobody", 6), UINT32_MAX);
    assert_string_equal(wp_intern_text(t, 99999999), "");
    uint32_t odd = wp_intern_id(t, "a\0b", 3);
    assert_int_not_equal(odd, wp_intern_id(t, "a\0c", 3));
    assert_int_equal(wp_intern_size(t, odd), 3);
    wp_intern_destroy(t);
}

/* Against a table of all keys there can be: puts, replacements, removals and clears in any order. */
static void intmap_follows_a_model(void **state)
{
    (void)state;
    enum { KEYS = 512 };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct wp_intmap map = {0};
        int64_t model[KEYS];
        uint64_t random = seed;
        uint32_t count = 0;
        for (int i = 0; i < KEYS; i++)
            model[i] = -1;
        for (int step = 0; step < 4000; step++) {
            uint32_t k = (uint32_t)(next(&random) % KEYS), value, what = (uint32_t)(next(&random) % 100);
            struct wp_intkey key = {k % 8, (uint64_t)(k / 8) << 40};
            if (what < 50) {
                uint32_t put = (uint32_t)next(&random);
                assert_int_equal(wp_intmap_put(&map, key, put), 0);
                count += model[k] < 0;
                model[k] = put;
            } else if (what < 98) {
                assert_int_equal(wp_intmap_remove(&map, key), model[k] >= 0);
                count -= model[k] >= 0;
                model[k] = -1;
            } else if (what == 99 && step % 50 == 0) {
                wp_intmap_clear(&map);
                count = 0;
                for (int i = 0; i < KEYS; i++)
                    model[i] = -1;
            }
            assert_int_equal(map.count, count);
            k = (uint32_t)(next(&random) % KEYS);
            key = (struct wp_intkey){k % 8, (uint64_t)(k / 8) << 40};
            assert_int_equal(wp_intmap_get(&map, key, &value), model[k] >= 0);
            if (model[k] >= 0)
                assert_int_equal(value, model[k]);
        }
        wp_intmap_fini(&map);
    }
}

static void errors_stack_up(void **state)
{
    (void)state;
    struct wp_error err = {0};
    assert_int_equal(wp_error_set(&err, -EINVAL, "no %s", "shoes"), -EINVAL);
    assert_int_equal(wp_error_wrap(&err, -EINVAL, "going out"), -EINVAL);
    assert_string_equal(err.text, "going out: no shoes");
    assert_int_equal(err.code, -EINVAL);
    assert_int_equal(wp_error_errno(&err, -ENOENT, "cannot open '%s'", "x"), -ENOENT);
    assert_string_equal(err.text, "cannot open 'x': No such file or directory");
    char big[3000];
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    wp_error_set(&err, -EIO, "%s", big);
    wp_error_wrap(&err, -EIO, "%s", big);
    assert_true(strlen(err.text) < WP_ERROR_TEXT);
    assert_int_equal(wp_error_set(NULL, -EIO, "nobody listens"), -EIO);
}

/* Ids come and go in order, but for one in a thousand that stays: what is held follows what is in use. */
static void idtable_holds_what_is_in_use(void **state)
{
    (void)state;
    enum { ITEMS = 300000, LATE = 5000, WORDS = 9 };
    struct wp_idtable table;
    size_t most = 0;
    wp_idtable_init(&table, WORDS * sizeof(uint32_t));
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_int_equal(wp_idtable_reserve(&table, i), 0);
        assert_false(wp_idtable_has(&table, i));
        wp_idtable_use(&table, i);
        uint32_t *words = (uint32_t *)table.items + (size_t)i * WORDS;
        for (uint32_t j = 0; j < WORDS; j++) {
            assert_int_equal(words[j], 0);
            words[j] = i + j;
        }
        if (i >= LATE && (i - LATE) % 1000)
            wp_idtable_drop(&table, i - LATE);
        most = wp_idtable_bytes(&table) > most ? wp_idtable_bytes(&table) : most;
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t first = ((uint32_t *)table.items)[(size_t)i * WORDS],
                 last = ((uint32_t *)table.items)[(size_t)i * WORDS + WORDS - 1];
        bool is_kept = i + LATE >= ITEMS || i % 1000 == 0;
        assert_int_equal(wp_idtable_has(&table, i), is_kept);
        assert_int_equal(first, is_kept ? i : 0);
        assert_int_equal(last, is_kept ? i + WORDS - 1 : 0);
    }
    assert_true(most < ITEMS * WORDS * sizeof(uint32_t) / 5);
    for (uint32_t i = 0; i < ITEMS; i++)
        wp_idtable_drop(&table, i);
    assert_int_equal(table.kept_pages, 0);
    for (uint32_t items = 10; items < 100000; items *= 100) {
        assert_int_equal(wp_idtable_reserve(&table, items), 0);
        wp_idtable_use(&table, items);
        *((uint32_t *)table.items + (size_t)items * WORDS) = 1;
        wp_idtable_clear(&table);
        assert_false(wp_idtable_has(&table, items));
        assert_int_equal(wp_idtable_reserve(&table, items), 0);
        assert_int_equal(*((uint32_t *)table.items + (size_t)items * WORDS), 0);
    }
    wp_idtable_fini(&table);
}

/* Bytes of this process' addresses. */
static size_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * 4096;
}

static void large_memory_keeps_what_is_in_it(void **state)
{
    static const size_t sizes[] = {100, 5000, WP_LARGE_BYTES - 1, WP_LARGE_BYTES, 2 * WP_LARGE_BYTES + 12, 40000000,
        3 * WP_LARGE_BYTES, WP_LARGE_BYTES + 1, 7, 9 * WP_LARGE_BYTES};
    (void)state;
    char *memory = NULL;
    size_t size = 0, before = mapped_bytes();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); size = sizes[i++]) {
        memory = wp_large_resize(memory, size, sizes[i]);
        assert_non_null(memory);
        assert_true(sizes[i] < WP_LARGE_BYTES || (uintptr_t)memory % WP_LARGE_BYTES == 0);
        for (size_t at = 0; at < size && at < sizes[i]; at += 3)
            assert_int_equal(memory[at], (char)(at / 3));
        for (size_t at = 0; at < sizes[i]; at += 3)
            memory[at] = (char)(at / 3);
    }
    assert_true(mapped_bytes() >= before + size);
    wp_large_free(memory, size);
    wp_large_free(NULL, 0);
    assert_true(mapped_bytes() < before + WP_LARGE_BYTES * 2); /* malloc may keep some */
    assert_null(wp_large_resize(NULL, 0, SIZE_MAX / 4));
    assert_int_equal(wp_large_fit(WP_LARGE_BYTES / 2), WP_LARGE_BYTES / 2);
    assert_int_equal(wp_large_fit(WP_LARGE_BYTES - 1), WP_LARGE_BYTES);
    assert_int_equal(wp_large_fit(WP_LARGE_BYTES + 1), 2 * WP_LARGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_grow),
        cmocka_unit_test(lower_bound_is_where_a_row_would_go), cmocka_unit_test(buffer_grows),
        cmocka_unit_test(utf8_is_what_rfc_3629_says), cmocka_unit_test(json_is_written_as_it_goes),
        cmocka_unit_test(syscalls_have_names_and_numbers), cmocka_unit_test(intern_is_dense_and_stable),
        cmocka_unit_test(intmap_follows_a_model), cmocka_unit_test(errors_stack_up),
        cmocka_unit_test(idtable_holds_what_is_in_use), cmocka_unit_test(large_memory_keeps_what_is_in_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
