/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_DICT_WRITER_H
#define WP_COLLECTOR_BATCH_DICT_WRITER_H
/*
 * The sender's side of a session's dictionary: gives out ids and keeps the entries that no batch has carried yet. Equal
 * strings, objects, frames and stacks get equal ids; threads and sockets are new each time. Ids start at 1; 0 is none
 * and, from the functions that make ids, also "out of memory": look at wp_dict_writer_failed before a batch is sent.
 */
#include "proto/batch.h"

struct wp_dict_writer;

struct wp_dict_writer *wp_dict_writer_create(void);
void wp_dict_writer_destroy(struct wp_dict_writer *dict);

/* At most WP_STRING_BYTES of it; 0 for the empty string. */
uint32_t wp_dict_writer_string(struct wp_dict_writer *dict, const char *text);
uint32_t wp_dict_writer_thread(struct wp_dict_writer *dict, const struct wp_thread_entry *entry);
uint32_t wp_dict_writer_socket(struct wp_dict_writer *dict, const struct wp_socket_entry *entry);
uint32_t wp_dict_writer_object(struct wp_dict_writer *dict, const struct wp_object_entry *entry);
uint32_t wp_dict_writer_frame(struct wp_dict_writer *dict, const struct wp_frame_entry *entry);
/* A frame of its own, equal to none; it can be filled in until it is sent: false when it was. */
uint32_t wp_dict_writer_frame_apart(struct wp_dict_writer *dict, const struct wp_frame_entry *entry);
bool wp_dict_writer_frame_fill(struct wp_dict_writer *dict, uint32_t id, const struct wp_frame_entry *entry);
/* The entry of a frame that was not sent, else NULL. Valid until the next call that makes a frame. */
const struct wp_frame_entry *wp_dict_writer_frame_pending(const struct wp_dict_writer *dict, uint32_t id);
uint32_t wp_dict_writer_stack(struct wp_dict_writer *dict, uint32_t parent, uint32_t frame);
void wp_dict_writer_device(struct wp_dict_writer *dict, uint32_t device, const char *name);
void wp_dict_writer_drop(struct wp_dict_writer *dict, const struct wp_drop *drop);

/* What an id stands for, also when it was sent; NULL for 0 and ids that were not given out. Valid until the next call
 * that makes one. */
const struct wp_object_entry *wp_dict_writer_object_entry(const struct wp_dict_writer *dict, uint32_t id);
const struct wp_frame_entry *wp_dict_writer_frame_entry(const struct wp_dict_writer *dict, uint32_t id);
const struct wp_stack_entry *wp_dict_writer_stack_entry(const struct wp_dict_writer *dict, uint32_t id);
const char *wp_dict_writer_text(const struct wp_dict_writer *dict, uint32_t string); /* "" for those */

/* Entries or bytes near the limit of one batch: send one now. */
bool wp_dict_writer_is_full(const struct wp_dict_writer *dict);
bool wp_dict_writer_failed(const struct wp_dict_writer *dict);
/* Points the batch's dictionary at what was not sent; valid until the next call of anything but wp_dict_writer_sent.
 * -ENOMEM.
 */
int wp_dict_writer_fill(struct wp_dict_writer *dict, struct wp_batch *batch);
/* What the last wp_dict_writer_fill gave out was sent. */
void wp_dict_writer_sent(struct wp_dict_writer *dict);

#endif
