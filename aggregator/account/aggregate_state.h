/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_STATE_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_STATE_H
/* What a checkpoint (proto/resume.proto) says of an aggregate: names, base threads, paths that were followed, counts.
 */
#include "proto/resume.pb-c.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_aggregate;

/* Adds a row for it to `m`, whose horizon is set. `rows`: row + 1 of each thread in the message, 0: it is in none, and
 * stands in `late`. -ENOMEM: a part of it is in `m`. */
int wp_aggregate_save(const struct wp_aggregate *aggregate, const uint32_t *rows, Wakepath__Resume__Checkpoint *m);
/* `threads`: the thread of each of the message's rows, 0: none. The message has been checked
 * (session/session_state_check.h). Late threads are the caller's. */
void wp_aggregate_restore(struct wp_aggregate *aggregate, const Wakepath__Resume__Checkpoint *m,
    const Wakepath__Resume__Aggregate *row, const uint32_t *threads);
/* A checkpoint goes on from there, with all that was set before; true: the store has more than that. */
bool wp_aggregate_resume(struct wp_aggregate *aggregate, uint64_t resolved_ns);
/* The path of a thread of its host has been followed: it is not counted again. */
void wp_aggregate_add_followed(struct wp_aggregate *aggregate, uint32_t thread, uint64_t start_ns, uint64_t end_ns);

#endif
