/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SIDE_PARTS_H
#define WP_REPORTER_SIDE_PARTS_H
/*
 * A side of a comparison in its smallest parts, a timebox of a shard each: to take those of some hosts, and those of timeboxes that
 * the other side has, too. Hosts are told from each other where a shard holds only such as are meant, or only others.
 */
#include "reporter/side.h"

struct wp_side_part {
    uint64_t timebox_s;
    struct wp_report *report;  /* owned */
};

struct wp_side_parts {
    struct wp_side_part *rows; /* ascending by timebox */
    size_t count, room;
};

/* Whether a pattern has the host: shell patterns parted by commas; a '!' before them means all but those. */
bool wp_hosts_match(const char *pattern, const char *host);
/* Of an aggregate, as the spec has hosts and times. -EINVAL: a shard holds hosts that match and others. */
int wp_side_parts_read(struct wp_side_parts *parts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_side_spec *spec, struct wp_error *err);
/* Lets go of what has no timebox on the other side. */
void wp_side_parts_meet(struct wp_side_parts *a, struct wp_side_parts *b);
/* Facts of their sum, which they are empty after. -ENOENT: there are none. */
int wp_side_parts_facts(struct wp_facts *facts, struct wp_side_parts *parts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_side_spec *spec, struct wp_error *err);
void wp_side_parts_fini(struct wp_side_parts *parts);

#endif
