/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_H
/*
 * One aggregate of one session: accounts for the time of its base threads epoch by epoch, explains their sleeps,
 * follows the other paths that were waited for, and gathers all of it in a report (the delta since the last commit) and
 * an exemplar.
 */
#include "aggregator/account/aggregate_types.h"

/* As the report calls it. */
const char *wp_limit_name(enum wp_limit limit);
/* Of host `home`; `number` is the aggregate's in the fleet. */
int wp_aggregate_init(
    struct wp_aggregate *aggregate, struct wp_fleet *fleet, uint32_t home, uint32_t number, int64_t real_offset_ns);
/* Frees all it holds, deltas that were closed and not written included, and zeroes it; zeroed is allowed. Before its
 * fleet goes. */
void wp_aggregate_fini(struct wp_aggregate *aggregate);
/* A thread has an identity of interest from now on. */
void wp_aggregate_add_base(struct wp_aggregate *aggregate, uint32_t thread);
/* It has been accounted for up to there. */
void wp_aggregate_set_base(struct wp_aggregate *aggregate, uint32_t thread, uint64_t until_ns);
/* A checkpoint goes on from there, with all that was set before. */
void wp_aggregate_set_resumed(struct wp_aggregate *aggregate, uint64_t resolved_ns);
/* All that was counted so far, of events and drops, is in the store already. */
void wp_aggregate_skip_counts(struct wp_aggregate *aggregate, const uint64_t *drops);
/* All that was resolved so far, up to there, is in the store already. */
void wp_aggregate_skip_time(struct wp_aggregate *aggregate, uint64_t until_ns);
/* Accounts for all that is complete up to `until_ns`; at the end of a session for all there is. False: a part of it
 * (wp_fleet_pauses), to be called again for the same. */
bool wp_aggregate_resolve(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final);
/* Goes through what wp_aggregate_resolve would account for, so that other shards are asked what it needs of them;
 * counts nothing. At UINT64_MAX: only the paths that others asked for. */
void wp_aggregate_rehearse(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final);
/* Puts events, drops (by kind), window and limits since the last delta into the report. */
void wp_aggregate_close_delta(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns);
/* They are in the store. */
void wp_aggregate_drop_closed(struct wp_aggregate *aggregate);
/* After the commit: an empty delta. */
void wp_aggregate_next_delta(struct wp_aggregate *aggregate);

#endif
