/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_TRAFFIC_H
#define WP_AGGREGATOR_NET_TRAFFIC_H
/* What went from host to host on paired connections, and what of a host's traffic has no other end; loopback is left
 * out. */
#include "common/intmap.h"

#include <stdint.h>

/* What was received on one host from another (UINT32_MAX: from nobody known). */
struct wp_traffic {
    uint32_t to, from;
    uint64_t messages, bytes;            /* reads of paired sockets, or of unpaired ones where `from` is UINT32_MAX */
    uint64_t ambiguous, ambiguous_bytes; /* of those, unpaired because two fitted */
    uint64_t resent, resent_bytes; /* segments that `from` sent again; where it is UINT32_MAX: that `to` sent again to
                                      nobody known */
};

/* What one socket read while nobody knew where from. */
struct wp_traffic_alone {
    uint64_t bytes, ambiguous_bytes;
    uint32_t messages, ambiguous;
};

/* Zeroed: none. */
struct wp_traffics {
    struct wp_traffic *rows; /* owned */
    struct wp_intmap index;
    uint32_t count, room;
};

/* The row, made on first use; NULL: no memory. */
struct wp_traffic *wp_traffics_row(struct wp_traffics *traffics, uint32_t to, uint32_t from);
/* It is known now: it stands under `from`, or nowhere when that is the host itself. */
void wp_traffics_move(struct wp_traffics *traffics, uint32_t to, uint32_t from, struct wp_traffic_alone *alone);
/* The host's number will be another one's. */
void wp_traffics_forget(struct wp_traffics *traffics, uint32_t host);
/* Frees the rows and zeroes the struct; zeroed is allowed. */
void wp_traffics_fini(struct wp_traffics *traffics);

#endif
