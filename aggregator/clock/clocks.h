/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCKS_H
#define WP_AGGREGATOR_CLOCK_CLOCKS_H
/*
 * What is known of the clocks of all hosts: from messages alone (time probes are messages too), since nothing is
 * received before it was sent. Maps a moment of one host's clock to another's, with a bound that holds; says so when
 * it cannot. Only pairs that talk cost anything. docs/clock.md has the mathematics and what is promised. Not thread
 * safe; knows nothing of sockets or sessions.
 */
#include "aggregator/clock/clock_span.h"

struct wp_clocks;

/* -ENOMEM: *clocks is NULL. */
int wp_clocks_create(struct wp_clocks **clocks);
/* Frees all hosts' constraints; NULL is allowed. */
void wp_clocks_destroy(struct wp_clocks *clocks);
/* A host, or the aggregator itself; numbers are dense, from 0, and not used again. -ENOMEM. */
int wp_clocks_add(struct wp_clocks *clocks, uint32_t *node);
/* Its constraints are forgotten. A number that is not there is ignored, here and below. */
void wp_clocks_remove(struct wp_clocks *clocks, uint32_t node);

/* What left `from` at sent_ns (from's clock) was there on `to` no later than received_ns (to's clock). */
void wp_clocks_message(struct wp_clocks *clocks, uint32_t from, uint64_t sent_ns, uint32_t to, uint64_t received_ns);
/* The clock of `node` is known to have jumped or stood still after it showed at_ns: what was known before says nothing
 * of after. The last 16 are remembered. */
void wp_clocks_step(struct wp_clocks *clocks, uint32_t node, uint64_t at_ns);

/* How one host's clock stands to another's at a moment. */
struct wp_offset {
    int64_t offset_ns; /* to's time = from's time + offset */
    uint64_t bound_ns; /* the truth is no farther than this from offset */
    /* There were messages both ways before the moment and after it. If not, a step that was neither told nor seen yet
     * can lie between the moment and the messages that there are, and the bound knows nothing of it. */
    bool is_settled;
};
/* False when no chain of usable two-sided constraints connects the two at that time. */
bool wp_clocks_map(struct wp_clocks *clocks, uint32_t from, uint64_t at_ns, uint32_t to, struct wp_offset *offset);

/* What wp_clocks_spans() is asked for. */
struct wp_clock_range {
    uint32_t node, reference;
    uint64_t from_ns, to_ns; /* of node's clock */
};
/* The direct model of the node against the reference over [from, to), cut at steps and where one line would not do;
 * gaps where nothing is known; an hour at most. Returns how many were written, at most `room`. */
size_t wp_clocks_spans(
    struct wp_clocks *clocks, const struct wp_clock_range *range, struct wp_clock_span *spans, size_t room);

/* Of one host, since it was added. */
struct wp_clock_health {
    uint64_t messages;        /* constraints that were taken in, sent or received */
    uint64_t refused;         /* absurd ones: to itself, or offsets of decades */
    uint64_t late;            /* too old to be of use */
    uint64_t contradictions;  /* what no running clock can fulfil: steps that nobody told, or lies */
    uint64_t steps;           /* told */
    uint32_t peers;           /* it talks with */
    uint32_t condemned_peers; /* with whom it contradicts itself again and again */
    bool is_usable;           /* not condemned by all with whom it talks both ways */
};
/* False: there is no such node (any more), and *health is left alone. */
bool wp_clocks_health(const struct wp_clocks *clocks, uint32_t node, struct wp_clock_health *health);

#endif
