/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_SINK_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_SINK_H
/*
 * What an explanation leads to, and who takes it: pieces, intervals of other paths, waits for other hosts, bounds that
 * bit. What each taker wants is said by its sink, not by the explainer.
 */
#include "storage/value/category.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_interval;

#define WP_LAYER_FOREIGN UINT32_MAX
#define WP_LAYER_ASKERS (UINT32_MAX - 1)

struct wp_layer {           /* of a pseudo-stack: a process */
    uint32_t host, process; /* number in the fleet, index in that timeline; host FOREIGN: of another shard
                             * (wp_shards_process); ASKERS: another shard asks, and knows itself */
    uint32_t thread;        /* whose time it is; 0 with FOREIGN and ASKERS */
};

/* A part of the time that is explained, and what it was spent on. */
struct wp_piece {
    uint32_t node;         /* in the tree */
    uint32_t host, thread; /* number and index of the thread on top */
    enum wp_category category;
    uint64_t start_ns, end_ns; /* in the clock of the host that was asked about */
    bool is_uncertain;
    const char *reason; /* UNACCOUNTED only: why */
    /* The processes of the layers, outermost first, for the per-process sums. */
    const struct wp_layer *layers;
    uint32_t layer_count;
    bool is_run;
    bool is_part;    /* of a sleep or run, and a later piece of it counts it */
    bool is_settled; /* of explanations before this one (wp_shared_settle) */
    uint64_t times;  /* so many of it, for others who waited; 0 stands for 1 */
};

/* A wait that a message from another host ended. */
struct wp_crossed {
    const char *from, *to;          /* hosts, borrowed */
    uint64_t waited_ns, transit_ns; /* of the wait, the last message was so long on its way */
    uint64_t bound_ns;              /* of the clocks */
    uint64_t times;                 /* so many of it; 0 stands for 1 */
};

/* The bounds of an explanation; wp_limit_name() has their names. */
enum wp_limit {
    WP_LIMIT_DEPTH,
    WP_LIMIT_WIDTH,
    WP_LIMIT_BUDGET,
    WP_LIMIT_HISTORY,
    WP_LIMIT_SHARDS /* another shard did not answer */,
    WP_LIMIT_JOIN /* a run that was little longer parted a loop of timeouts */,
    WP_LIMIT_LATE_SAMPLE /* a sample came a little later than that after its run */,
    WP_LIMIT_LOOP /* it waited for an answer that had not come when it had to be reported */,
    WP_LIMITS
};

/* Callbacks may be NULL: that is not taken. What they are given is theirs during the call. */
struct wp_sink {
    void (*piece)(void *context, const struct wp_piece *piece);
    /* A sleep waits on another path: what that thread did in this interval belongs to a path of its own. */
    void (*other_path)(void *context, const struct wp_interval *interval);
    void (*crossed)(void *context, const struct wp_crossed *crossed);
    /* A bound bit so often, and touched so much time. */
    void (*limit)(void *context, enum wp_limit limit, uint64_t count, uint64_t ns);
    /* Each piece has to come in its order, and not their number. NULL: no. */
    bool (*wants_each)(void *context);
    void *context;
    bool shares; /* what many wait for is explained once for all of them (explain_shared.h) */
    bool marks;  /* slices are marked as held by a path (timeline/taken.h) */
    bool asks;   /* other shards are asked; else what they have answered is all there is */
};

/* Hands the piece to the taker; nothing is done where the sink takes none, here and below. */
static inline void wp_sink_piece(const struct wp_sink *sink, const struct wp_piece *piece)
{
    if (sink->piece)
        sink->piece(sink->context, piece);
}

/* The same for a wait on another host. */
static inline void wp_sink_crossed(const struct wp_sink *sink, const struct wp_crossed *crossed)
{
    if (sink->crossed)
        sink->crossed(sink->context, crossed);
}

/* The same for a bound: how often it bit, and the time that it touched. */
static inline void wp_sink_limit(const struct wp_sink *sink, enum wp_limit limit, uint64_t count, uint64_t ns)
{
    if (sink->limit)
        sink->limit(sink->context, limit, count, ns);
}

/* False where the sink has no such callback: pieces may come in any order, and added up (`times`). */
static inline bool wp_sink_wants_each(const struct wp_sink *sink)
{
    return sink->wants_each && sink->wants_each(sink->context);
}

#endif
