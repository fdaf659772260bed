/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says when events are lost, held against what it says of the same trace when none are: time that is
 * put somewhere new without a word is invented, time that is called unaccounted or uncertain is not. WP_TRACES=N
 * traces each.
 */
#include "tests/aggregator/made_trace.h"

#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define PLACE_BYTES 1024
#define PLACES 65536u

/* A pseudo-stack with its category, by its text. */
struct place {
    char name[PLACE_BYTES];
    uint64_t ns;
};

struct outcome {
    struct place *places;
    uint32_t count;
    uint64_t total_ns, uncertain_ns, unaccounted_ns;
};

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

static void name_place(const struct wp_report *report, const struct wp_cell *cell, char *name)
{
    uint32_t count, path[256], depth = 0;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    for (uint32_t node = cell->node; node && depth < 256; node = nodes[node].parent)
        path[depth++] = node;
    size_t used = 0;
    name[0] = '\0';
    while (depth && used < PLACE_BYTES - 1) {
        const struct wp_frame_info *frame = &frames[nodes[path[--depth]].frame];
        used += (size_t)snprintf(name + used, PLACE_BYTES - used, "%s;", wp_report_text(report, frame->name));
    }
    if (used < PLACE_BYTES - 1)
        snprintf(name + used, PLACE_BYTES - used, "%d", (int)cell->category);
}

static void collect(struct outcome *outcome, const struct wp_report *report)
{
    uint32_t count;
    const struct wp_cell *cells = wp_report_cells(report, &count);
    outcome->places = calloc(count + 1, sizeof(*outcome->places));
    assert_non_null(outcome->places);
    for (uint32_t i = 0; i < count; i++) {
        if (cells[i].category == WP_UNACCOUNTED || cells[i].category == WP_OTHER_PATH)
            continue;
        name_place(report, &cells[i], outcome->places[outcome->count].name);
        if (strncmp(outcome->places[outcome->count].name, "[b", 2) || /* not the command's own path */
            strstr(outcome->places[outcome->count].name, ";sched:not known"))
            continue;
        outcome->places[outcome->count++].ns = cells[i].ns;
    }
    qsort(outcome->places, outcome->count, sizeof(*outcome->places), compare_places);
    uint32_t kept = 0; /* threads of one name, of processes of other names, are one place */
    for (uint32_t i = 0; i < outcome->count; i++) {
        if (kept && !compare_places(&outcome->places[kept - 1], &outcome->places[i]))
            outcome->places[kept - 1].ns += outcome->places[i].ns;
        else
            outcome->places[kept++] = outcome->places[i];
    }
    outcome->count = kept;
    outcome->total_ns = wp_report_total(report);
    outcome->uncertain_ns = wp_report_uncertain_ns(report);
    outcome->unaccounted_ns = wp_report_category(report, WP_UNACCOUNTED);
}

static struct outcome run(const struct made_options *made)
{
    struct wp_aggregate_rule rule = {.name = "a"};
    struct wp_host_session_options options = {
        .rule_count = 1, .rules = &rule, .epoch_ns = 5000000, .lateness_ns = 10000000, .history_ns = (uint64_t)1 << 60};
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .start_real_ns = 5000000000};
    struct wp_host_session *session;
    struct made_trace trace;
    struct outcome outcome = {0};
    made_trace_init(&trace, made);
    assert_int_equal(wp_selector_parse(&rule.selector, "command,threads", NULL), 0);
    assert_int_equal(wp_host_session_create(&session, &hello, "v1", &options, NULL, NULL), 0);
    struct wp_batch batch = made_trace_cut(&trace, 0, trace.whole.event_count, 1);
    assert_int_equal(wp_host_session_take(session, &batch, NULL), 0);
    wp_host_session_close(session);
    collect(&outcome, closed_report_of(session, 0));
    wp_host_session_destroy(session);
    wp_selector_fini(&rule.selector);
    made_trace_fini(&trace);
    return outcome;
}

static uint64_t more_than(const struct outcome *lossy, const struct outcome *whole)
{
    uint64_t sum = 0;
    for (uint32_t i = 0, j = 0; i < lossy->count; i++) {
        while (j < whole->count && strcmp(whole->places[j].name, lossy->places[i].name) < 0)
            j++;
        bool known = j < whole->count && !strcmp(whole->places[j].name, lossy->places[i].name);
        uint64_t there = known ? whole->places[j].ns : 0;
        sum += lossy->places[i].ns > there ? lossy->places[i].ns - there : 0;
    }
    return sum;
}

/* Over all traces: what is new and not called uncertain, in percent of the total, is at most `percent`, and what
 * is new at all at most `elsewhere`. */
static void lose(uint32_t per_mille, uint32_t burst, double percent, double elsewhere)
{
    const char *text = getenv("WP_TRACES");
    uint64_t traces = text ? strtoull(text, NULL, 0) : 40;
    double invented = 0, moved = 0, total = 0, uncertain = 0, unaccounted = 0;
    for (uint64_t seed = 1; seed <= traces; seed++) {
        struct made_options options = {.seed = seed,
            .events = 500 + (uint32_t)(seed * 7919 % 6000),
            .cpus = 1 + (uint32_t)(seed % 6),
            .threads = 8 + (uint32_t)(seed % 30)};
        struct outcome whole = run(&options);
        options.drop_per_mille = per_mille;
        options.drop_burst = burst;
        struct outcome lossy = run(&options);
        uint64_t new_ns = more_than(&lossy, &whole);
        invented += new_ns > lossy.uncertain_ns ? (double)(new_ns - lossy.uncertain_ns) : 0;
        moved += (double)new_ns;
        uncertain += (double)lossy.uncertain_ns;
        unaccounted += (double)lossy.unaccounted_ns;
        total += (double)lossy.total_ns;
        free(whole.places);
        free(lossy.places);
    }
    print_message("lost %u per mille in bursts of %u: elsewhere %.2f %%, invented %.2f %%, uncertain %.2f %%, "
                  "unaccounted %.2f %%\n",
        per_mille, burst ? burst : 1, 100 * moved / total, 100 * invented / total, 100 * uncertain / total,
        100 * unaccounted / total);
    assert_true(total > 0);
    assert_true(100 * invented / total <= percent);
    assert_true(100 * moved / total <= elsewhere);
    assert_true(!per_mille || uncertain > 0);
}

static void nothing_lost(void **state)
{
    (void)state;
    lose(0, 0, 0, 0);
}

static void one_in_a_hundred(void **state)
{
    (void)state;
    lose(10, 0, 0.5, 2);
}

static void one_in_ten(void **state)
{
    (void)state;
    lose(100, 0, 0.5, 10);
}

static void bursts(void **state)
{
    (void)state;
    lose(2, 50, 0.5, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_lost), cmocka_unit_test(one_in_a_hundred),
        cmocka_unit_test(one_in_ten), cmocka_unit_test(bursts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
