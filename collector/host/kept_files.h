/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_KEPT_FILES_H
#define WP_COLLECTOR_HOST_KEPT_FILES_H
/*
 * What was read of objects, kept in a folder for the next collector: a file for each, named by hexadecimal digits and a
 * suffix, which begins with a magic. What is damaged, of another version or could have been written by anybody else is
 * as if it were not there. Bounded: those that were used first go. The folder is the user's choice, and others' files
 * may be in it: they stay. Several threads and collectors may use one.
 */
#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define WP_KEPT_MAGIC 8u
#define WP_KEPT_NAME 136u   /* room for a name and its 0 */
#define WP_FILE_IDENTITY 7u /* words */

/* Files of one kind. Constant. */
struct wp_kept_kind {
    const char *suffix;        /* ".rows" */
    char magic[WP_KEPT_MAGIC]; /* the first five bytes name the kind, the others its version */
    uint64_t most_bytes;       /* of all of them together */
    size_t most_files;
};

struct wp_kept_file {
    char name[WP_KEPT_NAME];
    uint64_t size;
    struct timespec used;
};

/* What changes with an open file: device, inode, size and times. False: fstat(2) fails. */
bool wp_file_identity(int fd, uint64_t words[WP_FILE_IDENTITY]);
/* The same of a path, symbolic links followed. False: it is not there. */
bool wp_file_identity_at(const char *path, uint64_t words[WP_FILE_IDENTITY]);

/* Opens a kept file for reading; -1: it is not there, or not to be believed. */
int wp_kept_files_open(const struct wp_kept_kind *kind, const char *folder, const char *name);
/* Reads one whole, at most `limit` bytes; its magic is the first of them. -ENOENT, -EINVAL, -EFBIG; `bytes` is to be
 * freed either way. */
int wp_kept_files_read(
    const struct wp_kept_kind *kind, const char *folder, const char *name, size_t limit, struct wp_buffer *bytes);
/* It was of use: it goes last. */
void wp_kept_files_use(const char *folder, const char *name);
/* Keeps bytes that begin with the magic; the folder is made when it is not there. What cannot be kept is read again. */
void wp_kept_files_write(const char *folder, const char *name, const struct wp_buffer *bytes);
/* Bytes of a kept file that are to be others. */
struct wp_kept_patch {
    size_t at;
    const void *bytes;
    size_t size;
};

/* Changes them, if the file is there and to be believed. */
void wp_kept_files_patch(
    const struct wp_kept_kind *kind, const char *folder, const char *name, const struct wp_kept_patch *patch);
/* Removes those that were used first until `more` bytes of one more file fit. It looks at the whole folder. */
void wp_kept_files_bound(const struct wp_kept_kind *kind, const char *folder, size_t more);
/* Those that are there, what was used first first; how many. The array is the caller's to free. */
size_t wp_kept_files_list(const struct wp_kept_kind *kind, const char *folder, struct wp_kept_file **files);

#endif
