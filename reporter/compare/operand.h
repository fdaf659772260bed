/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_OPERAND_H
#define WP_REPORTER_COMPARE_OPERAND_H
/*
 * One operand of a comparison as it is asked for: RELEASE[~N][:AGGREGATE][@TIMEBOX|@SINCE..UNTIL][/HOST]. Each sign is
 * in no id. The times are those of --since and --until, and select whole timeboxes; either may be left out. A host
 * cannot be told from the others in stores from before hosts had reports of their own, unless an aggregator's shard
 * holds nothing but that host.
 */
#include "common/path.h"
#include "reporter/compare/operand_spec.h"
#include "reporter/facts/facts.h"

/* Facts of an operand; `aggregate` is taken when the spec names none, and NULL is main, else the largest. -ENOENT;
 * -EINVAL: the host cannot be told from others. */
int wp_operand_read(struct wp_facts *facts, const struct wp_stores *stores, const struct wp_operand_spec *spec,
    const char *aggregate, struct wp_error *err);
/* Both operands, in the same timeboxes where the first spec says so. */
int wp_operands_read(struct wp_facts facts[2], const struct wp_stores *stores, const struct wp_operand_spec spec[2],
    const char *aggregate, struct wp_error *err);
/* The aggregate that is meant: `asked`, else main, else the one of the largest total. -ENOENT. */
int wp_aggregate_choose(const struct wp_snapshot *snapshot, const char *asked, const struct wp_selection *selection,
    char chosen[WP_ID_ROOM], struct wp_error *err);

#endif
