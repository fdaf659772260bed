/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_ARRIVALS_H
#define WP_AGGREGATOR_NET_ARRIVALS_H
/* When bytes arrived at a socket: the last few of them, until they are read. Embedded; zeros are an empty one. Not
 * thread safe. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_ARRIVALS 16u /* remembered of a socket */

/* When bytes up to a stream position arrived. */
struct wp_arrival {
    uint64_t time_ns;
    uint32_t end; /* position behind the last byte */
};

/* The last ones of one socket. */
struct wp_arrivals {
    struct wp_arrival *rows; /* ring, owned; as many as came, and no more than are remembered */
    uint32_t count;
    uint32_t room; /* of the ring, a power of two; 0: none */
};

/* Frees the ring; it is empty then and may be used again. */
void wp_arrivals_fini(struct wp_arrivals *arrivals);
/* What was sent again, and for nothing, is passed over. */
void wp_arrivals_add(struct wp_arrivals *arrivals, const struct wp_arrival *arrival);
/* When the byte before `end` arrived; 0: not known, or too many came since then. */
uint64_t wp_arrivals_of(const struct wp_arrivals *arrivals, uint32_t end);
/* Nothing has arrived behind `end`. */
bool wp_arrivals_are_read(const struct wp_arrivals *arrivals, uint32_t end);

/* What is held on the heap, the struct itself left out. */
static inline size_t wp_arrivals_bytes(const struct wp_arrivals *arrivals)
{
    return arrivals->room * sizeof(*arrivals->rows);
}

#endif
