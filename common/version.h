/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_VERSION_H
#define WP_COMMON_VERSION_H
/* The version of this build, as --version prints it, and the exit codes that scripts rely on. */
#define WP_EXIT_OK 0
#define WP_EXIT_FAILURE 1
#define WP_EXIT_USAGE 64

/* A literal such as "0.1.0", without the program's name. */
const char *wp_version(void);

#endif
