/* SPDX-License-Identifier: Apache-2.0 */
/* Which windows are kept: whatever the order they come in and the sets they are in, the same ones, and those of the
 * rule. */
#include "tests/storage/made_report.h"

#include "storage/report/exemplars.h"
#include "storage/report/trace_encode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define WINDOWS 400u

struct made {
    char service[32], host[16];
    struct wp_exemplar_window window;
};

static struct wp_buffer trace_of(uint64_t seed)
{
    struct wp_buffer bytes = {0};
    struct wp_trace *trace = made_trace(seed, 1 + (unsigned)(seed % 5));
    assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
    wp_trace_destroy(trace);
    return bytes;
}

/* A few services (more than are kept), some windows twice, lengths over many octaves and ties among them. */
static void make(struct made *made, uint64_t *seed)
{
    unsigned service = (unsigned)(made_random(seed) % 14);
    uint64_t length = (made_random(seed) % 7 + 1) << (10 + made_random(seed) % 20), start = made_random(seed) % 50;
    if (service < 4)
        *made->service = 0;
    else
        snprintf(made->service, sizeof(made->service), "tcp port %u", service * 7919 % 97);
    snprintf(made->host, sizeof(made->host), "h%u", (unsigned)(made_random(seed) % 3));
    made->window = (struct wp_exemplar_window){.service = made->service,
        .host = made->host,
        .start_ns = start,
        .length_ns = length,
        .tid = (uint32_t)(made_random(seed) % 3)};
    made->window.trace = trace_of(start ^ length ^ made->window.tid);
}

static void make_all(struct made *made, uint64_t seed)
{
    for (unsigned i = 0; i < WINDOWS; i++)
        make(&made[i], &seed);
}

static void drop_all(struct made *made)
{
    for (unsigned i = 0; i < WINDOWS; i++)
        wp_buffer_fini(&made[i].window.trace);
}

static struct wp_buffer bytes_of(const struct wp_exemplars *set)
{
    struct wp_buffer bytes = {0};
    assert_int_equal(wp_exemplars_encode(set, &bytes, NULL), 0);
    return bytes;
}

static void assert_same(const struct wp_exemplars *a, const struct wp_exemplars *b)
{
    struct wp_buffer x = bytes_of(a), y = bytes_of(b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    wp_buffer_fini(&x);
    wp_buffer_fini(&y);
}

static void any_order_and_any_parts(void **state)
{
    (void)state;
    static struct made made[WINDOWS];
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct wp_exemplars whole = {0}, parts[5] = {{0}}, sum = {0};
        uint64_t random = seed * 31;
        make_all(made, seed);
        for (unsigned i = 0; i < WINDOWS; i++)
            assert_int_equal(wp_exemplars_add(&whole, &made[i].window), 0);
        for (unsigned i = WINDOWS; i > 0; i--) {
            unsigned other = (unsigned)(made_random(&random) % i);
            struct wp_exemplars *part = &parts[made_random(&random) % 5];
            bool is_wanted = wp_exemplars_want(part, &made[other].window);
            uint32_t before = part->count;
            assert_int_equal(wp_exemplars_add(part, &made[other].window), 0);
            if (!is_wanted)
                assert_true(part->count == before);
            struct made last = made[i - 1];
            made[i - 1] = made[other];
            made[other] = last;
            made[i - 1].window.service = made[i - 1].service;
            made[i - 1].window.host = made[i - 1].host;
            made[other].window.service = made[other].service;
            made[other].window.host = made[other].host;
        }
        for (unsigned i = 0; i < 5; i++) {
            assert_int_equal(wp_exemplars_join(&sum, &parts[4 - i]), 0);
            assert_int_equal(wp_exemplars_join(&sum, &parts[4 - i]), 0);
        }
        assert_same(&whole, &sum);
        for (unsigned i = 0; i < 5; i++)
            wp_exemplars_fini(&parts[i]);
        wp_exemplars_fini(&whole);
        wp_exemplars_fini(&sum);
        drop_all(made);
    }
}

/* The rule said in another way: no window of a kept service is slower than its third slowest and not there, each octave
 * that has a window has one, and there is nothing else. */
static void those_of_the_rule(void **state)
{
    (void)state;
    static struct made made[WINDOWS];
    struct wp_exemplars set = {0};
    make_all(made, 77);
    for (unsigned i = 0; i < WINDOWS; i++)
        assert_int_equal(wp_exemplars_add(&set, &made[i].window), 0);
    unsigned services = 0, waits = 0;
    for (uint32_t i = 0; i < set.count; i++) {
        const struct wp_exemplar_window *row = &set.rows[i];
        services += *row->service && (!i || strcmp(row->service, set.rows[i - 1].service));
        waits += !*row->service;
        assert_true(wp_exemplars_roles(&set, i) != 0);
    }
    assert_int_equal(services, WP_EXEMPLARS_SERVICES);
    assert_in_range(waits, WP_EXEMPLARS_SLOWEST, WP_EXEMPLARS_SLOWEST + WP_EXEMPLARS_SAMPLED);
    for (unsigned i = 0; i < WINDOWS; i++) {
        const struct wp_exemplar_window *window = &made[i].window;
        uint32_t slower = 0, rank = 0, in_octave = 0;
        bool has_service = false;
        for (uint32_t j = 0; j < set.count; j++) {
            const struct wp_exemplar_window *row = &set.rows[j];
            if (strcmp(row->service, window->service))
                continue;
            has_service = true;
            slower += rank < WP_EXEMPLARS_SLOWEST && row->length_ns >= window->length_ns;
            rank++;
            in_octave += __builtin_clzll(row->length_ns) == __builtin_clzll(window->length_ns);
        }
        if (!has_service) {
            assert_true(*window->service);
            continue;
        }
        bool is_there = false;
        for (uint32_t j = 0; j < set.count; j++)
            is_there |= !strcmp(set.rows[j].service, window->service) && set.rows[j].start_ns == window->start_ns &&
                set.rows[j].length_ns == window->length_ns && set.rows[j].tid == window->tid &&
                !strcmp(set.rows[j].host, window->host);
        assert_true(is_there || slower == WP_EXEMPLARS_SLOWEST);
        if (*window->service)
            assert_true(in_octave >= 1);
    }
    wp_exemplars_fini(&set);
    drop_all(made);
}

/* By lot, waits are kept as often as they are long: of one hour's sleep and a thousand naps nobody sees the naps. */
static void lots_are_fair(void **state)
{
    (void)state;
    unsigned drawn = 0, trials = 2000;
    for (unsigned trial = 0; trial < trials; trial++) {
        struct wp_exemplars set = {0};
        struct wp_exemplar_window window = {.service = (char[]){""}, .host = (char[]){"h"}, .trace = {0}};
        for (unsigned i = 0; i < 200; i++) { /* half of the time in the first hundred, which are three times as long */
            window.start_ns = trial * 1000ull + i;
            window.length_ns = i < 50 ? 3000 : 1000;
            assert_int_equal(wp_exemplars_add(&set, &window), 0);
        }
        for (uint32_t i = 0; i < set.count; i++)
            drawn += (wp_exemplars_roles(&set, i) & WP_EXEMPLAR_SAMPLED) && set.rows[i].length_ns == 3000;
        wp_exemplars_fini(&set);
    }
    /* 50 * 3000 of 300000 ns: half of 4000 draws, give or take four deviations. */
    assert_in_range(drawn, 2000 - 130, 2000 + 130);
}

static unsigned try_bytes(const uint8_t *bytes, size_t size)
{
    struct wp_exemplars set;
    struct wp_buffer again = {0};
    struct wp_error err = {0};
    if (wp_exemplars_decode(&set, bytes, size, &err)) {
        assert_true(*err.text);
        assert_null(set.rows);
        return 0;
    }
    assert_int_equal(wp_exemplars_encode(&set, &again, NULL), 0);
    wp_buffer_fini(&again);
    wp_exemplars_fini(&set);
    return 1;
}

static void stored_and_back(void **state)
{
    (void)state;
    static struct made made[WINDOWS];
    struct wp_exemplars set = {0}, back;
    uint64_t random = 5;
    make_all(made, 5);
    for (unsigned i = 0; i < WINDOWS; i++)
        assert_int_equal(wp_exemplars_add(&set, &made[i].window), 0);
    struct wp_buffer bytes = bytes_of(&set);
    assert_true(bytes.size < (9u * 40u) * WP_EXEMPLARS_BYTES);
    assert_int_equal(wp_exemplars_decode(&back, bytes.data, bytes.size, NULL), 0);
    assert_same(&set, &back);
    wp_exemplars_fini(&back);
    for (size_t cut = 0; cut < bytes.size; cut += 1 + bytes.size / 300)
        try_bytes(bytes.data, cut);
    for (unsigned i = 0; i < 3000; i++) {
        size_t at = made_random(&random) % bytes.size;
        uint8_t was = bytes.data[at];
        bytes.data[at] = (uint8_t)made_random(&random);
        try_bytes(bytes.data, bytes.size);
        bytes.data[at] = was;
    }
    /* What would not be kept is not believed. */
    struct wp_exemplars *set_at = &set;
    uint32_t last = set_at->count - 1;
    set_at->rows[last].length_ns = set_at->rows[last - 1].length_ns;
    set_at->rows[last].start_ns = set_at->rows[last - 1].start_ns + 1;
    struct wp_buffer more = bytes_of(&set);
    assert_int_equal(
        try_bytes(more.data, more.size), strcmp(set.rows[last].service, set.rows[last - 1].service) ? 1 : 0);
    wp_buffer_fini(&more);
    wp_buffer_fini(&bytes);
    wp_exemplars_fini(&set);
    drop_all(made);
}

static void bounds_are_kept(void **state)
{
    (void)state;
    static uint8_t large[WP_EXEMPLARS_BYTES + 1];
    struct wp_exemplars set = {0};
    char name[WP_EXEMPLARS_NAME + 2];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    struct wp_exemplar_window window = {.service = name, .host = (char[]){"h"}, .length_ns = 5};
    assert_int_equal(wp_exemplars_add(&set, &window), -EINVAL);
    name[WP_EXEMPLARS_NAME] = 0;
    window.trace = (struct wp_buffer){.data = large, .size = sizeof(large)};
    assert_int_equal(wp_exemplars_add(&set, &window), -EINVAL);
    window.trace.size = 0;
    assert_int_equal(wp_exemplars_add(&set, &window), 0);
    struct wp_buffer bytes = bytes_of(&set); /* known here, kept elsewhere */
    assert_int_equal(bytes.size, 0);
    wp_exemplars_fini(&set);
    wp_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_order_and_any_parts), cmocka_unit_test(those_of_the_rule),
        cmocka_unit_test(lots_are_fair), cmocka_unit_test(stored_and_back), cmocka_unit_test(bounds_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
