/* SPDX-License-Identifier: Apache-2.0 */
/* Whose time it is: of which host, and which processes are those of interest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/load/facts_read.h"
#include "reporter/recording/hosts.h"
#include "reporter/recording/origins.h"
#include "reporter/waits/wait_graph.h"
#include "storage/env/txn.h"
#include "storage/kind/report_add.h"
#include "storage/kind/selection.h"
#include "storage/kind/shard_store.h"
#include "tests/reporter/sample.h"
#include "tests/reporter/sample_fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int put_parts(struct wp_txn *txn, struct wp_report *web, struct wp_report *db, struct wp_error *err)
{
    int rc = wp_txn_register_shard(txn, "s", err);
    if (!rc)
        rc = wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 1790000000, "s", "web-2"}, web, err);
    return rc ? rc : wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 1790000000, "s", "db-3"}, db, err);
}

/* A fleet of two hosts that have reports of their own, of which only web-2 has processes of interest. */
static void read_parts(struct wp_facts *facts, struct wp_page_context *context)
{
    char root[] = "/tmp/wp-whose-test-XXXXXX", command[64];
    const char *roots[] = {root};
    struct wp_report *web = sample_shard_report(1), *db = wp_report_create();
    struct wp_store *store = NULL;
    struct wp_txn *txn = NULL;
    struct wp_stores stores;
    struct wp_snapshot snapshot;
    struct wp_selection all = {0};
    struct wp_error err = {0};
    assert_non_null(mkdtemp(root));
    wp_report_host(db, "db-3");
    int rc = wp_store_open(&store, root, true, &err);
    for (int tries = 0; !rc && tries < 20; tries++) { /* again when the map had to grow */
        if (wp_txn_begin(&txn, store, "v1", true, &err) || put_parts(txn, web, db, &err))
            fail_msg("%s", err.text);
        rc = wp_txn_commit(txn, &err);
        if (!rc)
            break;
        rc = rc == -EAGAIN ? 0 : rc;
    }
    wp_store_close(store);
    wp_report_destroy(web);
    wp_report_destroy(db);
    if (rc || wp_stores_open(&stores, roots, 1, &err) || wp_snapshot_begin(&snapshot, &stores, "v1", &err) ||
        wp_facts_read(facts, &snapshot, "main", &all, &err) || wp_origins_read(context, &snapshot, &all, &err))
        fail_msg("%s", err.text);
    wp_snapshot_end(&snapshot);
    wp_stores_close(&stores);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void the_only_host_with_time_is_named(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_page_context context = {.facts = &facts};
    read_parts(&facts, &context);
    assert_int_equal(facts.host_count, 2);
    assert_int_equal(context.origins.count, 1);
    assert_string_equal(context.origins.rows[0].name, "web-2"); /* not "all hosts" */
    assert_int_equal(context.origins.rows[0].host_count, 1);
    assert_int_equal(context.origins.rows[0].total_ns, facts.total_ns);
    wp_page_context_fini(&context);
    wp_facts_fini(&facts);
}

/* What stands on a host's frames counts once, however many of its processes a pseudo-stack has. */
static void a_stack_counts_once_for_a_host(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    struct wp_hosts hosts;
    uint32_t db = wp_report_child(report, sample_node(report, "[web];main@web;sleep:recvfrom"),
        wp_report_frame(report, WP_STYLE_PROCESS, "[postgres]@db-3", ""));
    uint32_t writer =
        wp_report_child(report, wp_report_child(report, db, wp_report_frame(report, WP_STYLE_WAIT, "sleep:futex", "")),
            wp_report_frame(report, WP_STYLE_PROCESS, "[walwriter]@db-3", ""));
    wp_report_add(report, db, WP_UNDERSTOOD_FUNCTIONS, 300, 1);
    wp_report_add(report, writer, WP_UNDERSTOOD_FUNCTIONS, 500, 1);
    wp_report_add(report, sample_node(report, "[web];main@web"), WP_UNDERSTOOD_FUNCTIONS, 1000, 1);
    wp_report_host(report, "db-3");
    wp_report_host(report, "web-2");
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    wp_hosts_build(&hosts, &facts.pool, &facts);
    assert_int_equal(hosts.count, 2);
    for (size_t i = 0; i < hosts.count; i++)
        assert_int_equal(hosts.rows[i].others_ns, strcmp(hosts.rows[i].name, "db-3") ? 0 : 800);
    wp_facts_fini(&facts);
}

static bool is_base(const struct wp_wait_graph *graph, const char *name)
{
    for (uint32_t i = 0; i < graph->party_count; i++)
        if (!strcmp(graph->parties[i].name, name))
            return graph->parties[i].is_base;
    fail_msg("no party %s", name);
    return false;
}

/* The window in which `comm` is a thread of interest. */
static struct wp_trace *window_of(const char *comm)
{
    struct wp_trace *trace = wp_trace_create();
    wp_trace_add_thread(
        trace, &(struct wp_trace_thread){wp_trace_string(trace, "h1"), wp_trace_string(trace, comm), 7, 7, 1, 0, 0});
    wp_trace_add_path(trace, &(struct wp_trace_path){0, 1});
    return trace;
}

/* A pool that somebody waits for has a control path on the ground, too: that makes it no process of interest. */
static void another_path_is_not_of_interest(void **state)
{
    (void)state;
    for (int is_chosen = 0; is_chosen < 2; is_chosen++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        struct wp_wait_graph graph;
        wp_report_add(report, sample_node(report, "[nginx];main@nginx"), WP_UNDERSTOOD_FUNCTIONS, 100, 1);
        wp_report_add(
            report, sample_node(report, "[nginx];main@nginx;sleep:epoll_wait;path:[php]"), WP_OTHER_PATH, 200, 1);
        wp_report_add(
            report, sample_node(report, "[php];main@php;sleep:read;[mysql]"), WP_UNDERSTOOD_FUNCTIONS, 150, 1);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, window_of(is_chosen ? "php" : "nginx"), NULL), 0);
        wp_wait_graph_processes(&graph, &facts.pool, &facts);
        assert_true(!graph.wait_count || is_base(&graph, "php") == is_chosen);
        assert_true(graph.wait_count > 0);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_host_with_time_is_named),
        cmocka_unit_test(a_stack_counts_once_for_a_host),
        cmocka_unit_test(another_path_is_not_of_interest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
