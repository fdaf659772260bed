/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_PATH_H
#define WP_COMMON_PATH_H
/* Files and ids that become file names. */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* True for a release, aggregate or shard id: [A-Za-z0-9._+-], 1..128 bytes, not "." or "..". Path-safe by construction.
 */
bool wp_id_valid(const char *id);
#define WP_ID_ROOM 129 /* of an id and its 0 */
/* Copies `text` into `id` (room bytes), every other byte as '_', cut to fit; never empty, never "." or "..". */
void wp_id_from(const char *text, char *id, size_t room);
/* mkdir -p with mode 0777 & ~umask. 0 or -errno. */
int wp_path_make(const char *path, struct wp_error *err);
/* Reads a whole file of at most `limit` bytes, appended to `out`. -EFBIG past the limit. */
int wp_file_read(const char *path, size_t limit, struct wp_buffer *out, struct wp_error *err);
/* Writes to a new file "PATH.tmp.RANDOM", fsyncs and renames: the file is whole or as it was. Which of the two is known
 * when its folder is synced. */
int wp_file_write_atomic(const char *path, const void *bytes, size_t size, struct wp_error *err);
/* The same without waiting for the disk: after a crash of the machine it may be the old one, empty or in part. Its
 * reader must notice. */
int wp_file_write_cached(const char *path, const void *bytes, size_t size, struct wp_error *err);
/* Waits until the names in the folder are on the disk: a file that was made or renamed there can be found after a crash
 * of the machine. */
int wp_folder_sync(const char *path, struct wp_error *err);
/* The same of the folder that `path` is in: a file or folder of that name can be found again. */
int wp_name_sync(const char *path, struct wp_error *err);
/* rm -r; a missing path is no error. */
int wp_path_remove(const char *path, struct wp_error *err);

#endif
