/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_MAPPINGS_H
#define WP_AGGREGATOR_TIMELINE_MAPPINGS_H
/*
 * Which objects each process of a session was seen to run in, and which functions of a JIT map: what its stacks go
 * through. A stack's objects are a set that is numbered once, when the stack is defined, so that an event costs a look
 * at the process' last set. The store gets what is new of it with each commit ("__state__/source.<shard>" and its
 * blobs).
 */
#include "aggregator/timeline/timeline.h"
#include "storage/env/store.h"

#define WP_MAPPINGS_LIMIT 262144u /* of what is remembered in a session */

struct wp_mappings {        /* init with {0} */
    uint32_t *set_of_stack; /* owned */
    uint32_t stack_count, stack_room;
    struct wp_mapping_set *sets; /* [0] is the empty one; owned */
    uint32_t set_count, set_room;
    struct wp_intmap set_of; /* (set, element) -> the set with it */
    struct wp_intmap known;  /* (process, set) and (process, element) */
    uint32_t *last_set;      /* by process, + 1; owned */
    uint32_t process_room;
    struct wp_stack_mapping *news; /* since the last commit; owned */
    uint32_t news_count, news_room;
    uint64_t omitted; /* beyond the limit, or out of memory */
};

/* What it takes of memory. */
size_t wp_mappings_bytes(const struct wp_mappings *mappings);
/* Frees all, news that were not written included, and zeroes the struct; zeroed is allowed. */
void wp_mappings_fini(struct wp_mappings *mappings);
/* After the timeline has taken it. */
void wp_mappings_event(struct wp_mappings *mappings, const struct wp_timeline *timeline, const struct wp_event *event);
/* Whose they are. */
struct wp_mappings_home {
    const struct wp_timeline *timeline;
    const char *hostname;
    int64_t real_offset_ns;
};
/* Writes the news. */
int wp_mappings_put(const struct wp_mappings *mappings, const struct wp_mappings_home *home, struct wp_txn *txn,
    const char *shard, struct wp_error *err);
/* They are in the store. */
void wp_mappings_done(struct wp_mappings *mappings);

#endif
