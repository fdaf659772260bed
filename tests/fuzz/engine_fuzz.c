/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that have types and ids in range and otherwise no sense: ten bytes each, over a small host. Whatever they are,
 * the categories of a report sum to its total.
 */
#include "fuzz.h"

#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_read.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define THREADS 8u
#define SOCKETS 4u
#define STACKS 3u
#define EVENT_BYTES 10u

struct host {
    struct wp_bytes strings[3];
    struct wp_thread_entry threads[THREADS];
    struct wp_socket_entry sockets[SOCKETS];
    struct wp_object_entry object;
    struct wp_frame_entry frame;
    struct wp_stack_entry stacks[STACKS];
};

static void make_host(struct host *host, struct wp_batch *batch)
{
    *host = (struct host){.strings = {{"base", 4}, {"other", 5}, {"file", 4}},
        .object = {.path = 3},
        .frame = {.object = 1, .function = 3}};
    for (uint32_t i = 0; i < THREADS; i++)
        host->threads[i] = (struct wp_thread_entry){.tid = 100 + i,
            .pid = 100 + i / 2 * 2,
            .comm = 1 + i % 2,
            .parent = i,
            .flags = i == THREADS - 1 ? WP_THREAD_KERNEL
                : i < 2               ? WP_THREAD_COMMAND
                                      : 0};
    for (uint32_t i = 0; i < SOCKETS; i++)
        host->sockets[i] = (struct wp_socket_entry){.family = AF_INET,
            .protocol = i < 2 ? IPPROTO_TCP : IPPROTO_UDP,
            .local_port = (uint16_t)(1000 + i % 2),
            .remote_port = (uint16_t)(1001 - i % 2)};
    for (uint32_t i = 0; i < STACKS; i++)
        host->stacks[i] = (struct wp_stack_entry){i, 1};
    batch->strings = host->strings;
    batch->string_count = 3;
    batch->threads = host->threads;
    batch->thread_count = THREADS;
    batch->sockets = host->sockets;
    batch->socket_count = SOCKETS;
    batch->objects = &host->object;
    batch->object_count = 1;
    batch->frames = &host->frame;
    batch->frame_count = 1;
    batch->stacks = host->stacks;
    batch->stack_count = STACKS;
    batch->first_string = batch->first_thread = batch->first_socket = batch->first_object = batch->first_frame =
        batch->first_stack = 1;
}

/* A time step, who and what, from ten bytes. */
static void make_event(const uint8_t *b, uint64_t *time, struct wp_event *e)
{
    unsigned kind = 1 + b[0] % (WP_EVENT_KINDS - 1);
    *time += (uint64_t)b[1] << (b[2] % 24); /* up to four seconds */
    *e = (struct wp_event){.time_ns = *time,
        .kind = (uint8_t)kind,
        .flags = b[3],
        .cpu = b[2] >> 6,
        .thread = b[4] % (THREADS + 1),
        .other = b[5] % (THREADS + 1),
        .stack = b[6] % (STACKS + 1),
        .a = b[7],
        .b = b[8] % 4,
        .c = b[9] % 16,
        .d = b[6] >> 4};
    if (wp_event_has_socket(e))
        e->d %= SOCKETS + 1;
    if (wp_event_is_block(e))
        e->other %= 4; /* a string */
    if (wp_event_has_wait(e))
        e->wait = b[8] % 4;
    if (kind == WP_EVENT_RENAME)
        e->c %= 4;
}

static void check(const struct wp_report *report)
{
    uint64_t sum = 0;
    for (int i = 0; i < WP_CATEGORIES; i++)
        sum += wp_report_category(report, (enum wp_category)i);
    if (sum != wp_report_total(report) || wp_report_uncertain_ns(report) > wp_report_total(report))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_aggregate_rule rules[2] = {{.name = "a"}, {.name = "b"}};
    struct wp_host_session_options options = {.rules = rules,
        .rule_count = 2,
        .epoch_ns = 1000000000,
        .lateness_ns = 2000000000,
        .history_ns =
            10000000000}; /* as they are by default: shorter epochs are many more, and nothing else happens in them */
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h"};
    struct wp_host_session *session;
    struct host host;
    struct wp_error err = {0};
    struct wp_event *events = calloc(size / EVENT_BYTES + 1, sizeof(*events));
    uint64_t time = 1000000000;
    if (!events || wp_selector_parse(&rules[0].selector, "command", NULL) ||
        wp_selector_parse(&rules[1].selector, "comm=other", NULL) ||
        wp_host_session_create(&session, &hello, "v1", &options, NULL, NULL))
        abort();
    struct wp_batch batch = {.seq = 1, .events = events, .anchor_mono_ns = time, .anchor_real_ns = time};
    make_host(&host, &batch);
    for (size_t at = 0; size - at >= EVENT_BYTES && batch.event_count < 4096; at += EVENT_BYTES)
        make_event(bytes + at, &time, &events[batch.event_count++]);
    batch.watermark_ns = time;
    if (wp_host_session_take(session, &batch, &err))
        abort();
    wp_host_session_close(session);
    for (uint32_t i = 0; aggregate_of(session, i); i++) { /* one is made when its first process comes up */
        check(closed_report_of(session, i));
    }
    wp_host_session_destroy(session);
    wp_selector_fini(&rules[0].selector);
    wp_selector_fini(&rules[1].selector);
    free(events);
    return 0;
}
