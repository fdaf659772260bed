/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_PROGRAM_H
#define WP_CLI_BASE_PROGRAM_H
/* Where programs are: the ones that came with this one, and the command that the user wants to run. */
#include "common/error.h"

#include <stddef.h>

/* A sibling program: beside the running executable, else in PATH. -ENOENT says both places. */
int wp_program_sibling(const char *name, char *path, size_t room, struct wp_error *err);
/* A command as execvp would find it. -ENOENT or -EACCES with a text that names it. `path` always has a '/'. */
int wp_program_resolve(const char *command, char *path, size_t room, struct wp_error *err);

#endif
