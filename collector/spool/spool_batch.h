/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SPOOL_SPOOL_BATCH_H
#define WP_COLLECTOR_SPOOL_SPOOL_BATCH_H
/*
 * What is left of a batch when its events are gone. Later batches use the ids that its dictionary entries defined, so
 * the entries must reach the receiver, and what was lost must be counted with its span of time:
 * - stripped: the entries are there, the events are not; Drops say how many of each kind there were. The few events
 * that say who is who stay: which process began, ran what, was renamed;
 * - a gap: damaged or gone. Nameless entries take the places of those that were lost, one Drop counts what is known.
 */
#include "common/error.h"
#include "collector/spool/spool_segment.h"
#include "proto/batch.h"

/* Batches first_seq..last_seq of which only the neighbours' heads tell. */
struct wp_spool_gap {
    uint8_t session[16];
    uint64_t first_seq, last_seq;
    uint64_t from_ns, to_ns;
    uint64_t count; /* events lost; 0: delivered before, nothing is lost */
    uint64_t anchor_mono_ns, anchor_real_ns;
    uint32_t before[WP_SPOOL_KINDS], after[WP_SPOOL_KINDS];
};

/* Fills all of the head but its ids before; `known` are they. Times of a batch without events are those before it. */
void wp_spool_head_of(
    struct wp_spool_head *head, const struct wp_batch *batch, const uint32_t known[WP_SPOOL_KINDS], uint64_t last_ns);

struct wp_spool_batches; /* room for one batch */

/* NULL: out of memory. */
struct wp_spool_batches *wp_spool_batches_create(void);
/* Frees it with the batch it returned last. NULL is allowed. */
void wp_spool_batches_destroy(struct wp_spool_batches *batches);
/* The results below are valid until the next call. -EBADMSG, -EINVAL: not a batch. */
int wp_spool_batches_decode(
    struct wp_spool_batches *batches, const uint8_t *raw, size_t size, struct wp_batch **batch, struct wp_error *err);
/* Takes the events out of the last decoded batch. `is_lost`: Drops count them; else its Drops go too: all that was
 * delivered before, and only renames stay: whoever begins behind it must know the names. */
int wp_spool_batches_strip(struct wp_spool_batches *batches, bool is_lost, struct wp_error *err);
/* The batch `seq` of a gap: the first carries the entries (as many as fit, then the next) and the Drop. */
int wp_spool_batches_gap(struct wp_spool_batches *batches, const struct wp_spool_gap *gap, uint64_t seq,
    struct wp_batch **batch, struct wp_error *err);

/* An aggregator that begins behind a batch gets the names that threads have by then: takes the renames of the batch,
 * and all that makes it more than dictionary entries out of it. */
int wp_spool_batches_take_names(struct wp_spool_batches *batches, struct wp_batch *batch, struct wp_error *err);
/* Puts the names into the batch, as of `time_ns`, and forgets them. */
int wp_spool_batches_give_names(
    struct wp_spool_batches *batches, struct wp_batch *batch, uint64_t time_ns, struct wp_error *err);
/* Drops names that were taken and not given, before a session is read from its first batch again. */
void wp_spool_batches_forget_names(struct wp_spool_batches *batches);

/* True when it carries neither events nor entries nor Drops and is not the last. */
bool wp_spool_batch_is_empty(const struct wp_batch *batch);

#endif
