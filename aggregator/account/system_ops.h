/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_SYSTEM_OPS_H
#define WP_AGGREGATOR_ACCOUNT_SYSTEM_OPS_H
/* What happened beside the threads in a window of the whole system: block requests from the queue to their end,
 * messages of stream sockets, interrupts that woke somebody. Those beyond the window's limit of rows are left out, and
 * counted. */
#include "aggregator/account/exemplar.h"

struct wp_slice;

#define WP_UNREAD_MESSAGES 4096u

/* A message in the window that nobody has read yet. */
struct wp_unread_message {
    uint64_t sent_ns;
    uint32_t op;          /* its place in the trace */
    uint32_t sender, end; /* socket; the stream's bytes up to its end */
};

/* Zeroed: nothing yet. */
struct wp_system_ops {
    uint64_t block_number;            /* operations up to it are in the window */
    struct wp_unread_message *unread; /* the oldest first; owned */
    uint32_t unread_count;
};

/* What happened behind `from_ns` and up to `until_ns`, of the host's time. */
void wp_system_ops_extend(struct wp_system_ops *ops, struct wp_exemplar *rows, uint64_t from_ns, uint64_t until_ns);
/* Frees what it owns. */
void wp_system_ops_fini(struct wp_system_ops *ops);
/* The interrupt that ended the sleep of that slice, if one did; `thread`: its row. */
void wp_system_ops_interrupt(struct wp_exemplar *rows, uint32_t thread, const struct wp_slice *slice);

#endif
