/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_CGROUPS_H
#define WP_COLLECTOR_HOST_CGROUPS_H
/*
 * Paths of control groups: of version 2 by the kernel's id of them, which is their inode number; on hosts where version
 * 1 manages processes (all are in the root of version 2 then) as /proc/PID/cgroup says.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_cgroups;

/* NULL when out of memory. Without a mounted cgroup2 every path is "". */
struct wp_cgroups *wp_cgroups_create(void);
/* Frees it with all paths that it returned. NULL is allowed. */
void wp_cgroups_destroy(struct wp_cgroups *cgroups);
/* A control group, as wp_cgroups_of returns it. The path is valid until wp_cgroups_destroy. */
struct wp_cgroup {
    uint64_t id;      /* 0: not known. Of version 1 a hash of the path, with the highest bit */
    const char *path; /* as of wp_cgroups_path */
};
/* That of a process, whose group of version 2 is `id`; with `reads_proc` version 1 is asked too where it counts. path
 * "" and id 0: not known, or it would have to be asked. */
struct wp_cgroup wp_cgroups_of(struct wp_cgroups *cgroups, uint64_t id, uint32_t pid, bool reads_proc);

#endif
