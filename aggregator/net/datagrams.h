/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_DATAGRAMS_H
#define WP_AGGREGATOR_NET_DATAGRAMS_H
/*
 * Which host sent a datagram, by the key that both ends compute. The last some 260,000 to 520,000 of the fleet are
 * remembered, of those that arrived before their sending was reported as many.
 */
#include "common/intmap.h"

#define WP_DATAGRAM_NOBODY UINT32_MAX

/* Zeroed: none. */
struct wp_datagrams {
    struct wp_intmap sent[2], taken[2]; /* key -> host; [0] is filled, [1] is what was in it before */
};

/* Frees all maps; zeroed is allowed. */
void wp_datagrams_fini(struct wp_datagrams *datagrams);
/* It left that host; where it arrived, if that is known already. */
uint32_t wp_datagrams_sent(struct wp_datagrams *datagrams, uint64_t key, uint32_t host);
/* It arrived there; where it came from, if that is known already. */
uint32_t wp_datagrams_taken(struct wp_datagrams *datagrams, uint64_t key, uint32_t host);
/* Who sent the last one with that key; WP_DATAGRAM_NOBODY: not known. */
uint32_t wp_datagrams_sender(const struct wp_datagrams *datagrams, uint64_t key);
/* That host has left, and another one may get its number: it sent and took nothing. */
void wp_datagrams_forget(struct wp_datagrams *datagrams, uint32_t host);

#endif
