/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_MESSAGE_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_MESSAGE_H
/* A sleep that a message ended, on this host or on another one; and one on a host of another shard, which asks. */
#include <stdbool.h>
#include <stdint.h>

struct wp_explainer;
struct wp_hop_part;
struct wp_sink;
struct wp_wait;

/* Explains [from, to) of a sleep that a message ended, by the sender's time or its shard's answer; without a sender
 * that is known it is WP_REMOTE_NOT_TRACED. Times are the present host's, within the wait. */
void wp_wait_on_message(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from_ns, uint64_t to_ns);

/* [from, to) of a part of a request in which the present host's thread does not work for it; `parent`: what its process
 * stands on. */
void wp_wait_on_hop(
    struct wp_explainer *x, uint32_t parent, const struct wp_hop_part *part, uint64_t from_ns, uint64_t to_ns);
/* Was the message that ended the sleep a request of a process that nobody waits for who is being explained, and the
 * thread asleep in a call that waits for whatever comes? */
bool wp_wait_is_for_others(struct wp_explainer *x, const struct wp_wait *wait);

/* [from, to) of a sleep that timed out while an answer was due there. */
void wp_wait_on_silence(
    struct wp_explainer *x, const struct wp_wait *wait, uint32_t socket, uint64_t from_ns, uint64_t to_ns);

/* A wait on a host of another shard that a message from one of ours ended; all times are those of ours. */
struct wp_explain_asked {
    uint32_t asker;        /* the host that waited; in the fleet, foreign */
    uint32_t host, socket; /* our end; socket 0: it sent a datagram with that key */
    uint64_t datagram;
    uint64_t from_ns, to_ns; /* the part to explain; pieces come in this time */
    uint64_t arrival_ns, start_ns;
    uint32_t position;
    uint16_t syscall; /* number + 1, 0 none */
    bool has_request; /* the last that the asker had sent on that connection before */
    uint32_t request_end;
    uint64_t request_ns;
    uint64_t bound_ns, wait_bound_ns;
    uint32_t depth; /* layers above */
    /* who asks: */
    uint64_t base_bit; /* for this aggregate, 0: for none that is here */
    uint32_t owner, hops;
};
/* All names are said with their hosts'. */
void wp_explain_asked(struct wp_explainer *explainer, const struct wp_explain_asked *asked, const struct wp_sink *sink);

#endif
