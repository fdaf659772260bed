/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_READ_COMMITS_H
#define WP_REPORTER_READ_COMMITS_H
/* What people know releases' commits by, as a repository says it. */
#include "storage/kind/commit_store.h"

/* Fills `count` commits for as many releases, whose names are those of wp_history_read; of what git does not know the
 * id is "". `dir`: a work tree or a bare clone. Errors as wp_git_run's; what
 * takes longer than `limit_ms` together stays unknown, the branches last. */
int wp_commits_read(struct wp_commit *commits, const char *dir, const char *const *releases, size_t count,
    uint32_t limit_ms, struct wp_error *err);

#endif
