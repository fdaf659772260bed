/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_COMMAND_NOTE_H
#define WP_CLI_COMMAND_NOTE_H
/* Notes in a store what was recorded: the command line, the machine's load and the release's commit, as metadata of
 * the release on this host. */
#include "common/error.h"

/* recorded.command and recorded.load of `release` in the store at `root`, and commit.* where the repository of the
 * current folder knows the release. The words of the command end with NULL; a NULL command leaves out the first two. */
int wp_command_note(const char *root, const char *release, char *const *command, struct wp_error *err);

#endif
