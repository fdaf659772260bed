/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_CPUS_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_CPUS_H
/* Who is on which CPU of a timeline, as its events go on; for timeline*.c. Threads are indices, 0 is the idle task. */
#include "aggregator/timeline/timeline_types.h"

/* Room for what is known of that CPU; false: out of memory. */
bool wp_timeline_cpu_fit(struct wp_timeline *timeline, uint32_t cpu);
/* When a thread that goes from the event's CPU had come, should that not have been seen: the collector may know; else
 * as early as it can be. `is_break`: the CPU had gone to another one. Of a sleeper without a waking nothing says since
 * when then: all that time is its sleep's. */
uint64_t wp_timeline_cpu_came(
    const struct wp_timeline *timeline, uint32_t prev, const struct wp_event *event, bool is_break);
/* The sleep of that slice, the thread's last one, has ended: it is known who asked for what comes. */
void wp_timeline_cpu_wake(struct wp_timeline *timeline, const struct wp_thread *thread, const struct wp_slice *slice);
/* The run of that thread's last slice is on that CPU. */
void wp_timeline_cpu_enter(struct wp_timeline *timeline, uint32_t thread, uint32_t cpu);
/* `prev` has left the event's CPU. What ran there is known since it came; at a break not before, and only if the
 * collector said since when. */
void wp_timeline_cpu_leave(struct wp_timeline *timeline, const struct wp_event *event, uint32_t prev, bool is_break);
/* The idle task leaves that CPU, and other hosts' threads have had it for a part of that time. */
void wp_timeline_cpu_elsewhere(struct wp_timeline *timeline, uint32_t cpu);
/* From then on it runs there, or, after an exec or rename, still does. */
void wp_timeline_cpu_begin(struct wp_timeline *timeline, uint32_t cpu, uint64_t at_ns, uint32_t thread);
/* The thread that was last seen there has come up elsewhere: who has that CPU is not known. */
void wp_timeline_cpu_lose(struct wp_timeline *timeline, uint32_t cpu);
/* Up to `at_ns`, for `ns`, it was not the thread of that CPU that had it. */
void wp_timeline_cpu_seize(
    struct wp_timeline *timeline, uint32_t cpu, uint64_t at_ns, uint64_t ns, const struct wp_occupant *by);
/* The recording pauses or goes on: who has which CPU is not known. */
void wp_timeline_cpu_unsee(struct wp_timeline *timeline, uint64_t at_ns);
/* Where there are many names of who runs, those that no slice and no run has any more make room for others. */
void wp_timeline_cpu_reuse(struct wp_timeline *timeline);

#endif
