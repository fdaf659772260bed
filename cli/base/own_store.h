/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_OWN_STORE_H
#define WP_CLI_BASE_OWN_STORE_H
/*
 * A store that a recording makes for itself, and that a later recording into the same folder replaces. Its file
 * `~recording` says whose it is: first the release that is being written, and when that is whole a digest of the
 * release's data. Only what these two account for, and the files below, is ever removed, file by file; one file more,
 * or data that changed since, and all of it stays.
 */
#include "common/error.h"

#include <stdbool.h>

/* Beside the release, as they are named by '~' no releases themselves. */
#define WP_OWN_CAPTURE "~capture"   /* what was recorded, for wakepath view */
#define WP_OWN_PREFIX "~own"        /* of files with pages of single processes (cli/view/own_pages.h), and of ... */
#define WP_OWN_LIST "~own.js"       /* ... their list */
#define WP_OWN_SYSTEM "~own.system" /* what all threads did, for the timeline */

/* 0: nothing is at `path`, or an empty folder, or a recording's store as that left it, finished or not. -EEXIST:
 * something else. */
int wp_own_store_check(const char *path, struct wp_error *err);
/* The same, and that a recording finished one there. */
bool wp_own_store_is_whole(const char *path);
/* Removes it if wp_own_store_check agrees. */
int wp_own_store_remove(const char *path, struct wp_error *err);
/* Makes the folder, which must not be there or be empty, for a recording of `release`. */
int wp_own_store_begin(const char *path, const char *release, struct wp_error *err);
/* The recording is whole and nobody writes to it any more: notes what it is. */
int wp_own_store_seal(const char *path, const char *release, struct wp_error *err);
/* Removes a store at `path` that has no such file, when it holds this one release and nobody writes to it; else it
 * stays. */
void wp_own_store_take_back(const char *path, const char *release);

#endif
