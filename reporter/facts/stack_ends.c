/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/stack_ends.h"

#include "storage/report/report_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* glibc, musl, the dynamic linker, Go's runtime, the kernel; the names that symbol tables and debug info have for them.
 */
static bool is_beginning(const char *name)
{
    static const char *const names[] = {"_start", "_dl_start_user", "_dl_start", "__clone", "__clone3", "clone",
        "clone3", "__GI___clone3", "__GI___clone", "start_thread", "thread_start", "runtime.goexit",
        "runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0", "runtime.mcall", "runtime.morestack",
        "runtime.morestack.abi0", "runtime.clone", "runtime.clone.abi0", "runtime.systemstack",
        "runtime.systemstack.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0", "_rt0_amd64_linux", "ret_from_fork",
        "ret_from_fork_asm"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

bool wp_stack_is_scheduler(uint32_t style, const char *name)
{
    static const char *const names[] = {"__schedule", "schedule", "schedule_idle", "schedule_preempt_disabled",
        "schedule_timeout", "schedule_timeout_interruptible", "schedule_timeout_killable",
        "schedule_timeout_uninterruptible", "schedule_hrtimeout", "schedule_hrtimeout_range",
        "schedule_hrtimeout_range_clock", "poll_schedule_timeout", "io_schedule", "io_schedule_timeout",
        "preempt_schedule", "preempt_schedule_common", "preempt_schedule_irq", "preempt_schedule_notrace",
        "__cond_resched"};
    size_t size = strcspn(name, "."); /* "poll_schedule_timeout.constprop.0" */
    for (size_t i = 0; style == WP_STYLE_KERNEL && i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == size && !strncmp(name, names[i], size))
            return true;
    return false;
}

int wp_stack_ends_measure(const struct wp_report *report, struct wp_stack_ends *ends)
{
    uint32_t nodes_count, cell_count, frame_count;
    const struct wp_node *nodes = wp_report_nodes(report, &nodes_count);
    const struct wp_cell *cells = wp_report_cells(report, &cell_count);
    const struct wp_frame_info *frames = wp_report_frames(report, &frame_count);
    uint32_t *outermost =
        calloc(nodes_count + (size_t)1, sizeof(*outermost)); /* frame of the node's layer, 0: no function yet */
    if (!outermost)
        return -ENOMEM;
    *ends = (struct wp_stack_ends){0};
    for (uint32_t i = 1; i < nodes_count; i++) {
        uint32_t style = frames[nodes[i].frame].style, above = outermost[nodes[i].parent];
        bool is_function = style == WP_STYLE_USER || style == WP_STYLE_KERNEL;
        outermost[i] = style == WP_STYLE_PROCESS ? 0 : above ? above : is_function ? nodes[i].frame : 0;
    }
    for (uint32_t i = 0; i < cell_count; i++) {
        uint32_t frame = cells[i].node < nodes_count ? outermost[cells[i].node] : 0;
        ends->stack_ns += frame ? cells[i].ns : 0;
        ends->whole_ns += frame && is_beginning(wp_report_text(report, frames[frame].name)) ? cells[i].ns : 0;
    }
    free(outermost);
    return 0;
}
