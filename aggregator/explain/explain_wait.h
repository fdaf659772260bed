/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_WAIT_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_WAIT_H
/* What explain.c (a thread's time) and explain_wait.c (one sleep) call of each other. Private to the explanation. */
#include "aggregator/explain/explain.h"

/* One sleep while it is being explained; [from, to) is what is left of it, to shrinking towards from. */
struct wp_wait {
    uint32_t thread;              /* who sleeps; on another host (is_far): who is asked there */
    const struct wp_slice *slice; /* whose waking explains it (the last of joined sleeps) */
    uint32_t node;                /* "sleep:..." */
    uint64_t start_ns;            /* de facto start, in the present host's clock */
    uint64_t bound_ns;            /* of that clock */
    bool is_kernel, is_far;
    bool is_outstanding; /* a sleep of a loop, for what the sleeper had asked for: who brings it works on its behalf */
};

/* --- parts of a sleep, for its explanations by cause --- */
void wp_wait_emit(struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, enum wp_category category,
    uint64_t from_ns, uint64_t to_ns, const char *reason);
/* The same under a label on the sleep's node. */
void wp_wait_label(struct wp_explainer *x, const struct wp_wait *wait, enum wp_frame_style style, const char *label,
    enum wp_category category, uint64_t from_ns, uint64_t to_ns);
/* [from, to) is the time of `waker` up to its doing at `to`, if that fits or is on the sleeper's behalf; else the wait
 * is on another path. */
void wp_wait_on_thread(struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, uint32_t waker,
    uint64_t from_ns, uint64_t to_ns, bool on_behalf);
/* It was ended by a message (explain_message.c). */
void wp_wait_on_message(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from_ns, uint64_t to_ns);

/* In a call that sends: it waits for room, which the other end makes by reading. */
bool wp_wait_is_sending(const struct wp_slice *slice);

/* In a call that reads from one file or socket. */
bool wp_wait_is_reading(const struct wp_slice *slice);

/* In a call that waits for whatever comes first of several: select, poll, epoll, io_uring. */
bool wp_wait_is_choosing(const struct wp_slice *slice);

/* It was ended by a message from a host of another shard (explain_shard.c); `label` is the other end's. */
struct wp_shard_wait;
void wp_wait_on_shard(
    struct wp_explainer *x, const struct wp_wait *wait, const struct wp_shard_wait *asked, const char *label);

/* [from, to) of the thread's time as a layer on `parent`. */
void wp_explain_cover(struct wp_explainer *x, uint32_t parent, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* The same for who knows the slice of the last instant (wp_thread_find). */
void wp_explain_cover_from(
    struct wp_explainer *x, uint32_t parent, uint32_t thread, uint64_t slice, uint64_t from_ns, uint64_t to_ns);
/*
 * A thread waits for one of its own process that waits in the same place, for `waker`: a queue for one lock, a token
 * that goes round. All that the first one waits for stand above it side by side, not each on top of the other. True:
 * all that is left before `to_ns` of the first one's sleep will be covered so.
 */
bool wp_explain_relays(struct wp_explainer *x, uint32_t waker, uint64_t slice, uint64_t to_ns);
/* [from, to), which lies in the sleep of this slice; `node` is the thread's process node. */
void wp_explain_sleep(
    struct wp_explainer *x, uint32_t node, uint32_t thread, uint64_t slice, uint64_t from_ns, uint64_t to_ns);
/* It was waited for, though it is not looked at. */
void wp_explain_taken(struct wp_explainer *x, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* [from, to) waits on what `waker` does on its own path. */
void wp_explain_on_path(struct wp_explainer *x, uint32_t node, uint32_t waker, uint64_t from_ns, uint64_t to_ns);
bool wp_explain_is_base(const struct wp_explainer *x, uint32_t thread, uint64_t at_ns);

/* --- where the walk is --- */
struct wp_explain_place {
    uint32_t host;
    struct wp_timeline *timeline;
    int64_t shift_ns;
};

/* Goes to that host, whose time is the present host's plus offset; the place to come back to. */
struct wp_explain_place wp_explain_enter(struct wp_explainer *x, uint32_t host, int64_t offset_ns);
void wp_explain_leave(struct wp_explainer *x, const struct wp_explain_place *place);
/* Facts of the present host behind this do not count. */
uint64_t wp_explain_horizon(const struct wp_explainer *x);
/* Causes before that, in the present host's clock, do not count. */
static inline uint64_t wp_explain_oldest(const struct wp_explainer *x)
{
    int64_t oldest_ns = (int64_t)x->oldest_ns - x->shift_ns;
    return oldest_ns > 0 ? (uint64_t)oldest_ns : 0;
}
/* A key of `sites` that is of this host alone. */
static inline uint64_t wp_explain_here(const struct wp_explainer *x, uint64_t key)
{
    return key | (uint64_t)x->host << 48;
}

#define WP_EXPLAIN_NAME (4096 + 300)
void wp_explain_name_process(const struct wp_explainer *x, uint32_t identity, char *name, size_t room);
uint32_t wp_explain_process_node(struct wp_explainer *x, uint32_t parent, uint32_t identity);
uint32_t wp_explain_stack_node(struct wp_explainer *x, uint32_t parent, uint32_t stack);
uint32_t wp_explain_label(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *name);
/* The same for a string literal, which is known by its address. */
uint32_t wp_explain_literal(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *literal);
/* Caches a node; UINT32_MAX is not kept. */
void wp_explain_remember(struct wp_explainer *x, struct wp_intkey key, uint32_t node);
/* The piece as it stands in the present host; it is completed on the way. */
void wp_explain_emit(struct wp_explainer *x, struct wp_piece *piece);

#endif
