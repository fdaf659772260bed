/* SPDX-License-Identifier: Apache-2.0 */
/* Text that nobody at perf wrote: it may be refused or skipped, never crash, grow without bound or break a promise. */
#include "perf_sink.h"

#include "collector/perf_script/perf_script_sockets.h"
#include "collector/perf_script/perf_script_stack.h"
#include "common/path.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static const char good[] =
    "sh 1 [000] 1.000001: sched:sched_switch: prev_comm=sh prev_pid=1 prev_prio=120 prev_state=S ==> "
    "next_comm=cc next_pid=2 next_prio=120\n";

static uint64_t next(uint64_t *seed) /* xorshift64 */
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Whatever it is, it ends in 0 or in a refusal with a text, and promises hold. */
static uint64_t survive(const uint8_t *bytes, size_t size, uint64_t *skipped)
{
    struct perf_sink sink = {0};
    struct wp_error err = {0};
    int rc = perf_sink_run(&sink, (const char *)bytes, size, skipped, &err);
    uint64_t facts = sink.facts;
    assert_true(rc == 0 || (rc == -EINVAL && err.text[0]));
    assert_int_equal(sink.broken, 0);
    perf_sink_fini(&sink);
    return facts;
}

/* One of: another byte, a run of bytes gone, a run doubled, digits grown, bytes of the protocol put in. */
static void mutate(struct wp_buffer *text, uint64_t *seed)
{
    static const char *const pieces[] = {"\n", "\t", "\r", " ", ":", "[", "]", "(", ")", "+0x", "==>", " pid=", "|",
        ".", "18446744073709551616", "-1", "99999999999999999999999999", "\n\n", ": ", "[999]", "\xff\xfe"};
    size_t at = next(seed) % text->size, left = text->size - at, run = next(seed) % 200;
    run = run < left ? run : left;
    switch (next(seed) % 5) {
    case 0:
        text->data[at] = (uint8_t)next(seed);
        break;
    case 1:
        memmove(text->data + at, text->data + at + run, left - run);
        text->size -= run < text->size ? run : 0;
        break;
    case 2:
        assert_int_equal(wp_buffer_reserve(text, run), 0);
        memmove(text->data + at + run, text->data + at, left);
        text->size += run;
        break;
    case 3:
        for (size_t i = 0; i < run; i++)
            if (text->data[at + i] >= '0' && text->data[at + i] <= '9')
                text->data[at + i] = '9';
        break;
    default: {
        const char *piece = pieces[next(seed) % (sizeof(pieces) / sizeof(pieces[0]))];
        size_t size = strlen(piece) < left ? strlen(piece) : left;
        memcpy(text->data + at, piece, size);
    }
    }
}

static void mutated(const char *path, unsigned rounds, uint64_t seed)
{
    struct wp_buffer whole = {0}, text = {0};
    uint64_t facts = 0;
    assert_int_equal(wp_file_read(path, 1 << 20, &whole, NULL), 0);
    for (unsigned i = 0; i < rounds; i++) {
        wp_buffer_clear(&text);
        assert_int_equal(wp_buffer_append(&text, whole.data, whole.size), 0);
        for (uint64_t n = 1 + next(&seed) % 200; n && text.size > 1; n--)
            mutate(&text, &seed);
        facts += survive(text.data, text.size, NULL);
    }
    assert_true(facts > rounds); /* most of it is still read */
    wp_buffer_fini(&text);
    wp_buffer_fini(&whole);
}

static void mutations(void **state)
{
    (void)state;
    mutated(FIXTURES "/recorded.txt", 80, 0x9e3779b97f4a7c15u);
    mutated(FIXTURES "/recorded_default.txt", 300, 0xd1b54a32d192ed03u);
    mutated(FIXTURES "/recorded_network.txt", 60, 0x8bb84b93962eacc9u);
}

static void noise(void **state)
{
    (void)state;
    static const char letters[] = "0123456789abcdef.:[]()/ \t\n+-=|%";
    uint64_t seed = 42;
    uint8_t *bytes = malloc(65536);
    for (int round = 0; round < 40; round++) {
        for (size_t i = 0; i < 65536; i++)
            bytes[i] = round & 1 ? (uint8_t)next(&seed) : (uint8_t)letters[next(&seed) % (sizeof(letters) - 1)];
        survive(bytes, 65536, NULL);
    }
    free(bytes);
}

/* `fill` repeated `size` times in one line, between two good ones. */
static void long_line(const char *head, const char *fill, size_t size, uint64_t want_skipped)
{
    struct wp_buffer text = {0};
    uint64_t skipped;
    wp_buffer_puts(&text, good);
    wp_buffer_puts(&text, head);
    while (text.size < size)
        wp_buffer_puts(&text, fill);
    wp_buffer_putc(&text, '\n');
    wp_buffer_puts(&text, good);
    assert_int_equal(survive(text.data, text.size, &skipped), 2);
    assert_int_equal(skipped, want_skipped);
    wp_buffer_fini(&text);
}

static void long_lines(void **state)
{
    (void)state;
    size_t below = 1000000, above = 5u << 20;
    static const char *const fills[] = {
        "x", " ", "1", ".", ":", "1.1:", "(", ")", ") ", " prev_pid=1", ":1 [1] S ==> ", " pid=", "a b(c) "};
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
        print_message("%s\n", fills[i]);
        long_line("", fills[i], above, 1);
        long_line("", fills[i], below, !strcmp(fills[i], " ") ? 0 : 1);
        long_line("sh 1 [000] 1.000001: sched:sched_switch: prev_comm=", fills[i], below, 1);
        long_line("\t1 ", fills[i], below, 1);
    }
    static const char *const fields[] = {"sk ", "src=", "sk=", "skc_num=1 ", "sk address = ", "protocol=,"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        long_line("sh 1 [000] 1.000001: tcp:tcp_probe: ", fields[i], below, 1);
}

static void zero_bytes(void **state)
{
    (void)state;
    static const char text[] =
        "s\0h 1 [000] 1.000001: sched:sched_switch: prev_comm=s\0h prev_pid=1 prev_prio=120 prev_state=S "
        "==> next_comm=\0 next_pid=2 next_prio=120\n\t1 f\0g (/x\0y)\n\0\0\0\n\0";
    struct perf_sink sink = {0};
    uint64_t skipped;
    assert_int_equal(perf_sink_run(&sink, text, sizeof(text), &skipped, NULL), 0);
    assert_int_equal(sink.broken, 0);
    assert_int_equal(skipped, 2);
    assert_true(
        perf_sink_has(&sink, "1000001000 switch 0 1/1[s?h] > 2/2[?] c=1 d=0 a=0 b=0 flags=0 frames=1 f?g..f?g"));
    perf_sink_fini(&sink);
}

static void deep_stacks(void **state)
{
    (void)state;
    struct wp_buffer text = {0};
    wp_buffer_puts(&text, good);
    for (int i = 0; i < 5000; i++)
        wp_buffer_printf(&text, "\t%x frame%d (/x)\n", i + 1, i);
    struct perf_sink sink = {0};
    assert_int_equal(perf_sink_run(&sink, (const char *)text.data, text.size, NULL, NULL), 0);
    assert_true(perf_sink_has(&sink,
        "1000001000 switch 0 1/1[sh] > 2/2[cc] c=1 d=0 a=0 b=0 flags=0 frames=1024 "
        "frame1023..frame0"));
    assert_int_equal(sink.broken, 0);
    perf_sink_fini(&sink);
    wp_buffer_fini(&text);
}

/* Names of any length in stacks of any depth: what is kept does not grow. */
static void memory_is_bounded(void **state)
{
    (void)state;
    struct wp_perf_stack *stack = calloc(1, sizeof(*stack));
    char *name = malloc(100000);
    memset(name, 'f', 100000);
    struct wp_perf_frame frame = {.function = {name, 100000}, .object = {name, 100000}};
    for (int i = 0; i < 5000; i++)
        assert_int_equal(wp_perf_stack_add(stack, &frame), 0);
    assert_int_equal(wp_perf_stack_frames(stack), WP_PERF_STACK_DEPTH);
    assert_true(stack->text.size <= 2 * WP_PERF_STACK_DEPTH * WP_PERF_NAME_LIMIT);
    assert_int_equal(strlen(stack->frames[0].function), WP_PERF_NAME_LIMIT - 1);
    wp_perf_stack_fini(stack);
    free(stack);
    free(name);
}

/* Of more sockets than are kept the first are forgotten, by each of their names. */
static void sockets_are_bounded(void **state)
{
    (void)state;
    struct wp_perf_sockets sockets = {0};
    struct wp_perf_net net = {.entry = {.family = 2, .local_port = 1}};
    int rc;
    for (uint32_t i = 1; i <= WP_PERF_SOCKETS + 1000; i++) {
        net.sk = net.cookie = i;
        net.entry.remote_port = (uint16_t)(i >> 8 | 1);
        memcpy(net.entry.remote, &i, sizeof(i));
        assert_int_not_equal(wp_perf_sockets_of(&sockets, &net, IPPROTO_TCP, &rc), 0);
    }
    assert_int_equal(sockets.count, WP_PERF_SOCKETS);
    assert_int_equal(sockets.by_sk.count, WP_PERF_SOCKETS);
    assert_int_equal(sockets.by_cookie.count, WP_PERF_SOCKETS);
    assert_int_equal(sockets.by_ends.count, WP_PERF_SOCKETS);
    assert_int_equal(wp_perf_sockets_find(&sockets, &(struct wp_perf_net){.sk = 1000}), 0);
    assert_int_not_equal(wp_perf_sockets_find(&sockets, &(struct wp_perf_net){.sk = 1001}), 0);
    wp_perf_sockets_fini(&sockets);
}

static void huge_numbers(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "sh 4194305 [000] 1.000001: sched:sched_process_exit: comm=sh pid=1 prio=120\n",
        "sh 1 [8192] 1.000001: sched:sched_process_exit: comm=sh pid=1 prio=120\n",
        "sh 1 [000] 18446744073709551616.000001: sched:sched_process_exit: comm=sh pid=1 prio=120\n",
        "sh 1 [000] 5000000000.000001: sched:sched_process_exit: comm=sh pid=1 prio=120\n",
        "sh 1 [000] 1.000001: sched:sched_process_exit: comm=sh pid=4194305 prio=120\n",
        "sh 1 [000] 1.000001: sched:sched_process_exit: comm=sh pid=99999999999999999999999 prio=120\n",
        "sh 1 [000] 1.000001: block:block_rq_issue: 4096,0 R 1 () 0 + 1 [x]\n",
        "sh 1 [000] 1.000001: block:block_rq_issue: 1,1048576 R 1 () 0 + 1 [x]\n",
        "sh 1 [000] 1.000001: irq:irq_handler_entry: irq=4294967296 name=x\n",
        "CPU:8192 [LOST 1 EVENTS]\n",
        "CPU:1 [LOST 99999999999999999999999 EVENTS]\n",
    };
    struct wp_buffer text = {0};
    uint64_t skipped;
    wp_buffer_puts(&text, good);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        wp_buffer_puts(&text, lines[i]);
    assert_int_equal(survive(text.data, text.size, &skipped), 1);
    assert_int_equal(skipped, sizeof(lines) / sizeof(lines[0]));
    /* the last ones that are allowed */
    wp_buffer_clear(&text);
    wp_buffer_puts(&text,
        "sh 4194304/4194304 [8191] 4000000000.999999999: sched:sched_process_exit: comm=sh pid=4194304 prio=1\n");
    wp_buffer_puts(&text, good); /* and time does not go past its end */
    assert_int_equal(survive(text.data, text.size, &skipped), 2);
    assert_int_equal(skipped, 0);
    wp_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mutations), cmocka_unit_test(noise),
        cmocka_unit_test(long_lines), cmocka_unit_test(zero_bytes), cmocka_unit_test(deep_stacks),
        cmocka_unit_test(memory_is_bounded), cmocka_unit_test(sockets_are_bounded), cmocka_unit_test(huge_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
