/* SPDX-License-Identifier: Apache-2.0 */
#include "common/buffer.h"
#include "common/intern.h"
#include "storage/env/txn.h"
#include "storage/kind/exemplars_store.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/report/exemplars.h"
#include "storage/report/report.h"
#include "storage/report/report_rows.h"
#include "storage/report/trace.h"
#include "storage/report/trace_encode.h"
#include "tests/reporter/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define START 1790000000000000000ull /* 2026-09-21 */

/* What a frame is by how it is written: "[p]", "sleep:", "io:", "tcp:", "sched:", "irq:"..., "k:f", "f@object". */
static void read_frame(const char *text, enum wp_frame_style *style, char name[128], char object[128])
{
    const char *at = strchr(text, '@');
    snprintf(name, 128, "%.*s", at ? (int)(at - text) : (int)strlen(text), text);
    snprintf(object, 128, "%s", at ? at + 1 : "");
    if (text[0] == '[')
        *style = WP_STYLE_PROCESS;
    else if (!strncmp(text, "sleep:", 6))
        *style = WP_STYLE_SLEEP;
    else if (!strncmp(text, "io:", 3))
        *style = WP_STYLE_IO;
    else if (!strncmp(text, "tcp:", 4) || !strncmp(text, "room to send", 12))
        *style = WP_STYLE_NET;
    else if (!strncmp(text, "sched:", 6))
        *style = WP_STYLE_SCHED;
    else if (!strncmp(text, "timer:", 6) || !strncmp(text, "path:", 5) || !strncmp(text, "for:", 4) ||
        !strncmp(text, "starts:", 7) || !strncmp(text, "irq:", 4) || !strncmp(text, "deadlock:", 9) ||
        !strncmp(text, "signal:", 7))
        *style = WP_STYLE_WAIT;
    else if (!strncmp(text, "k:", 2)) {
        *style = WP_STYLE_KERNEL;
        memmove(name, name + 2, strlen(name) - 1);
    } else
        *style = WP_STYLE_USER;
}

/* The node of a stack written "[make];main@make;sleep:wait4;...": in the report or, if that is NULL, in the trace. */
static uint32_t node_of(struct wp_report *report, struct wp_trace *trace, const char *stack)
{
    char copy[2048], name[128], object[128], *rest = copy;
    uint32_t node = 0;
    snprintf(copy, sizeof(copy), "%s", stack);
    for (char *part; (part = strsep(&rest, ";"));) {
        enum wp_frame_style style;
        read_frame(part, &style, name, object);
        if (report)
            node = wp_report_child(report, node, wp_report_frame(report, style, name, object));
        else
            node = wp_trace_child(trace, node, wp_trace_frame(trace, style, name, object));
    }
    return node;
}

uint32_t sample_node(struct wp_report *report, const char *stack)
{
    return node_of(report, NULL, stack);
}

uint32_t sample_trace_node(struct wp_trace *trace, const char *stack)
{
    return node_of(NULL, trace, stack);
}

#define MAKE "[make];_start@make;main@make;update_goal_chain@make;reap_children@make;wait4@libc.so.6;sleep:wait4"
#define SH MAKE ";[sh];_start@dash;main@dash;evaltree@dash;waitproc@dash;sleep:wait4"
#define CC1 SH ";[cc1];_start@cc1;main@cc1;toplev::main@cc1;do_compile@cc1"
#define READ CC1 ";c_parse_file@cc1;_cpp_read_file@cc1;read@libc.so.6;k:vfs_read;k:filemap_fault;sleep:read"
#define CURL SH ";[curl];_start@curl;main@curl;curl_multi_poll@libcurl.so.4;poll@libc.so.6;sleep:poll"
#define NGINX CURL ";tcp:127.0.0.1:80 request;[nginx];_start@nginx;ngx_worker_process_cycle@nginx"

static const struct {
    const char *stack;
    enum wp_category category;
    uint64_t ns, count;
} build[] = {
    {"[make];_start@make;main@make;read_all_makefiles@make", WP_UNDERSTOOD_FUNCTIONS, 41 * MS, 38},
    {"[make];_start@make;main@make;update_goal_chain@make;start_waiting_job@make", WP_UNDERSTOOD_FUNCTIONS, 22 * MS,
        21},
    {"[make]", WP_RUNNING_NOT_SAMPLED, 9 * MS, 210},
    {MAKE, WP_SCHEDULER, 6 * MS, 48},
    {SH ";sched:runnable", WP_SCHEDULER, 11 * MS, 96},
    {MAKE ";[sh];_start@dash;main@dash;evaltree@dash;forkshell@dash", WP_UNDERSTOOD_FUNCTIONS, 34 * MS, 30},
    {CC1 ";c_parse_file@cc1;c_parser_declaration@cc1;c_parser_expression@cc1", WP_UNDERSTOOD_FUNCTIONS, 412 * MS, 405},
    {CC1 ";c_parse_file@cc1;c_parser_declaration@cc1;finish_function@cc1;ggc_internal_alloc@cc1",
        WP_UNDERSTOOD_FUNCTIONS, 138 * MS, 130},
    {CC1 ";execute_pass_list@cc1;execute_one_pass@cc1;ira@cc1", WP_UNDERSTOOD_FUNCTIONS, 603 * MS, 588},
    {CC1 ";execute_pass_list@cc1;execute_one_pass@cc1;df_analyze@cc1", WP_UNDERSTOOD_FUNCTIONS, 251 * MS, 240},
    {CC1 ";execute_pass_list@cc1;execute_one_pass@cc1;k:asm_exc_page_fault;k:clear_page_erms", WP_UNDERSTOOD_FUNCTIONS,
        88 * MS, 80},
    {CC1 ";execute_pass_list@cc1;sched:preempted", WP_INVOLUNTARY, 19 * MS, 44},
    {READ ";io:read vda", WP_BLOCKING_IO, 716 * MS, 1204},
    {READ ";io:queue vda", WP_IO_QUEUE, 47 * MS, 310},
    {READ ";sched:runnable", WP_SCHEDULER, 14 * MS, 1190},
    {SH ";[as];_start@as;main@as;perform_an_assembly_pass@as", WP_UNDERSTOOD_FUNCTIONS, 176 * MS, 170},
    {SH ";[ld];_start@ld;main@ld;lang_process@ld;bfd_elf_final_link@libbfd.so", WP_UNDERSTOOD_FUNCTIONS, 64 * MS, 60},
    {SH ";[ld];_start@ld;main@ld;fsync@libc.so.6;sleep:fsync;io:write vda", WP_BLOCKING_IO, 83 * MS, 3},
    {SH ";[sleep];_start@sleep;main@sleep;clock_nanosleep@libc.so.6;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP,
        200 * MS, 1},
    {CURL, WP_MESSAGE_IN_FLIGHT, 1 * MS, 4},
    {NGINX ";ngx_http_process_request@nginx;SHA512_Update@libcrypto.so.3", WP_UNDERSTOOD_FUNCTIONS, 58 * MS, 55},
    {NGINX ";ngx_http_upstream_connect@nginx;epoll_wait@libc.so.6;sleep:epoll_wait;tcp:10.0.0.7:5432",
        WP_REMOTE_NOT_TRACED, 96 * MS, 2},
    {NGINX ";epoll_wait@libc.so.6;sleep:epoll_wait;timer:expired", WP_TIMEOUT, 12 * MS, 1},
    {"[make];_start@make;main@make;jobserver_acquire@make;read@libc.so.6;sleep:read;path:[cc1]", WP_OTHER_PATH, 37 * MS,
        5},
    {"[make];_start@make;main@make;jobserver_acquire@make;read@libc.so.6;sleep:read;path:[kworker/0:1]", WP_OTHER_PATH,
        3 * MS, 2},
    {"[kworker/0:1];k:worker_thread;k:process_one_work;k:wb_workfn", WP_UNDERSTOOD_FUNCTIONS, 3 * MS, 2},
    {"[make];_start@make;main@make;eval_makefile@make;k:do_sys_openat2;sleep:openat", WP_KERNEL_BLOCK, 2 * MS, 3},
    {READ ";irq:virtio0", WP_HARDWARE_WAIT, 8 * MS, 6},
    {SH ";[cc1];_start@cc1;main@cc1;finalize@cc1;futex@libc.so.6;sleep:futex", WP_UNACCOUNTED, 44 * MS, 9},
    {CURL ";[curl];_start@curl;getaddrinfo@libc.so.6;sleep:recvmsg", WP_UNACCOUNTED, 21 * MS, 2},
};

static void add_processes(struct wp_report *report)
{
    static const struct {
        const char *comm;
        uint32_t pid;
        uint64_t total, running;
    } rows[] = {{"make", 4100, 3213, 72}, {"sh", 4101, 3096, 34}, {"cc1", 4103, 1430, 950}, {"cc1", 4109, 910, 542},
        {"as", 4105, 176, 176}, {"ld", 4117, 147, 64}, {"curl", 4130, 188, 1}, {"nginx", 812, 166, 58},
        {"sleep", 4127, 200, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint32_t row = wp_report_process(report, "builder", rows[i].comm, rows[i].pid, START + i * MS);
        wp_report_process_add(report, row, rows[i].total * MS, rows[i].running * MS);
    }
}

/* A logger that a message set going and that nobody waited for, on the disk in part. */
static void add_detached(struct wp_report *report)
{
    struct wp_report *work = wp_report_detached_add(report);
    uint32_t run = sample_node(work, "[make];starts:message;[logger];main@logger;format_line@logger");
    uint32_t disk = sample_node(work, "[make];starts:message;[logger];main@logger;k:vfs_write;sleep:write;io:vda");
    wp_report_add(work, run, WP_UNDERSTOOD_FUNCTIONS, 9 * MS, 6);
    wp_report_add(work, disk, WP_BLOCKING_IO, 4 * MS, 1);
    wp_report_add(work, sample_node(work, "[sh];starts:new thread;[sleep]"), WP_RUNNING_NOT_SAMPLED, 2 * MS, 1);
    wp_report_process_add(work, wp_report_process(work, "builder", "logger", 977, START), 13 * MS, 9 * MS);
    wp_report_detached(report, 15 * MS);
}

struct wp_report *sample_report(void)
{
    struct wp_report *report = wp_report_create();
    if (!report)
        return NULL;
    for (size_t i = 0; i < sizeof(build) / sizeof(*build); i++) {
        uint32_t node = node_of(report, NULL, build[i].stack);
        wp_report_add(report, node, build[i].category, build[i].ns, build[i].count);
        if (build[i].category == WP_UNACCOUNTED)
            wp_report_unexplained_add(report,
                &(struct wp_unexplained){.node = node,
                    .reason = wp_report_string(report, "no waking was recorded for it"),
                    .ns = build[i].ns,
                    .count = build[i].count,
                    .longest_ns = build[i].ns,
                    .tid = 4217});
    }
    add_processes(report);
    wp_report_activity(report, START, START + 2950 * MS);
    wp_report_host(report, "builder");
    wp_report_events(report, "switch", 48210, 12);
    wp_report_events(report, "waking", 24007, 0);
    wp_report_events(report, "sample", 2714, 0);
    wp_report_limit(report, "depth", 2, 3 * MS);
    wp_report_window(report, 2950 * MS, 2950 * MS);
    wp_report_uncertain(report, 31 * MS);
    add_detached(report);
    return report;
}

/* A trace is drawn as it is told: `at` moves on with each step. */
struct teller {
    struct wp_trace *trace;
    uint64_t at;
    uint32_t make, sh, cc1, other;
};

static uint32_t add_thread(struct wp_trace *trace, const char *comm, uint32_t pid, uint32_t base)
{
    struct wp_trace_thread row = {
        wp_trace_string(trace, "builder"), wp_trace_string(trace, comm), pid, pid, base, 0, 0};
    wp_trace_add_thread(trace, &row);
    return trace->thread_count - 1;
}

static void step(struct teller *teller, uint32_t thread, const char *stack, enum wp_category category, uint64_t us)
{
    struct wp_trace *trace = teller->trace;
    uint64_t ns = us * 1000;
    struct wp_trace_piece piece = {0, node_of(NULL, trace, stack), teller->at, ns, category};
    wp_trace_add_piece(trace, &piece);
    if (category == WP_UNDERSTOOD_FUNCTIONS || category == WP_RUNNING_NOT_SAMPLED) {
        struct wp_trace_run run = {thread, trace->threads[thread].comm, teller->at, ns, 0};
        wp_trace_add_run(trace, &run);
    }
    teller->at += ns;
}

static void asleep(struct teller *teller, uint32_t thread, const char *label, uint64_t from)
{
    struct wp_trace_sleep row = {thread, wp_trace_string(teller->trace, label), WP_OTHER_PATH, from, teller->at - from};
    wp_trace_add_sleep(teller->trace, &row);
}

static void hand_over(struct teller *teller, enum wp_link_kind kind, uint32_t from, uint32_t to)
{
    struct wp_trace_link row = {kind, from, to, teller->at, teller->at + 9000};
    wp_trace_add_link(teller->trace, &row);
    teller->at += 9000;
}

static void compile_one(struct teller *teller, unsigned round)
{
    uint64_t make_slept, sh_slept, started;
    step(teller, teller->make, "[make];_start@make;main@make;update_goal_chain@make;start_waiting_job@make",
        WP_UNDERSTOOD_FUNCTIONS, 900 + round * 37 % 500);
    make_slept = teller->at;
    hand_over(teller, WP_LINK_FORK, teller->make, teller->sh);
    step(teller, teller->sh, MAKE ";[sh];_start@dash;main@dash;evaltree@dash;forkshell@dash", WP_UNDERSTOOD_FUNCTIONS,
        700);
    sh_slept = teller->at;
    hand_over(teller, WP_LINK_FORK, teller->sh, teller->cc1);
    for (unsigned i = 0; i < 12; i++) {
        step(teller, teller->cc1, CC1 ";c_parse_file@cc1;c_parser_declaration@cc1", WP_UNDERSTOOD_FUNCTIONS,
            300 + (i * 97 + round * 41) % 400);
        started = teller->at;
        step(teller, teller->cc1, READ ";io:read vda", WP_BLOCKING_IO, 200 + (i * 61 + round * 17) % 900);
        asleep(teller, teller->cc1, "_cpp_read_file", started);
    }
    step(teller, teller->cc1, CC1 ";execute_pass_list@cc1;execute_one_pass@cc1;ira@cc1", WP_UNDERSTOOD_FUNCTIONS, 6400);
    step(teller, teller->cc1, CC1 ";execute_pass_list@cc1;execute_one_pass@cc1;df_analyze@cc1", WP_UNDERSTOOD_FUNCTIONS,
        2500);
    hand_over(teller, WP_LINK_WAKING, teller->cc1, teller->sh);
    asleep(teller, teller->sh, "waitproc", sh_slept);
    step(teller, teller->sh, MAKE ";[sh]", WP_RUNNING_NOT_SAMPLED, 120);
    hand_over(teller, WP_LINK_WAKING, teller->sh, teller->make);
    asleep(teller, teller->make, "reap_children", make_slept);
}

/* A second control path beside the first, woken from it. */
static void tell_other(struct teller *teller, uint64_t from, uint64_t until)
{
    struct wp_trace *trace = teller->trace;
    uint32_t node = node_of(NULL, trace, "[kworker/0:1];k:worker_thread;k:process_one_work;k:wb_workfn");
    for (uint64_t at = from; at + 2 * MS < until; at += 5 * MS) {
        struct wp_trace_piece piece = {1, node, at, 700000, WP_UNDERSTOOD_FUNCTIONS};
        struct wp_trace_run run = {teller->other, trace->threads[teller->other].comm, at, 700000, 0};
        struct wp_trace_link link = {WP_LINK_WAKING, teller->cc1, teller->other, at - 30000, at};
        wp_trace_add_piece(trace, &piece);
        wp_trace_add_run(trace, &run);
        wp_trace_add_link(trace, &link);
    }
}

struct wp_trace *sample_trace(void)
{
    struct teller teller = {.trace = wp_trace_create()};
    if (!teller.trace)
        return NULL;
    teller.make = add_thread(teller.trace, "make", 4100, 1);
    teller.sh = add_thread(teller.trace, "sh", 4101, 0);
    teller.cc1 = add_thread(teller.trace, "cc1", 4103, 0);
    teller.other = add_thread(teller.trace, "kworker/0:1", 88, 0);
    struct wp_trace_path base = {teller.make, 1}, other = {teller.other, 0};
    wp_trace_add_path(teller.trace, &base);
    wp_trace_add_path(teller.trace, &other);
    teller.trace->start_ns = START;
    for (unsigned round = 0; round < 8; round++)
        compile_one(&teller, round);
    tell_other(&teller, 4 * MS, teller.at);
    teller.trace->length_ns = teller.at;
    return teller.trace;
}

/* The trace as exemplars: waits, and requests on a usual service and on one called as its first thread. */
void sample_exemplars(struct wp_exemplars *set, const struct wp_trace *trace)
{
    struct wp_exemplar_window window = {.host = (char *)(uintptr_t) "h1", .tid = trace->threads[0].tid};
    const char *comm = wp_intern_text(trace->strings, trace->threads[0].comm);
    char name[WP_EXEMPLARS_NAME + 1];
    snprintf(name, sizeof(name), "%s", comm);
    const char *const services[] = {"", "tcp port 80", name};
    wp_trace_encode(trace, &window.trace, NULL);
    for (unsigned i = 0; i < 12 && window.trace.size <= WP_EXEMPLARS_BYTES; i++) {
        window.service = (char *)(uintptr_t)services[i % 3];
        window.start_ns = trace->start_ns + i;
        window.length_ns = trace->length_ns >> i / 3;
        wp_exemplars_add(set, &window);
    }
    wp_buffer_fini(&window.trace);
}

static int put_exemplars(
    struct wp_txn *txn, const char *aggregate, uint64_t timebox_s, const struct wp_trace *trace, struct wp_error *err)
{
    struct wp_exemplars set = {0};
    sample_exemplars(&set, trace);
    int rc = set.count
        ? wp_txn_join_exemplars(
              txn, &(struct wp_report_place){.aggregate = aggregate, .timebox_s = timebox_s, .shard = "s1"}, &set, err)
        : 0;
    wp_exemplars_fini(&set);
    return rc;
}

int sample_put(const char *root, const char *release, const char *aggregate, uint64_t timebox_s,
    struct wp_report *report, struct wp_trace *trace, struct wp_error *err)
{
    return sample_put_shard(root, release, &(struct sample_place){aggregate, timebox_s, "s1"}, report, trace, err);
}

int sample_put_shard(const char *root, const char *release, const struct sample_place *place, struct wp_report *report,
    struct wp_trace *trace, struct wp_error *err)
{
    const char *aggregate = place->aggregate;
    uint64_t timebox_s = place->timebox_s;
    struct wp_store *store = NULL;
    int rc = report ? wp_store_open(&store, root, true, err) : wp_error_set(err, -ENOMEM, "no sample");
    for (int tries = 0; !rc && tries < 20; tries++) {
        struct wp_txn *txn = NULL;
        rc = wp_txn_begin(&txn, store, release, true, err);
        if (rc)
            break;
        rc = wp_txn_register_shard(txn, place->shard, err);
        if (!rc)
            rc = wp_txn_add_host_report(
                txn, &(struct wp_report_place){aggregate, timebox_s, place->shard, NULL}, report, err);
        if (!rc && trace)
            rc = wp_txn_put_trace(txn,
                &(struct wp_report_place){.aggregate = aggregate, .timebox_s = timebox_s, .shard = place->shard}, trace,
                err);
        if (!rc && trace)
            rc = put_exemplars(txn, aggregate, timebox_s, trace, err);
        if (rc)
            wp_txn_abort(txn);
        else
            rc = wp_txn_commit(txn, err);
        if (rc != -EAGAIN)
            break;
        rc = 0; /* the map grew: the same again */
    }
    wp_store_close(store);
    wp_report_destroy(report);
    wp_trace_destroy(trace);
    return rc;
}
