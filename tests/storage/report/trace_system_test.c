/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of a whole system: to bytes and back, wrong ones, and room for more. */
#include "proto/store.pb-c.h"
#include "storage/report/trace_coarsen.h"
#include "storage/report/trace_decode.h"
#include "storage/report/trace_encode.h"
#include "tests/storage/made_report.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define SAME(field) assert_int_equal(a->field, b->field)

static void assert_same(const struct wp_trace *a, const struct wp_trace *b)
{
    SAME(thread_count);
    SAME(run_count);
    SAME(op_count);
    for (uint32_t i = 0; i < a->thread_count; i++) {
        SAME(threads[i].group);
        SAME(threads[i].is_on_path);
    }
    for (uint32_t i = 0; i < a->run_count; i++) {
        SAME(runs[i].start_ns);
        SAME(runs[i].cpu);
    }
    for (uint32_t i = 0; i < a->op_count; i++) {
        SAME(ops[i].kind);
        SAME(ops[i].place);
        SAME(ops[i].label);
        SAME(ops[i].thread);
        SAME(ops[i].start_ns);
        SAME(ops[i].length_ns);
    }
}

/* With what only a window of the whole system has. */
static struct wp_trace *made_system(uint64_t seed)
{
    struct wp_trace *trace = made_trace(seed, 40);
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        trace->threads[i].group = wp_trace_string(trace, i % 2 ? "/system.slice/web.service" : "");
        trace->threads[i].is_on_path = i % 3 == 0;
    }
    for (uint32_t i = 0; i < trace->run_count; i++)
        trace->runs[i].cpu = 1 + i % 5;
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(
            wp_trace_add_op(trace,
                &(struct wp_trace_op){WP_OP_BLOCK + i % 3, wp_trace_string(trace, "vda"),
                    wp_trace_string(trace, "read /etc/passwd"), i % (trace->thread_count + 1), 100 * i + seed, i}),
            0);
    trace->grain_ns = seed;
    return trace;
}

/* It is what protobuf-c makes of the same message. */
static void assert_packed_alike(const struct wp_trace *trace)
{
    struct wp_buffer bytes = {0};
    assert_int_equal(wp_buffer_puts(&bytes, "before"), 0);
    size_t before = bytes.size;
    assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
    size_t size = bytes.size - before;
    Wakepath__Store__Trace *message = wakepath__store__trace__unpack(NULL, size, bytes.data + before);
    assert_non_null(message);
    uint8_t *packed = malloc(size + 1);
    assert_int_equal(wakepath__store__trace__get_packed_size(message), size);
    assert_int_equal(wakepath__store__trace__pack(message, packed), size);
    assert_memory_equal(packed, bytes.data + before, size);
    assert_memory_equal(bytes.data, "before", before);
    wakepath__store__trace__free_unpacked(message, NULL);
    free(packed);
    wp_buffer_fini(&bytes);
}

static void rows_are_packed_as_the_message_says(void **state)
{
    (void)state;
    struct wp_trace *none = wp_trace_create();
    assert_packed_alike(none);
    wp_trace_destroy(none);
    for (uint64_t seed = 1; seed < 10; seed++) {
        struct wp_trace *trace = made_system(seed);
        trace->omitted = seed << 60;
        trace->runs[0].start_ns = UINT64_MAX; /* steps wrap */
        assert_packed_alike(trace);
        wp_trace_destroy(trace);
    }
}

static void a_window_of_the_system_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 10; seed++) {
        struct wp_trace *trace = made_system(seed), *back;
        struct wp_buffer bytes = {0};
        assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
        assert_int_equal(wp_trace_decode(&back, bytes.data, bytes.size, NULL), 0);
        assert_same(trace, back);
        assert_int_equal(back->grain_ns, seed);
        wp_buffer_fini(&bytes);
        wp_trace_destroy(trace);
        wp_trace_destroy(back);
    }
}

/* Rows that name what is not there. */
static void a_wrong_window_of_the_system_is_refused(void **state)
{
    (void)state;
    for (unsigned fault = 0; fault < 5; fault++) {
        struct wp_trace *trace = made_system(3), *back = NULL;
        struct wp_buffer bytes = {0};
        struct wp_error err = {0};
        if (fault == 0)
            trace->ops[7].kind = WP_OP_KINDS;
        else if (fault == 1)
            trace->ops[7].thread = trace->thread_count + 1;
        else if (fault == 2)
            trace->ops[7].place = 1u << 20;
        else if (fault == 3)
            trace->threads[1].group = 1u << 20;
        else
            trace->runs[2].cpu = 1u << 20;
        assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
        assert_int_equal(wp_trace_decode(&back, bytes.data, bytes.size, &err), -EBADMSG);
        assert_null(back);
        assert_true(*err.text);
        wp_buffer_fini(&bytes);
        wp_trace_destroy(trace);
    }
}

static void the_shortest_rows_make_room(void **state)
{
    (void)state;
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t i = 0; i < 1000; i++) {
        wp_trace_add_run(trace, &(struct wp_trace_run){0, 0, 10 * i, 1 + i * 7919 % 1000, 1});
        wp_trace_add_sleep(trace, &(struct wp_trace_sleep){0, 0, WP_TIMEOUT, 10 * i, 1 + i * 104729 % 400});
        wp_trace_add_link(trace, &(struct wp_trace_link){WP_LINK_WAKING, 0, 0, i, i});
    }
    assert_int_equal(wp_trace_coarsen(trace, 300), 0);
    assert_true(trace->run_count <= 300 && trace->sleep_count <= 300);
    assert_true(trace->run_count >= 290);   /* lengths of runs differ, so that nearly all that may stay do */
    assert_true(trace->sleep_count >= 290); /* all of them are shorter than the runs that stay */
    assert_true(trace->sleep_grain_ns < trace->run_grain_ns && trace->grain_ns == trace->run_grain_ns);
    for (uint32_t i = 0; i < trace->run_count; i++)
        assert_true(trace->runs[i].length_ns >= trace->grain_ns &&
            (!i || trace->runs[i - 1].start_ns < trace->runs[i].start_ns));
    assert_int_equal(trace->omitted, 2000 - trace->run_count - trace->sleep_count);
    for (uint32_t i = 0; i < trace->sleep_count; i++)
        assert_true(trace->sleeps[i].length_ns >= trace->sleep_grain_ns);
    uint64_t grain_ns = trace->grain_ns;
    assert_int_equal(wp_trace_coarsen(trace, 1000), 0);
    assert_int_equal(trace->grain_ns, grain_ns);
    wp_trace_thin_links(trace);
    assert_int_equal(trace->link_count, 500);
    assert_int_equal(trace->links[499].from_ns, 998);
    wp_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_window_of_the_system_comes_back),
        cmocka_unit_test(rows_are_packed_as_the_message_says),
        cmocka_unit_test(a_wrong_window_of_the_system_is_refused), cmocka_unit_test(the_shortest_rows_make_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
