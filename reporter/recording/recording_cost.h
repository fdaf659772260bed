/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_RECORDING_COST_H
#define WP_REPORTER_RECORDING_RECORDING_COST_H
/* What the recorder's own processes took of the machines that it recorded; it is in no control path. */
#include "reporter/facts/metadata_facts.h"

#include <stdint.h>

/* CPU time of the recorder, and of the machines meanwhile. */
struct wp_recording_cost {
    uint64_t cpu_ns;      /* 0: not known */
    uint64_t machine_ns;  /* of so much time on all CPUs */
    uint64_t programs_ns; /* beside it, in the time of the threads that were recorded: its programs in the kernel */
};

/* Of the last session of each host in a release's metadata. */
struct wp_recording_cost wp_recording_cost(const struct wp_metadata *release);
/* Share of all CPU time, in percent; 0 when not known. */
double wp_recording_cost_percent(const struct wp_recording_cost *cost);

#endif
