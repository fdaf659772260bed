/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_SCENARIO_H
#define WP_TESTS_SCENARIO_H
/*
 * A scenario: events in, pieces out, as text that a person can read and add to (tests/aggregator/README.md has the
 * format). Parsing builds one batch a host; their arrays are owned by the scenario.
 */
#include "common/error.h"
#include "proto/batch.h"

#define SCENARIO_HOSTS 8u
#define SCENARIO_START_NS 1000000000u /* time 0 of a scenario */

struct scenario_host {
    char *name;        /* owned */
    int64_t offset_ns; /* its clock - the aggregator's */
    uint64_t probe_ns; /* a time probe takes so long each way; 0: its clock is never asked */
    struct wp_batch batch;
};

struct scenario {
    struct scenario_host hosts[SCENARIO_HOSTS]; /* [0] is the one that is asked about */
    unsigned host_count;
    uint64_t fit_ns, join_ns, late_sample_ns, history_ns; /* of the engine; 0: its defaults */
    uint64_t lookback_ns, lookback_bytes;
    char selector[64]; /* whose time it is; "": the command's */
    bool has_asks;     /* what threads of interest ask is told, too */
    char view[16];     /* a word of common/selector.h; "": as it is of a command */
    uint32_t depth, width, budget;
    char *expected; /* what stands below the line "--", owned */
};

/* -EINVAL and err names the line. */
int scenario_parse(struct scenario *scenario, const char *text, struct wp_error *err);
void scenario_fini(struct scenario *scenario);

#endif
