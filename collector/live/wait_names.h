/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_WAIT_NAMES_H
#define WP_COLLECTOR_LIVE_WAIT_NAMES_H
/* What a descriptor is that a system call waits for, in words: "pipe", "eventfd", "tty", "tcp 10.0.0.7:5432", "unix
 * /run/x", a path. */
#include <stddef.h>
#include <stdint.h>

struct wp_record_group;
struct wp_record_path;
struct wp_record_wait;

/* mode: as stat(2) says it; magic: of the filesystem (linux/magic.h); path: as for block requests, ""
 * unknown. */
void wp_wait_name_file(
    const struct wp_record_path *record, uint32_t mode, uint64_t magic, const char *path, char *name, size_t room);
/* Names a socket, terminated and cut to `room` bytes. Control characters of a unix socket's path become '?'. */
void wp_wait_name_socket(const struct wp_record_wait *record, char *name, size_t room);
/* Names a lock of the kernel, of its kind and, of a file's, with that one's name: "kernel lock (inode data.db, write)".
 */
void wp_wait_name_kernel_lock(const struct wp_record_wait *record, char *name, size_t room);
/* "/docker/<id>": names a cgroup by its path below the root; "/..." stands for folders that are cut off. Cut to `room`
 * bytes. Control characters become '?'. */
void wp_wait_name_group(const struct wp_record_group *record, char *name, size_t room);
/* Names an interrupt by its handler, "virtio0-input.0", else by its number; a soft one by its vector, "net_rx". */
void wp_wait_name_interrupt(const struct wp_record_wait *record, char *name, size_t room);

#endif
