/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/window/window_data.h"
#include "reporter/window/window_fit.h"
#include "storage/report/trace_decode.h"
#include "storage/report/trace_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 60000u /* of each kind: what the aggregator keeps at most */
#define THREADS 400u

/* As busy as a window can be: threads, stacks and lengths of every kind, in which no column is easily written. */
static struct wp_trace *busy(uint32_t rows)
{
    struct wp_trace *trace = wp_trace_create();
    uint64_t random = 88172645463325252u, at_ns = 0;
    char name[64];
    trace->start_ns = 1790000000000000000u;
    trace->omitted = 7;
    for (uint32_t i = 0; i < THREADS; i++) {
        snprintf(name, sizeof(name), "worker-%u", i);
        wp_trace_add_thread(trace,
            &(struct wp_trace_thread){
                wp_trace_string(trace, "builder"), wp_trace_string(trace, name), 1000 + i, 1000 + i, !i, 0, 0});
        wp_trace_add_path(trace, &(struct wp_trace_path){i, !i});
    }
    for (uint32_t i = 0; i < rows; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        snprintf(name, sizeof(name), "function_%u", (unsigned)(random % 3000));
        uint64_t length_ns = 1000 + random % 5000000;
        uint32_t thread = (uint32_t)(random >> 20) % THREADS, string = wp_trace_string(trace, name);
        uint32_t node =
            wp_trace_child(trace, wp_trace_child(trace, 0, wp_trace_frame(trace, WP_STYLE_PROCESS, "[worker]", "")),
                wp_trace_frame(trace, WP_STYLE_USER, name, "/usr/bin/worker"));
        wp_trace_add_piece(trace, &(struct wp_trace_piece){thread, node, at_ns, length_ns, WP_UNDERSTOOD_FUNCTIONS});
        wp_trace_add_run(trace, &(struct wp_trace_run){thread, string, at_ns, length_ns, 0});
        wp_trace_add_sleep(
            trace, &(struct wp_trace_sleep){thread, string, WP_BLOCKING_IO, at_ns + length_ns, length_ns / 2});
        wp_trace_add_link(
            trace, &(struct wp_trace_link){WP_LINK_WAKING, thread, (thread + 7) % THREADS, at_ns, at_ns + length_ns});
        at_ns += random % 100000;
    }
    trace->length_ns = at_ns + 10000000;
    return trace;
}

static size_t size_of(const struct wp_trace *trace)
{
    struct wp_buffer data = {0};
    assert_int_equal(wp_window_data(&data, trace, "trace", NULL), 0);
    size_t size = data.size;
    wp_buffer_fini(&data);
    return size;
}

static uint64_t rows_of(const struct wp_trace *trace)
{
    return (uint64_t)trace->piece_count + trace->run_count + trace->sleep_count + trace->link_count;
}

static void a_busy_window_fits_and_says_what_is_missing(void **state)
{
    (void)state;
    struct wp_trace *trace = busy(ROWS);
    size_t before = size_of(trace);
    assert_true(before > 2000000);
    assert_int_equal(wp_window_fit(&trace, WP_WINDOW_BYTES, NULL), 0);
    size_t after = size_of(trace);
    print_message("%zu bytes, fitted %zu, %u of %u pieces\n", before, after, trace->piece_count, ROWS);
    assert_true(after <= WP_WINDOW_BYTES && after > WP_WINDOW_BYTES * 3 / 4);
    assert_int_equal(trace->omitted, 7 + 4ull * ROWS - rows_of(trace));
    wp_trace_destroy(trace);
}

/* The bytes of a trace that can be read again: parents before children, ids that exist. */
static void what_is_left_is_a_window(void **state)
{
    (void)state;
    struct wp_trace *trace = busy(ROWS), *again = NULL;
    struct wp_buffer bytes = {0};
    assert_int_equal(wp_window_fit(&trace, 300000, NULL), 0);
    assert_true(size_of(trace) <= 300000);
    assert_int_equal(wp_trace_encode(trace, &bytes, NULL), 0);
    assert_int_equal(wp_trace_decode(&again, bytes.data, bytes.size, NULL), 0);
    assert_int_equal(again->piece_count, trace->piece_count);
    assert_true(trace->thread_count && trace->threads[0].is_base);
    for (uint32_t i = 1; i < trace->thread_count; i++)
        assert_true(trace->threads[i - 1].pid < trace->threads[i].pid);
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        assert_true(trace->paths[trace->pieces[i].path].thread < trace->thread_count);
        assert_true(!i || trace->pieces[i - 1].start_ns <= trace->pieces[i].start_ns);
    }
    wp_buffer_fini(&bytes);
    wp_trace_destroy(again);
    wp_trace_destroy(trace);
}

static int by_length(const void *left, const void *right)
{
    const struct wp_trace_piece *a = left, *b = right;
    return a->length_ns < b->length_ns ? 1 : a->length_ns > b->length_ns ? -1 : 0;
}

static void the_longest_stay(void **state)
{
    (void)state;
    struct wp_trace *all = busy(8000), *trace = busy(8000);
    assert_int_equal(wp_window_fit(&trace, 150000, NULL), 0);
    assert_true(trace->piece_count > 200 && trace->piece_count < 6000);
    qsort(all->pieces, all->piece_count, sizeof(*all->pieces), by_length);
    qsort(trace->pieces, trace->piece_count, sizeof(*trace->pieces), by_length);
    for (uint32_t i = 0; i < trace->piece_count; i++)
        assert_int_equal(trace->pieces[i].length_ns, all->pieces[i].length_ns);
    wp_trace_destroy(all);
    wp_trace_destroy(trace);
}

static void a_small_window_is_left_alone(void **state)
{
    (void)state;
    struct wp_trace *trace = busy(500), *was = trace, *none = NULL;
    assert_int_equal(wp_window_fit(&trace, WP_WINDOW_BYTES, NULL), 0);
    assert_ptr_equal(trace, was);
    assert_int_equal(trace->omitted, 7);
    assert_int_equal(wp_window_fit(&none, WP_WINDOW_BYTES, NULL), 0);
    wp_trace_destroy(trace);
}

/* The columns of a window of the whole system, of which the longest operations stay, too. */
static void a_system_has_its_own_columns(void **state)
{
    (void)state;
    struct wp_trace *trace = busy(8000);
    struct wp_buffer data = {0};
    for (uint32_t i = 0; i < trace->run_count; i++)
        trace->runs[i].cpu = 1 + i % 4;
    for (uint32_t i = 0; i < 5000; i++)
        wp_trace_add_op(trace,
            &(struct wp_trace_op){WP_OP_BLOCK, wp_trace_string(trace, "vda"), wp_trace_string(trace, "read"),
                1 + i % THREADS, 1000 * i, i});
    assert_int_equal(wp_window_fit(&trace, 200000, NULL), 0);
    assert_true(size_of(trace) <= 200000);
    assert_true(trace->op_count && trace->op_count < 5000 && trace->ops[trace->op_count - 1].length_ns == 4999);
    assert_true(trace->grain_ns > 0);
    assert_int_equal(trace->omitted, 7 + 4ull * 8000 + 5000 - rows_of(trace) - trace->op_count);
    for (uint32_t i = 0; i < trace->op_count; i++)
        assert_true(trace->ops[i].thread <= trace->thread_count);
    assert_int_equal(wp_window_data(&data, trace, "system", NULL), 0);
    wp_buffer_putc(&data, 0);
    static const char *const wanted[] = {"wakepath.data(\"system\"", "\"start\":\"1790000000000000000\"",
        "\"grain\":", "\"run_cpu\":", "\"thread_path\":", "\"op_place\":"};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        assert_non_null(strstr((const char *)data.data, wanted[i]));
    wp_buffer_fini(&data);
    wp_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_busy_window_fits_and_says_what_is_missing),
        cmocka_unit_test(what_is_left_is_a_window), cmocka_unit_test(the_longest_stay),
        cmocka_unit_test(a_small_window_is_left_alone), cmocka_unit_test(a_system_has_its_own_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
