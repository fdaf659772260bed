/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_SOURCE_STORE_H
#define WP_STORAGE_KIND_SOURCE_STORE_H
/* Which process had which object, and the blobs that hold them. */
#include "storage/env/txn.h"

#define WP_SOURCE_ROWS                                                                                                 \
    131072u /* of processes of a shard: of more, of each host and object those of the latest processes stay */

struct wp_source_row {       /* "__state__/source.<shard>": a process had that object, or that part of a JIT map */
    const char *host, *name; /* name: path, "[vdso]", "[jit]" */
    uint64_t start_ns;       /* realtime, 0 unknown */
    uint32_t pid;
    uint8_t digest[16]; /* of its blob, which wp_txn_put_blob has put in the same release */
};
/* Appends one delta, and compacts after every WP_DELTAS of them. Nothing is written for 0 rows. No text is NULL; a
 * host's name is cut to 255 bytes. */
int wp_txn_add_sources(
    struct wp_txn *txn, const char *shard, const struct wp_source_row *rows, size_t count, struct wp_error *err);
/* "__source__/<aa>/<bb>/<digest>", unless it is there already; its digest. */
int wp_txn_put_blob(struct wp_txn *txn, const uint8_t *bytes, size_t size, uint8_t digest[16], struct wp_error *err);

/* Drops the rows of processes that are not needed; how many processes. */
int wp_source_expire(struct wp_txn *txn, const char *shard,
    bool (*is_needed)(void *context, const char *host, uint32_t pid, uint64_t start_ns), void *context, size_t *dropped,
    struct wp_error *err);
/* Makes one value of the shard's rows and deltas. 0 with nothing changed: one of them is damaged. */
int wp_source_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);

/* -EBADMSG unless a body has the very bytes that the writer makes of its rows; -ENOMEM. */
int wp_source_check(const uint8_t *bytes, size_t size, struct wp_error *err);

/* Appends the union of bodies, without the limit of WP_SOURCE_ROWS. -EBADMSG: one is damaged; -ENOMEM. */
int wp_source_join(const struct wp_buffer *values, size_t count, struct wp_buffer *out, struct wp_error *err);

#endif
