/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_H
/*
 * One aggregate of one session: accounts for the time of its base threads epoch by epoch, explains their sleeps,
 * follows the other paths that were waited for, and gathers all of it in a report (aggregate_delta.h) and an exemplar.
 */
#include "aggregator/account/aggregate_types.h"

/* NULL: no memory. */
struct wp_aggregate *wp_aggregate_create(const struct wp_aggregate_options *options);
/* Frees all it holds, deltas that were closed and not written included. Before its fleet goes; NULL is allowed. */
void wp_aggregate_destroy(struct wp_aggregate *aggregate);
/* Borrowed. */
const struct wp_aggregate_id *wp_aggregate_id(const struct wp_aggregate *aggregate);
/* Whose time is its base. */
void wp_aggregate_set_view(struct wp_aggregate *aggregate, enum wp_selector_view view);
/* Only that time of its base threads is its base (ns since 1970). Before anything is resolved; again with the same. */
void wp_aggregate_set_interval(struct wp_aggregate *aggregate, struct wp_selector_interval interval);
/* A thread has an identity of interest from now on. */
void wp_aggregate_add_base(struct wp_aggregate *aggregate, uint32_t thread);
/* It has been accounted for up to there. */
void wp_aggregate_set_base(struct wp_aggregate *aggregate, uint32_t thread, uint64_t until_ns);
/* Threads of interest that were not accounted for so far are from there on. */
void wp_aggregate_begin_base(struct wp_aggregate *aggregate, uint64_t from_ns);
/* Accounts for all that is complete up to `until_ns`; at the end of a session for all there is. False: a part of it
 * (wp_fleet_pauses), to be called again for the same. */
bool wp_aggregate_resolve(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final);
/* Goes through what wp_aggregate_resolve would account for, so that other shards are asked what it needs of them;
 * counts nothing. At UINT64_MAX: only the paths that others asked for. */
void wp_aggregate_rehearse(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final);

#endif
