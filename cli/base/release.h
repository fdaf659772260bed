/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_RELEASE_H
#define WP_CLI_BASE_RELEASE_H
/* The release that a recording is filed under when the user names none: what git says of the working directory. */
#include <stddef.h>

#define WP_RELEASE_UNVERSIONED "unversioned"

/* `git describe --always --dirty` of the current folder as an id, or WP_RELEASE_UNVERSIONED when it is no work tree,
 * git is not there or does not answer in timeout_ms. As root, git runs as the folder's owner: a work tree can make git
 * run programs of its own. */
void wp_release_here(char *id, size_t room, int timeout_ms);

#endif
