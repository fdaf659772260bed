/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SOURCE_SOURCE_GIT_H
#define WP_REPORTER_SOURCE_SOURCE_GIT_H
/* Files of a repository as they are at one commit; a bare clone is enough. Nothing is checked out. */
#include "common/buffer.h"
#include "common/error.h"
#include "common/intern.h"

struct wp_source_git {
    const char *dir;         /* borrowed */
    char commit[65];         /* "": it does not know the release */
    struct wp_intern *files; /* owned; NULL: none */
};

/* Finds the commit of a release (git describe, a tag, a commit; "-dirty" at its end is taken off) and lists its files.
 */
int wp_source_git_open(struct wp_source_git *git, const char *dir, const char *release, struct wp_error *err);
/* Frees the list of files; a zeroed one is allowed. */
void wp_source_git_close(struct wp_source_git *git);
/* The file whose name is the longest end of `path` (plain: no "." and ".." in it); NULL none. A bare name must be that
 * of a file at the top, and the path a whole one. Valid until the end. */
const char *wp_source_git_find(const struct wp_source_git *git, const char *path);
/* Appends the file's bytes. -EFBIG over `limit`. */
int wp_source_git_read(
    const struct wp_source_git *git, const char *file, size_t limit, struct wp_buffer *out, struct wp_error *err);

#endif
