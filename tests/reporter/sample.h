/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_REPORTER_SAMPLE_H
#define WP_TESTS_REPORTER_SAMPLE_H
/* Made-up recordings, the same on every run: a build with a cold cache, one full of hostile names, a large one. */
#include "storage/env/store.h"
#include "storage/report/exemplars.h"

/* A build: make waits for compilers, they read sources from a disk; curl asks a server through a socket. */
struct wp_report *sample_report(void);
struct wp_trace *sample_trace(void);

/* Names that attack every format. */
extern const char *const sample_hostile_names[];
extern const unsigned sample_hostile_count;
struct wp_report *sample_hostile_report(void);
struct wp_trace *sample_hostile_trace(void);

/* About `nodes` nodes of pseudo-random stacks, and a trace of about `pieces` pieces. */
struct wp_report *sample_large_report(unsigned nodes);
struct wp_report *sample_large_report_at(unsigned nodes, uint64_t start_ns);
struct wp_trace *sample_large_trace(unsigned pieces);

/* The node of a stack written "[make];main@make;sleep:wait4;io:read vda". */
uint32_t sample_node(struct wp_report *report, const char *stack);
/* The same in a trace. */
uint32_t sample_trace_node(struct wp_trace *trace, const char *stack);

/* Windows that show what the trace shows; none of a large one. */
void sample_exemplars(struct wp_exemplars *set, const struct wp_trace *trace);
/* Adds report and trace (may be NULL) of an aggregate to a release of the store at `root`; takes both. */
int sample_put(const char *root, const char *release, const char *aggregate, uint64_t timebox_s,
    struct wp_report *report, struct wp_trace *trace, struct wp_error *err);
struct sample_place {
    const char *aggregate;
    uint64_t timebox_s;
    const char *shard;
};
int sample_put_shard(const char *root, const char *release, const struct sample_place *place, struct wp_report *report,
    struct wp_trace *trace, struct wp_error *err);

#endif
