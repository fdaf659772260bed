/* SPDX-License-Identifier: Apache-2.0 */
/* Reports and traces to bytes and back, and bytes that nobody wrote. */
#include "tests/storage/made_report.h"

#include "proto/store.pb-c.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"
#include "storage/report/trace_decode.h"
#include "storage/report/trace_encode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static struct wp_buffer report_bytes(uint64_t seed)
{
    struct made_fact facts[200];
    struct wp_buffer bytes = {0};
    made_facts(facts, 200, seed);
    struct wp_report *report = made_report(facts, 200);
    assert_int_equal(wp_report_encode(report, &bytes, NULL), 0);
    wp_report_destroy(report);
    return bytes;
}

static struct wp_buffer trace_bytes(uint64_t seed)
{
    struct wp_buffer bytes = {0};
    struct wp_trace *trace = made_trace(seed, 60);
    assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
    wp_trace_destroy(trace);
    return bytes;
}

#define SAME(field) assert_int_equal(a->field, b->field)

static void assert_same_trees(const struct wp_trace *a, const struct wp_trace *b)
{
    SAME(frame_count);
    SAME(node_count);
    assert_memory_equal(a->frames, b->frames, a->frame_count * sizeof(*a->frames));
    assert_memory_equal(a->nodes, b->nodes, a->node_count * sizeof(*a->nodes));
    assert_int_equal(wp_intern_count(a->strings), wp_intern_count(b->strings));
    for (uint32_t i = 0; i < wp_intern_count(a->strings); i++)
        assert_string_equal(wp_intern_text(a->strings, i), wp_intern_text(b->strings, i));
}

static void assert_same_rows(const struct wp_trace *a, const struct wp_trace *b)
{
    SAME(piece_count);
    SAME(thread_count);
    SAME(run_count);
    SAME(sleep_count);
    SAME(link_count);
    SAME(path_count);
    for (uint32_t i = 0; i < a->piece_count; i++) {
        SAME(pieces[i].path);
        SAME(pieces[i].node);
        SAME(pieces[i].start_ns);
        SAME(pieces[i].length_ns);
        SAME(pieces[i].category);
    }
    for (uint32_t i = 0; i < a->run_count; i++) {
        SAME(runs[i].thread);
        SAME(runs[i].comm);
        SAME(runs[i].start_ns);
        SAME(runs[i].length_ns);
        SAME(runs[i].cpu);
    }
    for (uint32_t i = 0; i < a->sleep_count; i++) {
        SAME(sleeps[i].thread);
        SAME(sleeps[i].label);
        SAME(sleeps[i].category);
        SAME(sleeps[i].start_ns);
        SAME(sleeps[i].length_ns);
    }
    for (uint32_t i = 0; i < a->link_count; i++) {
        SAME(links[i].kind);
        SAME(links[i].from_thread);
        SAME(links[i].to_thread);
        SAME(links[i].from_ns);
        SAME(links[i].to_ns);
    }
    assert_memory_equal(a->threads, b->threads, a->thread_count * sizeof(*a->threads)); /* no padding in these */
    assert_memory_equal(a->paths, b->paths, a->path_count * sizeof(*a->paths));
}

static void trace_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 30; seed++) {
        struct wp_trace *trace = made_trace(seed, (unsigned)seed * 5), *back;
        struct wp_buffer bytes = {0}, again = {0};
        assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
        assert_int_equal(wp_trace_decode(&back, bytes.data, bytes.size, NULL), 0);
        assert_same_trees(trace, back);
        assert_same_rows(trace, back);
        assert_int_equal(trace->start_ns, back->start_ns);
        assert_int_equal(trace->length_ns, back->length_ns);
        assert_int_equal(trace->omitted, back->omitted);
        assert_int_equal(wp_trace_encode(back, &again, NULL), 0);
        assert_int_equal(again.size, bytes.size);
        assert_memory_equal(again.data, bytes.data, bytes.size);
        wp_trace_clear(trace);
        assert_int_equal(trace->piece_count, 0);
        assert_int_equal(trace->node_count, 1);
        wp_buffer_fini(&bytes);
        wp_buffer_fini(&again);
        wp_trace_destroy(trace);
        wp_trace_destroy(back);
    }
}

/* Whatever is taken must be whole: it can be merged, encoded and decoded again. */
static unsigned try_report(const uint8_t *bytes, size_t size)
{
    struct wp_report *report, *sum = wp_report_create(), *back;
    struct wp_error err = {0};
    struct wp_buffer out = {0};
    int rc = wp_report_decode(&report, bytes, size, &err);
    if (rc) {
        assert_null(report);
        assert_true(*err.text);
        assert_int_equal(rc, err.code);
        assert_int_equal(rc, -EBADMSG);
    } else {
        assert_int_equal(wp_report_merge(sum, report, NULL), 0);
        assert_int_equal(wp_report_encode(sum, &out, NULL), 0);
        assert_int_equal(wp_report_decode(&back, out.data, out.size, &err), 0);
        wp_report_destroy(back);
    }
    wp_report_destroy(report);
    wp_report_destroy(sum);
    wp_buffer_fini(&out);
    return rc != 0;
}

static unsigned try_trace(const uint8_t *bytes, size_t size)
{
    struct wp_trace *trace;
    struct wp_error err = {0};
    struct wp_buffer out = {0};
    int rc = wp_trace_decode(&trace, bytes, size, &err);
    if (rc) {
        assert_null(trace);
        assert_true(*err.text);
        assert_int_equal(rc, -EBADMSG);
    } else {
        assert_int_equal(wp_trace_encode(trace, &out, NULL), 0);
    }
    wp_trace_destroy(trace);
    wp_buffer_fini(&out);
    return rc != 0;
}

static void mutate(const struct wp_buffer *bytes, unsigned (*attempt)(const uint8_t *, size_t), uint64_t seed)
{
    uint8_t *copy = malloc(bytes->size);
    unsigned refused = 0, rounds = 3000;
    for (unsigned i = 0; i < rounds; i++) {
        size_t size = i % 3 ? bytes->size : (size_t)(made_random(&seed) % bytes->size);
        memcpy(copy, bytes->data, bytes->size);
        for (unsigned flips = i % 3 ? 1 + i % 4 : 0; flips-- > 0;)
            copy[made_random(&seed) % size] ^= (uint8_t)(1u << made_random(&seed) % 8);
        uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees a read past the end */
        memcpy(exact, copy, size);
        refused += attempt(exact, size);
        free(exact);
    }
    assert_true(refused > rounds / 4);
    assert_true(refused < rounds);
    free(copy);
}

static void any_bytes_are_survived(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        struct wp_buffer report = report_bytes(seed), trace = trace_bytes(seed);
        assert_int_equal(try_report(report.data, report.size), 0);
        assert_int_equal(try_trace(trace.data, trace.size), 0);
        mutate(&report, try_report, seed);
        mutate(&trace, try_trace, seed);
        wp_buffer_fini(&report);
        wp_buffer_fini(&trace);
    }
}

typedef Wakepath__Store__Report report_message;

static void bad_node_up(report_message *m)
{
    m->node_up[3] = 99;
}
static void bad_node_self(report_message *m)
{
    m->node_up[0] = 0;
}
static void bad_node_frame(report_message *m)
{
    m->node_frame[0] = (uint32_t)m->n_frame_name + 1;
}
static void bad_node_none(report_message *m)
{
    m->node_frame[0] = 0;
}
static void bad_node_twice(report_message *m)
{
    m->node_up[1] = 2, m->node_up[0] = 1, m->node_frame[1] = m->node_frame[0];
}
static void bad_style(report_message *m)
{
    m->frame_style.data[0] = WP_STYLES;
}
static void bad_style_zero(report_message *m)
{
    m->frame_style.data[0] = 0;
}
static void bad_name(report_message *m)
{
    m->frame_name[1] = 1000000;
}
static void bad_frame_twice(report_message *m)
{
    m->frame_name[0] = m->frame_name[1] = 1, m->frame_object[0] = m->frame_object[1] = 0,
    m->frame_style.data[0] = m->frame_style.data[1];
}
static void bad_category(report_message *m)
{
    m->cell_category.data[0] = WP_CATEGORIES;
}
static void bad_cell(report_message *m)
{
    m->cell_node_step[0] = UINT32_MAX;
}
static void bad_cell_twice(report_message *m)
{
    m->cell_node_step[1] = 0, m->cell_category.data[1] = m->cell_category.data[0];
}
static void bad_length(report_message *m)
{
    m->n_cell_ns--;
}
static void bad_process(report_message *m)
{
    m->process_host[0] = (uint32_t)m->n_strings + 1;
}
static void bad_reason(report_message *m)
{
    m->unexplained_reason[0] = UINT32_MAX;
}
static void bad_wait(report_message *m)
{
    m->unexplained_node[0] = (uint32_t)m->n_node_up + 1;
}
static void bad_host(report_message *m)
{
    m->hosts[0] = UINT32_MAX;
}
static void bad_kind(report_message *m)
{
    m->event_kind[0] = UINT32_MAX;
}
static void bad_limit(report_message *m)
{
    m->limit_name[0] = UINT32_MAX;
}
static void bad_edge(report_message *m)
{
    m->edge_to[0] = UINT32_MAX;
}
static void bad_part(report_message *m)
{
    m->transaction_part.data[0] = WP_PARTS;
}
static void bad_service(report_message *m)
{
    m->transaction_service[0] = (uint32_t)m->n_strings + 1;
}
static void bad_place(report_message *m)
{
    m->site_file[0] = (uint32_t)m->n_strings + 1;
}
static void bad_place_twice(report_message *m)
{
    m->site_file[0] = m->site_file[1], m->site_line[0] = m->site_line[1], m->site_function[0] = m->site_function[1];
}
static void bad_line(report_message *m)
{
    m->line_site_step[0] = 0;
}
static void bad_line_far(report_message *m)
{
    m->line_site_step[0] = UINT32_MAX;
}
static void bad_line_much(report_message *m)
{
    m->line_run_ns[0] = m->line_total_ns[0] + 1;
}
static void bad_line_self(report_message *m)
{
    m->line_self_ns[0] = m->line_run_ns[0] + 1;
}
static void bad_line_category(report_message *m)
{
    m->line_category.data[0] = WP_CATEGORIES;
}
static void bad_line_twice(report_message *m)
{
    m->line_site_step[1] = 0, m->line_category.data[1] = m->line_category.data[0];
}
static void bad_call(report_message *m)
{
    m->call_callee[0] = UINT32_MAX;
}
static void bad_call_far(report_message *m)
{
    m->call_site_step[0] = (uint32_t)m->n_site_file + 1;
}
static void bad_call_much(report_message *m)
{
    m->call_run_ns[0] = m->call_total_ns[0] + 1;
}
static void bad_call_style(report_message *m)
{
    m->call_style.data[0] = 0;
}
static void bad_call_inlined(report_message *m)
{
    m->call_inlined.data[0] = 2;
}
static void bad_work(report_message *m)
{
    m->detached_work.data[0] = 0xff;
}
/* Work in a report of work, by field numbers: 33 (a figure) in 110 in 110. */
static void bad_work_in_work(report_message *m)
{
    static const uint8_t bytes[] = {0xf2, 0x06, 0x03, 0x88, 0x02, 0x01};
    assert_true(m->detached_work.len >= sizeof(bytes));
    memcpy(m->detached_work.data, bytes, m->detached_work.len = sizeof(bytes));
}
static void bad_slowest(report_message *m)
{
    m->slowest_service[0] = UINT32_MAX;
}
static void bad_span(report_message *m)
{
    m->span_length_ns[0] = 0;
}
static void bad_span_touch(report_message *m)
{
    m->span_gap_ns[1] = 0;
}
static void bad_span_end(report_message *m)
{
    m->span_length_ns[1] = UINT64_MAX;
}
static void bad_text_empty(report_message *m)
{
    m->strings[0].len = 0;
}
static void bad_text_nul(report_message *m)
{
    m->strings[1].data[0] = 0;
}
static void bad_text_twice(report_message *m)
{
    m->strings[0] = m->strings[1];
}

/* The first cell that has samples. */
static size_t sampled(const report_message *m)
{
    size_t i = 0;
    while (!m->cell_samples[i])
        i++;
    return i;
}
static void bad_shift(report_message *m)
{
    m->bucket_shift = 26;
}
static void bad_shift_far(report_message *m)
{
    m->bucket_shift = 59;
}
static void bad_shift_alone(report_message *m)
{
    m->n_bucket_step = 0;
}
static void bad_bucket_twice(report_message *m)
{
    m->bucket_step[1] = 0;
}
static void bad_bucket_end(report_message *m)
{
    m->bucket_step[1] = UINT64_MAX;
}
static void bad_sample_bucket(report_message *m)
{
    m->sample_bucket.data[0] = 64;
}
static void bad_sample_much(report_message *m)
{
    m->sample_ns[0] = m->cell_ns[sampled(m)] + 1;
}
static void bad_sample_zero(report_message *m)
{
    m->sample_ns[0] = 0;
}
static void bad_samples_more(report_message *m)
{
    m->cell_samples[sampled(m)] = UINT32_MAX;
}
static void bad_samples_fewer(report_message *m)
{
    m->cell_samples[sampled(m)] = 0;
}
static void bad_samples_length(report_message *m)
{
    m->n_cell_samples--;
}

static void each_rule_refuses(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(report_message *);
        const char *says;
    } cases[] = {{bad_node_up, "parent"}, {bad_node_self, "parent"}, {bad_node_frame, "frame of a node"},
        {bad_node_none, "no frame"}, {bad_node_twice, "twice"}, {bad_style, "style"}, {bad_style_zero, "style"},
        {bad_name, "name of a frame"}, {bad_frame_twice, "twice"}, {bad_category, "category"},
        {bad_cell, "time on node"}, {bad_cell_twice, "twice"}, {bad_length, "columns"},
        {bad_process, "host of a process"}, {bad_reason, "reason"}, {bad_wait, "unexplained wait"}, {bad_host, "host"},
        {bad_kind, "event kind"}, {bad_limit, "limit"}, {bad_edge, "edge"}, {bad_part, "part of a"},
        {bad_work, "detached work"}, {bad_work_in_work, "another one in it"}, {bad_service, "service"},
        {bad_slowest, "service"}, {bad_place, "file of a place"}, {bad_place_twice, "place"}, {bad_line, "line 0"},
        {bad_line_far, "line 0"}, {bad_line_much, "line 0"}, {bad_line_self, "line 0"},
        {bad_line_category, "category of a line"}, {bad_line_twice, "twice"}, {bad_call, "called"},
        {bad_call_far, "call 0"}, {bad_call_much, "call 0"}, {bad_call_style, "style of what"},
        {bad_call_inlined, "inlined"}, {bad_span, "span"}, {bad_span_touch, "span"}, {bad_span_end, "span"},
        {bad_text_empty, "string"}, {bad_text_nul, "string"}, {bad_text_twice, "string"}, {bad_shift, "buckets of"},
        {bad_shift_far, "buckets of"}, {bad_shift_alone, "buckets of"}, {bad_bucket_twice, "bucket 1"},
        {bad_bucket_end, "bucket 1"}, {bad_sample_bucket, "sample 0"}, {bad_sample_much, "more than"},
        {bad_sample_zero, "more than"}, {bad_samples_more, "not there"}, {bad_samples_fewer, "sample"},
        {bad_samples_length, "columns"}};
    struct wp_buffer bytes = report_bytes(3);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        report_message *message = wakepath__store__report__unpack(NULL, bytes.size, bytes.data);
        ProtobufCBinaryData first = message->strings[0];
        size_t cells = message->n_cell_ns, buckets = message->n_bucket_step;
        struct wp_report *report;
        struct wp_error err = {0};
        assert_true(message->n_node_up > 4 && message->n_span_gap_ns > 1 && message->n_limit_name &&
            message->n_edge_to && message->n_slowest_ns && message->n_event_kind && message->n_line_run_ns > 1 &&
            message->n_call_run_ns);
        cases[i].spoil(message);
        size_t size = wakepath__store__report__get_packed_size(message);
        uint8_t *packed = malloc(size);
        wakepath__store__report__pack(message, packed);
        if (wp_report_decode(&report, packed, size, &err) != -EBADMSG || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: '%s' does not say '%s'", i, err.text, cases[i].says);
        message->strings[0] = first; /* owned by the message */
        message->n_cell_ns = message->n_cell_samples = cells;
        message->n_bucket_step = buckets;
        free(packed);
        wakepath__store__report__free_unpacked(message, NULL);
    }
    wp_buffer_fini(&bytes);
}

/* Versions before samples wrote none: such a report is whole, and stays without them through the store. */
static void reports_without_samples_are_read(void **state)
{
    (void)state;
    struct wp_buffer bytes = report_bytes(3), again = {0};
    report_message *message = wakepath__store__report__unpack(NULL, bytes.size, bytes.data);
    size_t buckets = message->n_bucket_step, samples = message->n_sample_ns, cells = message->n_cell_samples;
    size_t places = message->sample_bucket.len;
    message->bucket_shift = 0;
    message->n_bucket_step = message->n_sample_ns = message->n_cell_samples = message->sample_bucket.len = 0;
    size_t size = wakepath__store__report__get_packed_size(message);
    uint8_t *packed = malloc(size);
    wakepath__store__report__pack(message, packed);
    struct wp_report *report;
    uint32_t count;
    assert_true(samples > 0);
    assert_int_equal(wp_report_decode(&report, packed, size, NULL), 0);
    wp_report_samples(report, &count);
    assert_int_equal(count, 0);
    assert_true(wp_report_total(report) > 0);
    assert_int_equal(wp_report_encode(report, &again, NULL), 0);
    assert_int_equal(again.size, size);
    assert_memory_equal(again.data, packed, size);
    message->n_bucket_step = buckets;
    message->n_sample_ns = samples;
    message->n_cell_samples = cells;
    message->sample_bucket.len = places;
    wakepath__store__report__free_unpacked(message, NULL);
    wp_report_destroy(report);
    wp_buffer_fini(&bytes);
    wp_buffer_fini(&again);
    free(packed);
}

static void trace_ids_are_checked(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        struct wp_trace *trace = made_trace(1, 20), *back;
        struct wp_buffer bytes = {0};
        uint32_t *const spoiled[] = {&trace->pieces[0].path, &trace->pieces[0].node, &trace->pieces[0].category,
            &trace->runs[0].thread, &trace->runs[0].comm, &trace->sleeps[0].label, &trace->sleeps[0].thread,
            &trace->links[0].to_thread, &trace->paths[0].thread, &trace->threads[0].host};
        assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
        assert_int_equal(wp_trace_decode(&back, bytes.data, bytes.size, NULL), 0);
        wp_trace_destroy(back);
        *spoiled[i] = 200;
        wp_buffer_clear(&bytes);
        assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
        assert_int_equal(wp_trace_decode(&back, bytes.data, bytes.size, NULL), -EBADMSG);
        wp_buffer_fini(&bytes);
        wp_trace_destroy(trace);
    }
}

static void overlong_names_are_cut(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create(), *back;
    struct wp_buffer bytes = {0};
    char *name = malloc(200001);
    memset(name, 'x', 200000);
    name[200000] = 0;
    uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_USER, name, name));
    wp_report_add(report, node, WP_TIMEOUT, 1, 1);
    assert_int_equal(wp_report_encode(report, &bytes, NULL), 0);
    assert_int_equal(wp_report_decode(&back, bytes.data, bytes.size, NULL), 0);
    uint32_t count;
    assert_int_equal(strlen(wp_report_text(back, wp_report_frames(back, &count)[1].name)), 65535);
    free(name);
    wp_buffer_fini(&bytes);
    wp_report_destroy(report);
    wp_report_destroy(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trace_comes_back), cmocka_unit_test(any_bytes_are_survived),
        cmocka_unit_test(each_rule_refuses), cmocka_unit_test(reports_without_samples_are_read),
        cmocka_unit_test(trace_ids_are_checked), cmocka_unit_test(overlong_names_are_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
