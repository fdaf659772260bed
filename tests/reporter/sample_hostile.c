/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/report.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"
#include "storage/report/trace.h"
#include "storage/value/latency.h"
#include "tests/reporter/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START 1790000000000000000ull

/* "LONG" stands for 10 KB. */
const char *const sample_hostile_names[] = {
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"onmouseover=\"alert(1)",
    "'><svg/onload=alert(1)>",
    "a&amp;b&lt;",
    "line\nbreak;semi",
    "tab\tand\rreturn",
    "\x1b[2J\x1b]0;title\x07",
    "\xff\xfe\x80 bad utf-8 \xc3",
    "\xe2\x80\xae right to left",
    "../../../../etc/passwd",
    "javascript:alert(1)",
    "%s%n%x",
    "*/alert(1)//",
    "\xe2\x80\xa8 line separator",
    "]]>",
    "LONG",
    "",
    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    "http://example.com/x.js",
    "${alert(1)}`",
};
const unsigned sample_hostile_count = sizeof(sample_hostile_names) / sizeof(*sample_hostile_names);

static const char *name_at(unsigned i, char *room, size_t size)
{
    const char *name = sample_hostile_names[i % sample_hostile_count];
    if (strcmp(name, "LONG"))
        return name;
    memset(room, 'L', size - 1);
    room[size - 1] = 0;
    memcpy(room, "<b>", 3);
    return room;
}

struct wp_report *sample_hostile_report(void)
{
    static const enum wp_frame_style styles[] = {WP_STYLE_PROCESS, WP_STYLE_USER, WP_STYLE_KERNEL, WP_STYLE_SLEEP,
        WP_STYLE_IO, WP_STYLE_NET, WP_STYLE_SCHED, WP_STYLE_WAIT};
    struct wp_report *report = wp_report_create();
    static char room[10240];
    for (unsigned i = 0; report && i < sample_hostile_count; i++) {
        const char *name = name_at(i, room, sizeof(room));
        uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, name, ""));
        for (unsigned s = 0; s < 8; s++) {
            node = wp_report_child(report, node, wp_report_frame(report, styles[s], name, name));
            wp_report_add(report, node, (enum wp_category)((i + s) % WP_CATEGORIES), 1000 + i * 8 + s, 1);
        }
        wp_report_process_add(report, wp_report_process(report, name, name, i, START), 5000 + i, 10);
        struct wp_report *work = wp_report_detached_add(report);
        uint32_t link = wp_report_frame(work, WP_STYLE_WAIT, "starts:message", name);
        uint32_t who = wp_report_child(work, 0, wp_report_frame(work, WP_STYLE_PROCESS, name, name));
        wp_report_add(work, i % 2 ? wp_report_child(work, who, link) : who, WP_BLOCKING_IO, 1 + i, 1);
        wp_report_process_add(work, wp_report_process(work, name, name, i, START), 1 + i, 1);
        wp_report_detached(report, 1 + i);
        wp_report_unexplained_each(report, node, name, 700 + i, 1, UINT32_MAX);
        wp_report_host(report, name);
        static char next[10240];
        wp_report_edge(report, name, name_at(i + 1, next, sizeof(next)),
            &(struct wp_report_edge){
                .messages = 3, .waited_ns = 100 + i, .transit_ns = 30, .bound_max_ns = UINT64_MAX});
        wp_report_events(report, name, 10, 1);
        wp_report_limit(report, name, 1, 1);
        uint32_t site = wp_report_site(report, name, i % 3 ? i : UINT32_MAX, name);
        wp_report_line_add(report, &(struct wp_report_line){site, i % WP_CATEGORIES, 9000 + i, 4000, 3000});
        wp_report_call_add(
            report, &(struct wp_report_call){site, wp_report_string(report, name), WP_STYLE_USER, i % 2, 5000, 10});
        wp_report_transaction(report, name, 1790000000000000000u + i, 5000);
        wp_report_transaction_part(
            report, &(struct wp_transaction_part){name, name, name, i % WP_PARTS, wp_latency_bucket(5000), 5000});
    }
    if (report)
        wp_report_activity(report, START, START + 40000);
    return report;
}

struct wp_trace *sample_hostile_trace(void)
{
    struct wp_trace *trace = wp_trace_create();
    static char room[10240];
    for (uint32_t i = 0; trace && i < sample_hostile_count; i++) {
        const char *name = name_at(i, room, sizeof(room));
        uint32_t text = wp_trace_string(trace, name);
        uint32_t node = wp_trace_child(trace, 0, wp_trace_frame(trace, WP_STYLE_PROCESS, name, name));
        node = wp_trace_child(trace, node, wp_trace_frame(trace, WP_STYLE_USER, name, name));
        struct wp_trace_thread thread = {text, text, i, i, i == 0, 0, 0};
        struct wp_trace_path path = {i, i == 0};
        struct wp_trace_piece piece = {i, node, i * 1000, 900, WP_UNDERSTOOD_FUNCTIONS};
        struct wp_trace_run run = {i, text, i * 1000, 900, 0};
        struct wp_trace_sleep sleep = {i, text, WP_TIMEOUT, 30000, 5000};
        struct wp_trace_link link = {
            WP_LINK_WAKING, i, (i + 1) % sample_hostile_count, i * 1000 + 900, i * 1000 + 1000};
        wp_trace_add_thread(trace, &thread);
        wp_trace_add_path(trace, &path);
        wp_trace_add_piece(trace, &piece);
        wp_trace_add_run(trace, &run);
        wp_trace_add_sleep(trace, &sleep);
        wp_trace_add_link(trace, &link);
    }
    if (trace) {
        trace->start_ns = START;
        trace->length_ns = 40000;
        trace->omitted = 3;
    }
    return trace;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct wp_report *sample_large_report(unsigned nodes)
{
    return sample_large_report_at(nodes, START);
}

struct wp_report *sample_large_report_at(unsigned nodes, uint64_t start_ns)
{
    struct wp_report *report = wp_report_create();
    uint32_t seed = 7, count = 0;
    char name[32];
    while (report && count < nodes) {
        uint32_t node = 0, depth = 8 + next_random(&seed) % 24;
        for (uint32_t i = 0; i < depth; i++) {
            uint32_t pick = next_random(&seed) % 100;
            pick = pick < 60 ? pick % 3 : pick % 17;
            snprintf(name, sizeof(name), i % 8 ? "function_%u_%u" : "[process%u_%u]", i, pick);
            node = wp_report_child(report, node,
                wp_report_frame(report, i % 8 ? WP_STYLE_USER : WP_STYLE_PROCESS, name, i % 8 ? "lib.so" : ""));
        }
        wp_report_add(
            report, node, (enum wp_category)(next_random(&seed) % WP_CATEGORIES), 1000 + next_random(&seed) % 90000, 1);
        wp_report_nodes(report, &count);
    }
    if (report)
        wp_report_activity(report, start_ns, start_ns + 1000000000);
    return report;
}

struct wp_trace *sample_large_trace(unsigned pieces)
{
    struct wp_trace *trace = wp_trace_create();
    uint32_t seed = 11;
    uint64_t at = 0;
    char name[32];
    for (uint32_t i = 0; trace && i < 24; i++) {
        snprintf(name, sizeof(name), "worker%u", i);
        struct wp_trace_thread thread = {wp_trace_string(trace, i % 2 ? "host-a" : "host-b"),
            wp_trace_string(trace, name), 100 + i / 4, 100 + i, i < 2, 0, 0};
        struct wp_trace_path path = {i, i < 2};
        wp_trace_add_thread(trace, &thread);
        wp_trace_add_path(trace, &path);
    }
    for (uint32_t i = 0; trace && i < pieces; i++) {
        uint32_t thread = next_random(&seed) % 24, node = 0;
        for (uint32_t d = 0; d < 12; d++) {
            snprintf(name, sizeof(name), d ? "f%u_%u" : "[worker%u]", d ? d : thread, next_random(&seed) % 3);
            node = wp_trace_child(trace, node, wp_trace_frame(trace, d ? WP_STYLE_USER : WP_STYLE_PROCESS, name, ""));
        }
        uint64_t length = 500 + next_random(&seed) % 20000;
        struct wp_trace_piece piece = {thread, node, at, length, WP_UNDERSTOOD_FUNCTIONS};
        struct wp_trace_run run = {thread, trace->threads[thread].comm, at, length, 0};
        struct wp_trace_link link = {WP_LINK_WAKING, thread, (thread + 5) % 24, at + length, at + length + 2000};
        wp_trace_add_piece(trace, &piece);
        wp_trace_add_run(trace, &run);
        if (i % 8 == 0)
            wp_trace_add_link(trace, &link);
        at += length;
    }
    if (trace)
        trace->length_ns = at;
    return trace;
}
