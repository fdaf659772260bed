/* SPDX-License-Identifier: Apache-2.0 */
/* Services by recording: one slower hop is found and named, equals and load raise no alarm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/compare/compare.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"
#include "tests/reporter/compare/made_noise.h"
#include "tests/reporter/sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ull
#define START (1790000000ull * 1000 * MS)
#define APART (60000ull * MS) /* from one recording to the next */
#define RECORDINGS 3u
#define LENGTH_MS 2000.0
#define CLIENT "[client];main@client;read@libc.so.6;sleep:read"

struct hop {
    const char *stack;
    enum wp_category category;
    double ms, drift; /* of a request; how it differs from one recording to the next (standard deviation of the log) */
};

static const struct hop hops[] = {{"[client];main@client", WP_UNDERSTOOD_FUNCTIONS, 0.1, 0.02},
    {CLIENT ";[hop1];serve@hop", WP_UNDERSTOOD_FUNCTIONS, 1.0, 0.006},
    {CLIENT ";[hop1];sleep:nanosleep", WP_DELIBERATE_SLEEP, 1.2, 0.004},
    {CLIENT ";[hop1];k:schedule", WP_SCHEDULER, 0.06, 0.3},
    {CLIENT ";[hop1];[hop2];serve@hop", WP_UNDERSTOOD_FUNCTIONS, 1.0, 0.006},
    {CLIENT ";[hop1];[hop2];sleep:nanosleep", WP_DELIBERATE_SLEEP, 1.4, 0.004},
    {CLIENT ";[hop1];[hop2];k:schedule", WP_SCHEDULER, 0.06, 0.3},
    {CLIENT ";[hop1];[hop2];[hop3];serve@hop", WP_UNDERSTOOD_FUNCTIONS, 1.0, 0.006},
    {CLIENT ";[hop1];[hop2];[hop3];sleep:nanosleep", WP_DELIBERATE_SLEEP, 1.6, 0.004},
    {CLIENT ";[hop1];[hop2];[hop3];sleep:fdatasync", WP_BLOCKING_IO, 1.0, 0.25}};
#define HOPS (sizeof(hops) / sizeof(*hops))
#define SLOW 4u

/* What happens once in half of the recordings, by nobody's doing: a CPU that the hypervisor withholds. */
static const char *const rare[] = {"[client];main@client", CLIENT ";[hop1];serve@hop",
    CLIENT ";[hop1];[hop2];serve@hop", CLIENT ";[hop1];[hop2];[hop3];serve@hop"};
#define RARE (sizeof(rare) / sizeof(*rare))
#define RARE_MS 9.0

struct service {
    double slower, load; /* of hop 2; requests a second against a client that waits for nothing but answers */
    bool is_later;
    uint64_t seed;
    double later_ms; /* how long the recordings after the first are; 0: as that */
    bool has_rare;
};

static uint64_t add_rare(struct wp_report *report, uint64_t at, uint64_t *seed)
{
    for (size_t i = 0; i < RARE; i++) {
        uint64_t ns = (uint64_t)(RARE_MS * (1 + 0.02 * normal(seed)) * (double)MS);
        if (chance(seed) < 0.5)
            continue;
        wp_report_add_at(report, sample_node(report, rare[i]), WP_HARDWARE_WAIT, at, at + ns);
        at += ns;
    }
    return at;
}

static void add_recording(
    struct wp_report *report, const struct service *service, double length_ms, uint64_t at, uint64_t *seed)
{
    uint32_t nodes[HOPS], idle_node = sample_node(report, "[client];sleep:epoll_wait");
    double drift[HOPS], machine = exp(0.01 * normal(seed)), end = (double)at + length_ms * (double)MS;
    uint64_t began = at;
    for (size_t i = 0; i < HOPS; i++) {
        nodes[i] = sample_node(report, hops[i].stack);
        drift[i] = machine * exp(hops[i].drift * normal(seed)) * (i == SLOW ? service->slower : 1);
    }
    while ((double)at < end) {
        uint64_t request = at;
        for (size_t i = 0; i < HOPS; i++) {
            uint64_t ns = (uint64_t)(hops[i].ms * drift[i] * (1 + 0.2 * (chance(seed) - 0.5)) * (double)MS);
            wp_report_add_at(report, nodes[i], hops[i].category, at, at + ns);
            at += ns;
        }
        wp_report_transaction(report, "tcp port 80", request, at - request);
        uint64_t idle = (uint64_t)((double)(at - request) * (1 / service->load - 1));
        if (idle)
            wp_report_add_at(report, idle_node, WP_REMOTE_NOT_TRACED, at, at + idle);
        at += idle;
    }
    if (service->has_rare)
        at = add_rare(report, at, seed);
    wp_report_activity(report, began, at);
}

static void build(struct wp_facts *facts, const char *release, const struct service *service, unsigned recordings)
{
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    uint64_t seed = service->seed;
    assert_non_null(report);
    for (unsigned i = 0; i < recordings; i++)
        add_recording(report, service, i && service->later_ms > 0 ? service->later_ms : LENGTH_MS,
            START + (2 * i + service->is_later) * APART, &seed);
    if (wp_facts_build(facts, release, "service", report, NULL, &err))
        fail_msg("%s", err.text);
    facts->recordings = recordings;
}

struct verdict {
    bool is_degraded, is_named;
    enum wp_per per;
};

static struct verdict check(const struct service *before, const struct service *after, unsigned recordings)
{
    struct wp_facts facts[2];
    struct wp_compare made;
    struct wp_error err = {0};
    build(&facts[0], "v1", before, recordings);
    build(&facts[1], "v2", after, recordings);
    if (wp_compare_build(&made, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, &err))
        fail_msg("%s", err.text);
    const struct wp_change *first = made.changes[WP_CHANGE_HOPS].rows;
    struct verdict verdict = {made.is_degraded,
        first->verdict == WP_VERDICT_WORSE && !strcmp(first->name, "client › hop1 › hop2"), made.options.per};
    wp_compare_fini(&made);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
    return verdict;
}

/* How many of `trials` are found, and named first. */
static void count(struct service before, struct service after, unsigned trials, unsigned counts[2])
{
    counts[0] = counts[1] = 0;
    for (uint64_t trial = 1; trial <= trials; trial++) {
        before.seed = trial * 2;
        after.seed = trial * 2 + 1000003;
        struct verdict verdict = check(&before, &after, RECORDINGS);
        assert_int_equal(verdict.per, WP_PER_WORK);
        counts[0] += verdict.is_degraded;
        counts[1] += verdict.is_named;
    }
}

static void a_slower_hop_is_found_and_named(void **state)
{
    static const struct {
        double slower;
        unsigned least;
    } cases[] = {{1.05, 80}, {1.2, 95}, {1.5, 99}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned counts[2];
        count((struct service){.slower = 1, .load = 1},
            (struct service){.slower = cases[i].slower, .load = 1, .is_later = true}, 100, counts);
        print_message("three recordings of a service, a hop %.0f %% slower: found in %u of 100, named first in %u\n",
            100 * cases[i].slower - 100, counts[0], counts[1]);
        assert_true(counts[0] >= cases[i].least && counts[1] >= cases[i].least);
    }
}

static void equals_raise_no_alarm(void **state)
{
    unsigned counts[2];
    (void)state;
    count((struct service){.slower = 1, .load = 1}, (struct service){.slower = 1, .load = 1, .is_later = true}, 400,
        counts);
    print_message("three recordings of a service: %u of 400 equals raise an alarm\n", counts[0]);
    assert_true(counts[0] <= 4);
}

/* A row that all recordings of one side have and none of the other is a change only when chance does not make it. */
static void what_happens_at_times_is_no_change(void **state)
{
    unsigned counts[2];
    (void)state;
    count((struct service){.slower = 1, .load = 1, .has_rare = true},
        (struct service){.slower = 1, .load = 1, .is_later = true, .has_rare = true}, 200, counts);
    print_message("with rare pauses: %u of 200 equals raise an alarm\n", counts[0]);
    assert_true(counts[0] <= 2);
}

/* More of the same work is not slower work. */
static void load_is_no_change_of_hops(void **state)
{
    unsigned counts[2];
    (void)state;
    count((struct service){.slower = 1, .load = 0.8}, (struct service){.slower = 1, .load = 1, .is_later = true}, 100,
        counts);
    assert_true(counts[0] <= 1);
}

/* One recording on a side does not tell how recordings vary. */
static void a_single_recording_is_told_by_the_second(void **state)
{
    struct service before = {.slower = 1, .load = 1, .seed = 1},
                   after = {.slower = 1.5, .load = 1, .is_later = true, .seed = 9};
    (void)state;
    assert_int_equal(check(&before, &after, 1).per, WP_PER_WALL);
}

/* The sums are then the long one's: how recordings vary says little of them. */
static void recordings_of_different_lengths_are_told_by_the_second(void **state)
{
    struct service before = {.slower = 1, .load = 1, .seed = 1, .later_ms = 200},
                   after = {.slower = 1, .load = 1, .is_later = true, .seed = 9}, near = before;
    unsigned counts[2];
    (void)state;
    near.later_ms = 600;
    assert_int_equal(check(&before, &after, RECORDINGS).per, WP_PER_WALL);
    assert_int_equal(check(&after, &before, RECORDINGS).per, WP_PER_WALL);
    assert_int_equal(check(&near, &after, RECORDINGS).per, WP_PER_WORK);
    near.is_later = true;
    before.later_ms = 0;
    count(before, near, 100, counts);
    print_message("two of three recordings a third as long: %u of 100 equals raise an alarm\n", counts[0]);
    assert_true(counts[0] <= 1);
    near.slower = 1.2;
    count(before, near, 100, counts);
    print_message("... and a hop 20 %% slower: found in %u of 100, named first in %u\n", counts[0], counts[1]);
    assert_true(counts[0] >= 95 && counts[1] >= 95);
}

/* A worker that sleeps most of the time, in a loop; how often it does each of that says how much it did. */
static void build_worker(struct wp_facts *facts, const char *release, double sleep_ms, double wait_ms, bool is_later)
{
    const struct hop loop[] = {{"[packer];w", WP_UNDERSTOOD_FUNCTIONS, 0.27, 0.01},
        {"[packer];w", WP_RUNNING_NOT_SAMPLED, 0.12, 0.02}, {"[packer];w;k:schedule", WP_SCHEDULER, 0.26, 0.2},
        {"[packer];w;sleep:futex", WP_OTHER_PATH, wait_ms, 0.05}};
    struct wp_report *report = wp_report_create();
    uint64_t seed = is_later ? 7 : 5;
    uint32_t sleep = sample_node(report, "[packer];w;nap;sleep:clock_nanosleep"), nodes[4];
    for (size_t i = 0; i < 4; i++)
        nodes[i] = sample_node(report, loop[i].stack);
    for (unsigned recording = 0; recording < RECORDINGS; recording++) {
        uint64_t began = START + (2 * recording + is_later) * APART, at = began;
        while (at < began + (uint64_t)LENGTH_MS * MS) {
            uint64_t slept = at + (uint64_t)(sleep_ms * (1 + 0.05 * (chance(&seed) - 0.5)) * (double)MS);
            wp_report_add_at(report, sleep, WP_DELIBERATE_SLEEP, at, slept);
            at = slept;
            for (size_t i = 0; i < 4; i++) {
                uint64_t ns = (uint64_t)(loop[i].ms * exp(loop[i].drift * normal(&seed)) * (double)MS);
                wp_report_add_at(report, nodes[i], loop[i].category, at, at + ns);
                at += ns;
            }
        }
        wp_report_activity(report, began, at);
    }
    assert_int_equal(wp_facts_build(facts, release, "service", report, NULL, NULL), 0);
    facts->recordings = RECORDINGS;
}

/* A sleep that takes longer, and what waits for it, do not make the rest faster, nor are they the measure. */
static void a_hop_of_most_of_the_time_is_found(void **state)
{
    struct wp_facts facts[2];
    struct wp_compare made;
    bool is_found = false;
    (void)state;
    build_worker(&facts[0], "v1", 2.6, 0.4, false);
    build_worker(&facts[1], "v2", 3.1, 1.6, true);
    assert_int_equal(wp_compare_build(&made, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, NULL), 0);
    assert_int_equal(made.options.per, WP_PER_WORK);
    for (size_t i = 0; i < made.changes[WP_CHANGE_HOPS].count; i++) {
        const struct wp_change *row = &made.changes[WP_CHANGE_HOPS].rows[i];
        assert_int_not_equal(row->verdict, WP_VERDICT_BETTER);
        if (row->category == WP_DELIBERATE_SLEEP)
            is_found = row->verdict == WP_VERDICT_WORSE && fabs(row->percent - 19.2) < 2;
    }
    assert_true(is_found);
    wp_compare_fini(&made);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_slower_hop_is_found_and_named),
        cmocka_unit_test(equals_raise_no_alarm), cmocka_unit_test(what_happens_at_times_is_no_change),
        cmocka_unit_test(load_is_no_change_of_hops), cmocka_unit_test(a_hop_of_most_of_the_time_is_found),
        cmocka_unit_test(a_single_recording_is_told_by_the_second),
        cmocka_unit_test(recordings_of_different_lengths_are_told_by_the_second)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
