/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_STORE_BODY_H
#define WP_STORAGE_ENV_STORE_BODY_H
/* The inside of a store and of its environments, for the files of this room and for what works on a transaction from
 * the inside. */
#include "common/path.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <sys/types.h>

struct wp_env {
    char release[WP_ID_ROOM];
    MDB_env *mdb;
    bool is_read_only, is_broken; /* broken: LMDB gave up on it, to be opened again */
    unsigned transactions;        /* of this process, in it now */
    size_t wanted_map;            /* bytes; 0: as it is */
    dev_t device;                 /* of the data.mdb that is open ... */
    ino_t inode;                  /* ... the path may lead to another by now: compacting copies are exchanged for it */
    LIST_ENTRY(wp_env) link;
};

struct wp_store {
    char *root;
    size_t map_size;         /* bytes of a new environment's map */
    bool is_unsynced;        /* nobody relies on it after a crash of the machine */
    bool is_guarded;         /* for reading: environments are walked through before they are believed */
    char shard[WP_ID_ROOM];  /* that is claimed */
    int shard_fd, upkeep_fd; /* locks (storage/env/store_lock.h), -1: not held */
    pthread_mutex_t lock;    /* over envs and the fields of each */
    LIST_HEAD(wp_env_list, wp_env) envs;
    unsigned env_count;
};

#endif
