/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_SOURCEMAP_STORE_H
#define WP_STORAGE_KIND_SOURCEMAP_STORE_H
/* What addresses of objects are called: rows of a shard, appended and compacted. */
#include "storage/env/txn.h"

struct wp_sourcemap_row { /* "__state__/sourcemap.<shard>": (build id, offset) -> function and those inlined there */
    const uint8_t *build_id;
    uint32_t build_id_size;
    const char *object, *function;
    uint64_t offset;
    const char *file; /* NULL or "" unknown */
    uint32_t line;    /* in `file`: of the place, or of the call of the next level; 0 unknown */
    uint32_t level;   /* 0: the function itself, 1: what is inlined in it there ... */
};
/* Appends one delta, and compacts after every WP_DELTAS of them. Nothing is written for 0 rows; NULL texts are "".
 * -EINVAL: a build id is not of 1 to 64 bytes. */
int wp_txn_add_sourcemap(
    struct wp_txn *txn, const char *shard, const struct wp_sourcemap_row *rows, size_t count, struct wp_error *err);

/* Makes one value of the shard's rows and deltas. 0 with nothing changed: one of them is damaged. */
int wp_sourcemap_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);

/* -EBADMSG unless a body has the very bytes that the writer makes of its rows; -ENOMEM. */
int wp_sourcemap_check(const uint8_t *bytes, size_t size, struct wp_error *err);

/* Appends the union of bodies. -EBADMSG: one is damaged; -ENOMEM. */
int wp_sourcemap_join(const struct wp_buffer *values, size_t count, struct wp_buffer *out, struct wp_error *err);

#endif
