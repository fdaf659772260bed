/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_HOPS_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_HOPS_H
/*
 * A server that serves several requests in turn, in an event loop or by threads that take whichever is ready: between
 * the read of a request and its answer a thread works for others as well. What the request itself went through is found
 * backwards from the answer. A thread that sends does so for something that it read before, since it last slept for
 * whatever comes: the last read, or where several were read and then several sent, the one in the same place. If that
 * is another server's answer, the request waited for it since it was asked for. Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

#define WP_HOPS 64u /* what one request asks for; of one that asks more it is not known */

enum wp_hop_kind {
    WP_HOP_WORK,  /* the thread works for the request */
    WP_HOP_READY, /* the request could go on, and the thread works for others */
    WP_HOP_ASKED  /* it waits for an answer */
};

/* [from, to) of a request, in the present host's clock. */
struct wp_hop_part {
    enum wp_hop_kind kind;
    uint32_t thread;
    uint64_t from_ns, to_ns;
    struct wp_answer answer; /* of ASKED, and of READY when it is for that; else socket is 0 */
};

/* An answer for which a thread went on with the request. */
struct wp_hop {
    uint32_t socket, reader, asker;
    uint32_t end;
    uint64_t asked_ns, arrived_ns, read_ns;
    uint64_t own_ns; /* since then the reader works for it, up to its next send */
};

struct wp_hops {
    uint64_t read_ns;  /* of the request itself ... */
    uint64_t ready_ns; /* ... for which its reader worked up to then ... */
    uint64_t own_ns;   /* ... and again since then */
    uint64_t at_ns;    /* parts behind that have been told */
    uint32_t thread;   /* who answers it */
    uint32_t reader;
    uint32_t count, next, step; /* of `hops`, the last one first */
    bool is_guess;              /* who asked first, asked for the request, as far as is known */
    struct wp_hop hops[WP_HOPS];
};

/* The request that was read by that receive from `socket` of the present host, and that `sender` answered at
 * `answered_ns`. False: it asked nobody, its threads did nothing else meanwhile, or what it waited for is not known. */
bool wp_hops_find(struct wp_explainer *x, struct wp_hops *hops, uint32_t socket, const struct wp_receive *read,
    uint32_t sender, uint64_t answered_ns);
/* The part before the last one; false: that was all. */
bool wp_hops_next(struct wp_hops *hops, struct wp_hop_part *part);
/* The last sleep of the thread of the present host for whatever comes, among the 64 slices up to that time: where a
 * loop looks for it. NULL: there is none. Borrowed. */
const struct wp_slice *wp_hops_sleep(const struct wp_explainer *x, uint32_t thread, uint64_t before_ns);

#endif
