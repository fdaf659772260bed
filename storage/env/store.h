/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_STORE_H
#define WP_STORAGE_ENV_STORE_H
/*
 * The store: one LMDB environment a release under one root, keys laid out like StatProfiler's aggregate directories
 * (wakepath-store(5)), values with magic, kind, version, codec, raw size and digest around zstd.
 * A write transaction is all or nothing. Readers never block the writer and see one snapshot.
 */
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_store;
struct wp_txn;

/* Opens (create: makes) the root. Without `create` each environment is walked through by a child process when it is
 * opened, so that a ruined one is -EBADMSG and not the end of the caller; and where other things are than a store's, it
 * is -ENOENT or -EINVAL with the way out. -EACCES/-EROFS say whether it is the root or its parent; a network file
 * system is refused with an explanation where it can be told. */
int wp_store_open(struct wp_store **store, const char *root, bool create, struct wp_error *err);
/* Whether a store is at that folder or may begin there: a release, what users of stores leave beside them, or nothing.
 * One that may not be read counts, and one that has nothing but folders that may not. */
bool wp_store_is_at(const char *root);
/* Closes all environments and gives up the shard and the upkeep. NULL is allowed; no transaction may be open. */
void wp_store_close(struct wp_store *store);
/* A shard has one writer: claims it for this handle until it is closed or its process ends. -EBUSY: another has it. */
int wp_store_claim_shard(struct wp_store *store, const char *shard, struct wp_error *err);
/* wp_store_open that creates, and claims; what an aggregator opens with. */
int wp_store_open_shard(struct wp_store **store, const char *root, const char *shard, struct wp_error *err);
/* The same; where that shard has a writer, as the first free one of SHARD-2, SHARD-3 and so on. -EBUSY: there are too
 * many. */
int wp_store_open_free_shard(struct wp_store **store, const char *root, const char *shard, struct wp_error *err);
/* The shard that is claimed. Borrowed from the store. */
const char *wp_store_shard(const struct wp_store *store);
/* Removes the folder of a store in which nothing is but the lock of that shard, whose handle is closed; one with more
 * in it stays. For who has made it and cannot go on. */
void wp_store_remove_unused(const char *root, const char *shard);
/* Before a handle prunes, merges, repairs or otherwise rewrites what others wrote: one at a time in a root, until the
 * handle is closed. Removes what a killed one has left. -EBUSY. */
int wp_store_upkeep(struct wp_store *store, struct wp_error *err);
/* A process opens a root once at a time (LMDB's file locks are the process's); threads may share the handle. */
const char *wp_store_root(const struct wp_store *store);
/* Address space of environments that are opened from now on (default 1 GiB); they grow by themselves. */
void wp_store_set_map_size(struct wp_store *store, size_t bytes);
/* What is written from now on does not wait for the disk: the machine's crash, not the process', can ruin it until
 * somebody syncs data.mdb. For a store that is made anew then; before the first transaction. */
void wp_store_set_unsynced(struct wp_store *store);
/* Sorted release ids; free each and the array. Each is opened to see that it holds something. */
int wp_store_releases(struct wp_store *store, char ***releases, size_t *count, struct wp_error *err);
/* The same; those that `is_known` knows to hold something are not opened. NULL: none is known. */
int wp_store_releases_known(struct wp_store *store, bool (*is_known)(void *context, const char *release), void *context,
    char ***releases, size_t *count, struct wp_error *err);

/* Sorted names of the folders that have a data.mdb, whether it can be read and holds something or not. */
int wp_store_folders(struct wp_store *store, char ***folders, size_t *count, struct wp_error *err);
/* -EINVAL when the place is a release's folder or below one: that is exchanged as a whole, with what is in it. */
int wp_store_refuse_nested(const char *place, struct wp_error *err);

/* Begins, works, commits, and does it again while the map grows. `work` must be able to run twice; a result other than
 * 0 ends the transaction without effect and is returned. */
int wp_store_update(struct wp_store *store, const char *release, int (*work)(struct wp_txn *txn, void *context),
    void *context, struct wp_error *err);

#endif
