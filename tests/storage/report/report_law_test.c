/* SPDX-License-Identifier: Apache-2.0 */
/* The merge law, held by random reports: whatever the parts, the order and the nesting, the bytes are the same. */
#include "tests/storage/made_report.h"

#include "common/intern.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define FACTS 400u
#define PARTS 7u

static void encode(const struct wp_report *report, struct wp_buffer *out)
{
    struct wp_error err = {0};
    wp_buffer_clear(out);
    if (wp_report_encode(report, out, &err))
        fail_msg("%s", err.text);
}

static void assert_same(const struct wp_report *left, const struct wp_report *right)
{
    struct wp_buffer a = {0}, b = {0};
    encode(left, &a);
    encode(right, &b);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    wp_buffer_fini(&a);
    wp_buffer_fini(&b);
}

static void assert_differ(const struct wp_report *left, const struct wp_report *right)
{
    struct wp_buffer a = {0}, b = {0};
    encode(left, &a);
    encode(right, &b);
    assert_true(a.size != b.size || memcmp(a.data, b.data, a.size));
    wp_buffer_fini(&a);
    wp_buffer_fini(&b);
}

static void merge(struct wp_report *into, const struct wp_report *from)
{
    assert_int_equal(wp_report_merge(into, from, NULL), 0);
}

/* Merges parts[0, count) into the first in a random nesting. */
static void merge_anyhow(struct wp_report **parts, size_t count, uint64_t *seed)
{
    while (count > 1) {
        size_t i = (size_t)(made_random(seed) % count), j = (size_t)(made_random(seed) % (count - 1));
        if (j >= i)
            j++;
        merge(parts[i], parts[j]);
        wp_report_destroy(parts[j]);
        parts[j] = parts[--count];
        if (i == count)
            i = j;
    }
}

static void law_holds(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 60; round++) {
        struct made_fact facts[FACTS];
        struct wp_report *parts[PARTS];
        uint64_t seed = round * 977;
        made_facts(facts, FACTS, round);
        struct wp_report *whole = made_report(facts, FACTS);
        made_shuffle(facts, FACTS, &seed);
        for (unsigned i = 0; i < PARTS; i++)
            parts[i] = wp_report_create();
        for (unsigned i = 0; i < FACTS; i++)
            made_add(parts[made_random(&seed) % PARTS], &facts[i]);
        merge_anyhow(parts, PARTS, &seed);
        assert_same(whole, parts[0]);
        made_add(parts[0], &(struct made_fact){.kind = MADE_DETACHED, .a = 1});
        assert_differ(whole, parts[0]); /* equality is not cheap to come by */
        wp_report_destroy(whole);
        wp_report_destroy(parts[0]);
    }
}

static void zero_is_zero(void **state)
{
    (void)state;
    struct made_fact facts[FACTS];
    made_facts(facts, FACTS, 5);
    struct wp_report *report = made_report(facts, FACTS), *same = made_report(facts, FACTS), *zero = wp_report_create();
    merge(report, zero);
    assert_same(report, same);
    merge(zero, report);
    assert_same(zero, same);
    wp_report_clear(zero);
    struct wp_report *empty = wp_report_create();
    assert_same(zero, empty);
    wp_report_destroy(report);
    wp_report_destroy(same);
    wp_report_destroy(zero);
    wp_report_destroy(empty);
}

static void rows_that_say_nothing_are_not_stored(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create(), *empty = wp_report_create();
    uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_USER, "f", ""));
    wp_report_string(report, "unused");
    wp_report_add(report, node, WP_TIMEOUT, 0, 0);
    wp_report_unexplained_each(report, node, "why", 0, 0, 0);
    wp_report_events(report, "switch", 0, 0);
    wp_report_activity(report, 7, 7);
    assert_same(report, empty);
    wp_report_add(report, node, WP_TIMEOUT, 0, 1);
    assert_differ(report, empty);
    wp_report_destroy(report);
    wp_report_destroy(empty);
}

/* The width at which the stretches of the facts fill at most WP_REPORT_BUCKETS buckets, found the slow way. */
static unsigned width_of(const struct made_fact *facts, uint64_t sums[WP_REPORT_BUCKETS])
{
    for (unsigned shift = WP_REPORT_BUCKET_SHIFT;; shift++) {
        uint64_t buckets[WP_REPORT_BUCKETS], count = 0;
        memset(sums, 0, WP_REPORT_BUCKETS * sizeof(*sums));
        for (unsigned i = 0; i < FACTS && count <= WP_REPORT_BUCKETS; i++) {
            uint64_t at, end;
            made_interval(&facts[i], &at, &end);
            while (facts[i].kind == MADE_TIMED && at < end && count <= WP_REPORT_BUCKETS) {
                uint64_t place = 0, until = ((at >> shift) + 1) << shift;
                until = until < end ? until : end;
                while (place < count && buckets[place] != at >> shift)
                    place++;
                if (place == count && ++count > WP_REPORT_BUCKETS)
                    break;
                buckets[place] = at >> shift;
                sums[place] += until - at;
                at = until;
            }
        }
        if (count <= WP_REPORT_BUCKETS)
            return shift;
    }
}

static int compare_sums(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void samples_say_when(void **state)
{
    (void)state;
    unsigned widened = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct made_fact facts[FACTS];
        uint64_t want[WP_REPORT_BUCKETS], sums[WP_REPORT_BUCKETS] = {0};
        made_facts(facts, FACTS, seed);
        struct wp_report *report = made_report(facts, FACTS);
        unsigned shift, want_shift = width_of(facts, want);
        uint32_t buckets, count, cells;
        const uint64_t *bucket = wp_report_buckets(report, &buckets, &shift);
        const struct wp_cell_sample *samples = wp_report_samples(report, &count);
        const struct wp_cell *cell = wp_report_cells(report, &cells);
        assert_int_equal(shift, want_shift);
        assert_true(buckets <= WP_REPORT_BUCKETS);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t place = 0;
            while (place < buckets && bucket[place] != samples[i].bucket)
                place++;
            assert_true(place < buckets && samples[i].cell < cells && samples[i].ns &&
                samples[i].ns <= cell[samples[i].cell].ns);
            sums[place] += samples[i].ns;
        }
        qsort(want, WP_REPORT_BUCKETS, sizeof(*want), compare_sums);
        qsort(sums, WP_REPORT_BUCKETS, sizeof(*sums), compare_sums);
        assert_memory_equal(want, sums, sizeof(want));
        widened += shift > WP_REPORT_BUCKET_SHIFT;
        wp_report_destroy(report);
    }
    assert_true(widened > 10);
}

static void samples_end_with_time(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create(), *same;
    struct wp_buffer bytes = {0};
    uint32_t buckets, node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_USER, "f", ""));
    unsigned shift;
    wp_report_add_at(report, node, WP_TIMEOUT, 0, UINT64_MAX);
    wp_report_add_at(report, node, WP_TIMEOUT, UINT64_MAX - 1, UINT64_MAX);
    wp_report_add_at(report, node, WP_TIMEOUT, 7, 3);
    wp_report_buckets(report, &buckets, &shift);
    assert_int_equal(buckets, WP_REPORT_BUCKETS);
    assert_int_equal(shift, 58);
    encode(report, &bytes);
    assert_int_equal(wp_report_decode(&same, bytes.data, bytes.size, NULL), 0);
    assert_same(report, same);
    wp_report_clear(report);
    wp_report_add_at(
        report, wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_USER, "f", "")), WP_TIMEOUT, 5, 6);
    wp_report_buckets(report, &buckets, &shift);
    assert_int_equal(shift, WP_REPORT_BUCKET_SHIFT);
    assert_int_equal(buckets, 1);
    wp_buffer_fini(&bytes);
    wp_report_destroy(report);
    wp_report_destroy(same);
}

/* Sums by "stack|category", kept the slow way. */
struct model {
    struct wp_intern *names;
    uint64_t ns[FACTS + 1], count[FACTS + 1], categories[WP_CATEGORIES], total;
};

static void model_fact(struct model *model, const struct made_fact *fact)
{
    struct wp_buffer name = {0};
    if (fact->kind != MADE_TIME && fact->kind != MADE_TIMED)
        return;
    uint64_t ns = fact->a, count = fact->b, start_ns, end_ns;
    if (fact->kind == MADE_TIMED) {
        made_interval(fact, &start_ns, &end_ns);
        ns = end_ns - start_ns;
        count = 1;
    }
    for (unsigned d = 0; d < fact->depth; d++)
        wp_buffer_printf(&name, "%u/%s;", 1 + fact->frames[d], made_name(fact->frames[d]));
    wp_buffer_printf(&name, "|%u", (unsigned)(fact->c % WP_CATEGORIES));
    uint32_t id = wp_intern_id(model->names, (const char *)name.data, name.size);
    model->ns[id] += ns;
    model->count[id] += count;
    model->categories[fact->c % WP_CATEGORIES] += ns;
    model->total += ns;
    wp_buffer_fini(&name);
}

/* The stack of a node as the model names it. */
static void node_name(const struct wp_report *report, uint32_t node, struct wp_buffer *name)
{
    static const char *const objects[] = {"", "libc.so.6", "vmlinux", "/usr/bin/make"};
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    if (!node)
        return;
    node_name(report, nodes[node].parent, name);
    const struct wp_frame_info *info = &frames[nodes[node].frame];
    assert_string_equal(wp_report_text(report, info->object), objects[(info->style - 1) % 4]);
    wp_buffer_printf(name, "%u/%s;", info->style, wp_report_text(report, info->name));
}

static void decoded_holds_what_was_added(void **state)
{
    (void)state;
    assert_int_equal(WP_STYLES - 1, 8);
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct made_fact facts[FACTS];
        struct model model = {.names = wp_intern_create()};
        made_facts(facts, FACTS, seed);
        for (unsigned i = 0; i < FACTS; i++)
            for (unsigned d = 0; d < facts[i].depth; d++)
                facts[i].frames[d] %= WP_STYLES - 1; /* then a frame's number is its style, name and object */
        struct wp_report *report = made_report(facts, FACTS), *decoded;
        for (unsigned i = 0; i < FACTS; i++)
            model_fact(&model, &facts[i]);
        struct wp_buffer bytes = {0}, name = {0};
        encode(report, &bytes);
        assert_int_equal(wp_report_decode(&decoded, bytes.data, bytes.size, NULL), 0);
        assert_same(report, decoded);
        assert_int_equal(wp_report_total(decoded), model.total);
        assert_int_equal(wp_report_total(wp_report_detached_work(decoded)), wp_report_detached_ns(decoded));
        for (int i = 0; i < WP_CATEGORIES; i++)
            assert_int_equal(wp_report_category(decoded, (enum wp_category)i), model.categories[i]);
        uint32_t cells, seen = 0;
        const struct wp_cell *cell = wp_report_cells(decoded, &cells);
        for (uint32_t i = 0; i < cells; i++) {
            wp_buffer_clear(&name);
            node_name(decoded, cell[i].node, &name);
            wp_buffer_printf(&name, "|%u", cell[i].category);
            uint32_t id = wp_intern_find(model.names, (const char *)name.data, name.size);
            assert_int_not_equal(id, UINT32_MAX);
            assert_int_equal(cell[i].ns, model.ns[id]);
            assert_int_equal(cell[i].count, model.count[id]);
            seen++;
        }
        assert_true(seen > 50);
        wp_buffer_fini(&bytes);
        wp_buffer_fini(&name);
        wp_intern_destroy(model.names);
        wp_report_destroy(report);
        wp_report_destroy(decoded);
    }
}

static void spans_are_a_union(void **state)
{
    (void)state;
    static const struct wp_span add[] = {
        {10, 20}, {40, 50}, {30, 35}, {20, 30}, {60, 70}, {45, 48}, {5, 6}, {90, 80}, {49, 61}};
    static const struct wp_span want[] = {{5, 6}, {10, 35}, {40, 70}};
    for (unsigned round = 0; round < 2; round++) {
        struct wp_report *report = wp_report_create();
        size_t size = sizeof(add) / sizeof(*add);
        for (size_t i = 0; i < size; i++) {
            const struct wp_span *span = &add[round ? size - 1 - i : i];
            wp_report_activity(report, span->start_ns, span->end_ns);
        }
        uint32_t count;
        const struct wp_span *spans = wp_report_spans(report, &count);
        assert_int_equal(count, 3);
        assert_memory_equal(spans, want, sizeof(want));
        assert_int_equal(wp_report_wall(report), 1 + 25 + 30);
        wp_report_destroy(report);
    }
}

static void unexplained_shows_the_largest(void **state)
{
    (void)state;
    struct wp_report *a = wp_report_create(), *b = wp_report_create();
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%u", i);
        struct wp_report *report = i % 2 ? a : b;
        uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_USER, name, ""));
        wp_report_unexplained_each(report, node, "no waking", 1000 + i % 500, 1, i);
    }
    /* Small in both, large together: a list cut before merging would lose it. */
    for (unsigned i = 0; i < 2; i++) {
        struct wp_report *report = i ? a : b;
        uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_USER, "both", ""));
        wp_report_unexplained_each(report, node, "no waking", 900, 1, 7000 + i);
    }
    merge(a, b);
    uint32_t count;
    const struct wp_unexplained *rows = wp_report_unexplained_rows(a, &count);
    assert_int_equal(count, WP_REPORT_UNEXPLAINED);
    assert_int_equal(rows[0].ns, 1800);
    assert_int_equal(rows[0].longest_ns, 900);
    assert_int_equal(rows[0].tid, 7001);
    for (uint32_t i = 1; i < count; i++)
        assert_true(rows[i].ns <= rows[i - 1].ns);
    assert_int_equal(rows[1].ns, 1499);
    assert_int_equal(rows[2].ns, 1499);
    wp_report_destroy(a);
    wp_report_destroy(b);
}

static void sums_stay_at_their_limit(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create(), *other = wp_report_create();
    uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_USER, "f", ""));
    wp_report_add(report, node, WP_TIMEOUT, UINT64_MAX - 5, 1);
    wp_report_add(report, node, WP_TIMEOUT, 10, UINT64_MAX);
    merge(other, report);
    merge(other, report);
    assert_int_equal(wp_report_total(other), UINT64_MAX);
    wp_report_destroy(report);
    wp_report_destroy(other);
}

static void misuse_is_remembered(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create();
    struct wp_buffer out = {0};
    assert_false(wp_report_failed(report));
    wp_report_add(report, 77, WP_TIMEOUT, 1, 1);
    assert_true(wp_report_failed(report));
    assert_true(wp_report_encode(report, &out, NULL) < 0);
    wp_report_clear(report);
    assert_false(wp_report_failed(report));
    wp_buffer_fini(&out);
    wp_report_destroy(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(law_holds), cmocka_unit_test(zero_is_zero),
        cmocka_unit_test(rows_that_say_nothing_are_not_stored), cmocka_unit_test(decoded_holds_what_was_added),
        cmocka_unit_test(spans_are_a_union), cmocka_unit_test(unexplained_shows_the_largest),
        cmocka_unit_test(samples_say_when), cmocka_unit_test(samples_end_with_time),
        cmocka_unit_test(sums_stay_at_their_limit), cmocka_unit_test(misuse_is_remembered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
