/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_TRANSACTIONS_H
#define WP_AGGREGATOR_ACCOUNT_TRANSACTIONS_H
/*
 * Transactions of an aggregate: a request that came in on a connection others had opened, until its reply begins to
 * leave. What the time of the thread that replies, from the read on, consisted of (request_pieces.h) is filed by the
 * latency of the whole, so that a reader can ask what the slow ones did that the usual ones did not.
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_aggregate;
struct wp_transactions;

/* -ENOMEM: it may be given to wp_transactions_fini(), and to nothing else. */
int wp_transactions_init(struct wp_transactions *transactions);
/* Frees names and sums, and zeroes the struct; zeroed is allowed. */
void wp_transactions_fini(struct wp_transactions *transactions);
/* An epoch that ends there begins to be accounted for: which pieces are kept for its transactions. */
void wp_transactions_expect(struct wp_aggregate *aggregate, uint64_t until_ns);
/* Files those whose reply left in what has just been accounted for: of each base thread, from its from_ns on up to its
 * until_ns. False: a part of them, as many as wp_fleet_pauses() allows. */
bool wp_transactions_file(struct wp_aggregate *aggregate);

#endif
