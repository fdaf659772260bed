/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_TRANSACTION_NAMES_H
#define WP_AGGREGATOR_ACCOUNT_TRANSACTION_NAMES_H
/*
 * What transactions call a pseudo-stack: processes, through whom, and a function. Kept by node of the aggregate's tree.
 * One thread at a time.
 */
#include "storage/value/category.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_intern;
struct wp_pathtree;

struct wp_transaction_names {
    struct wp_intern *texts; /* owned */
    struct wp_transaction_name {
        uint32_t who;           /* in texts */
        uint32_t function;      /* frame of its layer's innermost function of the program, else user function; 0 none */
        uint32_t reader, reads; /* in texts: what wp_transaction_names_reader() says */
        bool has_reader;        /* those two are known */
        uint8_t rank;           /* of the function */
    } * by_node;                /* owned */
    uint8_t *ranks;             /* owned; by frame, of those that were asked for */
    uint32_t node_count, node_room, frame_room;
};

/* Borrowed from the names or the tree until either changes. */
struct wp_transaction_said {
    const char *who;  /* "web › postgres on db-1" */
    const char *what; /* the function; "" none */
};

/* -ENOMEM: it may be given to wp_transaction_names_fini(), and to nothing else. */
int wp_transaction_names_init(struct wp_transaction_names *names);
/* Frees the names and zeroes the struct; zeroed is allowed. */
void wp_transaction_names_fini(struct wp_transaction_names *names);
/* What is held on the heap. */
size_t wp_transaction_names_bytes(const struct wp_transaction_names *names);
/* Names the nodes that the tree has got since. False: out of memory, and those may not be asked for. */
bool wp_transaction_names_extend(struct wp_transaction_names *names, const struct wp_pathtree *tree);
/* What is on top of a node that is named. Where a CPU was used, or wanted, is said by the process; a wait is said by
 * the program's function that waits, or what waits in a library. */
struct wp_transaction_said wp_transaction_names_top(
    const struct wp_transaction_names *names, const struct wp_pathtree *tree, uint32_t node, enum wp_category category);
/* What the thread itself did, at the bottom of a node that is named: its process, and the innermost of its functions
 * that is the program's own, on its task; who had the CPU that it wanted ("sched:behind [gzip]"). */
struct wp_transaction_said wp_transaction_names_reader(
    struct wp_transaction_names *names, const struct wp_pathtree *tree, uint32_t node);

#endif
