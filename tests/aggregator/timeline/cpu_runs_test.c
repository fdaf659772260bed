/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of CPUs, begun, corrected and forgotten at random: what is found is what a plain list of them has. */
#include "aggregator/timeline/cpu_runs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define CPUS 3u
#define RUNS 5000u

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Walked forwards and back from a run in the middle: each run ends where the next begins. */
static void same_runs(const struct wp_cpu_runs *runs, uint32_t cpu, const struct wp_cpu_run *list, uint32_t count)
{
    struct wp_cpu_cursor cursor;
    struct wp_cpu_run run;
    assert_true(wp_cpu_runs_last(runs, cpu, &run));
    assert_int_equal(run.start_ns, list[count - 1].start_ns);
    assert_true(wp_cpu_runs_find(runs, cpu, UINT64_MAX, &cursor));
    uint32_t at = count;
    do {
        run = wp_cpu_cursor_run(&cursor);
        assert_true(at-- > 0);
        assert_int_equal(run.start_ns, list[at].start_ns);
        assert_int_equal(run.end_ns, list[at].end_ns);
        assert_int_equal(run.process, list[at].process);
        assert_int_equal(run.occupant, list[at].occupant);
    } while (wp_cpu_cursor_back(&cursor));
    for (uint32_t i = at; i < count; i += 7) {
        if (list[i].end_ns == list[i].start_ns)
            continue;
        assert_true(wp_cpu_runs_find(runs, cpu, list[i].end_ns - 1, &cursor));
        assert_int_equal(wp_cpu_cursor_run(&cursor).start_ns, list[i].start_ns);
        assert_int_equal(wp_cpu_cursor_on(&cursor), i + 1 < count);
        assert_true(wp_cpu_runs_near(runs, cpu, list[i].start_ns, &run));
        for (uint32_t j = i > 2 ? i - 2 : 0; j < count && j < i + 12; j++)
            if (list[j].end_ns > list[j].start_ns && wp_cpu_runs_near(runs, cpu, list[j].end_ns - 1, &run))
                assert_true(run.start_ns == list[j].start_ns && run.process == list[j].process &&
                    run.occupant == list[j].occupant);
    }
}

static void as_a_list(void **state)
{
    (void)state;
    static struct wp_cpu_run lists[CPUS][RUNS];
    uint32_t counts[CPUS] = {0};
    uint64_t seed = 1, now_ns = 1000;
    struct wp_cpu_runs runs = {0};
    for (uint32_t i = 0; i < RUNS; i++) {
        uint32_t cpu = (uint32_t)(draw(&seed) % CPUS);
        struct wp_cpu_run run = {.start_ns = now_ns += draw(&seed) % (i % 500 ? 1000 : 9000000000u),
            .end_ns = UINT64_MAX,
            .process = (uint32_t)(draw(&seed) % 9),
            .occupant = (uint16_t)(draw(&seed) % 9)};
        assert_true(wp_cpu_runs_begin(&runs, cpu, &run));
        if (counts[cpu])
            lists[cpu][counts[cpu] - 1].end_ns = run.start_ns;
        lists[cpu][counts[cpu]++] = run;
        if (i % 50 == 0) {
            wp_cpu_runs_correct(&runs, cpu, 77, WP_OCCUPANT_LOST);
            lists[cpu][counts[cpu] - 1].process = 77;
            lists[cpu][counts[cpu] - 1].occupant = WP_OCCUPANT_LOST;
        }
        if (i % 1000 == 999)
            wp_cpu_runs_forget(&runs, now_ns / 2);
    }
    for (uint32_t cpu = 0; cpu < CPUS; cpu++)
        same_runs(&runs, cpu, lists[cpu], counts[cpu]);
    size_t before = wp_cpu_runs_bytes(&runs);
    wp_cpu_runs_forget(&runs, now_ns);
    assert_true(wp_cpu_runs_bytes(&runs) < before);
    wp_cpu_runs_fini(&runs);
}

static void time_goes_on(void **state)
{
    (void)state;
    struct wp_cpu_runs runs = {0};
    struct wp_cpu_cursor cursor;
    struct wp_cpu_run run;
    assert_false(wp_cpu_runs_last(&runs, 0, &run));
    assert_false(wp_cpu_runs_find(&runs, 70000, 1, &cursor));
    assert_true(wp_cpu_runs_begin(&runs, 1, &(struct wp_cpu_run){.start_ns = 100}));
    assert_true(wp_cpu_runs_begin(&runs, 1, &(struct wp_cpu_run){.start_ns = 50}));
    assert_true(wp_cpu_runs_last(&runs, 1, &run));
    assert_int_equal(run.start_ns, 100);
    assert_false(wp_cpu_runs_find(&runs, 1, 99, &cursor));
    wp_cpu_runs_fini(&runs);
}

/* The runs behind a time go, whole blocks of them, too; the first one of a CPU stays. */
static void runs_are_cut(void **state)
{
    (void)state;
    struct wp_cpu_runs runs = {0};
    struct wp_cpu_cursor cursor;
    struct wp_cpu_run run;
    wp_cpu_runs_cut(&runs, 7, 0);
    for (uint64_t i = 1; i <= 3 * WP_CPU_BLOCK_RUNS; i++)
        assert_true(wp_cpu_runs_begin(&runs, 0, &(struct wp_cpu_run){.start_ns = 10 * i}));
    size_t before = wp_cpu_runs_bytes(&runs);
    assert_true(wp_cpu_runs_find(&runs, 0, UINT64_MAX, &cursor));
    wp_cpu_runs_cut(&runs, 0, 10 * WP_CPU_BLOCK_RUNS + 10);
    assert_int_equal(wp_cpu_runs_bytes(&runs), before - 2 * sizeof(struct wp_cpu_block)); /* none is quite full */
    assert_true(wp_cpu_runs_last(&runs, 0, &run));
    assert_int_equal(run.start_ns, 10 * WP_CPU_BLOCK_RUNS + 10);
    assert_true(wp_cpu_runs_find(&runs, 0, UINT64_MAX, &cursor));
    assert_int_equal(wp_cpu_cursor_run(&cursor).end_ns, UINT64_MAX);
    wp_cpu_runs_cut(&runs, 0, 10);
    assert_true(wp_cpu_runs_begin(&runs, 0, &(struct wp_cpu_run){.start_ns = 15}));
    wp_cpu_runs_cut(&runs, 0, 0);
    assert_true(wp_cpu_runs_last(&runs, 0, &run));
    assert_int_equal(run.start_ns, 10);
    wp_cpu_runs_fini(&runs);
}

/* Two bytes number them: when these are used up, others run under one name. */
static void names_have_an_end(void **state)
{
    (void)state;
    struct wp_cpu_runs runs = {0};
    struct wp_occupant occupant = {.comm = 1};
    assert_int_equal(wp_cpu_runs_occupant(&runs, &occupant), WP_OCCUPANT_FIRST);
    for (; occupant.comm < WP_OCCUPANTS + 10; occupant.comm++)
        wp_cpu_runs_occupant(&runs, &occupant);
    assert_int_equal(wp_cpu_runs_occupant(&runs, &occupant), WP_OCCUPANT_OTHER);
    assert_int_equal(runs.unnamed, occupant.comm - (WP_OCCUPANTS - WP_OCCUPANT_FIRST));
    assert_int_equal(wp_cpu_runs_occupant(&runs, &(struct wp_occupant){.comm = 2}), WP_OCCUPANT_FIRST + 1);
    wp_cpu_runs_fini(&runs);
}

/* A name that a run or a slice still has keeps its number; the others make room. */
static void names_make_room(void **state)
{
    (void)state;
    struct wp_cpu_runs runs = {0};
    struct wp_occupant occupant = {.comm = 1};
    uint64_t slices[WP_OCCUPANT_BITS] = {(uint64_t)1 << (WP_OCCUPANT_FIRST + 1)};
    for (; occupant.comm < WP_OCCUPANTS; occupant.comm++)
        wp_cpu_runs_occupant(&runs, &occupant);
    assert_true(wp_cpu_runs_begin(&runs, 0, &(struct wp_cpu_run){.start_ns = 1, .occupant = WP_OCCUPANT_FIRST}));
    assert_true(wp_cpu_runs_is_crowded(&runs));
    wp_cpu_runs_reuse(&runs, slices);
    assert_false(wp_cpu_runs_is_crowded(&runs));
    runs.unnamed = 0;
    for (uint32_t kept = 0; kept < 2; kept++)
        assert_int_equal(
            wp_cpu_runs_occupant(&runs, &(struct wp_occupant){.comm = kept + 1}), WP_OCCUPANT_FIRST + kept);
    for (occupant.comm = 100000; occupant.comm < 100000 + WP_OCCUPANTS - WP_OCCUPANT_FIRST - 2; occupant.comm++) {
        uint16_t number = wp_cpu_runs_occupant(&runs, &occupant);
        assert_true(number > WP_OCCUPANT_FIRST + 1);
        assert_int_equal(runs.occupants[number].comm, occupant.comm);
    }
    assert_int_equal(runs.unnamed, 0);
    assert_int_equal(wp_cpu_runs_occupant(&runs, &occupant), WP_OCCUPANT_OTHER);
    wp_cpu_runs_fini(&runs);
}

/* All names were in use when it was looked: it is looked again once many others have come. */
static void names_are_looked_at_again(void **state)
{
    (void)state;
    struct wp_cpu_runs runs = {0};
    struct wp_occupant occupant = {.comm = 1};
    static uint64_t slices[WP_OCCUPANT_BITS];
    memset(slices, 0xff, sizeof(slices));
    for (; occupant.comm < WP_OCCUPANTS; occupant.comm++)
        wp_cpu_runs_occupant(&runs, &occupant);
    wp_cpu_runs_reuse(&runs, slices);
    assert_false(wp_cpu_runs_is_crowded(&runs));
    for (; occupant.comm < 2 * WP_OCCUPANTS; occupant.comm++)
        assert_int_equal(wp_cpu_runs_occupant(&runs, &occupant), WP_OCCUPANT_OTHER);
    assert_true(wp_cpu_runs_is_crowded(&runs));
    memset(slices, 0, sizeof(slices));
    wp_cpu_runs_reuse(&runs, slices);
    assert_int_not_equal(wp_cpu_runs_occupant(&runs, &occupant), WP_OCCUPANT_OTHER);
    wp_cpu_runs_fini(&runs);
}

/* Numbers are as they were saved, also of names that were forgotten before. */
static void names_come_back(void **state)
{
    (void)state;
    struct wp_cpu_runs runs = {0};
    const struct wp_occupant saved[] = {{.comm = 7}, {.for_comm = WP_OCCUPANT_FREE}, {.comm = 8, .for_comm = 7}};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(wp_cpu_runs_put_occupant(&runs, &saved[i]), 0);
    assert_int_equal(wp_cpu_runs_put_occupant(&runs, &saved[0]), -EBADMSG);
    assert_int_equal(wp_cpu_runs_occupant(&runs, &saved[2]), WP_OCCUPANT_FIRST + 2);
    assert_int_equal(wp_cpu_runs_occupant(&runs, &(struct wp_occupant){.comm = 9}), WP_OCCUPANT_FIRST + 1);
    assert_int_equal(wp_cpu_runs_occupant(&runs, &(struct wp_occupant){.comm = 10}), WP_OCCUPANT_FIRST + 3);
    wp_cpu_runs_fini(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_list), cmocka_unit_test(time_goes_on),
        cmocka_unit_test(runs_are_cut), cmocka_unit_test(names_have_an_end), cmocka_unit_test(names_make_room),
        cmocka_unit_test(names_are_looked_at_again), cmocka_unit_test(names_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
