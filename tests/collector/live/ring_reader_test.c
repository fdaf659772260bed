/* SPDX-License-Identifier: Apache-2.0 */
/* A real ring, into which programs put records when they are told to (ring_writer.bpf.c). As root. */
#include "collector/live/ring_reader.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include "ring_writer.skel.h"
#pragma GCC diagnostic pop

#define SMALL 4096u
#define LARGE (1u << 20)
#define ALL SIZE_MAX
#define NEVER 500000 /* ms: longer than the test may take */

struct order {
    uint32_t stamp, size, flags;
};

struct bench {
    struct ring_writer_bpf *writer;
    struct wp_ring_reader *reader;
};

static int open_ring(struct bench *b, uint32_t bytes)
{
    b->writer = ring_writer_bpf__open();
    assert_non_null(b->writer);
    bpf_map__set_max_entries(b->writer->maps.ring, bytes);
    assert_int_equal(ring_writer_bpf__load(b->writer), 0);
    return wp_ring_reader_create(&b->reader, bpf_map__fd(b->writer->maps.ring), bytes);
}

static int open_small(void **state)
{
    return open_ring(*state = calloc(1, sizeof(struct bench)), SMALL);
}

static int open_large(void **state)
{
    return open_ring(*state = calloc(1, sizeof(struct bench)), LARGE);
}

static int close_ring(void **state)
{
    struct bench *b = *state;
    wp_ring_reader_destroy(b->reader);
    ring_writer_bpf__destroy(b->writer);
    free(b);
    return 0;
}

/* What the program returned. */
static int run(const struct bpf_program *program, struct order order)
{
    LIBBPF_OPTS(bpf_test_run_opts, how, .ctx_in = &order, .ctx_size_in = sizeof(order));
    assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &how), 0);
    return (int)how.retval;
}

static bool put(struct bench *b, uint8_t stamp, uint32_t size)
{
    return !run(b->writer->progs.put, (struct order){stamp, size, BPF_RB_NO_WAKEUP});
}

static void expect(struct bench *b, uint8_t stamp, size_t size)
{
    size_t got = 0;
    const uint8_t *bytes = wp_ring_reader_next(b->reader, &got);
    assert_non_null(bytes);
    assert_int_equal(got, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(bytes[i], stamp);
}

static void expect_nothing(struct bench *b)
{
    size_t size;
    assert_null(wp_ring_reader_next(b->reader, &size));
}

static void in_order(void **state)
{
    struct bench *b = *state;
    wp_ring_reader_begin(b->reader, ALL);
    expect_nothing(b);
    assert_false(wp_ring_reader_end(b->reader));
    assert_true(put(b, 1, 1) && put(b, 2, 8));
    assert_int_equal(run(b->writer->progs.discard, (struct order){0}), 0);
    assert_true(put(b, 3, 1000));
    wp_ring_reader_begin(b->reader, ALL);
    assert_true(put(b, 4, 16)); /* after the round began: of the next one */
    expect(b, 1, 1);
    expect(b, 2, 8);
    expect(b, 3, 1000); /* what was discarded is passed over */
    expect_nothing(b);
    assert_false(wp_ring_reader_end(b->reader));
    wp_ring_reader_begin(b->reader, ALL);
    expect(b, 4, 16);
    expect_nothing(b);
    assert_false(wp_ring_reader_end(b->reader));
}

static void across_the_end(void **state)
{
    struct bench *b = *state;
    for (unsigned round = 0; round < 40; round++) {
        for (uint8_t i = 0; i < 5; i++)
            assert_true(put(b, (uint8_t)(round + i), 700));
        wp_ring_reader_begin(b->reader, ALL);
        for (uint8_t i = 0; i < 5; i++)
            expect(b, (uint8_t)(round + i), 700);
        expect_nothing(b);
        assert_false(wp_ring_reader_end(b->reader));
    }
}

static void room_comes_back(void **state)
{
    struct bench *b = *state;
    assert_true(put(b, 1, 1500) && put(b, 2, 1500));
    assert_false(put(b, 3, 1500));
    wp_ring_reader_begin(b->reader, ALL);
    expect(b, 1, 1500);
    assert_false(put(b, 3, 1500)); /* the caller may look at it until the round is over */
    assert_false(wp_ring_reader_end(b->reader));
    assert_true(put(b, 3, 1500));
    wp_ring_reader_begin(b->reader, ALL);
    expect(b, 2, 1500); /* what was not taken is still there */
    expect(b, 3, 1500);
    expect_nothing(b);
    assert_false(wp_ring_reader_end(b->reader));
}

static void a_bounded_round(void **state)
{
    struct bench *b = *state;
    for (uint8_t i = 0; i < 10; i++)
        assert_true(put(b, i, 92)); /* with its head 100, and so 104 in the ring */
    wp_ring_reader_begin(b->reader, 300);
    for (uint8_t i = 0; i < 3; i++) /* one that begins within is given whole */
        expect(b, i, 92);
    expect_nothing(b);
    assert_true(wp_ring_reader_end(b->reader)); /* there is more */
    wp_ring_reader_begin(b->reader, ALL);
    for (uint8_t i = 3; i < 10; i++)
        expect(b, i, 92);
    expect_nothing(b);
    assert_false(wp_ring_reader_end(b->reader));
}

/* In a large ring the kernel has room again before the round is over, but for the record that was given out last. */
static void room_in_a_long_round(void **state)
{
    struct bench *b = *state;
    unsigned count = 0;
    while (put(b, (uint8_t)count, 1992)) /* 2000 with its head */
        count++;
    assert_int_equal(count, LARGE / 2000);
    wp_ring_reader_begin(b->reader, ALL);
    for (unsigned i = 0; i < count / 2; i++)
        expect(b, (uint8_t)i, 1992);
    assert_true(put(b, 200, 1992));
    for (unsigned i = count / 2; i < count; i++)
        expect(b, (uint8_t)i, 1992);
    expect_nothing(b);
    assert_false(wp_ring_reader_end(b->reader));
    wp_ring_reader_begin(b->reader, ALL);
    expect(b, 200, 1992);
    expect_nothing(b);
}

static void *hold(void *context)
{
    struct bench *b = context;
    return (void *)(intptr_t)run(b->writer->progs.hold, (struct order){77, 0, BPF_RB_NO_WAKEUP});
}

/* A record that is being written holds up those behind it, and nothing else: the round is over, and not for its bound.
 */
static void one_that_is_written(void **state)
{
    struct bench *b = *state;
    pthread_t thread;
    void *rc;
    size_t size;
    assert_true(put(b, 1, 8));
    assert_int_equal(pthread_create(&thread, NULL, hold, b), 0);
    while (__atomic_load_n(&b->writer->bss->hold_state, __ATOMIC_ACQUIRE) != 1)
        sched_yield();
    assert_true(put(b, 2, 8));
    wp_ring_reader_begin(b->reader, 30); /* which is less than there is */
    expect(b, 1, 8);
    expect_nothing(b);
    expect_nothing(b);
    assert_false(wp_ring_reader_end(b->reader));
    __atomic_store_n(&b->writer->bss->hold_state, 2, __ATOMIC_RELEASE);
    pthread_join(thread, &rc);
    assert_null(rc);
    wp_ring_reader_begin(b->reader, ALL);
    const uint8_t *held = wp_ring_reader_next(b->reader, &size);
    assert_true(held && size == 8 && *held == 77);
    expect(b, 2, 8);
    expect_nothing(b);
}

/* Each of these waits would last until the test is killed. */
static void what_ends_a_wait(void **state)
{
    struct bench *b = *state;
    int fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(wp_ring_reader_watch(b->reader, fd), 0);
    assert_int_equal(wp_ring_reader_watch(b->reader, fd), 0);
    assert_int_equal(eventfd_write(fd, 1), 0);
    wp_ring_reader_wait(b->reader, NEVER);
    assert_int_equal(run(b->writer->progs.put, (struct order){5, 8, BPF_RB_FORCE_WAKEUP}), 0);
    wp_ring_reader_wait(b->reader, NEVER);
    wp_ring_reader_begin(b->reader, ALL);
    expect(b, 5, 8);
    wp_ring_reader_end(b->reader);
    close(fd);
    assert_int_equal(wp_ring_reader_watch(b->reader, fd), -EBADF);
    assert_int_equal(run(b->writer->progs.put, (struct order){6, 8, BPF_RB_FORCE_WAKEUP}), 0);
    wp_ring_reader_wait(b->reader, NEVER);
}

static void no_ring(void **state)
{
    struct wp_ring_reader *reader;
    (void)state;
    assert_true(wp_ring_reader_create(&reader, STDIN_FILENO, SMALL) < 0);
}

int main(void)
{
#define SMALL_TEST(name) cmocka_unit_test_setup_teardown(name, open_small, close_ring)
    const struct CMUnitTest tests[] = {SMALL_TEST(in_order), SMALL_TEST(across_the_end), SMALL_TEST(room_comes_back),
        SMALL_TEST(a_bounded_round), cmocka_unit_test_setup_teardown(room_in_a_long_round, open_large, close_ring),
        SMALL_TEST(one_that_is_written), SMALL_TEST(what_ends_a_wait), cmocka_unit_test(no_ring)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
