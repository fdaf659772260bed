/* SPDX-License-Identifier: Apache-2.0 */
/* What the pages' reports find in known recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/base/components.h"
#include "reporter/code/calls.h"
#include "reporter/code/modules.h"
#include "reporter/data/origin_data.h"
#include "reporter/facts/over_time.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page.h"
#include "reporter/page/page_index.h"
#include "reporter/page/site_summary.h"
#include "reporter/recording/hosts.h"
#include "reporter/recording/origins.h"
#include "reporter/requests/slow_requests.h"
#include "reporter/waits/io_facts.h"
#include "reporter/waits/wait_graph.h"
#include "storage/kind/selection.h"
#include "storage/report/report_transactions.h"
#include "tests/reporter/sample_fleet.h"
#include "tests/reporter/sample_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fleet as the site reads it: from a store. */
static void read_fleet(struct wp_facts *facts, bool is_hostile)
{
    char root[] = "/tmp/wp-pages-test-XXXXXX", command[64];
    const char *roots[] = {root};
    struct wp_stores stores;
    struct wp_snapshot snapshot;
    struct wp_error err = {0};
    struct wp_selection all = {0};
    assert_non_null(mkdtemp(root));
    if (sample_put(
            root, "v1", "main", 1790000000, is_hostile ? sample_hostile_report() : sample_fleet_report(), NULL, &err) ||
        sample_describe(root, "v1", "main", is_hostile, &err) || wp_stores_open(&stores, roots, 1, &err) ||
        wp_snapshot_begin(&snapshot, &stores, "v1", &err) || wp_facts_read(facts, &snapshot, "main", &all, &err))
        fail_msg("%s", err.text);
    wp_snapshot_end(&snapshot);
    wp_stores_close(&stores);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* Three shards as the site reads them; `shard` NULL: all. */
static void read_shards(struct wp_facts *facts, struct wp_page_context *context, const char *shard)
{
    char root[] = "/tmp/wp-pages-test-XXXXXX", command[64];
    const char *roots[] = {root};
    struct wp_stores stores;
    struct wp_snapshot snapshot;
    struct wp_error err = {0};
    struct wp_selection selection = {.shard = shard};
    assert_non_null(mkdtemp(root));
    for (unsigned i = 0; i < SAMPLE_SHARDS; i++) {
        char name[8];
        snprintf(name, sizeof(name), "s%u", i + 1);
        if (sample_put_shard(
                root, "v1", &(struct sample_place){"main", 1790000000, name}, sample_shard_report(i), NULL, &err))
            fail_msg("%s", err.text);
    }
    if (wp_stores_open(&stores, roots, 1, &err) || wp_snapshot_begin(&snapshot, &stores, "v1", &err) ||
        wp_facts_read(facts, &snapshot, "main", &selection, &err) ||
        (context && wp_origins_read(context, &snapshot, &selection, &err)))
        fail_msg("%s", err.text);
    wp_snapshot_end(&snapshot);
    wp_stores_close(&stores);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void time_is_told_apart_by_shard(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_page_context context = {.facts = &facts};
    struct wp_buffer data = {0};
    read_shards(&facts, &context, NULL);
    assert_int_equal(context.origins.count, 3);
    assert_string_equal(context.origins.rows[0].name, "shard s3"); /* two hosts in one sum */
    assert_string_equal(context.origins.rows[0].hosts, "<b>web-4, web-3");
    assert_int_equal(context.origins.rows[0].total_ns, 480000000);
    assert_string_equal(context.origins.rows[1].name, "web-2"); /* a shard of one host is that host */
    assert_int_equal(context.origins.rows[1].total_ns, 360000000);
    assert_int_equal(context.origins.missing_ns, 0);
    assert_int_equal(wp_origin_data(&data, &context, 1, NULL), 0);
    /* Both cells of the flame, 180 ms each, in as many buckets as a minute has, whose sum they are. */
    const char *text = (const char *)data.data;
    assert_non_null(strstr(text, "\"cell\":[0,1],\n\"ns\":[180000000,180000000],"));
    uint64_t sum = 0;
    for (char *at = strstr(text, "\"time\":[") + 7; *at != ']';)
        sum += strtoull(at + 1, &at, 10);
    assert_int_equal(sum, 360000000);
    wp_buffer_fini(&data);
    wp_page_context_fini(&context);
    wp_facts_fini(&facts);
    context.facts = &facts;
    read_shards(&facts, &context, "s3");
    assert_int_equal(context.origins.count, 1);
    assert_string_equal(context.origins.rows[0].name, "all hosts");
    assert_null(context.origins.rows[0].report);
    wp_page_context_fini(&context);
    wp_facts_fini(&facts);
}

static void time_by_object_file(void **state)
{
    (void)state;
    struct wp_facts facts;
    size_t count;
    read_shards(&facts, NULL, NULL);
    const struct wp_module_fact *modules = wp_modules_build(&facts.pool, &facts, &count);
    assert_int_equal(count, 3);
    assert_string_equal(modules[0].name, "libc.so.6"); /* all time stands on recv or memcpy, which ran for half of it */
    assert_int_equal(modules[0].inclusive_ns, 1080000000);
    assert_int_equal(modules[0].running_ns, 540000000);
    assert_int_equal(modules[0].count, 180);
    assert_int_equal(modules[0].functions, 2);
    assert_string_equal(modules[1].name, "web");
    assert_int_equal(modules[1].inclusive_ns, 1080000000);
    assert_int_equal(modules[1].running_ns + modules[1].waiting_ns, 0);
    assert_string_equal(modules[2].name, "postgres");
    assert_int_equal(modules[2].inclusive_ns, 540000000);
    wp_facts_fini(&facts);
}

static void hosts_and_what_went_between_them(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_hosts hosts;
    read_fleet(&facts, false);
    wp_hosts_build(&hosts, &facts.pool, &facts);
    assert_int_equal(hosts.count, 4);
    assert_string_equal(hosts.rows[0].name, "web-1.example");
    assert_string_equal(hosts.rows[0].kernel, "6.1.0-28-amd64");
    assert_string_equal(hosts.rows[0].labels, "rack=r7");
    assert_string_equal(hosts.rows[0].clock, "usable");
    assert_int_equal(hosts.rows[0].events, 3430542);
    assert_int_equal(hosts.rows[0].dropped, 30);
    assert_int_equal(hosts.rows[0].unpaired, 904);
    assert_int_equal(hosts.rows[0].ambiguous, 2);
    const struct wp_host_pair *first = &hosts.pairs[0];
    assert_string_equal(hosts.rows[first->to].name, "web-1.example");
    assert_string_equal(hosts.rows[first->from].name, "db-3.example");
    assert_non_null(first->edge);
    assert_int_equal(first->edge->bound_ns, 40000);
    uint64_t bytes = 0, waited = 0;
    for (size_t i = 0; i < hosts.pair_count; i++) {
        bytes += hosts.pairs[i].bytes;
        waited += hosts.pairs[i].edge ? hosts.pairs[i].edge->waited_ns : 0;
    }
    assert_int_equal(bytes, 4 * 73400320ull); /* names with dots in them are parted where both halves are hosts */
    assert_int_equal(waited, 274800000000ull);
    wp_facts_fini(&facts);
}

static void hostile_hosts_are_only_names(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_hosts hosts;
    read_fleet(&facts, true);
    wp_hosts_build(&hosts, &facts.pool, &facts);
    assert_false(facts.pool.failed);
    assert_true(hosts.count >= sample_hostile_count);
    for (size_t i = 0; i < hosts.pair_count; i++)
        assert_true(hosts.pairs[i].from < hosts.count && hosts.pairs[i].to < hosts.count);
    wp_facts_fini(&facts);
}

/* The card of a release speaks of one aggregate, and counts what changed in all: its sentence must not deny what the
 * marks say. */
static void an_index_card_says_what_its_marks_count(void **state)
{
    (void)state;
    const struct {
        size_t main[2], other[2]; /* worse, better */
        const char *note;
    } rows[] = {
        {{0, 0}, {0, 0}, "main is the same"},
        {{0, 0}, {0, 2}, "web: web changed"},
        {{0, 0}, {2, 0}, "web: web changed"},
        {{0, 1}, {0, 2}, "main is the same"},
        {{0, 1}, {1, 0}, "web: web changed"},
        {{1, 0}, {5, 5}, "main is the same"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_site_summary site = {0};
        struct wp_display display;
        struct wp_error err = {0};
        struct wp_release_summary *release = wp_summary_release(&site, "v1");
        struct wp_aggregate_summary *row = wp_summary_row(&site, release), *other = wp_summary_row(&site, release);
        row->name = "main";
        row->change = "main is the same";
        row->worse = rows[i].main[0];
        row->better = rows[i].main[1];
        other->name = "web";
        other->change = "web changed";
        other->worse = rows[i].other[0];
        other->better = rows[i].other[1];
        wp_display_init(&display, &(struct wp_page_id){.page = WP_PAGE_INDEX});
        assert_int_equal(wp_page_index(&display, &site, &err), 0);
        assert_string_equal(display.subtitle, "One release");
        const struct wp_item *card = display.first;
        while (card && card->kind != WP_ITEM_CARD)
            card = card->next;
        assert_non_null(card);
        assert_string_equal(card->note, rows[i].note);
        assert_int_equal(card->worse, rows[i].main[0] + rows[i].other[0]);
        wp_display_fini(&display);
        wp_summary_fini(&site);
    }
}

/* Waiting for a path that is told where it is counted itself stands behind what is, however long it was. */
static void findings_do_not_begin_with_what_is_counted_elsewhere(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    wp_report_add(report, sample_node(report, "[pool];f;sleep:futex;path:[pool]"), WP_OTHER_PATH, 9000, 9);
    wp_report_add(
        report, sample_node(report, "[pool];f;sleep:futex;[db];g;sleep:fsync;io:vda write"), WP_BLOCKING_IO, 700, 7);
    wp_report_add(report, sample_node(report, "[pool];f;sleep:futex;[db];g"), WP_UNDERSTOOD_FUNCTIONS, 50, 1);
    wp_report_add(report, sample_node(report, "[pool];f"), WP_UNDERSTOOD_FUNCTIONS, 300, 3);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, &err), 0);
    assert_non_null(
        strstr(facts.findings[0].sentence, "pool waits in `f` for db, which waits 700 ns (7.0 %) for the disk"));
    assert_string_equal(facts.findings[1].sentence, "pool waits 9.00 µs (90 %) in `f` for another of its threads.");
    assert_non_null(strstr(facts.findings[2].sentence, "pool itself, which runs its own code, first of all in f"));
    assert_non_null(strstr(facts.findings[3].sentence, "waiting for db, which runs its own code, first of all in g"));
    uint64_t told = 0;
    for (size_t i = 0; i < facts.finding_count; i++)
        told += facts.findings[i].ns;
    assert_int_equal(told, facts.total_ns); /* each time is told once */
    wp_facts_fini(&facts);
}

static const struct wp_graph_wait *find_wait(const struct wp_wait_graph *graph, const char *from, const char *to)
{
    for (uint32_t i = 0; i < graph->wait_count; i++)
        if (!strcmp(graph->parties[graph->waits[i].from].name, from) &&
            !strcmp(graph->parties[graph->waits[i].to].name, to))
            return &graph->waits[i];
    fail_msg("%s does not wait for %s", from, to);
    return NULL;
}

static void processes_wait_for_each_other(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_wait_graph graph;
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    /* a waits for b, b for a again and for a disk; a for a peer, and for nobody knows what. */
    const struct {
        const char *stack;
        enum wp_category category;
        uint64_t ns;
    } rows[] = {
        {"[a];f;sleep:x;[b];g", WP_UNDERSTOOD_FUNCTIONS, 100},
        {"[a];f;sleep:x;[b];g;sleep:y;[a];h", WP_UNDERSTOOD_FUNCTIONS, 40},
        {"[a];f;sleep:x;[b];g;sleep:y;[a];h;sleep:x;[b];g", WP_UNDERSTOOD_FUNCTIONS, 5},
        {"[a];f;sleep:x;[b];g;sleep:z;io:vda write;io:queue", WP_IO_QUEUE, 7},
        {"[a];f;sleep:z;tcp:10.0.0.1:80", WP_REMOTE_NOT_TRACED, 11},
        {"[a];f;sleep:q", WP_UNACCOUNTED, 13},
        {"[a];f", WP_UNDERSTOOD_FUNCTIONS, 1000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        wp_report_add(report, sample_node(report, rows[i].stack), rows[i].category, rows[i].ns, 2);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, &err), 0);
    wp_wait_graph_processes(&graph, &facts.pool, &facts);
    assert_int_equal(graph.party_count, 5);
    for (uint32_t i = 0; i < graph.party_count; i++)
        assert_true(graph.parties[i].is_base == !strcmp(graph.parties[i].name, "a"));
    assert_int_equal(find_wait(&graph, "a", "b")->ns, 152); /* the inner one is not counted again */
    assert_int_equal(find_wait(&graph, "a", "b")->count, 4);
    assert_int_equal(find_wait(&graph, "b", "a")->ns, 45);
    assert_int_equal(find_wait(&graph, "b", "vda")->ns, 7);
    assert_int_equal(find_wait(&graph, "a", "tcp:10.0.0.1:80")->ns, 11);
    assert_int_equal(find_wait(&graph, "a", "unexplained")->ns, 13);
    assert_int_equal(graph.knot_count, 1);
    assert_string_equal(graph.knots[0].name, "a \xe2\x87\x84 b");
    assert_int_equal(graph.knots[0].ns, 152);
    assert_int_equal(find_wait(&graph, "b", "vda")->knot, 0);
    wp_facts_fini(&facts);
}

static void hosts_wait_for_each_other(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_wait_graph graph;
    read_fleet(&facts, false);
    wp_wait_graph_hosts(&graph, &facts.pool, &facts);
    assert_int_equal(graph.wait_count, 4);
    assert_int_equal(graph.knot_count, 1);
    assert_string_equal(graph.knots[0].name, "auth-1.example \xe2\x87\x84 web-1.example");
    wp_facts_fini(&facts);
}

/* Two rings joined by one arc, a loop, and a node alone. */
static void components_of_a_graph(void **state)
{
    (void)state;
    const struct wp_arc arcs[] = {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}, {4, 3}, {5, 5}};
    uint32_t component[7];
    assert_int_equal(wp_components(arcs, sizeof(arcs) / sizeof(*arcs), 7, component), 0);
    assert_true(component[0] == component[1] && component[1] == component[2] && component[3] == component[4]);
    assert_true(component[0] != component[3] && component[5] != component[6] && component[5] != component[0]);
    static struct wp_arc chain[100000]; /* deeper than a recursion could go */
    uint32_t *deep = calloc(100001, sizeof(*deep));
    for (uint32_t i = 0; i < 100000; i++)
        chain[i] = (struct wp_arc){i, i + 1};
    assert_int_equal(wp_components(chain, 100000, 100001, deep), 0);
    chain[99999].to = 0;
    assert_int_equal(wp_components(chain, 100000, 100001, deep), 0);
    assert_true(deep[0] == deep[99999] && deep[0] != deep[100000]);
    free(deep);
}

static const struct wp_call *find_call(
    const struct wp_facts *facts, const struct wp_calls *calls, const char *from, const char *to)
{
    for (uint32_t i = 0; i < calls->call_count; i++)
        if (!strcmp(wp_facts_frame_name(facts, calls->calls[i].from), from) &&
            !strcmp(wp_facts_frame_name(facts, calls->calls[i].to), to))
            return &calls->calls[i];
    fail_msg("%s does not call %s", from, to);
    return NULL;
}

/* main calls walk and other; walk and visit call each other, and walk itself; both lead to leaf. */
static void recursion_is_folded_into_cliques(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_calls calls;
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    static const char *const stacks[] = {"[p];main;walk", "[p];main;walk;walk;leaf",
        "[p];main;walk;visit;walk;visit;leaf", "[p];main;other;walk", "[p];main",
        "[p];main;other;walk;sleep:read;[q];main;walk"};
    for (unsigned i = 0; i < 6; i++)
        wp_report_add(report, sample_node(report, stacks[i]), WP_UNDERSTOOD_FUNCTIONS, 1u << (4 * i), 1);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, &err), 0);
    assert_int_equal(wp_calls_build(&calls, &facts, &err), 0);
    assert_int_equal(calls.clique_count, 1);
    assert_string_equal(calls.cliques[0].name, "walk, visit");
    assert_int_equal(calls.cliques[0].ns, 0x101111);
    assert_int_equal(
        find_call(&facts, &calls, "main", "walk")->caller_ns, 0x111); /* that below q is inside the other's */
    assert_int_equal(find_call(&facts, &calls, "other", "walk")->caller_ns, 0x101000);
    assert_int_equal(find_call(&facts, &calls, "walk", "visit")->caller_ns, 0);
    assert_int_equal(find_call(&facts, &calls, "walk", "visit")->inside_ns, 0x100);
    assert_int_equal(find_call(&facts, &calls, "walk", "walk")->inside_ns, 0x10);
    assert_int_equal(find_call(&facts, &calls, "walk", "leaf")->callee_ns, 0x10);
    assert_int_equal(find_call(&facts, &calls, "visit", "leaf")->callee_ns, 0x100);
    assert_int_equal(find_call(&facts, &calls, "walk", "sleep:read")->callee_ns, 0x100000);
    wp_calls_fini(&calls);
    wp_facts_fini(&facts);
}

/* In any recording: the callers of a function, those of its clique taken as one, add up to its inclusive time. */
static void callers_add_up(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_calls calls;
    struct wp_error err = {0};
    struct wp_report *reports[] = {
        sample_report(), sample_fleet_report(), sample_large_report(4000), sample_hostile_report()};
    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++) {
        assert_int_equal(wp_facts_build(&facts, "v1", "main", reports[i], NULL, &err), 0);
        assert_int_equal(wp_calls_build(&calls, &facts, &err), 0);
        for (size_t f = 0; f < facts.function_count; f++) {
            uint64_t callers = 0, callees = 0;
            uint32_t frame = facts.functions[f].frame;
            for (uint32_t c = 0; c < calls.call_count; c++) {
                callers += calls.calls[c].to == frame ? calls.calls[c].caller_ns : 0;
                callees += calls.calls[c].from == frame ? calls.calls[c].callee_ns : 0;
            }
            assert_true(callees <= facts.functions[f].inclusive_ns);
            if (calls.clique[frame] && calls.cliques[calls.clique[frame] - 1].members > 1)
                continue;
            assert_int_equal(callers, facts.functions[f].inclusive_ns);
        }
        wp_calls_fini(&calls);
        wp_facts_fini(&facts);
    }
}

static void time_is_laid_out_by_bucket(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_over_time timeline;
    struct wp_error err = {0};
    struct wp_report *report = sample_fleet_report();
    wp_report_add(report, sample_node(report, "[web];old"), WP_UNDERSTOOD_FUNCTIONS, 77, 1); /* nobody knows when */
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, &err), 0);
    wp_over_time_build(&timeline, &facts.pool, &facts);
    assert_in_range(timeline.count, 32, 64);
    assert_int_equal(timeline.timeless_ns, 77);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < timeline.count; i++) {
        uint64_t at_s = (timeline.buckets[i].start_ns - 1790000000000000000ull) / 1000000000;
        sum += timeline.buckets[i].total_ns;
        if (timeline.buckets[i].start_ns > 1790000000000000000ull && (at_s < 180 || at_s > 330))
            assert_int_equal(timeline.buckets[i].categories[WP_IO_QUEUE], 0); /* happens from second 200 to 320 only */
        if (at_s > 210 && at_s < 300 && timeline.buckets[i].start_ns > 1790000000000000000ull)
            assert_true(timeline.buckets[i].categories[WP_IO_QUEUE] > 0);
    }
    assert_int_equal(sum, facts.total_ns - 77);
    wp_facts_fini(&facts);
}

static void disks_and_connections(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_io_facts io;
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    wp_report_add(report, sample_node(report, "[a];f@x;sleep:read;io:vda read"), WP_BLOCKING_IO, 1000, 4);
    wp_report_add(report, sample_node(report, "[a];f@x;sleep:read;io:vda read /data/my read.db"), WP_BLOCKING_IO, 3, 1);
    wp_report_add(report, sample_node(report, "[a];f@x;sleep:read;io:vda read;io:queue"), WP_IO_QUEUE, 200, 3);
    wp_report_add(report, sample_node(report, "[a];g@x;sleep:read;io:8:16 write"), WP_BLOCKING_IO, 30, 1);
    wp_report_add(report, sample_node(report, "[a];f@x;sleep:recv;tcp:1.2.3.4:80"), WP_REMOTE_NOT_TRACED, 500, 2);
    wp_report_add(report, sample_node(report, "[a];f@x;sleep:recv;tcp:5.6.7.8:80"), WP_MESSAGE_IN_FLIGHT, 50, 5);
    wp_report_add(report,
        sample_node(report, "[a];f@x;sleep:recv;tcp:5.6.7.8:80 request;[b];h@y;sleep:read;io:vda read"), WP_BLOCKING_IO,
        7000, 6);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, &err), 0);
    wp_io_facts_build(&io, &facts.pool, &facts);
    assert_int_equal(io.disk_count, 4);
    assert_string_equal(io.disks[0].process, "b"); /* who waits is the one below it, not the one far below */
    assert_string_equal(io.disks[0].function, "h");
    assert_string_equal(io.disks[1].what, "vda");
    assert_string_equal(io.disks[1].kind, "read");
    assert_int_equal(io.disks[1].total_ns, 1200);
    assert_int_equal(io.disks[1].device_ns, 1000);
    assert_int_equal(io.disks[1].queue_ns, 200);
    assert_int_equal(io.disks[1].count, 4);
    assert_string_equal(io.disks[1].file, "");
    assert_string_equal(io.disks[2].what, "8:16");
    assert_string_equal(io.disks[3].what, "vda");
    assert_string_equal(io.disks[3].kind, "read");
    assert_string_equal(io.disks[3].file, "/data/my read.db");
    assert_int_equal(io.disks[3].total_ns, 3);
    assert_int_equal(io.connection_count, 2);
    assert_string_equal(io.connections[0].what, "tcp:5.6.7.8:80");
    assert_int_equal(io.connections[0].total_ns, 7050);
    assert_int_equal(io.connections[0].device_ns, 50);
    assert_int_equal(io.connections[0].pieces, 11); /* at the other end too */
    assert_int_equal(io.connections[1].queue_ns, 500);
    assert_int_equal(io.connections[1].count, 2);
    wp_facts_fini(&facts);
}

static void whole_stacks(void **state)
{
    (void)state;
    struct wp_stack_ends ends;
    struct wp_report *report = wp_report_create();
    wp_report_add(report, sample_node(report, "[a];_start@a;main@a;sleep:read"), WP_UNDERSTOOD_FUNCTIONS, 100, 1);
    wp_report_add(report, sample_node(report, "[a];_start@a;main@a;sleep:read;[b];inner@b"), WP_UNDERSTOOD_FUNCTIONS, 7,
        1); /* b's counts */
    wp_report_add(report, sample_node(report, "[a];inner@b;sleep:read;[b];__clone3@libc.so.6;f@b"),
        WP_UNDERSTOOD_FUNCTIONS, 20, 1);
    wp_report_add(report, sample_node(report, "[k];k:ret_from_fork;k:kthread"), WP_UNDERSTOOD_FUNCTIONS, 3, 1);
    wp_report_add(report, sample_node(report, "[a];sched:runnable"), WP_SCHEDULER, 1000, 1);
    wp_report_add(report, sample_node(report, "[a]"), WP_UNACCOUNTED, 1000, 1);
    assert_int_equal(wp_stack_ends_measure(report, &ends), 0);
    assert_int_equal(ends.stack_ns, 130);
    assert_int_equal(ends.whole_ns, 123);
    wp_report_destroy(report);
}

static uint64_t part_count(const struct wp_service_fact *service, const char *who, unsigned part)
{
    for (size_t i = 0; i < service->row_count; i++)
        if (!strcmp(service->rows[i].who, who) && service->rows[i].part == part)
            return service->rows[i].slow_ns - service->rows[i].usual_ns;
    fail_msg("no row of %s", who);
    return 0;
}

static void slow_requests_say_why(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_error err = {0};
    struct service_options options = {.seed = 1, .seconds = 2, .requests = 10};
    struct wp_report *report = sample_service(&options);
    size_t count;
    bool is_found = false;
    sample_service_requests(report, 2000, 1);
    wp_report_transaction(report, "tcp port 81", 5, 900); /* one alone proves nothing and says nothing */
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, &err), 0);
    const struct wp_service_fact *services = wp_slow_requests_build(&facts.pool, &facts, &count);
    assert_int_equal(count, 2);
    assert_string_equal(services[0].name, "tcp port 80");
    assert_int_equal(services[0].count, 2000);
    assert_in_range(services[0].slow_count, 100, 140); /* one of twenty, as near as buckets tell */
    assert_in_range(services[0].median_ns, 13000000, 17000000);
    assert_true(services[0].p99_ns > 3 * services[0].median_ns && services[0].slowest_ns >= services[0].p99_ns * 8 / 9);
    assert_string_equal(services[0].rows[0].who, "web › postgres");
    assert_string_equal(services[0].rows[0].what, "pread");
    assert_int_equal(services[0].rows[0].part, WP_BLOCKING_IO);
    assert_int_equal(part_count(&services[0], "", WP_PART_UNREAD), 0);
    uint64_t usual = 0, slow = 0; /* what they consist of is all of it, but for the rounding of each */
    for (size_t i = 0; i < services[0].row_count; i++) {
        usual += services[0].rows[i].usual_ns;
        slow += services[0].rows[i].slow_ns;
    }
    assert_in_range(usual, services[0].usual_mean_ns - 20, services[0].usual_mean_ns);
    assert_in_range(slow, services[0].slow_mean_ns - 20, services[0].slow_mean_ns);
    assert_int_equal(services[1].slow_count, 0);
    for (size_t i = 0; i < facts.finding_count; i++)
        is_found |= !strcmp(facts.findings[i].kind, "slow") &&
            strstr(facts.findings[i].sentence, "web › postgres waits for the disk in pread.");
    assert_true(is_found);
    wp_facts_fini(&facts);
}

static uint64_t blocked(const struct wp_facts *facts, const char *name, uint64_t *waiting)
{
    for (size_t i = 0; i < facts->function_count; i++)
        if (!strcmp(facts->functions[i].name, name)) {
            *waiting = facts->functions[i].waiting_ns;
            return facts->functions[i].blocked_ns;
        }
    fail_msg("no function %s", name);
    return 0;
}

/* A wait's innermost function is the kernel's scheduler; whose wait it is says who called it, where somebody did. */
static void waits_belong_to_who_called_the_scheduler(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    uint64_t waiting;
    assert_non_null(report);
    wp_report_add(report,
        sample_node(report, "[a];main@a;read@libc.so.6;k:pipe_read;k:schedule;k:__schedule;sleep:read"), WP_TIMEOUT, 5,
        2);
    wp_report_add(
        report, sample_node(report, "[a];main@a;schedule@a;sleep:read"), WP_TIMEOUT, 3, 1); /* its own of that name */
    wp_report_add(report, sample_node(report, "[b];k:poll_schedule_timeout.constprop.0;k:__schedule;sleep:poll"),
        WP_TIMEOUT, 7, 1);
    if (wp_facts_build(&facts, "v1", "main", report, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(blocked(&facts, "pipe_read", &waiting), 5);
    assert_int_equal(waiting, 0); /* what is called stands on it: the times of callers add up */
    assert_int_equal(blocked(&facts, "__schedule", &waiting), 7); /* nobody else is there */
    assert_int_equal(waiting, 12);
    uint64_t own = 0;
    for (size_t i = 0; i < facts.function_count; i++)
        own += facts.functions[i].own_count;
    assert_int_equal(own, 4);
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_told_apart_by_shard),
        cmocka_unit_test(time_by_object_file),
        cmocka_unit_test(hosts_and_what_went_between_them),
        cmocka_unit_test(hostile_hosts_are_only_names),
        cmocka_unit_test(an_index_card_says_what_its_marks_count),
        cmocka_unit_test(findings_do_not_begin_with_what_is_counted_elsewhere),
        cmocka_unit_test(processes_wait_for_each_other),
        cmocka_unit_test(hosts_wait_for_each_other),
        cmocka_unit_test(components_of_a_graph),
        cmocka_unit_test(recursion_is_folded_into_cliques),
        cmocka_unit_test(callers_add_up),
        cmocka_unit_test(time_is_laid_out_by_bucket),
        cmocka_unit_test(disks_and_connections),
        cmocka_unit_test(whole_stacks),
        cmocka_unit_test(slow_requests_say_why),
        cmocka_unit_test(waits_belong_to_who_called_the_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
