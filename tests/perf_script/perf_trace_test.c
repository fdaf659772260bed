/* SPDX-License-Identifier: Apache-2.0 */
/* What each event says behind its name, and names that try to look like the words between them. */
#include "collector/perf_script/perf_script_syscall.h"
#include "collector/perf_script/perf_script_trace.h"

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

static struct wp_perf_trace parsed(enum wp_perf_kind kind, const char *text)
{
    struct wp_perf_trace trace;
    print_message("%s\n", text);
    assert_true(wp_perf_trace_parse(kind, wp_text_of(text), &trace));
    return trace;
}

static void refused(enum wp_perf_kind kind, const char *text)
{
    struct wp_perf_trace trace;
    print_message("not: %s\n", text);
    assert_false(wp_perf_trace_parse(kind, wp_text_of(text), &trace));
}

struct switch_case {
    const char *text, *comm, *other;
    uint32_t tid, other_tid;
    enum wp_task_state state;
    bool is_preempted;
};

static const struct switch_case switches[] = {
    {"prev_comm=perf prev_pid=4781 prev_prio=120 prev_state=D ==> next_comm=migration/0 next_pid=18 next_prio=0",
        "perf", "migration/0", 4781, 18, WP_STATE_UNINTERRUPTIBLE, false},
    {"prev_comm=Web Content prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=kworker/0:1-ev next_pid=9 "
     "next_prio=100",
        "Web Content", "kworker/0:1-ev", 7, 9, WP_STATE_RUNNING, true},
    {"prev_comm=a prev_pid=1 b prev_pid=2 prev_prio=-100 prev_state=S ==> next_comm= next_pid=3 x next_pid=4 "
     "next_prio=-2",
        "a prev_pid=1 b", " next_pid=3 x", 2, 4, WP_STATE_INTERRUPTIBLE, false},
    {"prev_comm= ==> next_comm= prev_pid=2 prev_prio=120 prev_state=Z ==> next_comm= ==> next_comm= next_pid=4 "
     "next_prio=5",
        " ==> next_comm=", " ==> next_comm=", 2, 4, WP_STATE_DEAD, false},
    {"prev_comm= prev_pid=2 prev_prio=120 prev_state=t ==> next_comm= next_pid=4 next_prio=5", "", "", 2, 4,
        WP_STATE_TRACED, false},
    {"prev_comm=x prev_pid=-1 prev_prio=120 prev_state=X ==> next_comm=y next_pid=4 next_prio=5", "x", "y", 0, 4,
        WP_STATE_DEAD, false},
    {"firefox:900 [120] S ==> swapper/1:0 [120]", "firefox", "swapper/1", 900, 0, WP_STATE_INTERRUPTIBLE, false},
    {"kworker/0:1:33 [120] R+ ==> a:b c:7 [-5]", "kworker/0:1", "a:b c", 33, 7, WP_STATE_RUNNING, true},
};

static void switches_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        const struct switch_case *c = &switches[i];
        struct wp_perf_trace trace = parsed(WP_PERF_SWITCH, c->text);
        assert_text(trace.comm, c->comm);
        assert_text(trace.other_comm, c->other);
        assert_int_equal(trace.tid, c->tid);
        assert_int_equal(trace.other_tid, c->other_tid);
        assert_int_equal(trace.state, c->state);
        assert_int_equal(trace.is_preempted, c->is_preempted);
    }
    refused(WP_PERF_SWITCH, "");
    refused(WP_PERF_SWITCH, "prev_comm=a");
    refused(WP_PERF_SWITCH, "prev_comm=a prev_pid=1 prev_prio=1 prev_state=S");
    refused(WP_PERF_SWITCH, "prev_comm=a prev_pid=1 prev_prio=1 prev_state=? ==> next_comm=b next_pid=2 next_prio=3");
    refused(WP_PERF_SWITCH, "prev_comm=a prev_pid=1 prev_prio=1 prev_state= ==> next_comm=b next_pid=2 next_prio=3");
    refused(WP_PERF_SWITCH, "prev_comm=a prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=b next_pid=x next_prio=3");
    refused(WP_PERF_SWITCH,
        "prev_comm=a prev_pid=99999999 prev_prio=1 prev_state=S ==> next_comm=b next_pid=2 next_prio=3");
    refused(WP_PERF_SWITCH, "a:1 [120] S ==> b");
    refused(WP_PERF_SWITCH, "a:1 [120] S ==> b:2 [120] more");
}

static void states_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum wp_task_state state;
        bool is_preempted;
    } cases[] = {{"R", WP_STATE_RUNNING, false}, {"R+", WP_STATE_RUNNING, true}, {"S", WP_STATE_INTERRUPTIBLE, false},
        {"S+", WP_STATE_RUNNING, true}, {"D", WP_STATE_UNINTERRUPTIBLE, false}, {"T", WP_STATE_STOPPED, false},
        {"t", WP_STATE_TRACED, false}, {"X", WP_STATE_DEAD, false}, {"x", WP_STATE_DEAD, false},
        {"Z", WP_STATE_DEAD, false}, {"I", WP_STATE_IDLE, false}, {"P", WP_STATE_PARKED, false},
        {"D|K", WP_STATE_UNINTERRUPTIBLE, false}, {"S|W", WP_STATE_INTERRUPTIBLE, false}, {"D|N", WP_STATE_IDLE, false},
        {"S|0x40", WP_STATE_INTERRUPTIBLE, false}, {"D|K|W", WP_STATE_UNINTERRUPTIBLE, false},
        {"Z|X", WP_STATE_DEAD, false}, {"0x2", WP_STATE_UNINTERRUPTIBLE, false}, {"0", WP_STATE_RUNNING, false},
        {"1", WP_STATE_INTERRUPTIBLE, false}, {"130", WP_STATE_UNINTERRUPTIBLE, false}, {"16", WP_STATE_DEAD, false}};
    enum wp_task_state have;
    bool is_preempted;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].text);
        assert_true(wp_perf_state_parse(wp_text_of(cases[i].text), &have, &is_preempted));
        assert_int_equal(have, cases[i].state);
        assert_int_equal(is_preempted, cases[i].is_preempted);
    }
    static const char *const bad[] = {"", "+", "|", "Q", "S||D", "SD", "S|Q", "0x", "S|0x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(wp_perf_state_parse(wp_text_of(bad[i]), &have, &is_preempted));
}

static void wakings_are_read(void **state)
{
    (void)state;
    struct wp_perf_trace trace = parsed(WP_PERF_WAKING, "comm=migration/0 pid=18 prio=0 target_cpu=000");
    assert_text(trace.other_comm, "migration/0");
    assert_int_equal(trace.other_tid, 18);
    trace = parsed(WP_PERF_WAKEUP, "comm=a pid=7 prio=1 x pid=19 prio=120 success=1 target_cpu=003");
    assert_text(trace.other_comm, "a pid=7 prio=1 x");
    assert_int_equal(trace.other_tid, 19);
    trace = parsed(WP_PERF_WAKEUP, "Web Content:42 [120] success=1 CPU:001");
    assert_text(trace.other_comm, "Web Content");
    assert_int_equal(trace.other_tid, 42);
    trace = parsed(WP_PERF_WAKING, "kworker/0:1:42 [120]<CANT FIND FIELD success> CPU:001");
    assert_text(trace.other_comm, "kworker/0:1");
    refused(WP_PERF_WAKING, "comm=a pid=x prio=0 target_cpu=000");
    refused(WP_PERF_WAKING, "comm=a pid=1");
    refused(WP_PERF_WAKING, "a:1 [120]");
    refused(WP_PERF_WAKING, "");
}

static void lives_are_read(void **state)
{
    (void)state;
    struct wp_perf_trace trace = parsed(WP_PERF_FORK, "comm=sh pid=4783 child_comm=sh child_pid=4785");
    assert_int_equal(trace.tid, 4783);
    assert_int_equal(trace.other_tid, 4785);
    trace = parsed(WP_PERF_FORK, "comm=a pid=1 b pid=2 child_comm=c child_pid=3 child_pid=4");
    assert_text(trace.comm, "a pid=1 b");
    assert_text(trace.other_comm, "c child_pid=3");
    assert_int_equal(trace.tid, 2);
    assert_int_equal(trace.other_tid, 4);
    refused(WP_PERF_FORK, "comm=sh pid=4783 child_comm=sh");
    refused(WP_PERF_FORK, "comm=sh child_pid=4785");

    trace = parsed(WP_PERF_EXEC, "filename=/usr/bin/my tool pid=9 old_pid=8");
    assert_text(trace.file, "/usr/bin/my tool");
    assert_int_equal(trace.tid, 8);
    assert_int_equal(trace.other_tid, 9);
    trace = parsed(WP_PERF_EXEC, "filename=/x pid=1 old_pid=2 pid=9 old_pid=9");
    assert_text(trace.file, "/x pid=1 old_pid=2");
    refused(WP_PERF_EXEC, "filename=/x pid=1");
    refused(WP_PERF_EXEC, "filename=/x pid=a old_pid=1");

    trace = parsed(WP_PERF_EXIT, "comm=Web Content pid=4785 prio=120 group_dead=true");
    assert_text(trace.comm, "Web Content");
    assert_int_equal(trace.tid, 4785);
    parsed(WP_PERF_EXIT, "comm=dd pid=4785 prio=120");
    refused(WP_PERF_EXIT, "comm=dd");

    trace = parsed(WP_PERF_RENAME, "pid=24321 oldcomm=my sh newcomm=ec ho oom_score_adj=-17");
    assert_text(trace.comm, "my sh");
    assert_text(trace.other_comm, "ec ho");
    assert_int_equal(trace.tid, 24321);
    trace = parsed(WP_PERF_RENAME, "oldcomm=sh newcomm= oom_score_adj=0");
    assert_text(trace.other_comm, "");
    assert_int_equal(trace.tid, 0);
    refused(WP_PERF_RENAME, "pid=1 oldcomm=sh oom_score_adj=0");
    refused(WP_PERF_RENAME, "pid=1 oldcomm=sh newcomm=x");
    refused(WP_PERF_RENAME, "pid=x oldcomm=sh newcomm=x oom_score_adj=0");
}

static void requests_are_read(void **state)
{
    (void)state;
    struct wp_perf_trace insert = parsed(WP_PERF_BLOCK_INSERT, "254,0 RM 4096 () 20377144 + 8 0x2,0,4 [perf-exec]");
    assert_int_equal(insert.device, 254u << 20);
    assert_int_equal(insert.bytes, 4096);
    assert_int_equal(insert.sector, 20377144);
    assert_int_equal(insert.block_flags, 0);
    assert_int_not_equal(insert.request, 0);
    struct wp_perf_trace done = parsed(WP_PERF_BLOCK_COMPLETE, "254,0 RM () 20377144 + 8 0x2,0,4 [0]");
    assert_true(done.request == insert.request && done.bytes == 4096 && done.block_flags == 0);
    struct wp_perf_trace other = parsed(WP_PERF_BLOCK_ISSUE, "254,1 R 4096 () 20377144 + 8 [x]");
    assert_true(other.request != insert.request);
    other = parsed(WP_PERF_BLOCK_ISSUE, "8,0 R 0 (28 00 01 ff) 20377145 + 8 [x]");
    assert_true(other.bytes == 4096 && other.request != insert.request);
    assert_int_equal(parsed(WP_PERF_BLOCK_COMPLETE, "254,0 WS () 20377144 + 8 [-5]").block_flags,
        WP_BLOCK_WRITE | WP_BLOCK_SYNC | WP_BLOCK_ERROR);
    assert_int_equal(parsed(WP_PERF_BLOCK_ISSUE, "254,0 RA 4096 () 1 + 8 [x]").block_flags, WP_BLOCK_READAHEAD);
    assert_int_equal(parsed(WP_PERF_BLOCK_ISSUE, "254,0 FWFS 4096 () 1 + 8 [x]").block_flags,
        WP_BLOCK_FLUSH | WP_BLOCK_WRITE | WP_BLOCK_SYNC);
    assert_int_equal(
        parsed(WP_PERF_BLOCK_ISSUE, "254,0 DS 4096 () 1 + 8 [x]").block_flags, WP_BLOCK_DISCARD | WP_BLOCK_SYNC);
    /* a flush: issued at sector 0, completed at 2^64 - 1 */
    struct wp_perf_trace flush = parsed(WP_PERF_BLOCK_ISSUE, "254,0 FF 0 () 0 + 0 [kworker/0:1H]");
    struct wp_perf_trace flushed = parsed(WP_PERF_BLOCK_COMPLETE, "254,0 FF () 18446744073709551615 + 0 [0]");
    assert_true(flush.request == flushed.request);
    assert_true(flush.request == parsed(WP_PERF_BLOCK_COMPLETE, "254,0 WS () 0 + 0 0x2,0,4 [0]").request);
    assert_true(flush.request != parsed(WP_PERF_BLOCK_ISSUE, "254,0 N 36 (12 00) 0 + 0 [x]").request);
    assert_true(flush.request != parsed(WP_PERF_BLOCK_ISSUE, "254,0 R 512 () 0 + 1 [x]").request);
    refused(WP_PERF_BLOCK_ISSUE, "254 R 512 () 0 + 1 [x]");
    refused(WP_PERF_BLOCK_ISSUE, "99999,0 R 512 () 0 + 1 [x]");
    refused(WP_PERF_BLOCK_ISSUE, "254,0 R 512 () 99999999999999999999 + 1 [x]");
    refused(WP_PERF_BLOCK_ISSUE, "254,0 R 512 () 0 + 99999999 [x]");
    refused(WP_PERF_BLOCK_ISSUE, "254,0 R 512 ( 0 + 1 [x]");
    refused(WP_PERF_BLOCK_ISSUE, "");
}

static void interrupts_and_names(void **state)
{
    (void)state;
    assert_int_equal(parsed(WP_PERF_IRQ_ENTRY, "irq=36 name=virtio1-req.0").number, 36);
    assert_int_equal(parsed(WP_PERF_IRQ_EXIT, "irq=36 ret=handled").number, 36);
    assert_int_equal(parsed(WP_PERF_SOFTIRQ_ENTRY, "vec=7 [action=SCHED]").number, 7);
    refused(WP_PERF_IRQ_ENTRY, "irq=x");
    refused(WP_PERF_SOFTIRQ_ENTRY, "");
    static const struct {
        const char *name;
        enum wp_perf_kind kind;
    } cases[] = {{"sched:sched_switch", WP_PERF_SWITCH}, {"sched_switch", WP_PERF_SWITCH},
        {"sched:sched_waking", WP_PERF_WAKING}, {"sched:sched_wakeup_new", WP_PERF_WAKEUP},
        {"sched:sched_migrate_task", WP_PERF_IGNORED}, {"block:block_rq_insert", WP_PERF_BLOCK_INSERT},
        {"irq:softirq_exit", WP_PERF_SOFTIRQ_EXIT}, {"cycles", WP_PERF_SAMPLE}, {"cycles:ppp", WP_PERF_SAMPLE},
        {"cpu-clock:pppH", WP_PERF_SAMPLE}, {"cpu-clock/freq=99/", WP_PERF_SAMPLE},
        {"cpu_core/cycles/P", WP_PERF_SAMPLE}, {"cpu/cpu-cycles,freq=9/", WP_PERF_OTHER},
        {"task-clock:u", WP_PERF_SAMPLE}, {"cycles_of_doom", WP_PERF_OTHER}, {"page-faults", WP_PERF_OTHER},
        {"tcp:tcp_probe", WP_PERF_TCP_ARRIVE}, {"tcp:tcp_sendmsg_locked", WP_PERF_IGNORED},
        {"probe:tcp_sendmsg_locked", WP_PERF_TCP_SEND}, {"probe:tcp_sendmsg_2", WP_PERF_TCP_SEND},
        {"probe:tcp_sendmsg_", WP_PERF_OTHER}, {"probe:do_exit", WP_PERF_OTHER}, {"udp:x", WP_PERF_IGNORED},
        {"sock:inet_sock_set_state", WP_PERF_SOCK_STATE}, {"probe:", WP_PERF_OTHER}, {"probe:_1", WP_PERF_OTHER},
        {"sched:sched_switch2", WP_PERF_OTHER}, {"PERF_RECORD_LOST", WP_PERF_LOST}, {"", WP_PERF_OTHER}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        assert_int_equal(wp_perf_kind_of(wp_text_of(cases[i].name)), cases[i].kind);
    }
}

static void calls_have_numbers(void **state)
{
    (void)state;
    assert_int_equal(wp_perf_syscall("__x64_sys_read"), 1);
    assert_int_equal(wp_perf_syscall("ksys_read"), 1);
    assert_int_equal(wp_perf_syscall("SyS_write"), 2);
    assert_int_equal(wp_perf_syscall("sys_accept4"), 289);
    assert_int_equal(wp_perf_syscall("__arm64_sys_clock_nanosleep.constprop.0"), WP_PERF_CLOCK_NANOSLEEP + 1);
    assert_int_equal(wp_perf_syscall("__x64_sys_nanosleep"), WP_PERF_NANOSLEEP + 1);
    assert_int_equal(wp_perf_syscall("__do_sys_vfork"), WP_PERF_VFORK + 1);
    assert_int_equal(wp_perf_syscall("__ia32_sys_sched_yield"), WP_PERF_SCHED_YIELD + 1);
    assert_int_equal(wp_perf_syscall("do_sys_poll"), 8);
    assert_int_equal(wp_perf_syscall("kernel_wait4"), 62);
    assert_int_equal(wp_perf_syscall("__sys_recvfrom"), 46);
    assert_int_equal(wp_perf_syscall("__x64_sys_newfstatat"), 263);
    /* both ends of the table, which a search in a list out of order would miss */
    assert_int_equal(wp_perf_syscall("__x64_sys__sysctl"), 157);
    assert_int_equal(wp_perf_syscall("__x64_sys_writev"), 21);
    assert_int_equal(wp_perf_syscall("x64_sys_call"), 0);
    assert_int_equal(wp_perf_syscall("sys_"), 0);
    assert_int_equal(wp_perf_syscall("vfs_read"), 0);
    assert_int_equal(wp_perf_syscall(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(switches_are_read), cmocka_unit_test(states_are_read),
        cmocka_unit_test(wakings_are_read), cmocka_unit_test(lives_are_read), cmocka_unit_test(requests_are_read),
        cmocka_unit_test(interrupts_and_names), cmocka_unit_test(calls_have_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
