/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_HOSTS_H
#define WP_REPORTER_RECORDING_HOSTS_H
/* The hosts behind an aggregate, what each said of itself, and what went between them: from the report and the
 * metadata. */
#include "reporter/facts/facts.h"

#include <stdbool.h>

struct wp_host_fact {
    const char *name;
    const char *kernel, *machine, *cpus, *source, *version, *uuid, *clock; /* as it said; NULL: it did not */
    const char *labels;                                                    /* "rack=7 zone=b", NULL none */
    bool is_recorded; /* it has a process in the report, or is one of its hosts */
    uint64_t processes, total_ns, running_ns;
    uint64_t others_ns;                /* of pseudo-stacks that name it, those of other hosts: each counted once */
    uint64_t waited_ns, waited_for_ns; /* here for others, by others for this one */
    uint64_t events, dropped, repaired;
    uint64_t clock_messages, contradictions;
    uint64_t unpaired, unpaired_bytes, ambiguous, resent; /* resent: by it, to hosts that nobody records */
};

/* From `from` to `to` (places in the hosts): waits there that its messages ended, and all that was received. */
struct wp_host_pair {
    uint32_t from, to;
    const struct wp_edge_fact *edge; /* NULL: nobody waited */
    uint64_t resent;                 /* segments that `from` sent again */
    uint64_t received, bytes;        /* of streams whose both ends are known, waited for or not */
};

struct wp_hosts {
    struct wp_host_fact *rows;  /* most time on paths first */
    struct wp_host_pair *pairs; /* longest waits first */
    size_t count, pair_count;
    bool has_identity, has_traffic, has_counts; /* whether anything was said of those */
};

/* Everything in `pool`; out of memory shows in pool->failed. */
void wp_hosts_build(struct wp_hosts *hosts, struct wp_pool *pool, const struct wp_facts *facts);

#endif
