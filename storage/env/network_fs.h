/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_NETWORK_FS_H
#define WP_STORAGE_ENV_NETWORK_FS_H
/*
 * LMDB maps its file and locks it between processes; network file systems keep neither promise between hosts. This
 * tells them where it can be told: by statfs(2)'s magic, and for FUSE by the type in /proc/self/mountinfo.
 */
#include "common/error.h"

#include <stddef.h>

/* The name of the network file system, or NULL. `fuse_type` is mountinfo's type ("fuse.sshfs"), NULL unknown. */
const char *wp_network_fs_name(unsigned long magic, const char *fuse_type);
/* -ENOTSUP with an explanation when `path` is on one. */
int wp_network_fs_refuse(const char *path, struct wp_error *err);

#endif
