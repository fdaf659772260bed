/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_CHUNKS_H
#define WP_STORAGE_KIND_CHUNKS_H
/*
 * State that only grows (genealogy, source map) is appended as deltas and made one value by compaction, so that an
 * epoch's write is as large as its news. The rows are sets: joining drops the ones that are there already.
 */
#include "storage/env/txn.h"

struct wp_chunks {
    enum wp_value_kind kind;
    void *rows;                                                                       /* the kind's own collection */
    int (*take)(void *rows, const uint8_t *bytes, size_t size, struct wp_error *err); /* adds a stored chunk's rows */
    int (*pack)(void *rows, struct wp_buffer *out, struct wp_error *err);             /* all rows, sorted, each once */
};

/* Appends the rows as the next delta of this shard; *delta is its number. */
int wp_chunks_append(
    struct wp_txn *txn, const char *shard, const struct wp_chunks *chunks, uint64_t *delta, struct wp_error *err);
/* Takes the value and its deltas; *damaged becomes how many of them cannot be read and are left out. */
int wp_chunks_read(
    struct wp_txn *txn, const char *shard, const struct wp_chunks *chunks, size_t *damaged, struct wp_error *err);
/* Joins the value and its deltas; leaves all as it is when one of them is damaged. */
int wp_chunks_compact(struct wp_txn *txn, const char *shard, const struct wp_chunks *chunks, struct wp_error *err);

/* All values as one. The rows are what has been taken so far, commonly none. */
int wp_chunks_join(const struct wp_chunks *chunks, const struct wp_buffer *values, size_t count, struct wp_buffer *out,
    struct wp_error *err);
/* -EBADMSG: the bytes are not what the writer would make of their rows. */
int wp_chunks_check(const struct wp_chunks *chunks, const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
