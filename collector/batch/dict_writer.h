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

/* An empty dictionary. NULL: out of memory. */
struct wp_dict_writer *wp_dict_writer_create(void);
/* Frees the dictionary, and discards entries that were not sent. NULL is allowed. */
void wp_dict_writer_destroy(struct wp_dict_writer *dict);

/* At most WP_STRING_BYTES of it; 0 for the empty string. */
uint32_t wp_dict_writer_string(struct wp_dict_writer *dict, const char *text);
/* Adds a copy of the entry under a new id, also when an equal one exists. Its texts are string ids of this
 * dictionary. */
uint32_t wp_dict_writer_thread(struct wp_dict_writer *dict, const struct wp_thread_entry *entry);
/* Adds a copy of the entry under a new id, as wp_dict_writer_thread does. */
uint32_t wp_dict_writer_socket(struct wp_dict_writer *dict, const struct wp_socket_entry *entry);
/* The id of an object; it is added when no object with that path and (by hash) that build id exists. */
uint32_t wp_dict_writer_object(struct wp_dict_writer *dict, const struct wp_object_entry *entry);
/* The id of a frame; it is added when no frame with that object, offset, function and is_kernel exists. Other fields of
 * an existing one do not change. */
uint32_t wp_dict_writer_frame(struct wp_dict_writer *dict, const struct wp_frame_entry *entry);
/* A frame of its own, equal to none; it can be filled in until it is sent: false when it was. */
uint32_t wp_dict_writer_frame_apart(struct wp_dict_writer *dict, const struct wp_frame_entry *entry);
/* Replaces the entry of a frame that was not sent; false without a change when it was sent or the id is unknown. */
bool wp_dict_writer_frame_fill(struct wp_dict_writer *dict, uint32_t id, const struct wp_frame_entry *entry);
/* The entry of a frame that was not sent, else NULL. Valid until the next call that makes a frame. */
const struct wp_frame_entry *wp_dict_writer_frame_pending(const struct wp_dict_writer *dict, uint32_t id);
/* The id of the stack that extends `parent` (0: none) by one inner frame. Both are ids of this dictionary. */
uint32_t wp_dict_writer_stack(struct wp_dict_writer *dict, uint32_t parent, uint32_t frame);
/* Names a block device, numbered major << 20 | minor. The first name of a device counts, later ones are ignored. */
void wp_dict_writer_device(struct wp_dict_writer *dict, uint32_t device, const char *name);
/* Adds a copy of the Drop to what is sent next. Drops are not merged. */
void wp_dict_writer_drop(struct wp_dict_writer *dict, const struct wp_drop *drop);

/* What an id stands for, also when it was sent; NULL for 0 and ids that were not given out. Valid until the next call
 * that makes one. */
const struct wp_object_entry *wp_dict_writer_object_entry(const struct wp_dict_writer *dict, uint32_t id);
/* The same of a frame. */
const struct wp_frame_entry *wp_dict_writer_frame_entry(const struct wp_dict_writer *dict, uint32_t id);
/* The same of a stack. */
const struct wp_stack_entry *wp_dict_writer_stack_entry(const struct wp_dict_writer *dict, uint32_t id);
const char *wp_dict_writer_text(const struct wp_dict_writer *dict, uint32_t string); /* "" for those */

/* Entries or bytes near the limit of one batch: send one now. */
bool wp_dict_writer_is_full(const struct wp_dict_writer *dict);
/* True for good after a call has run out of memory: entries are missing, so no batch may be sent any more. */
bool wp_dict_writer_failed(const struct wp_dict_writer *dict);
/* Points the batch's dictionary at what was not sent; valid until the next call of anything but wp_dict_writer_sent.
 * -ENOMEM.
 */
int wp_dict_writer_fill(struct wp_dict_writer *dict, struct wp_batch *batch);
/* What the last wp_dict_writer_fill gave out was sent. */
void wp_dict_writer_sent(struct wp_dict_writer *dict);

#endif
