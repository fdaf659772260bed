/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_LINE_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_LINE_H
/*
 * The lines of `perf script` (tools/perf/builtin-script.c, Linux 3.13 to 6.12): the head of an event,
 *     COMM [PID/]TID [CPU] SECONDS.FRACTION: [PERIOD] EVENT: what the event says
 * and below it a stack, innermost first, each frame
 *     \t ADDRESS FUNCTION[+0xOFFSET] (OBJECT)
 * A comm may hold anything that these use as marks. It is short, and the numbers behind it are not its own: a head is
 * found by its time and read from there to the left. All pieces borrow from the line.
 */
#include "collector/perf_script/perf_script_text.h"

#define WP_PERF_CPUS 8192u    /* the kernel's own bound (NR_CPUS) */
#define WP_PERF_TIDS 4194304u /* PID_MAX_LIMIT */

/* The first line of an event, in its parts. */
struct wp_perf_head {
    struct wp_text comm;
    uint32_t pid, tid; /* pid 0: not said */
    bool has_tid;      /* false: perf no longer knew the thread (-1) */
    uint32_t cpu;      /* 0 when not said */
    uint64_t time_ns;
    struct wp_text event; /* without its colon: "sched:sched_switch", "cycles:P", "PERF_RECORD_LOST" */
    struct wp_text trace; /* what stands behind it */
};

/* One line of a stack, in its parts. */
struct wp_perf_frame {
    uint64_t address;
    uint64_t offset;         /* in the function; 0 when not said */
    struct wp_text function; /* empty: unknown */
    struct wp_text object;   /* empty: unknown */
    bool is_kernel;
    bool is_inlined; /* the object is that of the frame below (outer) */
};

/* With or without a CPU column. False: the line is not a head, and *head is undefined. */
bool wp_perf_head_parse(struct wp_text line, struct wp_perf_head *head);
/* Spaces and tabs around it are ignored. False: the line is not a frame, and *frame is undefined. */
bool wp_perf_frame_parse(struct wp_text line, struct wp_perf_frame *frame);
/* "CPU:3 [LOST 12 EVENTS]" and its kin, which are no heads. Records of lost events have one: see wp_perf_lost_count. */
bool wp_perf_lost_parse(struct wp_text line, uint32_t *cpu, uint64_t *count);
/* How many events a head of PERF_RECORD_LOST or PERF_RECORD_LOST_SAMPLES says were lost; false for other heads. */
bool wp_perf_lost_count(const struct wp_perf_head *head, uint64_t *count);

#endif
