/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_TRANSACTIONS_H
#define WP_AGGREGATOR_ACCOUNT_TRANSACTIONS_H
/*
 * Transactions of an aggregate: a request that came in on a connection others had opened, until its reply begins to leave. The
 * time of the thread that replies, from the read on, is explained once more and filed by the latency of the whole, so that a
 * reader can ask what the slow ones did that the usual ones did not.
 */
#include "aggregator/explain/explain.h"
#include "storage/report/report.h"

struct wp_aggregate;

/* Names of a pseudo-stack, by node of the aggregate's tree. */
struct wp_transactions {
    struct wp_intern *names;     /* owned; "web âº postgres on db-1" */
    struct wp_transaction_name {
        uint32_t who;            /* in names */
        uint32_t function;       /* frame of the innermost user function of its layer, 0 none */
    } *by_node;                  /* owned */
    uint32_t node_count, node_room;
    struct wp_intmap slots;      /* thread -> place in the aggregate's base */
    /* of the transaction that is being filed */
    char service[32];
    uint32_t port;
    unsigned bucket;
    struct wp_transaction_sum {  /* pieces that the report has yet to be told of */
        uint32_t node, category, bucket, port;
        uint64_t ns, count;
    } *sums;                     /* by node; owned */
};

int wp_transactions_init(struct wp_transactions *transactions);
void wp_transactions_fini(struct wp_transactions *transactions);
/* Files those whose reply left in what has just been accounted for: of each base thread, from its from_ns on up to its until_ns.
 * False: a part of them, as many as wp_fleet_pauses() allows. */
bool wp_transactions_file(struct wp_aggregate *aggregate);

#endif
