/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_H
#define WP_AGGREGATOR_EXPLAIN_H
/*
 * The explanation: a stretch of a thread's time is cut into pieces without gap or overlap, each with a pseudo-stack and a
 * category. A run is its samples; a sleep is what it waited for: the waker's time walked back from the waking to the
 * sleep's start, with the waker's own sleeps explained the same way (after "A Recursive Systemic Profiler", section 5.2).
 * docs/engine.md has the rules and where they differ from the paper.
 */
#include "aggregator/fleet.h"
#include "aggregator/pathtree.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_explain_options {
    uint64_t fit_ns;         /* small overlap that is still the same control path; 100 us */
    uint64_t join_ns;        /* a run shorter than this parts two sleeps of one loop; 100 us */
    uint64_t chunk_ns;       /* a long run is divided among its samples by this grid; 1 s */
    uint32_t depth;          /* layers */
    uint32_t width;          /* slices looked at for one base sleep */
};

#define WP_EXPLAIN_DEFAULTS ((struct wp_explain_options){100000, 100000, 1000000000, 64, 200000})
#define WP_DEPTH_LIMIT 256u

struct wp_layer {            /* of a pseudo-stack: a process */
    uint32_t host, process;  /* number in the fleet, index in that timeline */
};

struct wp_piece {
    uint32_t node;           /* in the tree */
    uint32_t host, thread;   /* number and index of the thread on top */
    enum wp_category category;
    uint64_t start_ns, end_ns; /* in the clock of the host that was asked about */
    bool is_uncertain;
    const char *reason;      /* UNACCOUNTED only: why */
    /* The processes of the layers, outermost first, for the per-process sums. */
    const struct wp_layer *layers;
    uint32_t layer_count;
    bool is_run;
};

/* A wait that a message from another host ended. */
struct wp_crossed {
    uint32_t from, to;       /* hosts */
    uint64_t waited_ns, transit_ns; /* of the wait, the last message was so long on its way */
    uint64_t bound_ns;       /* of the clocks */
};

/* Names on one host, remembered. */
struct wp_explain_names {
    uint32_t *frames;        /* dictionary frame id -> tree frame, 0 unknown; owned */
    uint32_t *processes;     /* identity -> tree frame; owned */
    uint32_t frame_room, process_room, generation;
};

enum wp_limit { WP_LIMIT_DEPTH, WP_LIMIT_WIDTH, WP_LIMIT_HISTORY, WP_LIMITS };

struct wp_explainer {
    struct wp_fleet *fleet;            /* borrowed */
    uint32_t home;                     /* the host that is asked about */
    /* Where the walk is: a host, and what to add to its clock to get home's. */
    uint32_t host;
    struct wp_timeline *timeline;      /* of `host`, borrowed */
    int64_t shift_ns;
    struct wp_pathtree *tree;          /* borrowed */
    struct wp_explain_options options;
    uint64_t base_bit;                 /* of the aggregate: identities with it are of interest */
    void (*piece)(void *context, const struct wp_piece *piece);
    /* A sleep waits on another path: what that thread did in this stretch belongs to a path of its own. */
    void (*other_path)(void *context, const struct wp_stretch *stretch);
    void (*crossed)(void *context, const struct wp_crossed *crossed);
    void *context;
    uint64_t limit_count[WP_LIMITS], limit_ns[WP_LIMITS];
    /* caches */
    struct wp_intmap sites;            /* (parent node, host and stack id) -> node */
    struct wp_explain_names *names;    /* by host, owned */
    uint32_t name_room, leaves;
    struct wp_layer layers[WP_DEPTH_LIMIT + 2];
    uint32_t depth, visited;
    uint32_t doubts;                   /* waits being explained in which the other host lost events */
    bool is_other_path;                /* what is explained is no base path: base time in it is left out */
};

int wp_explainer_init(struct wp_explainer *explainer, struct wp_fleet *fleet, uint32_t home, struct wp_pathtree *tree);
void wp_explainer_fini(struct wp_explainer *explainer);
/* Accounts for the stretch on a fresh control path. Pieces come latest first. -ENODATA: its host has left, or its clock has
 * not been compared with home's. */
int wp_explain(struct wp_explainer *explainer, const struct wp_stretch *stretch);
/* True when this sleep timed out and the one after it may still turn out to be the end of the same wait. */
bool wp_explain_pending(const struct wp_explainer *explainer, uint32_t thread, uint64_t slice);

#endif
