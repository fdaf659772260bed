/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_ASKS_H
#define WP_AGGREGATOR_ACCOUNT_ASKS_H
/*
 * What threads of interest ask of their peers, by count: TCP messages that begin a request on a connection that their
 * side opened, and such connections that were opened while the recording went on and used. They stand beside the total.
 * A send begins a request where something was read on the connection since the one before, where another thread sent
 * that, or where the thread has requests of several connections in hand: else it goes on with it.
 */
#include <stdint.h>

struct wp_aggregate;

/* Tells what the base thread sent in (from_ns, to_ns], as far as it was of interest then. */
void wp_asks_tell(struct wp_aggregate *aggregate, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

#endif
