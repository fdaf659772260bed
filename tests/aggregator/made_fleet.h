/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_MADE_FLEET_H
#define WP_TESTS_MADE_FLEET_H
/*
 * Traces of a few hosts made at random by machines that obey a scheduler's rules and talk with each other: what was
 * sent arrives later on the other host and wakes who waits for it there. Each host has a clock of its own.
 */
#include "aggregator/clock/clocks.h"
#include "made_trace.h"

#define MADE_FLEET_HOSTS 3u

struct made_fleet_options {
    uint64_t seed;
    uint32_t events;      /* of a host, at most */
    bool base_everywhere; /* threads of the command on all hosts, not on the first alone */
    bool tells_leavings;  /* packets tell the clocks apart, too */
};

struct made_fleet {
    struct made_trace hosts[MADE_FLEET_HOSTS];
    uint64_t *true_ns[MADE_FLEET_HOSTS]; /* of the events: the true time; owned */
    int64_t offset_ns[MADE_FLEET_HOSTS]; /* clock - true time, at time 0 */
    double drift[MADE_FLEET_HOSTS];
    uint64_t end_ns; /* true time */
};

/* Aborts when out of memory. */
void made_fleet_init(struct made_fleet *fleet, const struct made_fleet_options *options);
void made_fleet_fini(struct made_fleet *fleet);
uint64_t made_fleet_reading(const struct made_fleet *fleet, uint32_t host, uint64_t true_ns);

#endif
