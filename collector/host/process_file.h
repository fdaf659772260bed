/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_PROCESS_FILE_H
#define WP_COLLECTOR_HOST_PROCESS_FILE_H
/*
 * Files as another process sees them: it may live in a container, its program may have been deleted or replaced since.
 * A path that the process chose is looked up inside its own root and cannot lead out of it. Opening never waits for a
 * FIFO or a terminal. Only regular files are given out. All return an open file or -errno.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_PROCMAP_QUERY 0xc0686611u /* of ioctl(2): PROCMAP_QUERY of include/uapi/linux/fs.h, Linux 6.11 */

/* A mapping of a file in another process. */
struct wp_process_mapping {
    uint64_t start, end; /* of the mapping in the process */
    uint64_t inode;      /* 0: unknown; a file at the path with another one is not it */
    const char *path;    /* absolute */
};

/* A lock at `address` of process pid, in memory that shows a file from `start` to `end`, or just behind it. */
struct wp_lock_place {
    uint32_t pid;
    uint64_t address, start, end, file_offset, inode;
};

/* The root directory of a process, for wp_process_file_below. */
int wp_process_root(uint32_t pid);
/* `path` below a root directory, its last part not a symbolic link (-ELOOP); -1: as this process sees it, links
 * followed. */
int wp_process_file_below(int root_fd, const char *path);
/*
 * The file behind a mapping, by one of several ways, the best first: the mapped file itself, where the kernel lets us
 * (CAP_CHECKPOINT_RESTORE); the running program; the path in the process' root; the path in our own, for a process that
 * is gone. Any of them may give another file that has taken the place: compare build ids, and try the next way.
 */
#define WP_PROCESS_FILE_WAYS 4u
/* The path of what is mapped in the process from that address on, as it calls it; false: no file is. Linux 6.11 and
 * later answer for one mapping; of others all of /proc/PID/maps is read. */
bool wp_process_mapped_path(uint32_t pid, uint64_t address, char *path, size_t room);
/* `way` counts from 0 to WP_PROCESS_FILE_WAYS - 1. -EACCES: not a regular file; -ESTALE: not the mapping's inode; else
 * -errno of open(2) or openat2(2). */
int wp_process_file_mapped(uint32_t pid, const struct wp_process_mapping *mapping, unsigned way);

#endif
