/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_TREE_H
#define WP_REPORTER_SITE_SITE_TREE_H
/*
 * A folder of files that is published whole: files are written into a sibling folder, then take the place of the old
 * ones by rename. A file that did not change keeps its inode. Where folders are held, or files stand beside the site's
 * own (a store, say), the site's entries are exchanged one by one, index.html last: what a run costs then goes with
 * what changed. A crash at any point leaves pages that open. One writer at a time holds a lock beside the folder. Not
 * thread safe.
 */
#include "common/error.h"
#include "reporter/site/site_tree_types.h"

#include <stdbool.h>
#include <stddef.h>

/* Takes the lock: waits for it up to `wait_s` seconds (-1: as long as it takes), or fails with -EBUSY. Fails with
 * -EEXIST when `out` is a file, or when what is not ours has the name of the lock or of the new tree. */
int wp_tree_begin(struct wp_site_tree *tree, const char *out, int wait_s, struct wp_error *err);
/* Adds a file; `path` is relative, of components that are plain names. */
int wp_tree_write(struct wp_site_tree *tree, const char *path, const void *bytes, size_t size, struct wp_error *err);
/* Leaves a folder at the top of the published site where it is, with the files that its list names; nothing is written
 * below it then. The files are looked at one by one if a folder changed at tree->settled_ns or later. -ENOENT: there is
 * none, or one of its files is gone. */
int wp_tree_hold(struct wp_site_tree *tree, const char *folder, struct wp_error *err);
/* Takes the files below `folder` of another published site, `from`, by their bytes. -ENOENT as above. */
int wp_tree_take(struct wp_site_tree *tree, const char *from, const char *folder, struct wp_error *err);
/* Whether every file of the published site is there, looked at as above; *count how many. */
bool wp_tree_is_whole(const struct wp_site_tree *tree, size_t *count);
/* Publishes and ends the tree, whatever it returns. -EEXIST: a file of somebody else's has the name of one of ours, or
 * stands in a folder that would be replaced. */
int wp_tree_commit(struct wp_site_tree *tree, struct wp_error *err);
/* Ends the tree and leaves the old site. Does nothing on one that has ended. */
void wp_tree_abort(struct wp_site_tree *tree);

#endif
