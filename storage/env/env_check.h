/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_ENV_CHECK_H
#define WP_STORAGE_ENV_ENV_CHECK_H
/*
 * LMDB believes the pages of its file: one that is cut short kills who reads it with SIGBUS, one with ruined pages with
 * SIGSEGV or an assertion. So a file is looked at before it is mapped, and where that is not enough a child walks
 * through it first.
 */
#include "common/error.h"

/* Compares the size of FOLDER/data.mdb with what its newest meta page says. 0; 1: shorter, which may be well (pages at
 * its end that no commit has written); -EBADMSG: the tree's root is not in it. What is no LMDB file is 0: LMDB says so
 * better. */
int wp_env_measure(const char *folder, struct wp_error *err);
/* Reads all keys, in order, and the ends of all values in a process of its own. -EBADMSG: it did not come to the end.
 */
int wp_env_walk(const char *folder, struct wp_error *err);

#endif
