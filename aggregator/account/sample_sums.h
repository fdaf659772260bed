/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_SAMPLE_SUMS_H
#define WP_AGGREGATOR_ACCOUNT_SAMPLE_SUMS_H
/*
 * The way of an explanation's pieces into an aggregate's report and exemplar. Most pieces are like one shortly before
 * (the same pseudo-stack, the same processes, milliseconds later): such ones are added up, and the report gets their
 * sum. Sums and counts are exact, so it cannot tell the difference.
 */
#include "common/intmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_aggregate;
struct wp_layer;
struct wp_piece;
struct wp_report;
struct wp_sample_sums;

/* Frees the sums and zeroes them; what was not flushed is in no report. Zeroed is allowed. */
void wp_sample_sums_fini(struct wp_sample_sums *sums);
/* What they take of memory. */
size_t wp_sample_sums_bytes(const struct wp_sample_sums *sums);
/* The explainer's `piece`, of an aggregate as context. */
void wp_sample_sums_add(void *aggregate, const struct wp_piece *piece);
/* A sink's `wants_each`: the exemplar keeps them. */
bool wp_sample_sums_wants_each(void *aggregate);
/* Tells the report of all that was taken, and of what was repeated for others, which is forgotten then. */
void wp_sample_sums_flush(struct wp_aggregate *aggregate);
/* The report is empty now. */
void wp_sample_sums_next_delta(struct wp_aggregate *aggregate);

/* --- of one piece, for others who report it --- */

/* The layer's process in that report; UINT32_MAX: it is not at hand. */
uint32_t wp_layer_process(const struct wp_aggregate *aggregate, struct wp_report *report, const struct wp_layer *layer);
/* The same for layers whose process has the same row in a report. */
struct wp_intkey wp_layer_process_key(const struct wp_aggregate *aggregate, const struct wp_layer *layer);
/* The thread on top; 0: its host is not at hand. */
uint32_t wp_piece_tid(const struct wp_aggregate *aggregate, const struct wp_piece *piece);
/* So much of it drops touch. */
uint64_t wp_piece_uncertain_ns(const struct wp_aggregate *aggregate, const struct wp_piece *piece);

#endif
