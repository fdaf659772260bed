/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_DICTIONARY_H
#define WP_PROTO_DICTIONARY_H
/*
 * The receiver's side of a session's dictionary: applies the deltas of its batches, in order, and checks that every id
 * that a batch uses exists. One thread at a time. Pointers stay valid until the next apply.
 */
#include "common/error.h"
#include "proto/batch.h"

struct wp_dictionary;

/* NULL when out of memory. */
struct wp_dictionary *wp_dictionary_create(void);
/* How many bytes a session's dictionary may have, strings and entries together that are not forgotten; 1 GiB unless
 * said. */
void wp_dictionary_limit(struct wp_dictionary *dictionary, size_t limit_bytes);
/* Frees all entries and texts; NULL is allowed. */
void wp_dictionary_destroy(struct wp_dictionary *dictionary);
/* What it counts against the limit of those so far, and what the entries of a batch add to that. */
size_t wp_dictionary_bytes(const struct wp_dictionary *dictionary);
/* Depends on the batch alone; it need not be applied. */
size_t wp_dictionary_bytes_of(const struct wp_batch *batch);
/* Checks the whole batch (ids of its entries and of its events, gaps, cycles, limits) and then takes its entries; on
 * error nothing is taken and `err` says which entry or event. -EINVAL, -E2BIG, -ENOMEM. */
int wp_dictionary_apply(struct wp_dictionary *dictionary, const struct wp_batch *batch, struct wp_error *err);

/* It is gone, and nobody will ask for it again: its id stays taken, and names nothing. */
void wp_dictionary_forget_thread(struct wp_dictionary *dictionary, uint32_t id);
/* The same of a socket. Ids that do not exist or were forgotten are ignored in both. */
void wp_dictionary_forget_socket(struct wp_dictionary *dictionary, uint32_t id);
/* What it holds of memory. */
size_t wp_dictionary_held(const struct wp_dictionary *dictionary);

/* Terminated copy of a string; "" for 0 and for ids that do not exist. */
const char *wp_dictionary_string(const struct wp_dictionary *dictionary, uint32_t id);
/* NULL for 0, for ids that do not exist, and for those that were forgotten. */
const struct wp_thread_entry *wp_dictionary_thread(const struct wp_dictionary *dictionary, uint32_t id);
/* NULL as of a thread. */
const struct wp_socket_entry *wp_dictionary_socket(const struct wp_dictionary *dictionary, uint32_t id);
/* NULL for 0 and for ids that do not exist, as in the next two; these entries are never forgotten. */
const struct wp_object_entry *wp_dictionary_object(const struct wp_dictionary *dictionary, uint32_t id);
/* NULL as of an object. */
const struct wp_frame_entry *wp_dictionary_frame(const struct wp_dictionary *dictionary, uint32_t id);
/* NULL as of an object. */
const struct wp_stack_entry *wp_dictionary_stack(const struct wp_dictionary *dictionary, uint32_t id);
/* The frame of the function that was inlined at a frame's place, 0: none. Ids grow along such a chain. */
uint32_t wp_dictionary_inlined(const struct wp_dictionary *dictionary, uint32_t frame);
/* Name of a block device as a string id, or 0; it may get another one. */
uint32_t wp_dictionary_device_name(const struct wp_dictionary *dictionary, uint32_t device);
/* The same as text, or NULL. */
const char *wp_dictionary_device(const struct wp_dictionary *dictionary, uint32_t device);
/* Ids in use are 1..count. */
uint32_t wp_dictionary_thread_count(const struct wp_dictionary *dictionary);
/* The same of sockets; forgotten ones count, as with threads. */
uint32_t wp_dictionary_socket_count(const struct wp_dictionary *dictionary);
/* The same of frames. */
uint32_t wp_dictionary_frame_count(const struct wp_dictionary *dictionary);

#endif
