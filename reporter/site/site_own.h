/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_OWN_H
#define WP_REPORTER_SITE_SITE_OWN_H
/*
 * What of a site's folders the reporter made and may remove: a published tree by its list of files, a folder that is
 * being filled by a mark in it, a lock by the line that it begins with. Anything else is somebody's and stays.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "reporter/site/site_lines.h"

#include <stdbool.h>

/* Names the files that are ours, so that the next run knows them from other people's. */
#define WP_SITE_MANIFEST ".wakepath-site"

/* Makes the folder, with the mark that it may be removed whole. */
int wp_site_scratch_make(const char *path, struct wp_error *err);
/* Sets or takes the mark: a tree to be published has none. */
int wp_site_scratch_mark(const char *path, bool is_marked, struct wp_error *err);
/* Removes such a folder, or a published tree that holds its own files only; a missing one is no error. -EEXIST:
 * another's. */
int wp_site_scratch_remove(const char *path, struct wp_error *err);
/* -EEXIST: a folder of the published site, but for those that are spared, holds what its list does not name. Other
 * entries of `out` itself may be anybody's. */
int wp_site_strangers(
    const char *out, const struct wp_buffer *manifest, const struct wp_site_lines *spared, struct wp_error *err);
/* Opens the file that is locked, and makes it if it is not there: *fd. */
int wp_site_lock_open(const char *path, int *fd, struct wp_error *err);
/* Of the file when it is locked: *is_ours, whether it is to be removed with the lock. One that was there and is empty
 * serves, and stays. -EEXIST: it holds something else. */
int wp_site_lock_check(int fd, const char *path, bool *is_ours, struct wp_error *err);

#endif
