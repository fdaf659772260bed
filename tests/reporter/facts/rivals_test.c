/* SPDX-License-Identifier: Apache-2.0 */
/* Who had the processor: by pair, in the graph of waits and as findings. */
#include "reporter/facts/rivals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/display/display.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page_processor.h"
#include "reporter/recording/process_units.h"
#include "reporter/waits/wait_graph.h"
#include "storage/report/report.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"

#include <stdio.h>

#define MS 1000000u

static const struct {
    const char *stack;
    enum wp_category category;
    uint64_t ms, count;
} cells[] = {{"[web];work", WP_UNDERSTOOD_FUNCTIONS, 9, 9},
    {"[web];work;sleep:read;sched:runnable;sched:behind [batch];sched:for [cron]", WP_SCHEDULER, 30, 10},
    {"[web];work;sleep:read;sched:runnable;sched:wake-up latency", WP_SCHEDULER, 1, 10},
    {"[web];work;sched:preempted;sched:behind [batch]", WP_INVOLUNTARY, 20, 5},
    {"[web];work;sched:preempted;sched:quota of web.service;sched:spent by [batch]", WP_INVOLUNTARY, 30, 3},
    {"[web];work;sched:preempted;sched:quota of web.service;sched:spent by own threads", WP_INVOLUNTARY, 10, 3},
    {"[web];work;sleep:read;[db];sched:preempted;sched:behind own threads", WP_INVOLUNTARY, 50, 2},
    {"[web];work;sched:preempted", WP_INVOLUNTARY, 50, 2}}; /* of an older store */

static struct wp_facts made_facts(void)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
        wp_report_add(report, sample_node(report, cells[i].stack), cells[i].category, cells[i].ms * MS, cells[i].count);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    return facts;
}

static void by_pair(void **state)
{
    struct wp_facts facts = made_facts();
    struct wp_rivals rivals = wp_rivals_build(&facts.pool, &facts);
    const struct wp_rival *row = rivals.rows;
    (void)state;
    assert_int_equal(rivals.count, 4);
    assert_int_equal(rivals.ns, 141 * MS);
    assert_string_equal(row[0].waiter, "db");
    assert_int_equal(row[0].kind, WP_RIVAL_OTHER);
    assert_string_equal(row[0].name, "own threads");
    assert_string_equal(row[1].waiter, "web");
    assert_int_equal(row[1].kind, WP_RIVAL_PROCESS);
    assert_string_equal(row[1].name, "batch");
    assert_string_equal(row[1].party, "cron");
    assert_int_equal(row[1].ns, 50 * MS);
    assert_int_equal(row[1].count, 15);
    assert_int_equal(row[2].kind, WP_RIVAL_QUOTA);
    assert_string_equal(row[2].name, "quota of web.service");
    assert_string_equal(row[2].party, "batch");
    assert_int_equal(row[2].ns, 40 * MS);
    assert_string_equal(row[3].name, "wake-up latency");
    wp_facts_fini(&facts);
}

static void a_quota_of_an_unknown_cgroup_is_one(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report, sample_node(report, "[web];work;sched:preempted;sched:quota"), WP_INVOLUNTARY, 30 * MS, 3);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    struct wp_rivals rivals = wp_rivals_build(&facts.pool, &facts);
    assert_int_equal(rivals.count, 1);
    assert_int_equal(rivals.rows[0].kind, WP_RIVAL_QUOTA);
    assert_string_equal(rivals.rows[0].name, "quota");
    wp_facts_fini(&facts);
}

static void in_the_graph_of_waits(void **state)
{
    struct wp_facts facts = made_facts();
    struct wp_wait_graph graph;
    unsigned found = 0;
    (void)state;
    wp_wait_graph_processes(&graph, &facts.pool, &facts);
    for (uint32_t i = 0; i < graph.wait_count; i++) {
        const struct wp_graph_wait *wait = &graph.waits[i];
        if (graph.parties[wait->to].kind != WP_PARTY_PROCESSOR)
            continue;
        assert_string_equal(graph.parties[wait->from].name, "web");
        bool is_batch = !strcmp(graph.parties[wait->to].name, "batch: processor");
        assert_true(is_batch || !strcmp(graph.parties[wait->to].name, "quota of web.service: processor"));
        assert_int_equal(wait->ns, (is_batch ? 50 : 40) * MS);
        found++;
    }
    assert_int_equal(found, 2);
    wp_facts_fini(&facts);
}

static const struct wp_finding *finding(const struct wp_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->finding_count; i++)
        if (!strcmp(facts->findings[i].key, key))
            return &facts->findings[i];
    fail_msg("no finding %s", key);
    return NULL;
}

static void as_findings(void **state)
{
    struct wp_facts facts = made_facts();
    (void)state;
    const char *batch = finding(&facts, "processor web batch")->sentence;
    if (strcmp(batch, "web waits 50.0 ms (25 %) for a CPU that batch uses on behalf of cron.") != 0)
        fail_msg("%s", batch);
    const struct wp_finding *quota = finding(&facts, "processor web quota of web.service");
    assert_non_null(strstr(quota->sentence, "by the quota of web.service, most of it spent by batch."));
    assert_string_equal(quota->pattern.key, "quota_throttling");
    wp_facts_fini(&facts);
}

static const struct wp_table *table_of(const struct wp_display *display, const char *id)
{
    for (const struct wp_item *item = display->first; item; item = item->next)
        if (item->kind == WP_ITEM_TABLE && !strcmp(item->table->id, id))
            return item->table;
    return NULL;
}

static bool is_said(const struct wp_display *display, const char *words)
{
    for (const struct wp_item *item = display->first; item; item = item->next)
        if (item->kind == WP_ITEM_PARAGRAPH && strstr(item->text, words))
            return true;
    return false;
}

/* 300 had it: the one with most time has it in pieces, each after all others. */
static void the_page_has_the_longest_first(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    struct wp_display display;
    char stack[80];
    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        snprintf(stack, sizeof(stack), "[web-%u];sched:preempted;sched:behind [%s%u]", i, i < 300 ? "one" : "most",
            i < 300 ? i : 0);
        wp_report_add(report, sample_node(report, stack), WP_INVOLUNTARY, (i < 300 ? 2 : 1) * MS, 1);
    }
    wp_report_add(report, sample_node(report, "[web];sched:preempted"), WP_INVOLUNTARY, 50 * MS, 1);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_PROCESSOR, "v1", "main"});
    wp_page_processor(&display, &facts);
    const struct wp_table *table = table_of(&display, "processor-owners");
    assert_non_null(table);
    assert_int_equal(table->row_count, 200);
    assert_string_equal(table->fields[0].text, "most0");
    assert_true(table->fields[1].number == 300 * MS);
    assert_string_equal(table->fields[199 * table->column_count].text, "others");
    assert_true(table->fields[199 * table->column_count + 1].number == (301 - 199) * 2 * MS);
    assert_true(is_said(&display, "could have run for 950 ms"));
    assert_true(is_said(&display, "For 50.0 ms (5.3 % of the total) it was not recorded who had the processor"));
    wp_display_fini(&display);
    wp_facts_fini(&facts);
}

/* More than have a column or a row of their own are others; what each row has is what the pairs have. By host where
 * a path leads there. */
static void the_page_has_a_matrix(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    struct wp_display display;
    char stack[80];
    uint64_t all = 0;
    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        snprintf(stack, sizeof(stack), "[web-%u];sched:preempted;sched:behind [batch-%u]", i % 40, i / 40);
        wp_report_add(report, sample_node(report, stack), WP_INVOLUNTARY, (i % 40 + 1) * MS, 1);
    }
    wp_report_add(
        report, sample_node(report, "[a on store];sched:preempted;sched:behind [dump]"), WP_INVOLUNTARY, MS, 1);
    uint32_t node = sample_node(report, "[web-1];sleep:read");
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_PROCESS, "[db]@store", ""));
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_SCHED, "sched:preempted", ""));
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_SCHED, "sched:behind [dump]@store", ""));
    wp_report_add(report, node, WP_INVOLUNTARY, 2 * MS, 1);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_PROCESSOR, "v1", "main"});
    wp_page_processor(&display, &facts);
    const struct wp_table *table = table_of(&display, "processor-matrix");
    assert_non_null(table);
    assert_int_equal(table->row_count, 20);
    assert_int_equal(table->column_count, 2 + 6);
    assert_string_equal(table->columns[7].title, "others");
    assert_string_equal(table->fields[0].text, "web-39");
    assert_true(table->fields[1].number == 400 * MS);
    assert_true(table->fields[2].number == 40 * MS && table->fields[7].number == 200 * MS);
    assert_string_equal(table->fields[19 * 8].text, "others");
    for (size_t i = 0; i < table->row_count; i++)
        all += table->fields[i * 8 + 1].number;
    assert_true(all == (uint64_t)(820 * 10 + 3) * MS);
    table = table_of(&display, "processor-hosts");
    assert_non_null(table);
    assert_int_equal(table->row_count, 2);
    assert_string_equal(table->fields[table->column_count].text, "store");
    assert_true(table->fields[table->column_count + 1].number == 2 * MS); /* and nothing of who is only named so */
    wp_display_fini(&display);
    wp_facts_fini(&facts);
}

/* Of processes of a name, on their own host: what is only named as if it were there is not of that control group. */
static void the_matrix_has_control_groups(void **state)
{
    struct wp_process_unit rows[] = {{"store", "a", "a.service"}, {"h", "batch", "batch.service"},
        {"store", "dump", "backup.service"}, {"h", "web", WP_UNIT_SEVERAL}};
    static const char *const losers[] = {"several control groups", "not known", "a.service on store"};
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    struct wp_display display;
    (void)state;
    wp_report_add(report, sample_node(report, "[web];sched:preempted;sched:behind [batch]"), WP_INVOLUNTARY, 9 * MS, 1);
    wp_report_add(report, sample_node(report, "[a on store];sched:preempted;sched:steal"), WP_INVOLUNTARY, 5 * MS, 1);
    uint32_t node = wp_report_child(
        report, sample_node(report, "[web];sleep:read"), wp_report_frame(report, WP_STYLE_PROCESS, "[a]@store", ""));
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_SCHED, "sched:preempted", ""));
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_SCHED, "sched:behind [dump]@store", ""));
    wp_report_add(report, node, WP_INVOLUNTARY, 2 * MS, 1);
    wp_report_host(report, "h");
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    facts.units = &(struct wp_process_units){rows, 4};
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_PROCESSOR, "v1", "main"});
    wp_page_processor(&display, &facts);
    const struct wp_table *table = table_of(&display, "processor-units");
    assert_non_null(table);
    assert_int_equal(table->row_count, 3);
    assert_string_equal(table->columns[2].title, "batch.service");
    assert_string_equal(table->columns[3].title, "steal");
    assert_string_equal(table->columns[4].title, "backup.service on store");
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(table->fields[i * table->column_count].text, losers[i]);
    wp_display_fini(&display);
    wp_facts_fini(&facts);
}

static void over_time(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    struct wp_display display;
    uint64_t second = (uint64_t)1000 * MS;
    (void)state;
    wp_report_add_at(report, sample_node(report, "[web];sched:preempted;sched:behind [batch]"), WP_INVOLUNTARY,
        60 * second, 60 * second + 5 * MS);
    wp_report_add_at(report, sample_node(report, "[web];sched:preempted;sched:behind [cron]"), WP_INVOLUNTARY,
        70 * second, 70 * second + 3 * MS);
    wp_report_add_at(report, sample_node(report, "[web];sleep:read;sched:runnable;sched:behind [batch]"), WP_SCHEDULER,
        70 * second, 70 * second + 1 * MS);
    wp_report_add_at(report, sample_node(report, "[web];work"), WP_UNDERSTOOD_FUNCTIONS, 65 * second, 66 * second);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_PROCESSOR, "v1", "main"});
    wp_page_processor(&display, &facts);
    const struct wp_table *table = table_of(&display, "processor-times");
    assert_non_null(table);
    assert_true(table->row_count >= 2);
    assert_string_equal(table->fields[3].text, "batch");
    const struct wp_field *last = &table->fields[(table->row_count - 1) * table->column_count];
    assert_true(last[1].number == 4 * MS && last[4].number == 3 * MS);
    assert_string_equal(last[3].text, "cron");
    wp_display_fini(&display);
    wp_facts_fini(&facts);
}

/* What profiling takes is no culprit: nothing of the program's is told behind it. */
static void the_profiler_is_no_culprit(void **state)
{
    static const struct {
        const char *rival, *words;
    } rivals[] = {{"[wakepath-collec]", "waiting for a CPU: wakepath-collector (of the profiler) 800 ms."},
        {"recording", "waiting for a CPU: this recording (of the profiler) 800 ms."}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        char stack[120];
        snprintf(stack, sizeof(stack), "[app];work;sleep:read;sched:runnable;sched:behind %s", rivals[i].rival);
        wp_report_add(report, sample_node(report, stack), WP_SCHEDULER, 800 * MS, 10);
        wp_report_add(report, sample_node(report, "[app];nap;sleep:nanosleep"), WP_DELIBERATE_SLEEP, 100 * MS, 1);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        assert_non_null(strstr(facts.findings[0].sentence, "app sleeps on purpose for 100 ms"));
        assert_non_null(strstr(facts.findings[1].sentence, rivals[i].words));
        for (size_t k = 0; k < facts.finding_count; k++)
            assert_string_not_equal(facts.findings[k].kind, "processor");
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_pair), cmocka_unit_test(the_profiler_is_no_culprit),
        cmocka_unit_test(a_quota_of_an_unknown_cgroup_is_one), cmocka_unit_test(in_the_graph_of_waits),
        cmocka_unit_test(as_findings), cmocka_unit_test(the_page_has_the_longest_first),
        cmocka_unit_test(the_page_has_a_matrix), cmocka_unit_test(the_matrix_has_control_groups),
        cmocka_unit_test(over_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
