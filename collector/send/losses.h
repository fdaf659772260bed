/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_LOSSES_H
#define WP_COLLECTOR_SEND_LOSSES_H
/* Events that were put into batches and that nobody takes: counted, and told as Drops of the session that goes on.
 * Embedded: init with {0}. */
#include "collector/send/send_queue.h"
#include "proto/batch.h"

struct wp_losses {
    uint64_t counts[WP_EVENT_KINDS]; /* not yet told */
    uint64_t from_ns, to_ns;         /* of them */
    uint64_t sessions, events;       /* in all */
};

/* Of a batch; 0 always. */
int wp_losses_batch(struct wp_losses *losses, const struct wp_batch *batch);
/* What is unacknowledged of a session that ends here. */
void wp_losses_send_queue(struct wp_losses *losses, struct wp_send_queue *queue);
/* The next Drop; false: all have been told. */
bool wp_losses_next(struct wp_losses *losses, struct wp_drop *drop);

#endif
