/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_PLAN_H
#define WP_TESTS_GEN_PLAN_H
/*
 * What a fleet does, as text; '#' begins a comment:
 *   service NAME hosts=N threads=N [base pause=US [quiet=MS] [outside=PERMILLE]] [answer=BYTES]
 *     (quiet: it pauses twenty times as long for the first so many ms)
 *     busy US | sleep US | disk US | fork US      (what is done for a request, one after the other)
 *     call NAME[+NAME...] [bytes=N]               (asks them all at once, waits for all)
 *   links fan=N delay=US jitter=US old=PERMILLE nat=PERMILLE v6=PERMILLE retransmit=PERMILLE coalesce=PERMILLE
 * read=BYTES asymmetric=PERMILLE reconnect=REQUESTS hosts N cpus=N skew=MS drift=PPM steps=N losses=N stagger=MS
 * spread=PERCENT Hosts are given to services in order, and again from the first when there are no more.
 */
#include "tests/fleetgen/gen_trace.h"

#include <stdint.h>
#include <stdio.h>

#define GEN_DOINGS 16u
#define GEN_TARGETS 8u

enum gen_doing_kind { GEN_BUSY, GEN_SLEEP, GEN_DISK, GEN_FORK, GEN_CALL };

struct gen_doing {
    enum gen_doing_kind kind;
    uint64_t mean_ns, bytes;
    uint32_t targets[GEN_TARGETS], target_count;
};

struct gen_service {
    char name[16];
    uint32_t hosts, threads, outside_per_mille;
    uint64_t pause_ns, quiet_ns, answer_bytes;
    bool is_base;
    struct gen_doing doings[GEN_DOINGS];
    uint32_t doing_count;
};

struct gen_plan {
    struct gen_service services[GEN_SERVICES];
    uint32_t service_count; /* the last one is "helper": what is forked */
    uint32_t hosts, cpus, fan, drift_ppm, steps, losses, spread_percent;
    uint32_t old_per_mille, nat_per_mille, v6_per_mille, retransmit_per_mille, coalesce_per_mille, asymmetric_per_mille;
    uint32_t read_limit, reconnect;
    uint64_t delay_ns, jitter_ns, skew_ns, stagger_ns;
};

/* False: what is wrong is in `why`. */
bool gen_plan_parse(struct gen_plan *plan, const char *text, char *why, uint32_t room);
/* The number of a service, or -1. */
int gen_plan_find(const struct gen_plan *plan, const char *name);

#endif
