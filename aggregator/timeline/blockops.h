/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_BLOCKOPS_H
#define WP_AGGREGATOR_TIMELINE_BLOCKOPS_H
/* Block operations of one host: queued -> issued -> done, found by (device, request key) or by the thread that issued.
 */
#include "common/clock.h"
#include "common/intmap.h"
#include "proto/event.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_BLOCKOPS_LATER_NS                                                                                           \
    (35 * WP_NS_PER_S) /* beyond a host's history: what is kept of it for others is at most 30 s */

/* One operation; times are the host's. */
struct wp_blockop {
    uint64_t insert_ns, issue_ns, done_ns; /* 0: not (yet) seen */
    uint64_t key, sector;
    uint32_t device, bytes;
    uint32_t file;                /* string id of what it is for, 0 unknown */
    uint32_t thread;              /* thread index that inserted (or issued) it */
    uint32_t server;              /* thread index that served it, on the host itself; 0: a device did */
    uint64_t taken_ns, served_ns; /* by the server: since it was done with the one before; 0: never was one */
    uint32_t before;              /* low 32 bits of the number of the thread's operation that finished before it */
    uint32_t low;                 /* low 32 bits of its own number, less 1 */
    bool has_before;
    uint8_t flags; /* WP_BLOCK_* */
};

#define WP_BLOCKOPS_CHUNK 64u /* operations that are made, and forgotten, at once */

/* The operations of one host. Not thread safe. */
struct wp_blockops {
    struct wp_blockop **chunks; /* ring of the last ones, owned, each of so many; op n is in number n / chunk & mask,
                                   read by the functions below alone. Chunks whose operations are too old to be asked
                                   for go */
    uint32_t mask;              /* of the ring, which grows up to its limit */
    uint32_t chunk_count;       /* that there are */
    uint64_t first, count;      /* held are [first, count) */
    uint64_t keep_ns; /* one that was done so long ago is not asked for; a history of 10 s and LATER_NS, if nothing else
                         is set */
    struct wp_intmap by_key;              /* (device, key) -> low 32 bits of n */
    struct wp_intmap by_thread;           /* thread -> low 32 bits of n of its last finished one */
    struct wp_intmap begun;               /* thread -> low 32 bits of n of its last one */
    struct wp_intmap served;              /* server -> low 32 bits of n of the last one that it served */
    struct wp_intmap flushes;             /* device -> low 32 bits of n of its flush that was done last */
    uint64_t filled_insert, filled_issue; /* steps that were not seen and are stood in for */
};

/* What it takes of memory. */
size_t wp_blockops_bytes(const struct wp_blockops *blockops);
/* The thread of that index is gone. */
void wp_blockops_forget_thread(struct wp_blockops *blockops, uint32_t thread);
/* -ENOMEM. wp_blockops_fini() may follow in any case. */
int wp_blockops_init(struct wp_blockops *blockops);
/* Frees ring and maps, and zeroes the struct; zeroed is allowed. */
void wp_blockops_fini(struct wp_blockops *blockops);
/* Takes a BLOCK event, in the order of time; others are ignored. `thread`: index of the task, 0 not known. Out of
 * memory older operations go, or it is not remembered. */
void wp_blockops_event(struct wp_blockops *blockops, const struct wp_event *event, uint32_t thread);
/* The number (never 0) of the operation that has this key now: keys are used again as soon as a request is done. 0:
 * none. */
uint64_t wp_blockops_number(const struct wp_blockops *blockops, uint32_t device, uint64_t key);
/* The operation with this number, NULL when it is none or so old that it was forgotten. All that are held: from `first`
 * + 1 up to `count`. */
const struct wp_blockop *wp_blockops_at(const struct wp_blockops *blockops, uint64_t number);
/* The last finished operation of this thread before `before_ns`, and no longer before it than is kept, or NULL. */
const struct wp_blockop *wp_blockops_last_of(const struct wp_blockops *blockops, uint32_t thread, uint64_t before_ns);

/* The last one that this thread began, finished or not, or NULL. */
const struct wp_blockop *wp_blockops_last_begun(const struct wp_blockops *blockops, uint32_t thread);
/* The number of an operation that one of these returned. */
uint64_t wp_blockops_number_of(const struct wp_blockops *blockops, const struct wp_blockop *op);

#endif
