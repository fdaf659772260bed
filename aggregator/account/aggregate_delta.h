/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_DELTA_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_DELTA_H
/*
 * What an aggregate has for the store: reports since the last commit, one for each timebox that is over and one for
 * the one that goes on, and windows. What the store has already, of an earlier run, is not counted again.
 */
#include "aggregator/account/aggregate_types.h"

struct wp_exemplar;

/* Borrowed, as all it points to: until the next change of the aggregate. */
const struct wp_aggregate_delta *wp_aggregate_delta(const struct wp_aggregate *aggregate);
/* Puts events, drops (by kind), window and limits since the last delta into the report. */
void wp_aggregate_close_delta(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns);
/* What there is of the delta belongs to that timebox, and what follows to another one: begins anew. -ENOMEM: nothing is
 * done. */
int wp_aggregate_close_timebox(
    struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns, uint64_t timebox_s);
/* Frees the closed ones, written or not. */
void wp_aggregate_drop_closed(struct wp_aggregate *aggregate);
/* An empty delta begins; closed ones stay. */
void wp_aggregate_next_delta(struct wp_aggregate *aggregate);
/* The session was ended for the memory that it held: the report says so. */
void wp_aggregate_report_shed(struct wp_aggregate *aggregate);

/* --- windows --- */
/* The sampled ones. Borrowed. */
const struct wp_exemplar_sample *wp_aggregate_sampled(const struct wp_aggregate *aggregate);
/* Of a live session every 30 s while it changes, of one that has ended always; NULL: it need not be stored. Borrowed.
 */
const struct wp_exemplar *wp_aggregate_due_exemplar(
    const struct wp_aggregate *aggregate, uint64_t resolved_ns, bool is_ended);
/* All deltas and windows are in the store, and what the host is in that timebox: an empty delta begins. */
void wp_aggregate_mark_stored(
    struct wp_aggregate *aggregate, uint64_t resolved_ns, bool is_ended, uint64_t noted_timebox_s);

/* --- what the store has already --- */
/* It has what is resolved up to there, counted up to that batch; 0: nothing. */
void wp_aggregate_set_stored(struct wp_aggregate *aggregate, uint64_t seq, uint64_t until_ns);
/* That batch has been taken in: what is counted up to it is skipped if the store has it. */
void wp_aggregate_skip_batch(struct wp_aggregate *aggregate, uint64_t seq, const uint64_t *drops);
/* The epoch up to there has been resolved and is skipped if the store has it; true: the store has more. */
bool wp_aggregate_skip_epoch(struct wp_aggregate *aggregate, uint64_t until_ns);
/* It was made in the midst of a session: what was counted and resolved before is others'. */
void wp_aggregate_begin_late(struct wp_aggregate *aggregate, uint64_t resolved_ns, const uint64_t *drops);
/* Deltas have counted the time up to there. */
uint64_t wp_aggregate_window_ns(const struct wp_aggregate *aggregate);

#endif
