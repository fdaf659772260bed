/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/report_lines.h"
#include "storage/report/report_rows.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"

#include "made_report.h"

#include <stdlib.h>

static const char *const names[] = {"[make]", "main", "read", "sleep:read", "io:read vda", "", "a;b", "\xff\xfe",
    "<script>", "std::vector<int, std::allocator<int> >::push_back(int const&)", "\x1b[31m", "tcp:10.0.0.7:5432",
    "[kworker/0:1]", "x", "y"};
#define NAMES (sizeof(names) / sizeof(*names))
static const char *const objects[] = {"", "libc.so.6", "vmlinux", "/usr/bin/make"};
static const char *const hosts[] = {"web-1", "web-2", "db", ""};
static const char *const kinds[] = {"switch", "waking", "sample"};
static const char *const limits[] = {"depth", "width"};

uint64_t made_random(uint64_t *seed) /* splitmix64 (Steele, Lea and Flood) */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

const char *made_name(unsigned frame)
{
    return names[frame % NAMES];
}

void made_facts(struct made_fact *facts, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        struct made_fact *fact = &facts[i];
        uint64_t kind = made_random(&seed) % 16;
        *fact = (struct made_fact){.kind = kind < MADE_KINDS ? (enum made_kind)kind : MADE_TIME};
        fact->depth = (unsigned)(made_random(&seed) % 12);
        for (unsigned d = 0; d < fact->depth; d++)
            fact->frames[d] = (unsigned)(made_random(&seed) % (NAMES * 3));
        fact->a = made_random(&seed) % 1000000;
        fact->b = made_random(&seed) % 4 ? made_random(&seed) % 5000 : 0;
        fact->c = made_random(&seed);
        fact->d = made_random(&seed);
    }
}

void made_shuffle(struct made_fact *facts, size_t count, uint64_t *seed)
{
    for (size_t i = count; i-- > 1;) {
        size_t j = (size_t)(made_random(seed) % (i + 1));
        struct made_fact swap = facts[i];
        facts[i] = facts[j];
        facts[j] = swap;
    }
}

static uint32_t node_of(struct wp_report *report, const struct made_fact *fact)
{
    uint32_t node = 0;
    for (unsigned d = 0; d < fact->depth; d++) {
        unsigned frame = fact->frames[d];
        enum wp_frame_style style = (enum wp_frame_style)(1 + frame % (WP_STYLES - 1));
        node = wp_report_child(report, node, wp_report_frame(report, style, made_name(frame), objects[frame % 4]));
    }
    return node;
}

void made_interval(const struct made_fact *fact, uint64_t *start_ns, uint64_t *end_ns)
{
    *start_ns = 1790000000000000000u + fact->c % 3600000000000u;
    *end_ns = *start_ns + (fact->d % 97 ? fact->a * (1 + fact->b) : fact->a * 1000000000u);
}

void made_add(struct wp_report *report, const struct made_fact *fact)
{
    switch (fact->kind) {
    case MADE_TIME:
        wp_report_add(report, node_of(report, fact), (enum wp_category)(fact->c % WP_CATEGORIES), fact->a, fact->b);
        break;
    case MADE_TIMED: {
        uint64_t start_ns, end_ns;
        made_interval(fact, &start_ns, &end_ns);
        wp_report_add_at(report, node_of(report, fact), (enum wp_category)(fact->c % WP_CATEGORIES), start_ns, end_ns);
        break;
    }
    case MADE_PROCESS:
        wp_report_process_add(report,
            wp_report_process(
                report, hosts[fact->c % 4], made_name((unsigned)(fact->d % 7)), (uint32_t)(fact->c % 9), fact->d % 3),
            fact->a, fact->b);
        break;
    case MADE_UNEXPLAINED:
        wp_report_unexplained_add(report,
            &(struct wp_unexplained){.node = node_of(report, fact),
                .reason = wp_report_string(report, made_name((unsigned)(fact->d % 5))),
                .ns = fact->a,
                .count = fact->b,
                .longest_ns = fact->a,
                .tid = (uint32_t)(fact->c % 11)});
        break;
    case MADE_ACTIVITY:
        wp_report_activity(report, 1000000 + fact->a, 1000000 + fact->a + fact->b * 7);
        break;
    case MADE_HOST:
        wp_report_host(report, hosts[fact->c % 4]);
        break;
    case MADE_EVENTS:
        wp_report_events(report, kinds[fact->c % 3], fact->a, fact->b);
        break;
    case MADE_LIMIT:
        wp_report_limit(report, limits[fact->c % 2], fact->a, fact->b);
        break;
    case MADE_WINDOW:
        wp_report_window(report, fact->a, fact->a + fact->b);
        break;
    case MADE_UNCERTAIN:
        wp_report_uncertain(report, fact->a);
        break;
    case MADE_EDGE:
        wp_report_edge(report, hosts[fact->c % 4], hosts[fact->d % 4],
            &(struct wp_report_edge){.messages = fact->a % 5,
                .waited_ns = fact->a,
                .transit_ns = fact->b,
                .transit_max_ns = fact->b,
                .bound_max_ns = fact->a % 100});
        break;
    case MADE_TRANSACTION:
        wp_report_transaction(report, hosts[fact->c % 4], fact->a, fact->b);
        wp_report_transaction_part(report,
            &(struct wp_transaction_part){hosts[fact->c % 4], made_name((unsigned)(fact->d % 7)),
                made_name((unsigned)(fact->a % 5)), (uint32_t)(fact->d % WP_PARTS), wp_latency_bucket(fact->b),
                fact->a});
        break;
    case MADE_LINE: {
        uint32_t site = wp_report_site(report, fact->c % 5 ? made_name((unsigned)(fact->c % 5)) : "",
            (uint32_t)(fact->d % 11), made_name((unsigned)(fact->d % 7)));
        wp_report_line_add(report,
            &(struct wp_report_line){
                site, (uint32_t)(fact->d % WP_CATEGORIES), fact->a + fact->b, fact->b, fact->b / 2});
        wp_report_call_add(report,
            &(struct wp_report_call){site, wp_report_string(report, made_name((unsigned)(fact->c % 9))),
                1 + (uint32_t)(fact->c % (WP_STYLES - 1)), fact->d % 2, fact->a, fact->a / 2});
        break;
    }
    case MADE_DETACHED:
    case MADE_KINDS: {
        struct wp_report *work = wp_report_detached_add(report);
        uint32_t frame = wp_report_frame(work, WP_STYLE_PROCESS, made_name((unsigned)(fact->c % 5)), "");
        wp_report_detached(report, fact->a);
        wp_report_add(work, wp_report_child(work, 0, frame), fact->d % WP_CATEGORIES, fact->a, 1);
        break;
    }
    }
}

struct wp_report *made_report(const struct made_fact *facts, size_t count)
{
    struct wp_report *report = wp_report_create();
    for (size_t i = 0; report && i < count; i++)
        made_add(report, &facts[i]);
    return report;
}

struct wp_trace *made_trace(uint64_t seed, unsigned rows)
{
    struct wp_trace *trace = wp_trace_create();
    trace->start_ns = made_random(&seed) >> 2;
    trace->length_ns = 1000000;
    trace->omitted = 3;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t text = wp_trace_string(trace, made_name(i));
        struct wp_trace_thread thread = {wp_trace_string(trace, hosts[i]), text, i + 1, i + 2, i == 0, 0, 0};
        struct wp_trace_path path = {i, i < 2};
        wp_trace_add_thread(trace, &thread);
        wp_trace_add_path(trace, &path);
    }
    for (unsigned i = 0; i < rows; i++) {
        uint32_t node = 0, thread = (uint32_t)(made_random(&seed) % 4);
        uint64_t at = made_random(&seed) % 1000000, length = made_random(&seed) % 1000;
        for (unsigned d = 0; d < i % 6; d++)
            node = wp_trace_child(
                trace, node, wp_trace_frame(trace, 1 + d % (WP_STYLES - 1), made_name(i + d), objects[d % 4]));
        uint32_t category = i % WP_CATEGORIES;
        wp_trace_add_piece(trace, &(struct wp_trace_piece){thread, node, at, length, category});
        wp_trace_add_run(trace, &(struct wp_trace_run){thread, wp_trace_string(trace, made_name(i)), at, length, 0});
        wp_trace_add_sleep(
            trace, &(struct wp_trace_sleep){thread, wp_trace_string(trace, made_name(i)), category, at, length});
        wp_trace_add_link(
            trace, &(struct wp_trace_link){WP_LINK_WAKING + i % 6, thread, (thread + 1) % 4, at, at - length});
    }
    return trace;
}
