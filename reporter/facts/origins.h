/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_ORIGINS_H
#define WP_REPORTER_FACTS_ORIGINS_H
/*
 * Whose time an aggregate's is: the hosts of the process of interest, as far as the store can tell them apart. Each host has reports
 * of its own there; those of old stores are the sum of their shard, and a shard of one host is that host. What stands on another host's
 * frame says so itself.
 */
#include "storage/report/report.h"

#include <stddef.h>

struct wp_facts;
struct wp_selection;
struct wp_snapshot;

#define WP_ORIGINS 32u /* the largest; the others are one more, together */

struct wp_origin {
    const char *name;         /* a host, or "shard s1" */
    const char *hosts;        /* of a shard: "web-1, web-2 and 3 more"; of a host "" */
    size_t host_count;
    uint64_t total_ns;
    struct wp_report *report; /* owned; NULL: the only origin there is, the aggregate's report */
};

struct wp_origins {
    struct wp_origin *rows;   /* in the facts' pool; the largest first */
    size_t count;
    uint64_t missing_ns;      /* of the aggregate, in no origin: what could not be read again */
};

/* Of facts that are built; texts go into their pool. Reads the aggregate once more, host by host, when there are several. -ENOMEM. */
int wp_origins_read(struct wp_facts *facts, const struct wp_snapshot *snapshot, const struct wp_selection *selection,
    struct wp_error *err);
void wp_origins_fini(struct wp_origins *origins);

#endif
