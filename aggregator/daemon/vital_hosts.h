/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_VITAL_HOSTS_H
#define WP_AGGREGATOR_DAEMON_VITAL_HOSTS_H
/*
 * How the hosts of an aggregator are, for those who watch it: a row a host, over its sessions, kept for ten minutes
 * after the last one, and the pairs of hosts that talk. Bounded: of more hosts or pairs than there is room for, it is
 * said how many, and they are in the sums. Names are unique and never change while a row is there. Not thread safe.
 */
#include "aggregator/engine/engine.h"
#include "common/buffer.h"

struct wp_vital_hosts;

#define WP_VITAL_HOSTS 1024u
#define WP_VITAL_PAIRS 4096u

/* Of all hosts, also those without a row. Counters only grow. */
struct wp_vital_sums {
    uint64_t events, drops;
    uint32_t hosts; /* that are recorded now */
    uint32_t unlisted_hosts, unlisted_pairs;
    uint32_t edges;  /* pairs of hosts that talk, one way each */
    uint32_t silent; /* sessions not heard of for longer than the aggregator waits */
    double lag_s;    /* the greatest of those that are not silent */
    double bound_s;  /* the greatest of those that are known */
};

/* All rows are allocated here. NULL: out of memory. */
struct wp_vital_hosts *wp_vital_hosts_create(void);
void wp_vital_hosts_destroy(struct wp_vital_hosts *hosts); /* NULL-safe */
/* Looks at every session. What came in the last moments of one that is finished by the next look is in no sum. */
void wp_vital_hosts_look(struct wp_vital_hosts *hosts, struct wp_engine *engine, uint64_t now_ns, uint64_t real_now_ns);
/* As of the last look, zeros before the first; borrowed, and changed by the next look. */
const struct wp_vital_sums *wp_vital_hosts_sums(const struct wp_vital_hosts *hosts);
/* Appends the metrics of hosts and pairs as of the last look. */
void wp_vital_hosts_put(const struct wp_vital_hosts *hosts, struct wp_buffer *out);

#endif
