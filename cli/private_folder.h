/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_PRIVATE_FOLDER_H
#define WP_CLI_PRIVATE_FOLDER_H
/*
 * The folder in TMPDIR for a recording's socket and the logs of its parts. Its file `lock` is locked for as long as the
 * recording lives; a folder whose lock nobody holds was left by one that was killed, and the next recording removes it.
 */
#include "common/error.h"

#define WP_PRIVATE_BYTES 96u
#define WP_PRIVATE_STORE "store" /* in it: an own store (own_store.h) that nobody keeps */

struct wp_private_folder {
    char path[WP_PRIVATE_BYTES]; /* "": none */
    int lock_fd;
};

/* Removes what killed recordings of this user left beside it, and makes it: 0700. */
int wp_private_folder_make(struct wp_private_folder *folder, struct wp_error *err);
/* NULL-safe in that it does nothing where none was made. A file that no recording makes stays, and the folder with it.
 */
void wp_private_folder_remove(struct wp_private_folder *folder);

#endif
