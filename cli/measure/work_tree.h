/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_WORK_TREE_H
#define WP_CLI_MEASURE_WORK_TREE_H
/*
 * A commit checked out in a folder of its own: a repository that borrows the objects of the user's (gitrepository-
 * layout(5), objects/info/alternates), so that nothing of the user's is written, not even its list of work trees.
 */
#include "cli/measure/revisions.h"

#include <limits.h>

/* Makes `path` a work tree of the commit, or leaves one that has it checked out as it is, with what was built in it.
 * It belongs to who owns the repository's folder `dir`. -errno; what is half made is made anew the next time. */
int wp_work_tree_make(const char *path, const char *dir, const struct wp_revision *revision, struct wp_error *err);

#endif
