/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_SHRINK_H
#define WP_STORAGE_ENV_SHRINK_H
/*
 * Compacting copies of a release: to give space back while writers and readers have it open, and as a backup. LMDB's
 * file never gets smaller; a copy of what is in it is, and takes its place (wakepath-store(5) has the steps).
 * Nothing is lost. A writer got LMDB's lock before the copy was begun, and its commit is in the copy, or after the
 * exchange: the path leads elsewhere, so it opens again and has written nothing. The lock is robust, and held from one
 * to the other. A reader keeps the snapshot that it has mapped; its next transaction opens the new file. Who makes
 * data.mdb gives it its name (link(2)) when its first two pages are on disk. Who opens does it under a shared lock of
 * the root's folder, as both files must be of one folder. A crash leaves the old folder, or after the rename the new
 * one; the other is removed later.
 */
#include "common/error.h"

#include <stdint.h>

struct wp_store;
struct wp_txn;

struct wp_space {
    uint64_t file_bytes; /* up to the last page that was ever used */
    uint64_t used_bytes; /* in pages that hold something */
};

/* As this transaction sees it. */
int wp_txn_space(struct wp_txn *txn, struct wp_space *space, struct wp_error *err);
/* Exchanges the release's folder for one with a compact copy. The handle has the upkeep (wp_store_upkeep) and no
 * transaction in the release. -ENOTSUP: this file system cannot exchange folders; nothing has changed. */
int wp_store_shrink(struct wp_store *store, const char *release, struct wp_space *after, struct wp_error *err);
/* A consistent copy of the release as the folder TO/<release>, whole or not there. Writers go on. -EEXIST. */
int wp_store_copy(struct wp_store *store, const char *release, const char *to, struct wp_error *err);
/* Removes half-made copies that nobody is at work on, and the old folders of finished ones. */
int wp_shrink_clean(const char *root, struct wp_error *err);

/* Removes a whole release; a handle that does upkeep. Who writes it meanwhile makes it anew. -ENOTEMPTY: there are
 * files of others in its folder. */
int wp_store_drop(struct wp_store *store, const char *release, struct wp_error *err);
/* The same when `check` gives 0, inside a transaction that no writer gets past; else what it gives. */
int wp_store_drop_checked(struct wp_store *store, const char *release, int (*check)(struct wp_txn *txn, void *context),
    void *context, struct wp_error *err);

#endif
