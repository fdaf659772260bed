/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_TYPES_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_TYPES_H
/*
 * What the files of the explanation share: the explainer, which is passed down through all of them, the pieces that it
 * makes, and the sleep that is being explained. Each of the files above has its own functions. Private to this room:
 * for the others the explainer is opaque (explain.h).
 */
#include "aggregator/explain/explain_options.h"
#include "aggregator/explain/explain_sink.h"
#include "aggregator/explain/pathtree.h"
#include "aggregator/fleet/fleet.h"

#include <stdbool.h>
#include <stdint.h>

/* Names on one host, remembered. */
struct wp_explain_names {
    uint32_t *frames;    /* dictionary frame id -> tree frame, 0 unknown; owned */
    uint32_t *processes; /* identity -> tree frame; owned */
    uint32_t frame_room, process_room, generation;
};

/* A request whose answer found the thread awake (explain_unheard.h). */
struct wp_unheard {
    uint64_t asked_ns;           /* the server was woken by it; 0: there is none */
    uint64_t until_ns;           /* the server wrote the answer, or waited for the next request then */
    uint32_t server, connection; /* connection: of the unix stream, 0: another way */
    bool is_guess;               /* it waited for the next one */
};

/* A loop of sleeps whose end was found (explain_loop.h). */
struct wp_loop_cache {
    uint32_t host, thread, leaves;
    uint64_t first, end;       /* slices; end 0: none */
    struct wp_answer answer;   /* read_ns 0: the sleep of slice `end` ends it; else this does, before that slice */
    struct wp_unheard unheard; /* asked_ns not 0: this does */
    uint64_t since_ns;         /* outstanding since then */
    bool is_lasting;           /* however long ago that was */
    bool is_guess;             /* asked for since then, at an unknown moment */
    bool is_doubtful;          /* the waker has answered another one since: this one as well, perhaps, and unseen */
    bool is_exact;             /* holds of all sleeps in between: no other end was passed over */
};
#define WP_LOOP_CACHE 16u

/* A row of sleeps that something ended for nothing (explain_spurious.h): from that slice up to that one. */
struct wp_row_cache {
    uint32_t host, thread, leaves;
    uint64_t first, last;
    bool is_over; /* nothing follows it; else that is not known yet */
};

/* The node of a process upon another node; node 0: none. */
struct wp_process_place {
    uint32_t host, parent, identity, node;
};

/* Whether a place of a host is known down to the program's own functions (explain_queue.h); stack 0 never is. */
struct wp_own_place {
    uint32_t stack, host;
    bool is_own;
};
#define WP_OWN_PLACES 16u

/* Which slices of a thread began as it had lost its CPU or taken another name (explain_queue.c); thread 0, nobody, has
 * none. */
struct wp_resumed {
    uint32_t thread, host;
    uint64_t block, bits; /* bit i: slice block * WP_RESUMED_SLICES + i */
};
#define WP_RESUMED_SLICES 64u
#define WP_RESUMED 256u

/* What a stack of a host says of a lock that is waited for there (explain_lock.h); stack 0, says 0: not looked at. */
struct wp_lock_stack {
    uint32_t stack, host;
    uint8_t says;
    bool is_lock; /* a sleep there in that state, call and wait, that is no futex's, is one for a lock ... */
    uint64_t how; /* ... which are these; 0: not looked at */
};
#define WP_LOCK_STACKS 256u

/* The node of whom a wait for a CPU was behind, by its key among the sites; node 0: none. */
struct wp_rival_place {
    uint64_t a, b;
    uint32_t node;
};
#define WP_RIVAL_PLACES 16u

/* The same of a run as it is recorded (explain_runnable.c), for a thread of the process `own`; node 0: none. */
struct wp_rival_run {
    uint64_t how; /* process and occupant of the run, and what else of the wait shows */
    uint32_t on, own, host, reuses;
    uint32_t node;
    bool is_uncertain;
};

/* Of a layer: where it sleeps while that is explained by who ended it (0: it does not). */
struct wp_layer_sleep {
    uint64_t site;
    uint32_t doubts; /* when the layer began */
};

/* The time before this moment is another thread's, in the place of a layer (wp_explain_relays). */
struct wp_relay {
    bool is_on;
    uint32_t depth, thread;
    uint32_t repeats; /* at the same instant: facts that contradict each other must not lead in a circle */
    uint64_t slice, to_ns;
};

struct wp_explainer {
    struct wp_fleet *fleet; /* borrowed */
    uint32_t home;          /* the host that is asked about */
    /* Where the walk is: a host, and what to add to its clock to get home's. */
    uint32_t host;
    struct wp_timeline *timeline; /* of `host`, borrowed */
    int64_t shift_ns;
    struct wp_pathtree *tree; /* borrowed */
    struct wp_explain_options options;
    uint64_t base_bit;          /* of the aggregate: identities with it are of interest */
    const struct wp_sink *sink; /* who takes what is explained now; borrowed, NULL between explanations */
    struct wp_shared *shared;   /* what many waited for; owned (explain_shared.h) */
    uint32_t recording_depth;   /* layers below what is being recorded */
    bool recording;             /* what is emitted is taken in there, too */
    uint64_t parted_ns; /* in home's clock: a wait goes on behind that, and what is cut there is counted later */
    /* wp_explain_cover_from (explain_cover.h): a sleep leads to the time of who ended it, and that to further sleeps.
     */
    void (*cover)(struct wp_explainer *explainer, uint32_t parent, uint32_t thread, uint64_t slice, uint64_t from_ns,
        uint64_t to_ns);
    /* caches */
    struct wp_intmap sites;         /* (parent node, host and stack id) -> node */
    struct wp_explain_names *names; /* by host, owned */
    struct wp_process_place last_process;
    uint32_t name_room, leaves;
    struct wp_layer layers[WP_DEPTH_LIMIT + 2];
    struct wp_layer_sleep asleep[WP_DEPTH_LIMIT + 2]; /* by layer */
    struct wp_relay relay;
    struct wp_loop_cache loops[WP_LOOP_CACHE];        /* by thread */
    struct wp_row_cache rows[WP_LOOP_CACHE];          /* the same */
    struct wp_own_place own_places[WP_OWN_PLACES];    /* by stack */
    struct wp_resumed resumed[WP_RESUMED];            /* by thread and block of slices */
    struct wp_lock_stack lock_stacks[WP_LOCK_STACKS]; /* by stack */
    struct wp_rival_place rivals[WP_RIVAL_PLACES];    /* by node and name */
    struct wp_rival_run rival_runs[WP_RIVAL_PLACES];  /* by node and occupant */
    uint32_t depth, visited;
    uint64_t oldest_ns;   /* in home's clock: causes before that do not count */
    uint64_t cell_ns;     /* of the grid, looked up last */
    uint32_t doubts;      /* waits being explained in which the other host lost events */
    uint32_t owner, hops; /* of questions to other shards: who asks, over how many of them */
    bool names_home;      /* home is said with its name, as any other host; set by wp_explain_name_home */
    bool is_other_path;   /* what is explained is no base path: base time in it is left out */
};

/* One sleep while it is being explained; [from, to) is what is left of it, to shrinking towards from. */
struct wp_wait {
    uint32_t thread;              /* who sleeps; on another host (is_far): who is asked there */
    const struct wp_slice *slice; /* whose waking explains it (the last of joined sleeps) */
    uint32_t node;                /* "sleep:..." */
    uint64_t start_ns;            /* de facto start, in the present host's clock */
    uint64_t bound_ns;            /* of that clock */
    bool is_kernel, is_far;
    bool is_outstanding; /* a sleep of a loop, for what the sleeper had asked for: who brings it works on its behalf */
    bool is_joined;      /* what ended it came behind a later sleep: `alone` is what it would be without */
    enum wp_category alone;
};

#endif
