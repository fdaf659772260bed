/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_SEND_QUEUE_H
#define WP_COLLECTOR_SEND_SEND_QUEUE_H
/*
 * The batches of one session that may still be asked for: in the spool when there is one, else in memory until they are
 * acknowledged; what the spool was given is kept in memory as well until it is synced. When the spool cannot be written
 * they wait in memory, and go there as soon as it can.
 */
#include "collector/spool/spool.h"

struct wp_send_queue;

/* spool and session: NULL for memory alone; both are borrowed. */
int wp_send_queue_create(struct wp_send_queue **queue, struct wp_spool *spool, struct wp_spool_session *session,
    const struct wp_logger *logger, struct wp_error *err);
/* Discards batches that are in memory alone: call wp_send_queue_settle first. The spool's session stays open. NULL is
 * allowed. */
void wp_send_queue_destroy(struct wp_send_queue *queue);
/* Without a spool: what batches define, and how connections stand, stays readable when they are acknowledged, up to so
 * many bytes of it; beyond that none of it is kept. */
int wp_send_queue_keep_entries(struct wp_send_queue *queue, size_t most_bytes, struct wp_error *err);
/* Whether that is so from the first batch on: all that is unacknowledged can be reissued. */
bool wp_send_queue_has_entries(const struct wp_send_queue *queue);
/* Copies a whole frame. -EAGAIN: memory is full, something must be acknowledged first. */
int wp_send_queue_push(
    struct wp_send_queue *queue, const struct wp_batch *batch, const uint8_t *frame, size_t size, struct wp_error *err);
/* It was not taken, its events are lost: what it defines is read in its place, where that is kept. */
void wp_send_queue_lose(struct wp_send_queue *queue, const struct wp_batch *batch);
/* The first batch from *seq on (as a rule just it), valid until the next call; *seq becomes its number. -ENOENT: none.
 * Of those that are acknowledged, in memory, there is what stays readable. */
int wp_send_queue_read(struct wp_send_queue *queue, uint64_t *seq, const char *endpoint, const uint8_t **frame,
    size_t *size, struct wp_error *err);
/* Batches up to `seq` are durable at `endpoint` and need not be kept. No effect when `seq` is not above the last one;
 * trouble with the spool is logged. */
void wp_send_queue_acknowledge(struct wp_send_queue *queue, uint64_t seq, const char *endpoint);
/* What is due once a second, when it is: syncs, and tries again to get from memory into the spool. */
void wp_send_queue_tend(struct wp_send_queue *queue);
/* There will be no more batches: the spool keeps Bye, as soon as it holds all of them. -errno: not yet, it is tried
 * again. */
int wp_send_queue_end(struct wp_send_queue *queue, const struct wp_bye *bye, struct wp_error *err);
/* At the end: what waits in memory goes to the spool, also when the oldest there must go for it. */
void wp_send_queue_settle(struct wp_send_queue *queue);
uint64_t wp_send_queue_last(const struct wp_send_queue *queue); /* batch, 0: none yet */
/* The last acknowledged batch, 0: none yet. */
uint64_t wp_send_queue_acked(const struct wp_send_queue *queue);
uint64_t wp_send_queue_waiting(const struct wp_send_queue *queue); /* batches that are not acknowledged */
bool wp_send_queue_is_safe(const struct wp_send_queue *queue);     /* what waits is on disk */

#endif
