/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_CGROUPS_H
#define WP_COLLECTOR_CGROUPS_H
/* Paths of control groups (version 2, also beside version 1) by the kernel's id of them, which is their inode number. */
#include <stddef.h>
#include <stdint.h>

struct wp_cgroups;

/* NULL when out of memory. Without a mounted cgroup2 every path is "". */
struct wp_cgroups *wp_cgroups_create(void);
void wp_cgroups_destroy(struct wp_cgroups *cgroups);
/* "/system.slice/nginx.service", "/" for the root, "" when it is not known (it may be gone). Valid until the next call. */
const char *wp_cgroups_path(struct wp_cgroups *cgroups, uint64_t id);

#endif
