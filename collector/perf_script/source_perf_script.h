/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_SOURCE_PERF_SCRIPT_H
#define WP_COLLECTOR_PERF_SCRIPT_SOURCE_PERF_SCRIPT_H
/*
 * The text of `perf script` as a source: for machines without BPF, and for recordings that exist already. Made by
 *     perf record -a -g -k CLOCK_MONOTONIC -e sched:sched_switch,sched:sched_waking,sched:sched_process_fork,
 *         sched:sched_process_exec,sched:sched_process_exit,block:block_rq_insert,block:block_rq_issue,
 *         block:block_rq_complete,irq:irq_handler_entry,irq:irq_handler_exit,irq:softirq_entry,irq:softirq_exit,
 *         task:task_rename,cpu-clock/freq=99/ -- CMD; perf script --show-lost-events
 * (not with -F 99, which thins the tracepoints too), in perf's default fields or with
 *     -F comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,trace
 * All events but sched_switch are optional. sched_wakeup and sched_wakeup_new stand in for sched_waking until the first
 * sched_waking comes.
 *
 * Lines about sockets become network operations: tracepoints of tcp and sock, and probes on functions of the network
 * code (perf_script_trace.c has their names, perf_script_net.h their fields, perf_script_packets.h the rules).
 * `wakepath perf-events` prints what to record on a machine.
 *
 * What the text does not say stays unknown: without such lines, which socket (a waking by the network is the task's own
 * over loopback, else a soft interrupt); since when threads exist. A thread whose group is not (yet) said counts as a
 * process of its own.
 * Causes, system calls and kinds of forks are judged from stacks (perf_script_cause.h).
 *
 * Time: perf writes in order of time. Each fact gets a time of its own: one printed with the same microsecond as the
 * fact before is put 1 ns behind it, so the order of the lines is kept; one printed with an earlier time too (counted
 * as late). The watermark is the last time. Memory does not grow with the input, but for one small entry a thread id.
 */
#include "collector/host/source.h"

/* path "-": standard input. The file is opened here; its first bytes are read by poll. -ENOENT, -EACCES, -ENOMEM. */
int wp_source_perf_script_create(struct wp_source **source, const char *path, struct wp_error *err);

#endif
