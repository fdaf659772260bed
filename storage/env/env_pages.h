/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_ENV_PAGES_H
#define WP_STORAGE_ENV_ENV_PAGES_H
/*
 * The pages of data.mdb as LMDB 0.9 writes them (mdb.c: MDB_page, MDB_node, MDB_meta), held against the file before
 * LMDB believes them: each page that a snapshot reaches is in the file, is what leads to it says it is, has its nodes
 * inside, and is reached once. Reads with pread only, so that nothing in the file can end or hold up its reader: at
 * most each page once.
 *
 * A large value has pages of its own, whose first one says how many. LMDB reads without believing it, but frees and
 * copies so many: a ruined one makes a delete run for hours, or frees pages that are in use. The leaf that leads there
 * knows how many it has.
 */
#include "common/error.h"

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

struct wp_env_head { /* the ruined first page of a large value */
    const char *key;
    size_t key_size;
    uint64_t page, said; /* its number; how many pages it says */
    uint32_t pages;      /* how many there are */
};

/* What a walk looks at, and whom it reports ruined heads to. */
struct wp_env_look {
    bool is_free_only; /* only the tree of free pages: what a writer believes without reading */
    /* NULL: heads are not looked at. Not 0: ends the walk, and is its result. */
    int (*ruined)(void *context, const struct wp_env_head *head);
    void *context;
};

/* The snapshot of a transaction that has written nothing yet. -EBADMSG: what is wrong, without the file's name. */
int wp_env_look(MDB_env *env, MDB_txn *txn, const struct wp_env_look *look, struct wp_error *err);
/* Writes what the head must be. For who holds LMDB's writer lock: nobody else writes there, and readers do not look. */
int wp_env_mend_head(MDB_env *env, const struct wp_env_head *head, struct wp_error *err);
/* Whether the head of a value that is there may be believed, before it is deleted or replaced. */
bool wp_env_head_is_well(MDB_env *env, const MDB_val *key, const MDB_val *value);

/* A meta page, native byte order and 64-bit page numbers. */
struct wp_env_tree {
    uint32_t pad; /* of the first tree: the page size */
    uint16_t flags, depth;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
/* The whole of it; the one of the two with the higher `txn` is in force. */
struct wp_env_meta {
    uint64_t number;
    uint16_t pad, flags;
    uint32_t bounds;
    uint32_t magic, version;
    uint64_t address, map_size;
    struct wp_env_tree trees[2]; /* of free pages; the main one */
    uint64_t last_page, txn;
};
#define WP_ENV_NO_PAGE UINT64_MAX
/* At that offset; false: there is none. */
bool wp_env_read_meta(int fd, uint64_t at, struct wp_env_meta *meta);
/* Whether LMDB can have written pages of that size: a power of two from 512 to 65,536 bytes. */
bool wp_env_page_size_is_well(uint64_t size);

#endif
