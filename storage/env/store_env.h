/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_STORE_ENV_H
#define WP_STORAGE_ENV_STORE_ENV_H
/*
 * The LMDB environments of a store, one a release, opened once: LMDB's file locks break when a process opens one twice.
 * An environment's map can only change its size while no transaction of this process is in it, so they are counted.
 */
#include "common/error.h"

#include <stdbool.h>

struct wp_env;
struct wp_store;

/* The environment, with one transaction more counted in it. -ENOENT, -EACCES, -EBUSY ... */
int wp_env_enter(struct wp_store *store, const char *release, bool write, struct wp_env **env, struct wp_error *err);
/* Counts the transaction out, when LMDB's has ended. `env` may be gone after it: of idle environments 16 stay open. */
void wp_env_leave(struct wp_store *store, struct wp_env *env);
/* Whether the release's path leads to another data.mdb than the one that is open, or to none. A writer that has begun
 * is told here that what it would write would be lost; what is asked under LMDB's writer lock stays true while it is
 * held. */
bool wp_env_is_replaced(const struct wp_store *store, const struct wp_env *env);
/* Notes that the map was too small, or that another process has made it larger: it is set right when nobody is inside.
 */
void wp_env_want_larger(struct wp_store *store, struct wp_env *env);
/* The second of these cases, MDB_MAP_RESIZED. */
void wp_env_want_known_size(struct wp_store *store, struct wp_env *env);
/* The next wp_env_enter opens it again, or is -EBUSY while transactions of this process are in it. */
void wp_env_set_broken(struct wp_store *store, struct wp_env *env);
/* Whether there is no room left under the store's root. */
bool wp_env_disk_is_full(const struct wp_store *store);
/* An LMDB result as -errno, with a text that says what to do. */
int wp_env_error(struct wp_error *err, int mdb_rc, const char *what, const struct wp_store *store, const char *release);

#endif
