/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_OPERAND_PARTS_H
#define WP_REPORTER_COMPARE_OPERAND_PARTS_H
/*
 * An operand of a comparison in its smallest parts, a timebox of a host each (of a shard whose hosts have no reports of
 * their own): to take those of some hosts, and those of timeboxes that the other operand has, too.
 */
#include "reporter/compare/operand_spec.h"
#include "reporter/facts/facts.h"

/* The report of one host in one timebox. */
struct wp_operand_part {
    uint64_t timebox_s;
    struct wp_report *report; /* owned */
};

/* All parts of an operand; filled by wp_operand_parts_read. */
struct wp_operand_parts {
    struct wp_operand_part *rows; /* ascending by timebox */
    size_t count, room;
};

/* Of an aggregate, as the spec has hosts and times. -EINVAL: a shard holds hosts that match and others. */
int wp_operand_parts_read(struct wp_operand_parts *parts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_operand_spec *spec, struct wp_error *err);
/* Lets go of what has no timebox on the other operand. */
void wp_operand_parts_meet(struct wp_operand_parts *a, struct wp_operand_parts *b);
/* Facts of their sum, which they are empty after. -ENOENT: there are none. */
int wp_operand_parts_facts(struct wp_facts *facts, struct wp_operand_parts *parts, const struct wp_snapshot *snapshot,
    const char *aggregate, const struct wp_operand_spec *spec, struct wp_error *err);
/* Frees the remaining parts with their reports; none may be left. */
void wp_operand_parts_fini(struct wp_operand_parts *parts);

#endif
