/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_CPU_RUNS_STATE_H
#define WP_AGGREGATOR_TIMELINE_CPU_RUNS_STATE_H
/* Who ran on each CPU, in a checkpoint; for timeline_state.c. */
#include "aggregator/timeline/timeline_types.h"
#include "proto/resume.pb-c.h"

/* What is saved, and how those that runs speak of are numbered there. */
struct wp_cpu_runs_save {
    const struct wp_cpu_runs *runs;
    uint64_t horizon_ns, since_ns; /* runs that end behind since_ns and begin before horizon_ns */
    const uint32_t *process_rows;  /* process index -> row */
    const uint32_t *runners;       /* CPU -> row of the thread that ran there at the horizon + 1, 0 none */
    uint32_t runner_count;
};

/* Fills occupants and cpu_runs of `out`, which owns them, as far as there is memory: what could not be saved is not
 * known later. -ENOMEM. */
int wp_cpu_runs_save(const struct wp_cpu_runs_save *save, Wakepath__Resume__Checkpoint *out);
/* Into a timeline that has no runs yet; `threads`: row -> index. -EBADMSG: it contradicts itself; -ENOMEM. */
int wp_cpu_runs_restore(
    struct wp_timeline *timeline, const Wakepath__Resume__Checkpoint *from, const uint32_t *threads);

#endif
