/* SPDX-License-Identifier: Apache-2.0 */
/* The ring and the processors' buffers, written by what the collector's programs are made of (records_writer.bpf.c). As
 * root. */
#include "collector/live/records.h"

#include <bpf/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include "records_writer.skel.h"
#pragma GCC diagnostic pop

#define RING 65536u
#define CPUS 5u
#define SLOTS 64u
#define ALL SIZE_MAX
#define NEVER 500000 /* ms: longer than the test may take */

struct order {
    uint64_t time_ns, a, b;
    uint32_t cpu, stamp;
};

struct bench {
    struct records_writer_bpf *writer;
    struct wp_records *records;
    uint32_t stamp; /* of the last one that was written */
};

static int open_records(void **state)
{
    struct bench *b = *state = calloc(1, sizeof(*b));
    b->writer = records_writer_bpf__open();
    assert_non_null(b->writer);
    b->writer->rodata->wp_buffer_cpus = CPUS;
    b->writer->rodata->wp_buffer_slots = SLOTS;
    bpf_map__set_max_entries(b->writer->maps.ring, RING);
    bpf_map__set_max_entries(b->writer->maps.cpu_cursors, CPUS);
    bpf_map__set_max_entries(b->writer->maps.cpu_slots, CPUS * SLOTS);
    assert_int_equal(records_writer_bpf__load(b->writer), 0);
    struct wp_records_options options = {.ring_fd = bpf_map__fd(b->writer->maps.ring),
        .ring_bytes = RING,
        .buffers = {bpf_map__fd(b->writer->maps.cpu_cursors), bpf_map__fd(b->writer->maps.cpu_slots), CPUS, SLOTS}};
    return wp_records_create(&b->records, &options);
}

static int close_records(void **state)
{
    struct bench *b = *state;
    wp_records_destroy(b->records);
    records_writer_bpf__destroy(b->writer);
    free(b);
    return 0;
}

/* Its stamp and its time are one more than those of the last one. False: there was no room. */
static bool put(struct bench *b, const struct bpf_program *program, uint32_t cpu)
{
    struct order order = {.time_ns = 1000 + ++b->stamp, .a = b->stamp * 3, .cpu = cpu, .stamp = b->stamp};
    LIBBPF_OPTS(bpf_test_run_opts, how, .ctx_in = &order, .ctx_size_in = sizeof(order));
    assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &how), 0);
    return !how.retval;
}

static bool quick(struct bench *b, uint32_t cpu)
{
    return put(b, b->writer->progs.quick, cpu);
}

static const struct wp_record *next(struct bench *b, size_t *size)
{
    return wp_records_next(b->records, size);
}

/* Size of the next record, which has this stamp. */
static size_t expect(struct bench *b, uint32_t stamp)
{
    size_t size = 0;
    const struct wp_record *r = next(b, &size);
    assert_non_null(r);
    assert_true(size >= WP_RECORD_QUICK);
    assert_int_equal(r->c, stamp);
    assert_int_equal(r->time_ns, 1000 + stamp);
    assert_int_equal(r->a, stamp * 3);
    return size;
}

static void expect_nothing(struct bench *b)
{
    size_t size;
    assert_null(next(b, &size));
}

static void expect_round(struct bench *b, uint32_t first, uint32_t last)
{
    wp_records_begin(b->records, ALL);
    for (uint32_t stamp = first; stamp <= last; stamp++)
        expect(b, stamp);
    expect_nothing(b);
    assert_false(wp_records_end(b->records));
}

static uint64_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* Whatever is written where, and however many rounds it is read in: it comes as it was written. */
static void one_order(void **state)
{
    struct bench *b = *state;
    uint64_t random = 7;
    uint32_t read = 0;
    size_t size;
    for (unsigned round = 0; round < 400; round++) {
        for (uint64_t left = next_random(&random) % 150; left; left--) {
            uint32_t which = (uint32_t)next_random(&random);
            assert_true(which % 9 ? quick(b, which % (CPUS + 1)) : put(b, b->writer->progs.slow, which % CPUS));
        }
        wp_records_begin(b->records, round % 3 ? ALL : 400);
        for (const struct wp_record *r; (round % 7 || read + 20 < b->stamp) && (r = next(b, &size));)
            assert_int_equal(r->c, ++read);
        wp_records_end(b->records);
    }
    expect_round(b, read + 1, b->stamp);
    assert_true(b->stamp > 20 * SLOTS * CPUS);
}

static void full_buffers_use_the_ring(void **state)
{
    struct bench *b = *state;
    for (unsigned i = 0; i < 2 * SLOTS; i++)
        assert_true(quick(b, 3));
    wp_records_begin(b->records, ALL);
    for (uint32_t stamp = 1; stamp <= 2 * SLOTS; stamp++)
        assert_int_equal(expect(b, stamp), stamp <= SLOTS ? WP_RECORD_QUICK : sizeof(struct wp_record));
    assert_false(wp_records_end(b->records));
    assert_true(quick(b, 3));
    wp_records_begin(b->records, ALL);
    assert_int_equal(expect(b, 2 * SLOTS + 1), WP_RECORD_QUICK); /* there is room again */
    wp_records_end(b->records);
}

static void what_has_no_room_is_counted(void **state)
{
    struct bench *b = *state;
    uint32_t zero = 0, cpus = (uint32_t)libbpf_num_possible_cpus();
    struct wp_record_drops *drops = calloc(cpus, sizeof(*drops));
    uint64_t count = 0;
    while (quick(b, 0))
        continue;
    assert_false(quick(b, 0));
    assert_true(quick(b, 1)); /* another one has room */
    assert_int_equal(
        bpf_map__lookup_elem(b->writer->maps.drops, &zero, sizeof(zero), drops, cpus * sizeof(*drops), 0), 0);
    for (uint32_t cpu = 0; cpu < cpus; cpu++)
        count += drops[cpu].count[1];
    assert_int_equal(count, 2);
    free(drops);
}

/* In a long round there is room again before it is over. */
static void room_in_a_round(void **state)
{
    struct bench *b = *state;
    for (unsigned i = 0; i < SLOTS; i++)
        assert_true(quick(b, 2));
    wp_records_begin(b->records, ALL);
    for (uint32_t stamp = 1; stamp <= SLOTS / 2; stamp++)
        expect(b, stamp);
    assert_true(quick(b, 2));
    for (uint32_t stamp = SLOTS / 2 + 1; stamp <= SLOTS; stamp++)
        expect(b, stamp);
    expect_nothing(b); /* it came after the round began */
    wp_records_end(b->records);
    wp_records_begin(b->records, ALL);
    assert_int_equal(expect(b, SLOTS + 1), WP_RECORD_QUICK);
    wp_records_end(b->records);
}

/* Of one buffer or of the ring, and what has been read does not count: of the ring, once the kernel was told. */
static void more_than_a_quarter_is_filling(void **state)
{
    struct bench *b = *state;
    for (unsigned i = 0; i < SLOTS / 4; i++)
        assert_true(quick(b, 3) && quick(b, 4));
    assert_false(wp_records_are_filling(b->records));
    assert_true(quick(b, 3));
    assert_true(wp_records_are_filling(b->records));
    wp_records_begin(b->records, ALL);
    expect(b, 1);
    assert_false(wp_records_are_filling(b->records));
    for (uint32_t stamp = 2; stamp <= b->stamp; stamp++)
        expect(b, stamp);
    wp_records_end(b->records);
    assert_false(wp_records_are_filling(b->records));
    for (unsigned i = 0; i < RING / 4 / sizeof(struct wp_record); i++)
        assert_true(put(b, b->writer->progs.slow, 0));
    assert_true(wp_records_are_filling(b->records));
    wp_records_begin(b->records, ALL);
    for (uint32_t stamp = SLOTS / 2 + 2; stamp <= b->stamp; stamp++)
        expect(b, stamp);
    assert_true(wp_records_are_filling(b->records));
    wp_records_end(b->records);
    assert_false(wp_records_are_filling(b->records));
}

/* One that comes while another is being written. */
static void one_in_between(void **state)
{
    struct bench *b = *state;
    uint32_t cpu = 1;
    struct wp_cpu_cursor cursor = {.is_busy = 1};
    assert_int_equal(
        bpf_map__update_elem(b->writer->maps.cpu_cursors, &cpu, sizeof(cpu), &cursor, sizeof(cursor), BPF_ANY), 0);
    assert_true(quick(b, 1));
    cursor.is_busy = 0;
    assert_int_equal(
        bpf_map__update_elem(b->writer->maps.cpu_cursors, &cpu, sizeof(cpu), &cursor, sizeof(cursor), BPF_ANY), 0);
    assert_true(quick(b, 1));
    wp_records_begin(b->records, ALL);
    assert_int_equal(expect(b, 1), sizeof(struct wp_record));
    assert_int_equal(expect(b, 2), WP_RECORD_QUICK);
    wp_records_end(b->records);
}

static void what_a_slot_cannot_hold(void **state)
{
    struct bench *b = *state;
    struct order order = {.time_ns = 1001, .a = 3, .b = 9, .stamp = 1};
    size_t size;
    LIBBPF_OPTS(bpf_test_run_opts, how, .ctx_in = &order, .ctx_size_in = sizeof(order));
    assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(b->writer->progs.quick), &how), 0);
    b->stamp = 1;
    assert_true(quick(b, CPUS)); /* a processor without a buffer */
    wp_records_begin(b->records, ALL);
    const struct wp_record *r = next(b, &size);
    assert_true(r && size == sizeof(*r) && r->b == 9);
    assert_int_equal(expect(b, 2), sizeof(struct wp_record));
    wp_records_end(b->records);
}

static void a_quarter_wakes_the_reader(void **state)
{
    struct bench *b = *state;
    for (unsigned i = 0; i < SLOTS / 4; i++)
        assert_true(quick(b, 4));
    wp_records_wait(b->records, NEVER);
    expect_round(b, 1, SLOTS / 4);
}

static void no_maps(void **state)
{
    struct bench *b = *state;
    struct wp_cpu_buffers *buffers;
    struct wp_cpu_buffers_options options = {bpf_map__fd(b->writer->maps.ring), STDIN_FILENO, CPUS, SLOTS};
    assert_true(wp_cpu_buffers_create(&buffers, &options) < 0);
}

int main(void)
{
#define RECORDS_TEST(name) cmocka_unit_test_setup_teardown(name, open_records, close_records)
    const struct CMUnitTest tests[] = {RECORDS_TEST(one_order), RECORDS_TEST(full_buffers_use_the_ring),
        RECORDS_TEST(what_has_no_room_is_counted), RECORDS_TEST(room_in_a_round),
        RECORDS_TEST(more_than_a_quarter_is_filling), RECORDS_TEST(one_in_between),
        RECORDS_TEST(what_a_slot_cannot_hold), RECORDS_TEST(a_quarter_wakes_the_reader), RECORDS_TEST(no_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
