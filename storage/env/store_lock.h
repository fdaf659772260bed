/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_STORE_LOCK_H
#define WP_STORAGE_ENV_STORE_LOCK_H
/*
 * The locks around environments, which LMDB's own do not cover: all are flock(2), so they end with their holder.
 * wakepath-store(5) says which is held when. Order: upkeep, then LMDB's writer lock, then the root.
 */
#include "common/error.h"

#include <stdbool.h>

/* The root's folder itself: shared while the two files of an environment are opened, exclusive for the instant in which
 * a release's folder is exchanged. -EBUSY after ten seconds. Close *fd to let go. */
int wp_lock_root(const char *root, bool exclusive, int *fd, struct wp_error *err);
/* ROOT/~NAME.lock, made when it is not there; waited for a second. -EBUSY names the holder's process as `what` says it.
 */
int wp_lock_file(const char *root, const char *name, const char *what, int *fd, struct wp_error *err);
/* Whether somebody holds ROOT/~NAME.lock now; one that cannot be looked at counts as held. */
bool wp_lock_is_held(const char *root, const char *name);

#endif
