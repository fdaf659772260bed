/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_SIDE_PARTS_H
#define WP_REPORTER_COMPARE_SIDE_PARTS_H
/*
 * A side of a comparison in its smallest parts, a timebox of a host each (of a shard whose hosts have no reports of
 * their own): to take those of some hosts, and those of timeboxes that the other side has, too.
 */
#include "reporter/compare/side_spec.h"
#include "reporter/facts/facts.h"

struct wp_side_part {
    uint64_t timebox_s;
    struct wp_report *report; /* owned */
};

struct wp_side_parts {
    struct wp_side_part *rows; /* ascending by timebox */
    size_t count, room;
};

/* Of an aggregate, as the spec has hosts and times. -EINVAL: a shard holds hosts that match and others. */
int wp_side_parts_read(struct wp_side_parts *parts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_side_spec *spec, struct wp_error *err);
/* Lets go of what has no timebox on the other side. */
void wp_side_parts_meet(struct wp_side_parts *a, struct wp_side_parts *b);
/* Facts of their sum, which they are empty after. -ENOENT: there are none. */
int wp_side_parts_facts(struct wp_facts *facts, struct wp_side_parts *parts, const struct wp_snapshot *snapshot,
    const char *aggregate, const struct wp_side_spec *spec, struct wp_error *err);
void wp_side_parts_fini(struct wp_side_parts *parts);

#endif
