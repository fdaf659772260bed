/* SPDX-License-Identifier: Apache-2.0 */
/* A window of all that happens on a host: threads that no path holds, a row for each program, where and beside what
 * they ran. */
#include "aggregator/account/system_window.h"

#include "aggregator/session/host_session.h"
#include "storage/report/trace_decode.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define MS 1000000u
#define START (1000 * (uint64_t)MS)
#define DISK (253u << 20)

struct recording {
    struct wp_event events[64];
    uint32_t count;
    uint64_t now_ns;
};

static void put(struct recording *r, uint64_t after_ns, struct wp_event event)
{
    r->now_ns += after_ns;
    event.time_ns = r->now_ns;
    r->events[r->count++] = event;
}

/* The command (1) waits for its child (2), which executes another program (3) and reads from the disk; a server (4)
 * runs beside them on its own CPU, and a device's interrupt wakes it. */
static void make(struct recording *r)
{
    *r = (struct recording){.now_ns = START};
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 3, .other = 4});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_FORK, .cpu = 0, .thread = 1, .other = 2});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 0, .thread = 1, .other = 2, .c = WP_CAUSE_TASK});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_INTERRUPTIBLE});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_EXEC, .cpu = 1, .thread = 2, .other = 3});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 3, .thread = 4, .c = WP_STATE_INTERRUPTIBLE});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_BLOCK_INSERT, .thread = 3, .d = DISK, .b = 77, .a = 8, .c = 4096});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_BLOCK_ISSUE, .thread = 3, .d = DISK, .b = 77});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .thread = 3, .c = WP_STATE_UNINTERRUPTIBLE});
    put(r, 4 * MS, (struct wp_event){.kind = WP_EVENT_BLOCK_COMPLETE, .d = DISK, .b = 77});
    put(r, 0,
        (struct wp_event){.kind = WP_EVENT_WAKING,
            .cpu = 1,
            .other = 3,
            .c = WP_CAUSE_BLOCK,
            .d = DISK,
            .a = 77,
            .flags = WP_CONTEXT_HARDIRQ});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 3});
    put(r, MS,
        (struct wp_event){
            .kind = WP_EVENT_WAKING, .cpu = 3, .other = 4, .c = WP_CAUSE_IRQ, .d = 24, .flags = WP_CONTEXT_HARDIRQ});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 3, .other = 4});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 1, .thread = 3, .other = 1, .c = WP_CAUSE_TASK});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .thread = 3, .c = WP_STATE_DEAD});
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_DEAD});
}

/* A thread (1) writes to itself over a connection of this host, and reads it 20 ms later, four epochs on. */
static void make_late_read(struct recording *r)
{
    *r = (struct recording){.now_ns = START};
    put(r, 0, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_SOCK_SEND, .thread = 1, .d = 1, .a = 100, .c = 100});
    put(r, MS, (struct wp_event){.kind = WP_EVENT_SOCK_SEND, .thread = 1, .d = 1, .a = 150, .c = 50});
    put(r, 19 * MS, (struct wp_event){.kind = WP_EVENT_SOCK_RECV, .thread = 1, .d = 2, .a = 100, .c = 100});
    put(r, 9 * MS, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_DEAD});
}

static struct wp_bytes names[] = {
    {"sh", 2}, {"cc1", 3}, {"server", 6}, {"/system.slice/server.service", 28}, {"vda", 3}};

static struct wp_trace *window_of(const struct recording *r)
{
    struct wp_aggregate_rule rule = {.name = "a"};
    struct wp_system_window *window = wp_system_window_create();
    struct wp_host_session_options options = {.rules = &rule,
        .rule_count = 1,
        .epoch_ns = 5 * MS, /* several, so that each row is looked at again */
        .lateness_ns = MS,
        .history_ns = 10000000000,
        .timebox_s = 3600,
        .system = window};
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .session = {1}};
    struct wp_thread_entry threads[] = {{.tid = 10, .pid = 10, .comm = 1, .flags = WP_THREAD_COMMAND},
        {.tid = 11, .pid = 11, .comm = 1, .parent = 1}, {.tid = 11, .pid = 11, .comm = 2, .parent = 1},
        {.tid = 40, .pid = 40, .comm = 3, .cgroup = 4}};
    struct wp_socket_entry sockets[] = {{AF_INET, IPPROTO_TCP, 40000, 80, {127, 0, 0, 1}, {127, 0, 0, 1}, 1, 0},
        {AF_INET, IPPROTO_TCP, 80, 40000, {127, 0, 0, 1}, {127, 0, 0, 1}, 1, 0}};
    struct wp_device_entry devices[] = {{.device = DISK, .name = 5}};
    struct wp_batch batch = {.seq = 1,
        .first_string = 1,
        .strings = names,
        .string_count = 5,
        .first_thread = 1,
        .first_socket = 1,
        .sockets = sockets,
        .socket_count = 2,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .threads = threads,
        .thread_count = 4,
        .devices = devices,
        .device_count = 1,
        .events = (struct wp_event *)(uintptr_t)r->events,
        .event_count = r->count,
        .watermark_ns = r->now_ns};
    struct wp_host_session *session;
    struct wp_buffer bytes = {0};
    struct wp_trace *trace = NULL;
    struct wp_error err = {0};
    assert_int_equal(wp_selector_parse(&rule.selector, "command", NULL), 0);
    assert_int_equal(wp_host_session_create(&session, &hello, "v1", &options, NULL, NULL), 0);
    assert_int_equal(wp_host_session_take(session, &batch, &err), 0);
    wp_host_session_resolve(session);
    wp_host_session_close(session);
    wp_host_session_destroy(session); /* the window stands by itself */
    assert_true(wp_system_window_has_rows(window));
    assert_int_equal(wp_system_window_encode(window, &bytes, NULL), 0);
    assert_int_equal(wp_trace_decode(&trace, bytes.data, bytes.size, &err), 0);
    wp_buffer_fini(&bytes);
    wp_system_window_destroy(window);
    wp_selector_fini(&rule.selector);
    return trace;
}

static const char *text(const struct wp_trace *trace, uint32_t id)
{
    return wp_intern_text(trace->strings, id);
}

/* The row of that program, of which there is one. */
static uint32_t row_of(const struct wp_trace *trace, uint32_t tid, const char *comm)
{
    uint32_t found = UINT32_MAX, count = 0;
    for (uint32_t i = 0; i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid && !strcmp(text(trace, trace->threads[i].comm), comm)) {
            found = i;
            count++;
        }
    assert_int_equal(count, 1);
    return found;
}

static uint64_t ran(const struct wp_trace *trace, uint32_t thread, uint32_t cpu)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < trace->run_count; i++)
        if (trace->runs[i].thread == thread) {
            assert_int_equal(trace->runs[i].cpu, cpu + 1);
            ns += trace->runs[i].length_ns;
        }
    return ns;
}

static unsigned links(const struct wp_trace *trace, enum wp_link_kind kind, uint32_t from, uint32_t to)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < trace->link_count; i++)
        count += trace->links[i].kind == kind && trace->links[i].from_thread == from && trace->links[i].to_thread == to;
    return count;
}

static void every_thread_that_ran_has_a_row(void **state)
{
    (void)state;
    struct recording r;
    make(&r);
    struct wp_trace *trace = window_of(&r);
    uint32_t command = row_of(trace, 10, "sh"), child = row_of(trace, 11, "sh"), program = row_of(trace, 11, "cc1"),
             server = row_of(trace, 40, "server");
    assert_int_equal(trace->thread_count, 4);
    assert_int_equal(trace->length_ns, r.now_ns - START);
    assert_true(trace->threads[command].is_base && !trace->threads[server].is_base);
    assert_true(trace->threads[program].is_on_path && !trace->threads[server].is_on_path);
    assert_string_equal(text(trace, trace->threads[server].group), "/system.slice/server.service");
    assert_int_equal(ran(trace, command, 0), 3 * MS);
    assert_int_equal(ran(trace, child, 1), MS);
    assert_int_equal(ran(trace, program, 1), 3 * MS);
    assert_int_equal(ran(trace, server, 3), 5 * MS);
    assert_int_equal(trace->omitted, 0);
    wp_trace_destroy(trace);
}

static void links_lead_from_program_to_program(void **state)
{
    (void)state;
    struct recording r;
    make(&r);
    struct wp_trace *trace = window_of(&r);
    uint32_t command = row_of(trace, 10, "sh"), child = row_of(trace, 11, "sh"), program = row_of(trace, 11, "cc1");
    assert_int_equal(links(trace, WP_LINK_FORK, command, child), 1);
    assert_int_equal(links(trace, WP_LINK_EXEC, child, program), 1);
    assert_int_equal(links(trace, WP_LINK_IO, program, program), 1);
    assert_int_equal(links(trace, WP_LINK_WAKING, program, command), 1);
    wp_trace_destroy(trace);
}

static void what_happens_beside_the_threads_is_there(void **state)
{
    (void)state;
    struct recording r;
    make(&r);
    struct wp_trace *trace = window_of(&r);
    assert_int_equal(trace->op_count, 2);
    const struct wp_trace_op *block = &trace->ops[0], *irq = &trace->ops[1];
    assert_int_equal(block->kind, WP_OP_BLOCK);
    assert_string_equal(text(trace, block->place), "vda");
    assert_int_equal(block->start_ns, 4 * MS);
    assert_int_equal(block->length_ns, 4 * MS);
    assert_int_equal(block->thread, row_of(trace, 11, "cc1") + 1);
    assert_int_equal(irq->kind, WP_OP_INTERRUPT);
    assert_string_equal(text(trace, irq->place), "irq 24");
    assert_int_equal(irq->start_ns, 9 * MS);
    assert_int_equal(irq->thread, row_of(trace, 40, "server") + 1);
    wp_trace_destroy(trace);
}

/* The connection's second message is never read: it has no length. */
static void a_message_lasts_until_it_is_read(void **state)
{
    (void)state;
    struct recording r;
    make_late_read(&r);
    struct wp_trace *trace = window_of(&r);
    assert_int_equal(trace->op_count, 2);
    assert_int_equal(trace->ops[0].kind, WP_OP_NETWORK);
    assert_string_equal(text(trace, trace->ops[0].label), "send 100 B");
    assert_int_equal(trace->ops[0].start_ns, MS);
    assert_int_equal(trace->ops[0].length_ns, 20 * MS);
    assert_string_equal(text(trace, trace->ops[1].label), "send 50 B");
    assert_int_equal(trace->ops[1].length_ns, 0);
    wp_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_thread_that_ran_has_a_row),
        cmocka_unit_test(links_lead_from_program_to_program), cmocka_unit_test(a_message_lasts_until_it_is_read),
        cmocka_unit_test(what_happens_beside_the_threads_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
