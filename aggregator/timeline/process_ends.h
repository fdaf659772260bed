/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_PROCESS_ENDS_H
#define WP_AGGREGATOR_TIMELINE_PROCESS_ENDS_H
/*
 * When processes began to run another program, when they ended and how, and whose memory had run out where the kernel
 * killed them: told once, kept until the store has it. A process is its first thread.
 */
#include "aggregator/timeline/timeline_types.h"

#define WP_PROCESS_ENDS 262144u /* between two commits: the store keeps no more processes; others have no end there */

/* Frees those that are kept. */
void wp_process_ends_fini(struct wp_timeline *timeline);
/* Takes an EXEC, EXIT or REASON (WP_REASON_OOM) event of a process' first thread; others are left. */
void wp_process_ends_event(struct wp_timeline *timeline, const struct wp_event *event);
/* The store has them. */
void wp_process_ends_forget(struct wp_timeline *timeline);

/* A thread dies, by its last switch: whether it had called exit_group. */
void wp_process_ends_died(struct wp_timeline *timeline, const struct wp_thread *thread, const struct wp_event *event);
/* Who did what that thread did at that time: where it died then, and the one of its process that called exit_group was
 * in its last run or dead, that one: whoever dies last closes the process' files and wakes its parent. Else the thread
 * itself. */
uint32_t wp_process_ender(const struct wp_timeline *timeline, uint32_t thread, uint64_t at_ns);

#endif
