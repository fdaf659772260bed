/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_DELTA_H
#define WP_COLLECTOR_BATCH_DELTA_H
/*
 * The sender's side of a session's dictionary: gives out ids and keeps the entries that no batch has carried yet. Equal
 * strings, objects, frames and stacks get equal ids; threads and sockets are new each time. Ids start at 1; 0 is none
 * and, from the functions that make ids, also "out of memory": look at wp_delta_failed before a batch is sent.
 */
#include "proto/batch.h"

struct wp_delta;

struct wp_delta *wp_delta_create(void);
void wp_delta_destroy(struct wp_delta *delta);

/* At most WP_STRING_BYTES of it; 0 for the empty string. */
uint32_t wp_delta_string(struct wp_delta *delta, const char *text);
uint32_t wp_delta_thread(struct wp_delta *delta, const struct wp_thread_entry *entry);
uint32_t wp_delta_socket(struct wp_delta *delta, const struct wp_socket_entry *entry);
uint32_t wp_delta_object(struct wp_delta *delta, const struct wp_object_entry *entry);
uint32_t wp_delta_frame(struct wp_delta *delta, const struct wp_frame_entry *entry);
/* A frame of its own, equal to none; it can be filled in until it is sent: false when it was. */
uint32_t wp_delta_frame_apart(struct wp_delta *delta, const struct wp_frame_entry *entry);
bool wp_delta_frame_fill(struct wp_delta *delta, uint32_t id, const struct wp_frame_entry *entry);
/* The entry of a frame that was not sent, else NULL. Valid until the next call that makes a frame. */
const struct wp_frame_entry *wp_delta_frame_pending(const struct wp_delta *delta, uint32_t id);
uint32_t wp_delta_stack(struct wp_delta *delta, uint32_t parent, uint32_t frame);
void wp_delta_device(struct wp_delta *delta, uint32_t device, const char *name);
void wp_delta_drop(struct wp_delta *delta, const struct wp_drop *drop);

/* What an id stands for, also when it was sent; NULL for 0 and ids that were not given out. Valid until the next call
 * that makes one. */
const struct wp_object_entry *wp_delta_object_entry(const struct wp_delta *delta, uint32_t id);
const struct wp_frame_entry *wp_delta_frame_entry(const struct wp_delta *delta, uint32_t id);
const struct wp_stack_entry *wp_delta_stack_entry(const struct wp_delta *delta, uint32_t id);
const char *wp_delta_text(const struct wp_delta *delta, uint32_t string); /* "" for those */

/* Entries or bytes near the limit of one batch: send one now. */
bool wp_delta_is_full(const struct wp_delta *delta);
bool wp_delta_failed(const struct wp_delta *delta);
/* Points the batch's dictionary at what was not sent; valid until the next call of anything but wp_delta_sent. -ENOMEM.
 */
int wp_delta_fill(struct wp_delta *delta, struct wp_batch *batch);
/* What the last wp_delta_fill gave out was sent. */
void wp_delta_sent(struct wp_delta *delta);

#endif
