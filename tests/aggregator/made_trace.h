/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_MADE_TRACE_H
#define WP_TESTS_MADE_TRACE_H
/*
 * Traces made at random by a small machine that obeys the rules of a scheduler: what runs on a CPU was put there, what
 * wakes was asleep, children have parents. The machine knows what a profiler has to find out: how long each thread of
 * the recorded command was there.
 */
#include "proto/batch.h"

#include <stdint.h>

#define MADE_START_NS 1000000000u

struct made_options {
    uint64_t seed;
    uint32_t events;         /* at most so many */
    uint32_t cpus, threads;  /* at the start */
    uint32_t drop_per_mille; /* of the events are lost; the machine goes on as if they were not */
    uint32_t drop_burst;     /* and so many after each of those */
    uint32_t burst_events; /* of each four times so many, the last ones come at once: requests, messages and samples; 0:
                              never */
    uint32_t recorder_odds; /* of the processes that are not the command's one in so many is the recorder's; 0: none */
};

/* How much of each dictionary is in use after an event. */
struct made_use {
    uint32_t strings, threads, sockets, frames, stacks;
};

struct made_trace {
    struct wp_batch whole; /* all of it in one batch; arrays owned */
    struct made_use *use;  /* by event */
    uint64_t base_ns;      /* of all threads of the command: from their first instant to the end of what can be known */
};

uint64_t made_random(uint64_t *seed);
/* Aborts when out of memory. */
void made_trace_init(struct made_trace *trace, const struct made_options *options);
void made_trace_fini(struct made_trace *trace);
/* The events from `first` up to `end` with the entries and drops that came since, as batch number `seq`; borrowed. */
struct wp_batch made_trace_cut(const struct made_trace *trace, uint32_t first, uint32_t end, uint64_t seq);

#endif
