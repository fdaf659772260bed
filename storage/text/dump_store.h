/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_DUMP_STORE_H
#define WP_STORAGE_TEXT_DUMP_STORE_H
/*
 * A release as text and back: load(dump(release)) has the same keys with the same stored bytes, whatever they are.
 * docs/store.md shows the form.
 */
#include "storage/text/dump_text.h"

struct wp_txn;

#define WP_DUMP_FIRST_LINE "wakepath-store dump 1"

/* Appends the release; `flush` is called now and then to write and clear the buffer, and its -errno ends the dump. */
int wp_dump_release(struct wp_txn *txn, struct wp_buffer *out, int (*flush)(void *context, struct wp_buffer *out),
    void *context, struct wp_error *err);
/* Puts the values that stand on the lines from here to the next release or the end. -EEXIST: the release holds
 * something. */
int wp_load_release(struct wp_txn *txn, struct wp_dump_lines *lines, uint64_t *values, struct wp_error *err);

#endif
