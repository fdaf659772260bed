/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_SOURCE_TEXTS_H
#define WP_STORAGE_KIND_SOURCE_TEXTS_H
/*
 * The text of source files in a release: rows of "__state__/source.<shard>" of no process (no host, pid 0), from the
 * path that the debug info has to a blob. Such rows never expire, and so the blobs stay.
 */
#include "storage/env/txn.h"

#define WP_SOURCE_TEXT_LIMIT (2u << 20) /* bytes of one */

/* Calls `visit` for each, in order of shards and paths, until it returns non-zero (which is returned). A damaged value
 * is passed over. */
int wp_txn_source_texts(struct wp_txn *txn, int (*visit)(void *context, const char *path, const uint8_t digest[16]),
    void *context, struct wp_error *err);
/* Appends the bytes of a blob. -ENOENT; -EBADMSG. */
int wp_txn_get_blob(struct wp_txn *txn, const uint8_t digest[16], struct wp_buffer *out, struct wp_error *err);

#endif
