/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_FILE_PATHS_H
#define WP_COLLECTOR_LIVE_FILE_PATHS_H
/*
 * Paths of the files that block requests are for: from the names that the kernel side tells (up to the filesystem's
 * root) and from where the filesystem is mounted. Many files of one kind are one: what a program numbers or names by a
 * hash is replaced, so that reports stay small. Bounded. One thread.
 */
#include <stddef.h>
#include <stdint.h>

struct wp_file_paths;
struct wp_record_path;

/* mounts: "/proc/self/mountinfo", or a file like it; borrowed. NULL when out of memory. */
struct wp_file_paths *wp_file_paths_create(const char *mounts);
/* Frees it with all paths that it returned. NULL is allowed. */
void wp_file_paths_destroy(struct wp_file_paths *paths);
/* device: of the filesystem, as the kernel numbers it (major << 20 | minor). */
void wp_file_paths_add(struct wp_file_paths *paths, uint64_t key, uint32_t device, const struct wp_record_path *path);
/* NULL when it is not known. Valid until the next add. */
const char *wp_file_paths_get(struct wp_file_paths *paths, uint64_t key);
/* Numbers and hashes in a name become N and H, in place. */
void wp_file_path_generalize(char *text);

#endif
