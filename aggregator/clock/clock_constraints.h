/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_CONSTRAINTS_H
#define WP_AGGREGATOR_CLOCK_CLOCK_CONSTRAINTS_H
/*
 * What the connections between two hosts say of their clocks: bytes that left one host (a packet queued at its device)
 * arrived at the other no earlier. The facts of both ends come in any order and some while apart, some before it is
 * known that the two ends are one connection: a few of each end are kept until they meet. Facts that are missed only
 * make the answer looser: any arrival of the byte or of later ones is after its leaving.
 */
#include "aggregator/clock/clocks.h"

#include <stdint.h>

/* Ends are numbered from 1. Not thread safe. */
struct wp_clock_constraints {
    struct wp_clocks *clocks;         /* borrowed */
    struct wp_clock_constraint *rows; /* owned; [0] unused */
    uint32_t count, room, free;
};

/* Allocates nothing; `clocks` gets what the ends say, and is borrowed until wp_clock_constraints_fini(). */
void wp_clock_constraints_init(struct wp_clock_constraints *constraints, struct wp_clocks *clocks);
/* Frees all ends, open or not, and zeroes the struct; zeroed is allowed. */
void wp_clock_constraints_fini(struct wp_clock_constraints *constraints);
/* One end of a connection, on a host with this clock. 0: no room for another one. */
uint32_t wp_clock_constraints_open(struct wp_clock_constraints *constraints, uint32_t clock);
/* Parts the end from its other one first, which stays open. The number may be given again. */
void wp_clock_constraints_close(struct wp_clock_constraints *constraints, uint32_t end);
/* The two are ends of one connection; they are not any more. */
void wp_clock_constraints_join(struct wp_clock_constraints *constraints, uint32_t one, uint32_t other);
/* Undoes a join, of both ends; one that is not joined is allowed. */
void wp_clock_constraints_part(struct wp_clock_constraints *constraints, uint32_t one);
/* Bytes up to `position` were handed over at that end and went no earlier: so the last before a pause bound the clocks,
 * too, where a leaving is told now and then. */
void wp_clock_constraints_sent(
    struct wp_clock_constraints *constraints, uint32_t end, uint32_t position, uint64_t time_ns);
/* For the first time bytes up to `position` left the host of that end / arrived there; by its own clock. */
void wp_clock_constraints_left(
    struct wp_clock_constraints *constraints, uint32_t end, uint32_t position, uint64_t time_ns);
/* The same for bytes that arrived; the clocks get a constraint if the other end is joined and its leaving is known. */
void wp_clock_constraints_arrived(
    struct wp_clock_constraints *constraints, uint32_t end, uint32_t position, uint64_t time_ns);

#endif
