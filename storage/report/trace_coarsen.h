/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_TRACE_COARSEN_H
#define WP_STORAGE_REPORT_TRACE_COARSEN_H
/* Makes room in a trace that has no end in sight: the shortest rows go, wherever in time they are. */
#include "storage/report/trace.h"

/* Leaves at most `kept` runs and `kept` sleeps: run_grain_ns and sleep_grain_ns each grow to what the shortest of their
 * kind takes, what is shorter goes and is counted as omitted; grain_ns is the longer of the two. 0 or -ENOMEM, and then
 * all is as it was. */
int wp_trace_coarsen(struct wp_trace *trace, uint32_t kept);
/* Leaves every second link; the others are counted as omitted. */
void wp_trace_thin_links(struct wp_trace *trace);

#endif
