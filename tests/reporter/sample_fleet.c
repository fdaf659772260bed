/* SPDX-License-Identifier: Apache-2.0 */
/* Four hosts that wait for each other: web asks auth and a database; auth asks web back, which makes a knot. */
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/report/report.h"
#include "storage/report/report_rows.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample_fleet.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000ull
#define START 1790000000000000000ull
#define SECONDS 480u

#define WEB "[web];_start@web;serve@web;handle@web"
#define AUTH                                                                                                           \
    WEB ";check_token@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.2:7000 request;[auth];_start@auth;verify@auth"
#define BACK AUTH ";fetch_keys@auth;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.1:80 request;[web];_start@web;serve@web"
#define PG                                                                                                             \
    WEB ";query@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.3:5432 "                                                  \
        "request;[postgres];main@postgres;exec_simple_query@postgres"

static const struct {
    const char *stack;
    enum wp_category category;
    uint64_t us;          /* a second */
    unsigned from, until; /* seconds in which it happens */
} work[] = {
    {WEB ";render@web;format@web", WP_UNDERSTOOD_FUNCTIONS, 190000, 0, SECONDS},
    {WEB ";render@web;walk@web;walk@web;walk@web", WP_UNDERSTOOD_FUNCTIONS, 61000, 0, SECONDS},
    {WEB ";render@web;walk@web;visit@web;walk@web;leaf@web", WP_UNDERSTOOD_FUNCTIONS, 22000, 0, SECONDS},
    {WEB ";sched:runnable", WP_SCHEDULER, 9000, 60, SECONDS},
    {AUTH, WP_UNDERSTOOD_FUNCTIONS, 48000, 0, SECONDS},
    {AUTH ";fetch_keys@auth;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.1:80", WP_MESSAGE_IN_FLIGHT, 4000, 0, SECONDS},
    {BACK ";keys@web", WP_UNDERSTOOD_FUNCTIONS, 17000, 0, SECONDS},
    {WEB ";check_token@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.2:7000", WP_MESSAGE_IN_FLIGHT, 12000, 0, SECONDS},
    {PG ";ExecutorRun@postgres", WP_UNDERSTOOD_FUNCTIONS, 83000, 0, SECONDS},
    {PG ";XLogFlush@postgres;fdatasync@libc.so.6;sleep:fdatasync;io:vda write", WP_BLOCKING_IO, 140000, 0, SECONDS},
    {PG ";XLogFlush@postgres;fdatasync@libc.so.6;sleep:fdatasync;io:vda flush", WP_BLOCKING_IO, 260000, 200, 320},
    {PG ";XLogFlush@postgres;fdatasync@libc.so.6;sleep:fdatasync;io:vda write;io:queue", WP_IO_QUEUE, 31000, 200, 320},
    {PG ";heap_fetch@postgres;pread@libc.so.6;sleep:pread64;io:vdb read", WP_BLOCKING_IO, 22000, 0, SECONDS},
    {WEB ";query@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.3:5432", WP_MESSAGE_IN_FLIGHT, 15000, 0, SECONDS},
    {WEB ";ask_partner@web;recv@libc.so.6;sleep:recvfrom;tcp:203.0.113.9:443", WP_REMOTE_NOT_TRACED, 70000, 0, 300},
    {WEB ";resolve@web;recvmsg@libc.so.6;sleep:recvmsg;udp:10.0.0.53:53", WP_REMOTE_NOT_TRACED, 3000, 0, SECONDS},
    {WEB ";lock@web;futex@libc.so.6;sleep:futex", WP_UNACCOUNTED, 6000, 0, SECONDS},
};

static void add_process(
    struct wp_report *report, const char *host, const char *comm, uint32_t pid, uint64_t total_ms, uint64_t running_ms)
{
    wp_report_process_add(report, wp_report_process(report, host, comm, pid, START), total_ms * MS, running_ms * MS);
}

static void add_edge(struct wp_report *report, const char *from, const char *to, uint64_t messages, uint64_t waited_ms,
    uint64_t transit_us, uint64_t bound_us)
{
    struct wp_report_edge edge = {.messages = messages,
        .waited_ns = waited_ms * MS,
        .transit_ns = messages * transit_us * 1000,
        .transit_max_ns = transit_us * 9000,
        .bound_max_ns = bound_us * 1000};
    wp_report_edge(report, from, to, &edge);
}

struct wp_report *sample_fleet_report(void)
{
    struct wp_report *report = wp_report_create();
    for (size_t i = 0; report && i < sizeof(work) / sizeof(*work); i++) {
        uint32_t node = sample_node(report, work[i].stack);
        for (unsigned second = work[i].from; second < work[i].until; second++) {
            uint64_t at = START + second * 1000 * MS, ns = work[i].us * 1000;
            wp_report_add_at(report, node, work[i].category, at, at + ns - ns * (second % 7) / 20);
        }
        if (work[i].category == WP_UNACCOUNTED)
            wp_report_unexplained_add(report,
                &(struct wp_unexplained){.node = node,
                    .reason = wp_report_string(report, "no waking was recorded for it"),
                    .ns = SECONDS * work[i].us * 1000,
                    .count = SECONDS,
                    .longest_ns = SECONDS * work[i].us * 1000,
                    .tid = 4000 + (uint32_t)i});
    }
    if (!report)
        return NULL;
    add_process(report, "web-1.example", "web", 810, 300000, 120000);
    add_process(report, "web-2.example", "web", 822, 130000, 40000);
    add_process(report, "auth-1.example", "auth", 77, 39000, 23000);
    add_process(report, "db-3.example", "postgres", 4242, 168000, 39000);
    add_edge(report, "db-3.example", "web-1.example", 48211, 171000, 92, 40);
    add_edge(report, "db-3.example", "web-2.example", 20177, 61000, 95, 44);
    add_edge(report, "auth-1.example", "web-1.example", 30210, 33000, 180, 61);
    add_edge(report, "web-1.example", "auth-1.example", 30100, 9800, 178, 61);
    wp_report_activity(report, START, START + SECONDS * 1000 * MS);
    wp_report_host(report, "web-1.example");
    wp_report_host(report, "web-2.example");
    wp_report_host(report, "auth-1.example");
    wp_report_host(report, "db-3.example");
    wp_report_events(report, "switch", 9482100, 0);
    wp_report_events(report, "waking", 4240070, 120);
    wp_report_window(report, SECONDS * 1000 * MS, SECONDS * 1000 * MS);
    return report;
}

struct wp_report *sample_shard_report(unsigned shard)
{
    static const char *const hosts[] = {"web-1", "web-2", "web-3", "<b>web-4"};
    struct wp_report *report = wp_report_create();
    if (!report)
        return NULL;
    uint32_t web = sample_node(
        report, "[web];_start@web;serve@web;query@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.3:5432 request");
    uint32_t db = wp_report_child(report, web, wp_report_frame(report, WP_STYLE_PROCESS, "[postgres]@db-3", ""));
    uint32_t query =
        wp_report_child(report, db, wp_report_frame(report, WP_STYLE_USER, "exec_simple_query", "postgres"));
    uint32_t format = sample_node(report, "[web];_start@web;serve@web;format@web");
    uint32_t copy = wp_report_child(report, format, wp_report_frame(report, WP_STYLE_USER, "memcpy", "libc.so.6"));
    for (unsigned second = 0; second < 60; second++) {
        uint64_t at = START + (shard * 60 + second) * 1000 * MS, ns = (shard + 2) * MS;
        wp_report_add_at(report, query, WP_UNDERSTOOD_FUNCTIONS, at, at + ns);
        wp_report_add_at(report, copy, WP_UNDERSTOOD_FUNCTIONS, at + 500 * MS, at + 500 * MS + ns);
    }
    for (unsigned i = shard; i < (shard < 2 ? shard + 1 : 4u); i++) {
        wp_report_host(report, hosts[i]);
        add_process(report, hosts[i], "web", 800 + i, 120 * (shard + 2), 60 * (shard + 2));
    }
    wp_report_activity(report, START + shard * 60000 * MS, START + (shard + 1) * 60000 * MS);
    return report;
}

static const char *const fleet[] = {"web-2.example", "db-3.example", "web-1.example", "auth-1.example"};

static int put(struct wp_txn *txn, const char *aggregate, struct wp_error *err, const char *value, const char *key)
{
    return wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = aggregate},
        &(struct wp_metadata_writer){"s1", 1790000480}, key, value, err);
}

static int describe_host(
    struct wp_txn *txn, const char *aggregate, const char *host, const char *next, struct wp_error *err)
{
    static const char *const said[][2] = {{"uuid", "6d1f0c52-93a4-4f0e-8f57-0b3a6d0e91c4"},
        {"kernel", "6.1.0-28-amd64"}, {"machine", "x86_64"}, {"cpus", "16"},
        {"boot", "e3b0c442-98fc-4c14-9afb-f4c8996fb924"}, {"source", "bpf"}, {"version", "0.1.0"}, {"label.rack", "r7"},
        {"repaired", "3"}, {"clock.messages", "98311"}, {"clock.contradictions", "0"}, {"clock.state", "usable"}};
    static const char *const received[][2] = {
        {"messages", "51200"}, {"bytes", "73400320"}, {"retransmits", "17"}, {"retransmit_bytes", "24616"}};
    static const char *const elsewhere[][2] = {{"unpaired", "904"}, {"unpaired_bytes", "1190211"}, {"ambiguous", "2"}};
    char key[600];
    int rc = 0;
    for (size_t i = 0; i < sizeof(said) / sizeof(*said) && !rc; i++) {
        /* every second one as older stores have it */
        const char *name = host[strlen(host) - 1] % 2 && !strcmp(said[i][0], "repaired") ? "healed" : said[i][0];
        snprintf(key, sizeof(key), "host.%.200s.%s", host, name);
        rc = put(txn, NULL, err, host[0] == '<' ? host : said[i][1], key);
    }
    for (size_t i = 0; i < 4 && !rc; i++) {
        snprintf(key, sizeof(key), "network.%.200s.%.200s.%s", host, next, received[i][0]);
        rc = put(txn, NULL, err, received[i][1], key);
    }
    for (size_t i = 0; i < 3 && !rc; i++) {
        snprintf(key, sizeof(key), "network.%.200s.%s", host, elsewhere[i][0]);
        rc = put(txn, NULL, err, elsewhere[i][1], key);
    }
    snprintf(key, sizeof(key), "host.%.200s.events", host);
    rc = rc ? rc : put(txn, aggregate, err, "3430542", key);
    snprintf(key, sizeof(key), "host.%.200s.dropped", host);
    return rc ? rc : put(txn, aggregate, err, "30", key);
}

int sample_describe(const char *root, const char *release, const char *aggregate, bool is_hostile, struct wp_error *err)
{
    const char *const *names = is_hostile ? sample_hostile_names : fleet;
    unsigned count = is_hostile ? sample_hostile_count : sizeof(fleet) / sizeof(*fleet);
    struct wp_store *store = NULL;
    struct wp_txn *txn = NULL;
    int rc = wp_store_open(&store, root, true, err);
    if (!rc)
        rc = wp_txn_begin(&txn, store, release, true, err);
    for (unsigned i = 0; i < count && !rc; i++)
        rc = describe_host(txn, aggregate, names[i], names[(i + 1) % count], err);
    if (!rc)
        rc = put(txn, NULL, err, is_hostile ? "<script>alert(3)</script>" : "ci-run-4711",
            is_hostile ? "\"><b>" : "ci.build");
    if (!rc)
        rc = wp_txn_commit(txn, err);
    else
        wp_txn_abort(txn);
    wp_store_close(store);
    return rc;
}
