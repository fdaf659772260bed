/* SPDX-License-Identifier: Apache-2.0 */
/* Who forked and executed whom, from the rows of a store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/intern.h"
#include "reporter/display/display.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page.h"
#include "reporter/recording/killed_finding.h"
#include "reporter/recording/process_tree.h"
#include "reporter/recording/process_units.h"
#include "reporter/recording/supervisor_finding.h"
#include "storage/env/txn.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "tests/reporter/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S ((uint64_t)1000000000)
#define START (1790000000 * S)

/* Without what is told of few: its control group, and whose memory had run out as it was killed. */
#define ROW(host_, comm_, exe_, pid_, parent_, start_, parent_start_, exec_, end_, ending_)                            \
    {                                                                                                                  \
        .host = (host_), .comm = (comm_), .exe = (exe_), .pid = (pid_), .parent_pid = (parent_), .start_ns = (start_), \
        .parent_start_ns = (parent_start_), .exec_ns = (exec_), .end_ns = (end_), .ending = (ending_)                  \
    }

static struct wp_report *report_of(void)
{
    static const struct {
        const char *comm;
        uint32_t pid;
        uint64_t start_s;
    } processes[] = {{"make", 20, 1}, {"sh", 30, 5}, {"cc1", 30, 5}, {"other", 99, 7}};
    struct wp_report *report = wp_report_create();
    for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++)
        wp_report_process_add(report,
            wp_report_process(report, "h", processes[i].comm, processes[i].pid, START + processes[i].start_s * S),
            (10 - i) * S, i * S);
    wp_report_add(report, sample_node(report, "[make];main@make"), WP_UNDERSTOOD_FUNCTIONS, 10 * S, 1);
    wp_report_activity(report, START + 4 * S, START + 20 * S);
    wp_report_host(report, "h");
    return report;
}

static int put(struct wp_txn *txn, const struct wp_genealogy_row *rows, size_t count, struct wp_error *err)
{
    struct wp_report *report = report_of();
    int rc = wp_txn_register_shard(txn, "s", err);
    if (!rc)
        rc = wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 1790000000, "s", "h"}, report, err);
    if (!rc)
        rc = wp_txn_add_genealogy(txn, "s", rows, count, err);
    wp_report_destroy(report);
    return rc;
}

/* The facts of a store with those rows, and the tree. */
static void read_tree(struct wp_facts *facts, const struct wp_genealogy_row *rows, size_t count)
{
    char root[] = "/tmp/wp-tree-test-XXXXXX", command[64];
    const char *roots[] = {root};
    struct wp_store *store = NULL;
    struct wp_txn *txn = NULL;
    struct wp_stores stores;
    struct wp_snapshot snapshot;
    struct wp_genealogy *genealogy = NULL;
    struct wp_error err = {0};
    assert_non_null(mkdtemp(root));
    if (wp_store_open(&store, root, true, &err) || wp_txn_begin(&txn, store, "v1", true, &err) ||
        put(txn, rows, count, &err) || wp_txn_commit(txn, &err))
        fail_msg("%s", err.text);
    wp_store_close(store);
    if (wp_stores_open(&stores, roots, 1, &err) || wp_snapshot_begin(&snapshot, &stores, "v1", &err) ||
        wp_facts_read(facts, &snapshot, "main", &(struct wp_selection){0}, &err) ||
        wp_process_tree_read(facts, &genealogy, &snapshot, &err))
        fail_msg("%s", err.text);
    wp_genealogy_fini(&genealogy);
    wp_snapshot_end(&snapshot);
    wp_stores_close(&stores);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static const struct wp_genealogy_row family[] = {
    ROW("h", "systemd", "/sbin/init", 1, 0, START - 90 * S, 0, 0, 0, 0),
    ROW("h", "cron", "/usr/sbin/cron", 5, 1, START - 80 * S, START - 90 * S, 0, 0,
        0), /* no relative of those on paths */
    ROW("h", "bash", "", 20, 1, START + 1 * S, START - 90 * S, 0, 0, 0),
    ROW("h", "make", "/usr/bin/make", 20, 20, START + 1 * S, START + 1 * S, START + 2 * S, START + 19 * S,
        WP_ENDING_STATUS + 2),
    ROW("h", "make", "/usr/bin/make", 30, 20, START + 5 * S, START + 1 * S, 0, 0, 0),
    ROW("h", "cc1", "/usr/lib/cc1", 30, 30, START + 5 * S, START + 5 * S, START + 7 * S, START + 9 * S, 9),
    ROW("h", "sh", "/bin/sh", 30, 30, START + 5 * S, START + 5 * S, START + 6 * S, 0, 0),
    ROW("h", "as", "/usr/bin/as", 31, 30, START + 8 * S, START + 5 * S, 0, 0, 0), /* on no path, started by who is */
    ROW("h", "as", "/usr/bin/as", 29, 20, START + 2 * S, START + 1 * S, 0, START + 3 * S,
        WP_ENDING_STATUS),                                                /* too early */
    ROW("h", "late", "", 30, 20, START + 60 * S, START + 1 * S, 0, 0, 0), /* that number again, afterwards */
};

static void processes_stand_below_their_parents(void **state)
{
    static const struct {
        const char *comm, *programs, *ending;
        uint32_t pid, depth, parent;
        bool is_on_paths;
    } rows[] = {{"systemd", "systemd", "", 1, 0, 0, false}, {"make", "bash → make", "exit status 2", 20, 1, 1, true},
        {"cc1", "make → sh → cc1", "SIGKILL", 30, 2, 2, true}, {"as", "as", "", 31, 3, 3, false}};
    struct wp_facts facts;
    struct wp_pool pool = {0};
    (void)state;
    read_tree(&facts, family, sizeof(family) / sizeof(*family));
    assert_non_null(facts.tree);
    assert_int_equal(facts.tree->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct wp_tree_process *row = &facts.tree->rows[i];
        assert_string_equal(row->comm, rows[i].comm);
        assert_string_equal(row->programs, rows[i].programs);
        assert_string_equal(wp_process_tree_ending(&pool, row->ending), rows[i].ending);
        assert_int_equal(row->pid, rows[i].pid);
        assert_int_equal(row->depth, rows[i].depth);
        assert_int_equal(row->parent, rows[i].parent);
        assert_int_equal(row->is_on_paths, rows[i].is_on_paths);
    }
    assert_string_equal(wp_process_tree_ending(&pool, WP_ENDING_OOM), "SIGKILL, out of memory");
    assert_string_equal(wp_process_tree_ending(&pool, WP_ENDING_MOST), "exit status 189 or more");
    assert_true(facts.tree->rows[2].total_ns == 17 * S); /* under both of its names */
    assert_true(facts.tree->rows[2].end_ns == START + 9 * S);
    for (size_t i = 0; i < facts.process_count; i++) {
        const struct wp_tree_process *parent = wp_process_tree_parent(&facts, i);
        const char *want = facts.processes[i].pid == 20 ? "systemd" : facts.processes[i].pid == 30 ? "make" : NULL;
        if (want)
            assert_string_equal(parent->comm, want);
        else
            assert_null(parent);
    }
    wp_pool_fini(&pool);
    wp_facts_fini(&facts);
}

/* A command that waits in its loop while those that it started live on says first that they are not in its total. */
static void who_watches_over_others_says_so(void **state)
{
    static const struct wp_genealogy_row servers[] = {
        ROW("h", "make", "/usr/bin/make", 20, 1, START + 1 * S, START - 90 * S, START + 2 * S, 0, 0),
        ROW("h", "worker", "/usr/bin/worker", 31, 20, START + 6 * S, START + 1 * S, 0, 0, 0),
        ROW("h", "worker", "/usr/bin/worker", 32, 20, START + 6 * S, START + 1 * S, 0, START + 19 * S, 9),
        ROW("h", "short", "/usr/bin/short", 33, 20, START + 6 * S, START + 1 * S, 0, START + 7 * S, 9),
    };
    static const struct {
        const char *sleep;
        enum wp_category category;
        bool is_command, is_told;
        const char *asks; /* of others, for a small part of its time */
    } cases[] = {{"[make];main@make;sleep:pselect6", WP_DELIBERATE_SLEEP, true, true, NULL},
        {"[make];main@make;sleep:pselect6", WP_DELIBERATE_SLEEP, true, false, "[make];main@make;sleep:poll;[worker]"},
        {"[make];main@make;sleep:wait4", WP_UNACCOUNTED, true, true, NULL},
        {"[make];main@make;sleep:pselect6", WP_DELIBERATE_SLEEP, false, false, NULL},
        {"[make];main@make;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, true, false, NULL},
        {"[make];main@make;sleep:pselect6;[sh];main@sh", WP_UNDERSTOOD_FUNCTIONS, true, false, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_facts facts, own;
        struct wp_report *report = report_of();
        read_tree(&facts, servers, sizeof(servers) / sizeof(*servers));
        wp_report_add(report, sample_node(report, cases[i].sleep), cases[i].category, 20 * S, 20);
        if (cases[i].asks)
            wp_report_add(report, sample_node(report, cases[i].asks), WP_UNDERSTOOD_FUNCTIONS, S, 5);
        assert_int_equal(wp_facts_build(&own, "v1", "main", report, NULL, NULL), 0);
        own.is_command = cases[i].is_command;
        own.tree = facts.tree;
        wp_process_findings_add(&own);
        bool is_told = !strcmp(own.findings[0].kind, "supervisor");
        if (is_told != cases[i].is_told)
            fail_msg("case %zu says: %s", i, own.findings[0].sentence);
        if (is_told &&
            !strstr(own.findings[0].sentence,
                "make, whose progress this is, only watches over 2 processes of its own (worker) for 20.0 s "
                "(67 %): what these do is not in this total. `wakepath record -a workers=comm=worker`"))
            fail_msg("%s", own.findings[0].sentence);
        own.tree = NULL;
        wp_facts_fini(&own);
        wp_facts_fini(&facts);
    }
}

/* Its creator was forgotten as the end was written: that is the same program, and no other parent. */
static void an_end_is_of_the_program_that_is_known(void **state)
{
    static const struct wp_genealogy_row rows[] = {
        ROW("h", "bash", "", 20, 1, START + 1 * S, START - 90 * S, 0, 0, 0),
        ROW("h", "make", "/usr/bin/make", 20, 20, START + 1 * S, START + 1 * S, START + 2 * S, 0, 0),
        ROW("h", "sh", "/bin/sh", 30, 20, START + 5 * S, START + 1 * S, 0, 0, 0),
        ROW("h", "cc1", "/usr/lib/cc1", 30, 30, START + 5 * S, START + 5 * S, START + 6 * S, 0, 0),
        ROW("h", "as", "/usr/bin/as", 30, 30, START + 5 * S, START + 5 * S, START + 7 * S, 0, 0),
        ROW("h", "cc1", "/usr/lib/cc1", 30, 0, START + 5 * S, 0, 0, START + 9 * S, WP_ENDING_STATUS + 1),
        ROW("h", "late", "/usr/bin/late", 30, 0, START + 5 * S, 0, START + 8 * S, 0, 0), /* not known otherwise */
    };
    struct wp_facts facts;
    (void)state;
    read_tree(&facts, rows, sizeof(rows) / sizeof(*rows));
    assert_int_equal(facts.tree->count, 2);
    assert_string_equal(facts.tree->rows[1].programs, "sh → cc1 → as → late");
    assert_int_equal(facts.tree->rows[1].parent, 1);
    assert_true(facts.tree->rows[1].end_ns == START + 9 * S);
    assert_int_equal(facts.tree->rows[1].ending, WP_ENDING_STATUS + 1);
    wp_facts_fini(&facts);
}

/* Parents in a circle, of the same time, before themselves: each process has one place. */
static void circles_end(void **state)
{
    static const struct wp_genealogy_row rows[] = {ROW("h", "a", "", 20, 30, START + 1 * S, START + 1 * S, 0, 0, 0),
        ROW("h", "b", "", 30, 20, START + 5 * S, START + 1 * S, 0, START + 6 * S, 300),
        ROW("h", "c", "", 40, 41, 0, 0, 0, 0, 0), ROW("h", "d", "", 41, 40, 0, 0, 0, 1, 0),
        ROW("h", "e", "", 99, 99, START + 7 * S, START + 7 * S, 0, 0, 0)};
    struct wp_facts facts;
    struct wp_pool pool = {0};
    (void)state;
    read_tree(&facts, rows, sizeof(rows) / sizeof(*rows));
    assert_int_equal(facts.tree->count, 3);
    assert_int_equal(facts.tree->rows[0].parent, 0);
    assert_int_equal(facts.tree->rows[1].parent, 1);
    assert_string_equal(wp_process_tree_ending(&pool, facts.tree->rows[1].ending), "exit status 189 or more");
    assert_string_equal(facts.tree->rows[2].programs, "e");
    wp_pool_fini(&pool);
    wp_facts_fini(&facts);
}

/* A chain deeper than any stack, and more processes than a page has. */
static void many_are_bounded(void **state)
{
    const uint32_t count = 5000;
    struct wp_genealogy_row *rows = calloc(count, sizeof(*rows));
    struct wp_facts facts;
    (void)state;
    for (uint32_t i = 0; i < count; i++) /* each forks the next one; the first is make */
        rows[i] = (struct wp_genealogy_row)ROW("h", "p", "", i ? 1000 + i : 20,
            i > 1   ? 999 + i
                : i ? 20
                    : 1,
            START + S + i * (S / 1000), i ? START + S + (i - 1) * (S / 1000) : 0, 0, 0, 0);
    read_tree(&facts, rows, count);
    assert_int_equal(facts.tree->count, WP_TREE_ROWS);
    assert_int_equal(facts.tree->left_out, count - WP_TREE_ROWS);
    assert_int_equal(facts.tree->rows[WP_TREE_ROWS - 1].depth, WP_TREE_ROWS - 1);
    free(rows);
    wp_facts_fini(&facts);
}

/* Whose memory had run out is told of one that was killed for it; the control groups of a name are one where they
 * agree. */
static void groups_are_told(void **state)
{
    struct wp_genealogy_row rows[] = {
        ROW("h", "make", "", 20, 1, START + 1 * S, START - 90 * S, 0, START + 9 * S, WP_ENDING_OOM),
        ROW("h", "cc1", "", 30, 20, START + 2 * S, START + 1 * S, 0, START + 9 * S, 9),
        ROW("h", "cc1", "", 31, 20, START + 2 * S, START + 1 * S, 0, 0, 0)};
    struct wp_facts facts;
    (void)state;
    rows[0].oom_cgroup = rows[1].oom_cgroup = "/system.slice/ci.service";
    rows[0].oom_holder = "cc1";
    rows[0].oom_bytes = 80900000;
    rows[0].cgroup = rows[1].cgroup = "/system.slice/ci.service";
    rows[2].workload = "ns/pod/cc1";
    read_tree(&facts, rows, sizeof(rows) / sizeof(*rows));
    assert_string_equal(facts.tree->rows[0].memory, "ci.service; it had 80.9 MB; most had cc1");
    assert_string_equal(facts.tree->rows[1].memory, "");
    assert_string_equal(wp_process_unit(&facts, "h", "make"), "ci.service");
    assert_string_equal(wp_process_unit(&facts, NULL, "make"), "ci.service");
    assert_string_equal(wp_process_unit(&facts, "h", "cc1"), WP_UNIT_SEVERAL);
    assert_null(wp_process_unit(&facts, "other", "make"));
    assert_null(wp_process_unit(&facts, "h", "as"));
    wp_facts_fini(&facts);
}

/* First of all, the name that was killed most often; none of another time, or by another signal. */
static void who_was_killed_is_a_finding(void **state)
{
    struct wp_genealogy_row rows[] = {ROW("h", "make", "", 20, 1, START + 1 * S, START - 90 * S, 0, 0, 0),
        ROW("h", "cc1", "", 30, 20, START + 2 * S, START + 1 * S, 0, START + 9 * S, 9),
        ROW("h", "ld", "", 31, 20, START + 2 * S, START + 1 * S, 0, START + 7 * S, WP_ENDING_OOM),
        ROW("h", "lto1", "", 32, 20, START + 2 * S, START + 1 * S, 0, START + 8 * S, WP_ENDING_OOM),
        ROW("h", "lto1", "", 33, 20, START + 2 * S, START + 1 * S, 0, START + 9 * S, WP_ENDING_OOM),
        ROW("h", "lto1", "", 34, 20, START + 2 * S, START + 1 * S, 0, START + 9 * S, WP_ENDING_OOM)};
    static const char *const groups[] = {"/system.slice/ci.service", "/", NULL};
    static const char *const told[] = {
        "lto1 was killed 2 times: out of memory (limit of ci.service; it had 80.9 MB). So were 2 others.",
        "lto1 was killed 2 times: out of memory (of the whole machine; it had 80.9 MB). So were 2 others.",
        "lto1 was killed 2 times: out of memory. So were 2 others."};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct wp_facts facts;
        for (size_t k = 3; k < 5; k++) {
            rows[k].oom_cgroup = groups[i];
            rows[k].oom_bytes = 80900000;
        }
        rows[5].oom_cgroup = "/other";
        read_tree(&facts, rows, sizeof(rows) / sizeof(*rows));
        wp_killed_finding_add(&facts);
        assert_string_equal(facts.findings[0].kind, "killed");
        assert_string_equal(facts.findings[0].sentence, told[i]);
        assert_int_equal(facts.findings[0].count, 2);
        assert_true(facts.finding_count > 1 && strcmp(facts.findings[1].kind, "killed") != 0);
        wp_facts_fini(&facts);
    }
    struct wp_facts facts;
    read_tree(&facts, family, sizeof(family) / sizeof(*family));
    wp_killed_finding_add(&facts);
    for (size_t i = 0; i < facts.finding_count; i++)
        assert_string_not_equal(facts.findings[i].kind, "killed");
    wp_facts_fini(&facts);
}

/* The number of the parent is another process' by now: that one is nobody's parent. */
static void a_number_used_again_is_no_parent(void **state)
{
    static const struct wp_genealogy_row rows[] = {ROW("h", "gone", "", 10, 0, START + 1 * S, 0, 0, 0, 0),
        ROW("h", "make", "", 20, 10, START + 1 * S + S / 2, START - 50 * S, 0, 0, 0),
        ROW("h", "sh", "", 30, 10, START + 5 * S, START + 1 * S, 0, 0, 0)};
    struct wp_facts facts;
    (void)state;
    read_tree(&facts, rows, sizeof(rows) / sizeof(*rows));
    for (size_t i = 0; i < facts.tree->count; i++) {
        const struct wp_tree_process *row = &facts.tree->rows[i];
        uint32_t parent_pid = row->parent ? facts.tree->rows[row->parent - 1].pid : 0;
        assert_int_equal(parent_pid, row->pid == 30 ? 10 : 0);
    }
    wp_facts_fini(&facts);
}

static size_t tables(const struct wp_display *display, const char *id, const struct wp_table **found)
{
    size_t count = 0;
    for (const struct wp_item *item = display->first; item; item = item->next)
        if (item->kind == WP_ITEM_TABLE && !strcmp(item->table->id, id)) {
            *found = item->table;
            count++;
        }
    return count;
}

static void the_page_shows_them(void **state)
{
    struct wp_facts facts;
    struct wp_display display;
    const struct wp_table *table = NULL;
    (void)state;
    read_tree(&facts, family, sizeof(family) / sizeof(*family));
    assert_true(wp_page_is_of_facts(WP_PAGE_TREE, &facts));
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_TREE, "v1", "main"});
    assert_int_equal(wp_page_build(&display, &facts, NULL), 0);
    assert_int_equal(tables(&display, "tree", &table), 1);
    assert_int_equal(table->row_count, 4);
    assert_string_equal(table->columns[table->column_count - 1].title, "Running"); /* all of one host */
    const struct wp_field *cc1 = table->fields + 2 * table->column_count;
    assert_string_equal(cc1[0].text, "\u00a0\u00a0\u00a0\u00a0cc1");
    assert_string_equal(cc1[0].note, "make → sh → cc1");
    assert_string_equal(cc1[2].text, "make");
    assert_string_equal(cc1[3].text, "at 1.00 s");
    assert_true(cc1[4].number == 4 * S);
    assert_string_equal(cc1[5].text, "SIGKILL");
    for (size_t i = 0; i < table->row_count; i++) /* no path held it: that it did not run is not known */
        for (size_t column = 6; column < 9; column++)
            assert_int_equal(table->fields[i * table->column_count + column].is_none, !facts.tree->rows[i].is_on_paths);
    assert_false(facts.tree->rows[0].is_on_paths && facts.tree->rows[1].is_on_paths && facts.tree->rows[3].is_on_paths);
    wp_display_fini(&display);
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_PROCESSES, "v1", "main"});
    assert_int_equal(wp_page_build(&display, &facts, NULL), 0);
    assert_int_equal(tables(&display, "processes", &table), 1);
    assert_string_equal(table->columns[6].title, "Parent");
    wp_display_fini(&display);
    wp_facts_fini(&facts);
}

static void what_is_missing_is_told(void **state)
{
    struct wp_facts facts;
    struct wp_genealogy *genealogy = calloc(1, sizeof(*genealogy));
    struct wp_error err = {0};
    struct wp_display display;
    unsigned told = 0;
    (void)state;
    read_tree(&facts, family, sizeof(family) / sizeof(*family));
    assert_int_equal(facts.damage_count, 0);
    assert_int_equal(facts.tree->damaged, 0);
    genealogy->damaged = 3;
    genealogy->texts = wp_intern_create();
    genealogy->processes = calloc(1, sizeof(*genealogy->processes));
    genealogy->programs = calloc(1, sizeof(*genealogy->programs));
    assert_int_equal(wp_process_tree_read(&facts, &genealogy, NULL, &err), 0);
    assert_int_equal(facts.damage_count, 1);
    assert_string_equal(facts.damage[0].key, "genealogy");
    facts.tree->damaged = 3;
    facts.tree->unheld = 1;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_TREE, "v1", "main"});
    assert_int_equal(wp_page_build(&display, &facts, NULL), 0);
    for (const struct wp_item *item = display.first; item; item = item->next)
        told += item->kind == WP_ITEM_NOTICE &&
            (strstr(item->text, "3 damaged values left out") || strstr(item->text, "1 program more than are read"));
    assert_int_equal(told, 2);
    wp_display_fini(&display);
    wp_genealogy_fini(&genealogy);
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_stand_below_their_parents),
        cmocka_unit_test(circles_end), cmocka_unit_test(who_watches_over_others_says_so),
        cmocka_unit_test(an_end_is_of_the_program_that_is_known), cmocka_unit_test(a_number_used_again_is_no_parent),
        cmocka_unit_test(groups_are_told), cmocka_unit_test(who_was_killed_is_a_finding),
        cmocka_unit_test(many_are_bounded), cmocka_unit_test(the_page_shows_them),
        cmocka_unit_test(what_is_missing_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
