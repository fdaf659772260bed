/* SPDX-License-Identifier: Apache-2.0 */
/* array, buffer, intern, intmap and error against plain models. */
#include "common/array.h"
#include "common/buffer.h"
#include "common/error.h"
#include "common/intern.h"
#include "common/idtable.h"
#include "common/intmap.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_grow), cmocka_unit_test(buffer_grows),
        cmocka_unit_test(intern_is_dense_and_stable), cmocka_unit_test(intmap_follows_a_model),
        cmocka_unit_test(errors_stack_up), cmocka_unit_test(idtable_holds_what_is_in_use)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
