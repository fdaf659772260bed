/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SPOOL_SPOOL_ACKS_H
#define WP_COLLECTOR_SPOOL_SPOOL_ACKS_H
/*
 * Which aggregator has acknowledged which batches of a session: what is durable at one must not be counted by another.
 * Kept in the file `acked`, a line a range: its last batch, a space, the endpoint.
 */
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A range of batches that one aggregator has acknowledged. */
struct wp_spool_ack {
    uint64_t last_seq; /* of a range that begins behind the one before */
    char *endpoint;    /* owned */
};

/* The ranges of one session. Embedded; it owns `path`. */
struct wp_spool_acks {
    char *path;
    struct wp_spool_ack *ranges; /* owned, by number */
    uint32_t count;
    bool is_dirty;
};

/* A file that is damaged counts as none: what is sent again is known by its number where it was. */
int wp_spool_acks_open(struct wp_spool_acks *acks, const char *folder, struct wp_error *err);
/* Frees and zeroes it without saving. A zeroed one is allowed. */
void wp_spool_acks_fini(struct wp_spool_acks *acks);
/* The last acknowledged batch, at whichever aggregator; 0: none. */
uint64_t wp_spool_acks_last(const struct wp_spool_acks *acks);
/* Batches up to `seq` that no range has are now `endpoint`'s; wp_spool_acks_save writes that. Of too many ranges the
 * two oldest become one without an endpoint. -ENOMEM. */
int wp_spool_acks_add(struct wp_spool_acks *acks, uint64_t seq, const char *endpoint, struct wp_error *err);
/* Another aggregator than `endpoint` has it. */
bool wp_spool_acks_is_foreign(const struct wp_spool_acks *acks, uint64_t seq, const char *endpoint);
/* Writes the file when there is news. */
int wp_spool_acks_save(struct wp_spool_acks *acks, struct wp_error *err);

#endif
