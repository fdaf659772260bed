/* SPDX-License-Identifier: Apache-2.0 */
/* Heads, frames and lost events, line by line. */
#include "collector/perf_script/perf_script_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static void assert_text(struct wp_text text, const char *want)
{
    char have[512];
    wp_text_copy(text, have, sizeof(have));
    assert_string_equal(have, want);
}

struct head_case {
    const char *line, *comm;
    uint32_t pid, tid, cpu;
    uint64_t time_ns;
    const char *event, *trace;
};

static const struct head_case heads[] = {
    {"perf  4781/4781  [001] 12142.076948:       sched:sched_switch: prev_comm=perf", "perf", 4781, 4781, 1,
        12142076948000, "sched:sched_switch", "prev_comm=perf"},
    {"perf  4781 [000] 12142.076869: sched:sched_waking: comm=migration/0 pid=18", "perf", 0, 4781, 0, 12142076869000,
        "sched:sched_waking", "comm=migration/0 pid=18"},
    {"            perf  4781 [000] 12142.076869520: sched:sched_waking: x", "perf", 0, 4781, 0, 12142076869520,
        "sched:sched_waking", "x"},
    {"swapper     0 [012] 12142.086976:   10101010                cpu-clock: ", "swapper", 0, 0, 12, 12142086976000,
        "cpu-clock", ""},
    {"swapper     0/0     [000] 12142.086976:  cpu-clock/freq=99/: ", "swapper", 0, 0, 0, 12142086976000,
        "cpu-clock/freq=99/", ""},
    {"cc1 77 [001] 5.000001:   1 cycles:ppp:  ffffffff8104 native_write_msr+0x4 ([kernel.kallsyms])", "cc1", 0, 77, 1,
        5000001000, "cycles:ppp", "ffffffff8104 native_write_msr+0x4 ([kernel.kallsyms])"},
    {"Web Content  10/12   [003] 1.000000: sched:sched_waking: comm=a", "Web Content", 10, 12, 3, 1000000000,
        "sched:sched_waking", "comm=a"},
    {"kworker/0:1-ev    33/33    [000] 1.5000: a:b: c", "kworker/0:1-ev", 33, 33, 0, 1500000000, "a:b", "c"},
    {"kworker/u8:0-events_power_efficient 9 [000] 1.500000: a:b: c", "kworker/u8:0-events_power_efficient", 0, 9, 0,
        1500000000, "a:b", "c"},
    {"x [1] 2: 9/9 [000] 1.500000: a:b: c", "x [1] 2:", 9, 9, 0, 1500000000, "a:b", "c"},
    {"1 1.000000: x: 9/9 [000] 1.500000: a:b: c", "1 1.000000: x:", 9, 9, 0, 1500000000, "a:b", "c"},
    {":-1 10095/-1    [000] 13528.950175: sched:sched_switch: x", ":-1", 10095, 0, 0, 13528950175000,
        "sched:sched_switch", "x"},
    {":1234  1234 [000] 1.500000: a:b: ", ":1234", 0, 1234, 0, 1500000000, "a:b", ""},
    {" 77 [000] 1.500000: a:b: ", "", 0, 77, 0, 1500000000, "a:b", ""},
    {"sh 77 1.500000: a:b: z", "sh", 0, 77, 0, 1500000000, "a:b", "z"},
    {"sh 77 [000] 1.500000: sched_switch: y", "sh", 0, 77, 0, 1500000000, "sched_switch", "y"},
    {"dd  6445 [001] 12390.115285: PERF_RECORD_LOST lost 6", "dd", 0, 6445, 1, 12390115285000, "PERF_RECORD_LOST",
        "lost 6"},
    {"dd  6445 [001] 12390.115285: PERF_RECORD_COMM: dd:6445/6445", "dd", 0, 6445, 1, 12390115285000,
        "PERF_RECORD_COMM", "dd:6445/6445"},
};

static void each_form_of_head(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        const struct head_case *c = &heads[i];
        struct wp_perf_head head;
        print_message("%s\n", c->line);
        assert_true(wp_perf_head_parse(wp_text_of(c->line), &head));
        assert_text(head.comm, c->comm);
        assert_text(head.event, c->event);
        assert_text(head.trace, c->trace);
        assert_int_equal(head.pid, c->pid);
        assert_int_equal(head.tid, c->tid);
        assert_int_equal(head.cpu, c->cpu);
        assert_int_equal(head.time_ns, c->time_ns);
        assert_int_equal(head.has_tid, strcmp(c->comm, ":-1") != 0);
    }
}

static void no_heads(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        " ",
        ":",
        "hello world",
        "# perf script --header",
        "sh 77 [000] 1.500000:",
        "sh 77 [000] 1.500000: name",
        "sh 77 [000] 1.500000: :",
        "sh 77 [000] 1500000: a:b: c",
        "sh [000] 1.500000: a:b: c",
        "sh x [000] 1.500000: a:b: c",
        "sh 77 [9000] 1.500000: a:b: c",
        "sh 99999999 [000] 1.500000: a:b: c",
        "sh 1/2/3 [000] 1.500000: a:b: c",
        "sh 77 [000] 99999999999.500000: a:b: c",
        "sh 77 [000] 1.5000000000: a:b: c",
        "sh 77 [000] .500000: a:b: c",
        "sh 77 [000] 99999999999999999999999.500000: a:b: c",
        "sh 77 [000] 1.: a:b: c",
        "1.500000: a:b: c",
        "\tffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])",
        "a comm of more than sixty-four bytes is not one that the kernel or perf gave 77 [000] 1.500000: a:b: c",
    };
    struct wp_perf_head head;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        print_message("%s\n", lines[i]);
        assert_false(wp_perf_head_parse(wp_text_of(lines[i]), &head));
    }
}

struct frame_case {
    const char *line, *function, *object;
    uint64_t address, offset;
    bool is_kernel, is_inlined;
};

static const struct frame_case frames[] = {
    {"\tffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])", "__schedule", "[kernel.kallsyms]", 0xffffffff821facd8,
        0x618, true, false},
    {"\tffffffff811 schedule ([kernel.vmlinux])", "schedule", "[kernel.vmlinux]", 0xffffffff811, 0, true, false},
    {"\tffffffffc0 nvme_irq+0x1 ([nvme])", "nvme_irq", "[nvme]", 0xffffffffc0, 1, true, false},
    {"\t1 f ([kernel.vmlinux].init.text)", "f", "[kernel.vmlinux].init.text", 1, 0, true, false},
    {"\t1 f (/usr/lib/debug/boot/vmlinux-6.1.0)", "f", "/usr/lib/debug/boot/vmlinux-6.1.0", 1, 0, true, false},
    {"\t1 f (/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz)", "f", "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz", 1, 0,
        true, false},
    {"\t1 f (/lib/modules/x/ext4.ko)", "f", "/lib/modules/x/ext4.ko", 1, 0, true, false},
    {"\t1 bpf_prog_6deef7357e7b4530_f ([bpf])", "bpf_prog_6deef7357e7b4530_f", "[bpf]", 1, 0, true, false},
    {"\t           ee137 sched_setaffinity@@GLIBC_2.3.4+0x7 (/usr/lib/x86_64-linux-gnu/libc.so.6)", "sched_setaffinity",
        "/usr/lib/x86_64-linux-gnu/libc.so.6", 0xee137, 7, false, false},
    {"\t          146f2c [unknown] (/usr/bin/perf)", "", "/usr/bin/perf", 0x146f2c, 0, false, false},
    {"\t    7f00deadbeef [unknown] ([unknown])", "", "", 0x7f00deadbeef, 0, false, false},
    {"\tffffffff82000000 [unknown] ([unknown])", "", "", 0xffffffff82000000, 0, true, false},
    {"\t7fff1 __vdso_clock_gettime+0x3 ([vdso])", "__vdso_clock_gettime", "[vdso]", 0x7fff1, 3, false, false},
    {"\t1 main+0x12 (/opt/my app (v2)/bin (deleted))", "main", "/opt/my app (v2)/bin (deleted)", 1, 0x12, false, false},
    {"\t1 std::map<int, f(char)>::at(int const&) const+0x1f (/usr/bin/x)",
        "std::map<int, f(char)>::at(int const&) const", "/usr/bin/x", 1, 0x1f, false, false},
    {"\t1 operator+ (/usr/bin/x)", "operator+", "/usr/bin/x", 1, 0, false, false},
    {"\t1 a+0x1+0x2 (/x)", "a+0x1", "/x", 1, 2, false, false},
    {"\t1 f (/odd)name)", "f", "/odd)name", 1, 0, false, false},
    {"\t1 hot_helper+0x3 (inlined)", "hot_helper", "", 1, 3, false, true},
    {"\t 12 (/x)", "", "/x", 0x12, 0, false, false},
    {"\t12 sh 7 [000] 1.000000: sched:sched_switch: x (/x)", "sh 7 [000] 1.000000: sched:sched_switch: x", "/x", 0x12,
        0, false, false},
};

static void each_form_of_frame(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        const struct frame_case *c = &frames[i];
        struct wp_perf_frame frame;
        print_message("%s\n", c->line);
        assert_true(wp_perf_frame_parse(wp_text_of(c->line), &frame));
        assert_text(frame.function, c->function);
        assert_text(frame.object, c->object);
        assert_int_equal(frame.address, c->address);
        assert_int_equal(frame.offset, c->offset);
        assert_int_equal(frame.is_kernel, c->is_kernel);
        assert_int_equal(frame.is_inlined, c->is_inlined);
    }
}

static void no_frames(void **state)
{
    (void)state;
    static const char *const lines[] = {"", "\t", "\tzz f (/x)", "\t1", "\t1 ", "\t1 f", "\t1 f (", "\t1 f /x)", "\t1)",
        "\t1 )", "\t11111111111111111 f (/x)", "\t1f(/x)"};
    struct wp_perf_frame frame;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        print_message("%s\n", lines[i]);
        assert_false(wp_perf_frame_parse(wp_text_of(lines[i]), &frame));
    }
}

static void lost_events(void **state)
{
    (void)state;
    struct wp_perf_head head;
    uint64_t count;
    uint32_t cpu;
    assert_true(wp_perf_head_parse(wp_text_of("dd 1 [001] 1.000000: PERF_RECORD_LOST lost 46"), &head));
    assert_true(wp_perf_lost_count(&head, &count));
    assert_int_equal(count, 46);
    assert_true(wp_perf_head_parse(wp_text_of("dd 1 [001] 1.000000: PERF_RECORD_LOST_SAMPLES: lost 7"), &head));
    assert_true(wp_perf_lost_count(&head, &count));
    assert_int_equal(count, 7);
    assert_true(wp_perf_head_parse(wp_text_of("dd 1 [001] 1.000000: PERF_RECORD_LOST lost many"), &head));
    assert_false(wp_perf_lost_count(&head, &count));
    assert_true(wp_perf_head_parse(wp_text_of("dd 1 [001] 1.000000: a:b: lost 7"), &head));
    assert_false(wp_perf_lost_count(&head, &count));

    assert_true(wp_perf_lost_parse(wp_text_of("CPU:3 [LOST 12 EVENTS]"), &cpu, &count));
    assert_int_equal(cpu, 3);
    assert_int_equal(count, 12);
    assert_true(wp_perf_lost_parse(wp_text_of("CPU 0 [12 EVENTS DROPPED]"), &cpu, &count));
    assert_int_equal(count, 12);
    assert_true(wp_perf_lost_parse(wp_text_of("CPU:5 [EVENTS DROPPED]"), &cpu, &count));
    assert_int_equal(count, 1);
    assert_false(wp_perf_lost_parse(wp_text_of("CPU:99999 [LOST 12 EVENTS]"), &cpu, &count));
    assert_false(wp_perf_lost_parse(wp_text_of("CPU:1 [LOST 12 EVENTS] x"), &cpu, &count));
    assert_false(wp_perf_lost_parse(wp_text_of("CPU:1 LOST"), &cpu, &count));
}

static void texts(void **state)
{
    (void)state;
    char small[4];
    uint64_t value;
    struct wp_text text = wp_text_of("18446744073709551616");
    assert_false(wp_text_take_number(&text, &value));
    assert_int_equal(text.size, 20);
    text = wp_text_of("18446744073709551615!");
    assert_true(wp_text_take_number(&text, &value));
    assert_true(value == UINT64_MAX && wp_text_is(text, "!"));
    wp_text_copy((struct wp_text){"a\0b\n\x7f", 5}, small, sizeof(small));
    assert_string_equal(small, "a?b");
    assert_int_equal(wp_text_rfind(wp_text_of("aXbXc"), "X"), 3);
    assert_int_equal(wp_text_find(wp_text_of("aXbXc"), "X"), 1);
    assert_true(wp_text_rfind(wp_text_of(""), "X") == WP_TEXT_NONE);
    assert_text(wp_text_trim(wp_text_of(" \t a b\t ")), "a b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_form_of_head), cmocka_unit_test(no_heads),
        cmocka_unit_test(each_form_of_frame), cmocka_unit_test(no_frames), cmocka_unit_test(lost_events),
        cmocka_unit_test(texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
