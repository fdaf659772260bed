/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_SERVICE_H
#define WP_TESTS_GEN_SERVICE_H
/*
 * What the threads of a service do. Those of the base service begin requests (after a pause, or when somebody outside
 * asks); the others wait for requests on all their replica's connections, serve one at a time, and take what lies there
 * before they sleep again. A worker has its own connections to those that it asks.
 */
#include "tests/fleetgen/gen_plan.h"
#include "tests/fleetgen/gen_stream.h"

struct gen_worker;

/* A service on one host. */
struct gen_replica {
    uint16_t service;
    struct gen_host *host;    /* borrowed */
    struct gen_worker **idle; /* asleep; the one that slept last is woken first */
    struct gen_end **ready;   /* with a request that nobody reads */
    uint32_t idle_count, idle_room, ready_count, ready_room;
};

struct gen_worker {
    struct gen_thread *thread;
    struct gen_replica *replica;
    const struct gen_plan *plan; /* borrowed, as all here */
    struct gen_fleet *fleet;
    struct gen_stream **streams; /* [target service * fan + i] */
    struct gen_stream *outside;  /* a base worker's client, NULL: it begins by itself */
    struct gen_trace root;
    struct gen_end *client; /* who is served */
    struct gen_end *asked[GEN_TARGETS];
    struct gen_trace *asked_traces[GEN_TARGETS];
    struct gen_thread *child;
    struct gen_trace *child_trace;
    uint32_t doing, target, served;
    bool is_busy_child;
};

/* A thread of that replica; its connections are made by the fleet before it starts. */
struct gen_worker *gen_worker_create(struct gen_fleet *fleet, struct gen_replica *replica);
void gen_worker_start(struct gen_worker *worker);
void gen_worker_destroy(struct gen_worker *worker);
/* What a connection's server end does when something comes. */
void gen_replica_readable(struct gen_end *end);

#endif
