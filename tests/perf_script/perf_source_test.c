/* SPDX-License-Identifier: Apache-2.0 */
/* Whole texts, from the file or pipe to the facts. */
#include "perf_sink.h"

#include "collector/perf_script/source_perf_script.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static struct wp_buffer file_of(const char *path)
{
    struct wp_buffer bytes = {0};
    char chunk[65536];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t got; (got = fread(chunk, 1, sizeof(chunk), file));)
        assert_int_equal(wp_buffer_append(&bytes, chunk, got), 0);
    fclose(file);
    return bytes;
}

static uint64_t times(const struct wp_buffer *text, const char *word)
{
    uint64_t count = 0;
    for (const char *at = (const char *)text->data; (at = strstr(at, word)); at++)
        count++;
    return count;
}

/* Runs a text that must be read without an error or a broken promise. */
static struct perf_sink facts_of(const char *text, uint64_t skipped)
{
    struct perf_sink sink = {0};
    struct wp_error err = {0};
    uint64_t have = 0;
    int rc = perf_sink_run(&sink, text, strlen(text), &have, &err);
    if (rc)
        print_message("%s\n", err.text);
    assert_int_equal(rc, 0);
    assert_int_equal(sink.broken, 0);
    assert_int_equal(have, skipped);
    assert_true(sink.watermark_ns >= sink.last_ns);
    return sink;
}

static void assert_has(const struct perf_sink *sink, const char *line)
{
    if (!perf_sink_has(sink, line))
        print_message("no such fact: %s\nbut:\n%.3000s\n", line, sink->text.data ? (const char *)sink->text.data : "");
    assert_true(perf_sink_has(sink, line));
}

/* --- a real recording --- */

/* Each waking by a request names one that ended before, on lines above. */
static uint64_t requests_known(const struct perf_sink *sink)
{
    uint64_t known = 0;
    const char *text = (const char *)sink->text.data;
    for (const char *at = text; (at = strstr(at, "] c=4 d=")); at++) {
        unsigned long long key;
        char done[64];
        if (sscanf(at, "] c=4 d=266338304 a=%llu b=0 ", &key) != 1)
            continue;
        snprintf(done, sizeof(done), " b=%llu ", key);
        const char *first = strstr(text, done);
        assert_true(first && first < at);
        known++;
    }
    return known;
}

static void a_recording(void **state)
{
    (void)state;
    struct wp_buffer text = file_of(FIXTURES "/recorded.txt");
    struct perf_sink sink = facts_of((const char *)text.data, 0);
    assert_int_equal(sink.counts[WP_EVENT_SWITCH], times(&text, " sched:sched_switch: "));
    assert_int_equal(sink.counts[WP_EVENT_WAKING], times(&text, " sched:sched_waking: "));
    assert_int_equal(sink.counts[WP_EVENT_FORK], times(&text, " sched:sched_process_fork: "));
    assert_int_equal(sink.counts[WP_EVENT_EXEC], times(&text, " sched:sched_process_exec: "));
    assert_int_equal(sink.counts[WP_EVENT_EXIT], times(&text, " sched:sched_process_exit: "));
    assert_int_equal(sink.counts[WP_EVENT_BLOCK_INSERT], times(&text, " block:block_rq_insert: "));
    assert_int_equal(sink.counts[WP_EVENT_BLOCK_ISSUE], times(&text, " block:block_rq_issue: "));
    assert_int_equal(sink.counts[WP_EVENT_BLOCK_COMPLETE], times(&text, " block:block_rq_complete: "));
    assert_int_equal(sink.counts[WP_EVENT_SAMPLE], 5); /* six, one of them of the idle task */
    assert_true(sink.counts[WP_EVENT_SWITCH] > 60);
    assert_int_equal(requests_known(&sink), 4);
    assert_int_equal(sink.causes[WP_CAUSE_BLOCK], 4);
    /* as they stand in the text: lines 71-80, an fsync; the flush is issued by the kernel's worker */
    assert_has(&sink,
        "13528952356000 block_insert 0 10097/10097[dd] > 0/0[] c=4096 d=266338304 a=350487056 "
        "b=16153400522033857791 flags=9 frames=0");
    assert_has(&sink,
        "13528952420000 waking 1 10061/10061[busy] > 10097/10097[dd] c=4 d=266338304 a=16153400522033857791 b=0 "
        "flags=2 frames=0");
    assert_has(&sink,
        "13528952505000 block_complete 1 10061/10061[busy] > 0/0[] c=0 d=266338304 a=0 b=11638824893869331962 "
        "flags=2 frames=0");
    /* a send over loopback wakes the reader: the sender's doing */
    assert_has(
        &sink, "13528931312000 waking 0 10095/10095[python3] > 10096/10095[python3] c=1 d=0 a=0 b=0 flags=0 frames=0");
    /* a sleep that a timer ends, in the interrupt of an idle CPU */
    assert_has(&sink, "13528931290000 waking 0 0/0[swapper/0] > 10095/10095[python3] c=2 d=0 a=0 b=0 flags=1 frames=0");
    assert_has(&sink, "13528913379000 fork 0 10093/10093[sh] > 10095/10095[sh] c=0 d=0 a=0 b=0 flags=2 frames=0");
    assert_has(&sink,
        "13528913388000 switch 0 10093/10093[sh] > 10095/10095[sh] c=2 d=59 a=0 b=0 flags=0 frames=10 "
        "__vfork..__schedule");
    assert_has(
        &sink, "13528925426000 fork 0 10095/10095[python3] > 10096/10095[python3] c=0 d=0 a=0 b=0 flags=1 frames=0");
    assert_has(&sink, "13528953710000 fork 0 10093/10093[sh] > 10099/10099[sh] c=0 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink,
        "13528913459000 exec 0 10095/10095[python3] > 10095/10095[sh] c=0 d=0 a=0 b=0 flags=0 frames=0 "
        "exe=/usr/bin/python3");
    perf_sink_fini(&sink);
    wp_buffer_fini(&text);
}

static void default_fields(void **state)
{
    (void)state;
    struct wp_buffer text = file_of(FIXTURES "/recorded_default.txt");
    struct perf_sink sink = facts_of((const char *)text.data, 0);
    assert_int_equal(sink.counts[WP_EVENT_SWITCH], times(&text, " sched:sched_switch: "));
    assert_int_equal(sink.counts[WP_EVENT_WAKING], times(&text, " sched:sched_waking: "));
    assert_int_equal(sink.counts[WP_EVENT_EXEC], 3);
    assert_has(
        &sink, "13528911135000 waking 0 10091/10091[perf] > 18/18[migration/0] c=1 d=0 a=0 b=0 flags=0 frames=0");
    perf_sink_fini(&sink);
    wp_buffer_fini(&text);
}

/* --- texts by hand --- */

#define SWITCH(time, from, to)                                                                                         \
    "sh " from " [000] " time ": sched:sched_switch: prev_comm=sh prev_pid=" from                                      \
    " prev_prio=120 prev_state=S ==> next_comm=cc next_pid=" to " next_prio=120\n"

static void each_fact_has_its_time(void **state)
{
    (void)state;
    struct perf_sink sink =
        facts_of(SWITCH("1.000001", "1", "2") SWITCH("1.000001", "2", "3") SWITCH("1.000001", "3", "4")
                     SWITCH("1.000000", "4", "5") SWITCH("1.000002", "5", "6") SWITCH("1.123456789", "6", "7"),
            0);
    assert_has(&sink, "1000001000 switch 0 1/1[sh] > 2/2[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink, "1000001001 switch 0 2/2[sh] > 3/3[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink, "1000001002 switch 0 3/3[sh] > 4/4[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink, "1000001003 switch 0 4/4[sh] > 5/5[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink, "1000002000 switch 0 5/5[sh] > 6/6[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink, "1123456789 switch 0 6/6[sh] > 7/7[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_int_equal(sink.watermark_ns, 1123456789);
    perf_sink_fini(&sink);
}

static void wakeups_stand_in(void **state)
{
    (void)state;
    static const char wakeup[] =
        "sh 1 [000] 1.000001: sched:sched_wakeup: comm=cc pid=2 prio=120 target_cpu=001\n"
        "sh 1 [000] 1.000002: sched:sched_wakeup_new: comm=cc pid=3 prio=120 success=1 target_cpu=001\n";
    static const char waking[] = "sh 1 [000] 1.000003: sched:sched_waking: comm=cc pid=4 prio=120 target_cpu=001\n";
    struct perf_sink sink = facts_of(wakeup, 0);
    assert_int_equal(sink.counts[WP_EVENT_WAKING], 2);
    perf_sink_fini(&sink);
    char both[1024];
    snprintf(both, sizeof(both), "%s%s", waking, wakeup);
    sink = facts_of(both, 0);
    assert_int_equal(sink.counts[WP_EVENT_WAKING], 1);
    assert_has(&sink, "1000003000 waking 0 1/1[sh] > 4/4[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    perf_sink_fini(&sink);
}

static void the_form_of_2015(void **state)
{
    (void)state;
    struct perf_sink sink =
        facts_of("# ========\n# captured on: Mon Mar  2 10:00:00 2015\n#\n"
                 "swapper     0 [001]  1000.000001: sched:sched_wakeup: comm=Web Content pid=7 prio=120 success=1 "
                 "target_cpu=001\n"
                 "\tffffffff810a1b2c ttwu_do_wakeup ([kernel.kallsyms])\n"
                 "\tffffffff810b1b2c hrtimer_wakeup ([kernel.kallsyms])\n"
                 "\tffffffff810c1b2c apic_timer_interrupt ([kernel.kallsyms])\n\n"
                 "swapper     0 [001]  1000.000002: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 "
                 "prev_state=R ==> "
                 "next_comm=Web Content next_pid=7 next_prio=120\n"
                 "\tffffffff816a1b2c __schedule ([kernel.kallsyms])\n\n"
                 "Web Content     7 [001]  1000.000009: cycles: \n"
                 "\t          4005d0 work (/usr/bin/web)\n\t    7f00deadbee0 __libc_start_main (/lib/libc-2.19.so)\n\n"
                 ":7     7 [001]  1000.000015: sched:sched_switch: Web Content:7 [120] D|K ==> swapper/1:0 [120]\n"
                 "\tffffffff816a1b2c __schedule ([kernel.kallsyms])\n"
                 "\tffffffff816a1b2d SyS_nanosleep ([kernel.kallsyms])\n"
                 "\t          4005d0 work (/usr/bin/web)\n\n",
            0);
    assert_has(&sink, "1000000001000 waking 1 0/0[swapper] > 7/7[Web Content] c=2 d=0 a=0 b=0 flags=1 frames=0");
    assert_has(&sink, "1000000002000 switch 1 0/0[swapper/1] > 7/7[Web Content] c=0 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink,
        "1000000009000 sample 1 7/7[Web Content] > 0/0[] c=0 d=0 a=0 b=0 flags=0 frames=2 __libc_start_main..work");
    assert_has(&sink,
        "1000000015000 switch 1 7/7[Web Content] > 0/0[swapper/1] c=2 d=36 a=0 b=0 flags=2 frames=3 "
        "work..__schedule");
    assert_int_equal(sink.facts, 4);
    perf_sink_fini(&sink);
}

static void what_is_remembered(void **state)
{
    (void)state;
    struct perf_sink sink = facts_of(
        "sh 5/6 [000] 1.000000: cycles:P:  4005d0 work+0x1 (/usr/bin/web)\n" /* a thread group; a frame in the line */
        "sh 5/5 [000] 1.000001: irq:irq_handler_entry: irq=36 name=nvme0q1\n"
        "sh 5/5 [000] 1.000002: sched:sched_waking: comm=cc pid=6 prio=120 target_cpu=001\n"
        "sh 5/5 [000] 1.000003: irq:irq_handler_exit: irq=36 ret=handled\n"
        "sh 5/5 [000] 1.000004: sched:sched_waking: comm=cc pid=6 prio=120 target_cpu=001\n"
        "sh 5/5 [000] 1.000005: irq:softirq_entry: vec=4 [action=BLOCK]\n"
        "sh 5/5 [000] 1.000006: block:block_rq_complete: 8,16 R () 100 + 8 [0]\n"
        "sh 5/5 [000] 1.000007: sched:sched_waking: comm=cc pid=6 prio=120 target_cpu=001\n"
        "sh 5/5 [000] 1.000008: sched:sched_switch: prev_comm=sh prev_pid=5 prev_prio=120 prev_state=R+ ==> "
        "next_comm=kworker/0:1 next_pid=9 next_prio=120\n"
        ":-1 -1/-1 [000] 1.000009: sched:sched_waking: comm=cc pid=6 prio=120 target_cpu=001\n"
        "kworker/0:1-events 9/9 [000] 1.000010: sched:sched_waking: comm=cc pid=6 prio=120 target_cpu=001\n"
        "cc 6/6 [001] 1.000011: sched:sched_process_exec: filename=/usr/bin/a-name-that-is-long pid=5 old_pid=6\n"
        "kworker/0:1-events 9/9 [000] 1.000012: task:task_rename: pid=9 oldcomm=kworker/0:1 newcomm=other "
        "oom_score_adj=0\n"
        "kworker/0:1-events 9/9 [000] 1.000013: sched:sched_waking: comm=cc pid=6 prio=120 target_cpu=001\n"
        "cc 5/5 [001] 1.000014: sched:sched_waking: comm=cc pid=6 prio=120 target_cpu=001\n",
        0);
    assert_has(&sink, "1000000000 sample 0 6/5[sh] > 0/0[] c=0 d=0 a=0 b=0 flags=0 frames=1 work..work");
    assert_has(&sink, "1000002000 waking 0 5/5[sh] > 6/5[cc] c=5 d=36 a=0 b=0 flags=1 frames=0");
    assert_has(&sink, "1000004000 waking 0 5/5[sh] > 6/5[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    const char *complete =
        strstr((const char *)sink.text.data, "block_complete 0 5/5[sh] > 0/0[] c=4096 d=8388624 a=100 b=");
    assert_non_null(complete);
    unsigned long long key = strtoull(strstr(complete, "b=") + 2, NULL, 10);
    char line[256];
    snprintf(
        line, sizeof(line), "1000007000 waking 0 5/5[sh] > 6/5[cc] c=4 d=8388624 a=%llu b=0 flags=2 frames=0", key);
    assert_has(&sink, line);
    assert_has(&sink, "1000008000 switch 0 5/5[sh] > 9/9[kworker/0:1] c=0 d=0 a=0 b=0 flags=1 frames=0");
    /* the switch ended the soft interrupt; perf no longer knew the thread, and has a longer name for it */
    assert_has(&sink, "1000009000 waking 0 9/9[kworker/0:1] > 6/5[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink, "1000010000 waking 0 9/9[kworker/0:1] > 6/5[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink,
        "1000011000 exec 1 5/5[a-name-that-is-] > 6/5[] c=0 d=0 a=0 b=0 flags=0 frames=0 "
        "exe=/usr/bin/a-name-that-is-long");
    assert_has(&sink, "1000012000 rename 0 9/9[other] > 0/0[] c=0 d=0 a=0 b=0 flags=1 frames=0");
    assert_has(&sink, "1000013000 waking 0 9/9[other] > 6/6[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    assert_has(&sink, "1000014000 waking 1 5/5[a-name-that-is-] > 6/6[cc] c=1 d=0 a=0 b=0 flags=0 frames=0");
    perf_sink_fini(&sink);
}

static void odd_lines_do_not_stop_it(void **state)
{
    (void)state;
    struct perf_sink sink = facts_of("Processed 110012 events and lost 6 chunks!\n" /* 1 */
        SWITCH("1.000001", "1",
            "2") "\tnot a frame\n\t1 f (/x)\n"                                                              /* 2 */
                 "sh 1 [000] 1.000002: syscalls:sys_enter_read: fd: 0x00000000\n\t1 f (/x)\n\n\t1 f (/x)\n" /* 3, 4 */
                 "sh 1 [000] 1.000003: sched:sched_switch: prev_comm=\n\tnot a frame\n"                     /* 5 */
                 "sh 1 [000] 1.000004: sched:sched_migrate_task: comm=perf pid=4781 prio=120 orig_cpu=0 dest_cpu=1\n"
                 "dd  6445 [000] 1.000005: PERF_RECORD_LOST lost 6\n\n"
                 "CPU:1 [LOST 12 EVENTS]\r\n"
                 "sh 1 [000] 1.000006: PERF_RECORD_LOST lost\n" /* 6 */
                 "sh 1 [000] 1.000007: sched:sched_process_exit: comm=sh pid=1 prio=120",
        6); /* no end of line */
    assert_int_equal(sink.facts, 2);
    assert_has(&sink, "1000001000 switch 0 1/1[sh] > 2/2[cc] c=1 d=0 a=0 b=0 flags=0 frames=1 f..f");
    assert_has(&sink, "drop 0 6 1000001000-1000005000");
    assert_has(&sink, "drop 1 12 1000001000-1000001000");
    assert_has(&sink, "1000007000 exit 0 1/1[sh] > 0/0[] c=0 d=0 a=0 b=0 flags=0 frames=0");
    perf_sink_fini(&sink);
}

/* --- what is refused --- */

static void assert_refused(const char *text, size_t size, const char *says)
{
    struct perf_sink sink = {0};
    struct wp_error err = {0};
    assert_int_equal(perf_sink_run(&sink, text, size, NULL, &err), -EINVAL);
    print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, says));
    assert_int_equal(sink.facts, 0);
    perf_sink_fini(&sink);
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    struct wp_buffer lines = {0};
    for (int i = 0; i < 10500; i++) /* and says so before the end: the last line is good */
        wp_buffer_printf(&lines, "line %d of something else\n", i);
    wp_buffer_puts(&lines, SWITCH("1.000001", "1", "2"));
    assert_refused((const char *)lines.data, lines.size, "none of its first 10000 lines");
    assert_refused((const char *)lines.data, lines.size, "the first is \"line 0 of something else\"");
    assert_refused((const char *)lines.data, lines.size, "perf record -a -g -k CLOCK_MONOTONIC");
    assert_refused((const char *)lines.data, 300, "is not the text of perf script");
    assert_refused("", 0, "is empty");
    assert_refused("PERFILE2\0\1\2\n\n\n", 14, "perf script -i");
    static const char faults[] = "sh 1 [000] 1.000002:  1 page-faults:  ffff f+0x1 (/x)\n";
    assert_refused(faults, strlen(faults), "the first is page-faults");
    wp_buffer_fini(&lines);

    struct wp_source *source;
    struct wp_error err = {0};
    assert_int_equal(wp_source_perf_script_create(&source, "/nonexistent/x", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/x"));
    assert_null(source);
    struct perf_sink sink = {0};
    struct wp_fact_sink out = perf_sink_sink(&sink);
    assert_int_equal(wp_source_perf_script_create(&source, "/", &err), 0);
    assert_int_equal(source->ops->poll(source, 0, &out, &err), -EISDIR);
    source->ops->destroy(source);
    perf_sink_fini(&sink);
}

/* --- pipes, stops, errors --- */

static void a_pipe_gives_the_same(void **state)
{
    (void)state;
    struct wp_buffer text = file_of(FIXTURES "/recorded.txt");
    struct perf_sink whole = facts_of((const char *)text.data, 0), piped = {0};
    struct wp_fact_sink out = perf_sink_sink(&piped);
    int ends[2], kept = dup(STDIN_FILENO), rc = 1;
    assert_int_equal(pipe(ends), 0);
    assert_true(kept >= 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    struct wp_source *source;
    assert_int_equal(wp_source_perf_script_create(&source, "-", NULL), 0);
    assert_int_equal(source->ops->poll(source, 0, &out, NULL), 1); /* nothing yet */
    for (size_t at = 0, step = 1; at < text.size; at += step, step = step * 7 % 4099 + 1) {
        step = step < text.size - at ? step : text.size - at;
        assert_int_equal(write(ends[1], text.data + at, step), step);
        assert_int_equal(source->ops->poll(source, 0, &out, NULL), 1);
    }
    close(ends[1]);
    while (rc > 0)
        rc = source->ops->poll(source, 100, &out, NULL);
    assert_int_equal(rc, 0);
    assert_int_equal(source->ops->poll(source, 100, &out, NULL), 0);
    source->ops->destroy(source);
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    close(kept);
    close(ends[0]);
    assert_int_equal(piped.broken, 0);
    assert_int_equal(piped.text.size, whole.text.size);
    assert_memory_equal(piped.text.data, whole.text.data, whole.text.size);
    perf_sink_fini(&piped);
    perf_sink_fini(&whole);
    wp_buffer_fini(&text);
}

static void stop_delivers_what_there_is(void **state)
{
    (void)state;
    static const char text[] = SWITCH("1.000001", "1", "2") SWITCH("1.000002", "2", "3");
    char path[64];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
    struct perf_sink sink = {0};
    struct wp_fact_sink out = perf_sink_sink(&sink);
    struct wp_source *source;
    assert_int_equal(wp_source_perf_script_create(&source, path, NULL), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    source->ops->stop(source);
    assert_int_equal(source->ops->poll(source, 10000, &out, NULL), 0); /* the pipe is still open */
    assert_int_equal(sink.facts, 2);
    assert_int_equal(sink.watermark_ns, 1000002000);
    assert_int_equal(sink.broken, 0);
    source->ops->destroy(source);
    close(ends[0]);
    close(ends[1]);
    perf_sink_fini(&sink);
}

static void an_error_of_the_sink_ends_it(void **state)
{
    (void)state;
    static const char text[] = SWITCH("1.000001", "1", "2") SWITCH("1.000002", "2", "3") SWITCH("1.000003", "3", "4");
    struct perf_sink sink = {.fail_at = 2};
    struct wp_error err = {0};
    assert_int_equal(perf_sink_run(&sink, text, strlen(text), NULL, &err), -EIO);
    assert_string_equal(err.text, "the sink is full");
    assert_int_equal(sink.facts, 2);
    perf_sink_fini(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_recording), cmocka_unit_test(default_fields),
        cmocka_unit_test(each_fact_has_its_time), cmocka_unit_test(wakeups_stand_in),
        cmocka_unit_test(the_form_of_2015), cmocka_unit_test(what_is_remembered),
        cmocka_unit_test(odd_lines_do_not_stop_it), cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_pipe_gives_the_same), cmocka_unit_test(stop_delivers_what_there_is),
        cmocka_unit_test(an_error_of_the_sink_ends_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
