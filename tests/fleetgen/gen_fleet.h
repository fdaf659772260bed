/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_FLEET_H
#define WP_TESTS_GEN_FLEET_H
/*
 * A fleet that follows from a plan and a seed: hosts, replicas, workers, connections, clocks, and the truth about all
 * of them. Hosts of the base service begin to record last and end first, so that all that they waited for is recorded.
 */
#include "common/intmap.h"
#include "proto/session.h"
#include "tests/fleetgen/gen_service.h"

#define GEN_ORIGIN_NS 100000000000000u /* true time at the beginning, when nothing else is wanted */

/* What was read by applications of one host of bytes that another sent. */
struct gen_pair {
    uint32_t from, to; /* UINT32_MAX: not recorded */
    uint64_t reads, bytes,
        unmatchable; /* of connections that nothing tells of: older than the recording and translated */
};

struct gen_fleet_options {
    uint64_t seed, duration_ns, origin_ns;
    uint64_t world; /* seed of hosts, clocks, connections; 0: as seed */
    const char *release;
    uint32_t sample_hz;
    struct wp_window window; /* of true time; unsaid: always */
    bool keeps_streams;      /* closed ones, for questions */
};

struct gen_fleet {
    struct gen_sim sim;
    struct gen_plan plan;
    uint64_t way_seed; /* of the ways between hosts */
    struct gen_fleet_options options;
    struct gen_host **hosts; /* plan.hosts, owned */
    struct gen_replica **replicas;
    struct gen_worker **workers;
    struct gen_stream **streams;
    uint32_t replica_count, replica_room, worker_count, worker_room, stream_count, stream_room;
    struct gen_traffic traffic;
    struct gen_pair *pairs;
    struct wp_intmap pair_index;
    uint32_t pair_count, pair_room;
    struct gen_sums sums;
    uint64_t requests, begin_ns, end_ns; /* true times of what the base hosts record */
};

/* The plan is copied. Each host's uplink is to be set before the first run. */
struct gen_fleet *gen_fleet_create(const struct gen_plan *plan, const struct gen_fleet_options *options);
void gen_fleet_destroy(struct gen_fleet *fleet);
/* A new connection; `is_first`: may be older than the recording. */
struct gen_stream *gen_fleet_stream(
    struct gen_fleet *fleet, struct gen_replica *client, struct gen_replica *server, bool is_first);
/* True when one of the base's threads is there. */
bool gen_fleet_is_base(const struct gen_fleet *fleet, uint32_t host);
/* Everything, to the end of all recordings. */
void gen_fleet_run(struct gen_fleet *fleet);
/* The Hello of a host's collector; its texts are borrowed from the fleet. */
struct wp_hello gen_fleet_hello(const struct gen_fleet *fleet, const struct gen_host *host);
/* The truth as JSON. 0 or -errno. */
int gen_truth_write(const struct gen_fleet *fleet, const char *path);

#endif
