/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cgroups.h"

#include "common/intern.h"
#include "common/intmap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h */

struct wp_cgroups {
    int mount_fd;                /* -1: none */
    char mount[PATH_MAX];
    struct wp_intmap by_id;
    struct wp_intern *paths;
};

static void find_mount(struct wp_cgroups *c)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char line[8192];
    while (mounts && c->mount_fd < 0 && getmntent_r(mounts, &entry, line, sizeof(line)))
        if (!strcmp(entry.mnt_type, "cgroup2")) {
            snprintf(c->mount, sizeof(c->mount), "%s", entry.mnt_dir);
            c->mount_fd = open(c->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
    if (mounts)
        endmntent(mounts);
}

struct wp_cgroups *wp_cgroups_create(void)
{
    struct wp_cgroups *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->mount_fd = -1;
    c->paths = wp_intern_create();
    if (!c->paths) {
        free(c);
        return NULL;
    }
    find_mount(c);
    return c;
}

void wp_cgroups_destroy(struct wp_cgroups *c)
{
    if (!c)
        return;
    if (c->mount_fd >= 0)
        close(c->mount_fd);
    wp_intmap_fini(&c->by_id);
    wp_intern_destroy(c->paths);
    free(c);
}

/* The kernel opens a cgroup by its id; the link of the open file tells its path. */
static void look_up(const struct wp_cgroups *c, uint64_t id, char *path, size_t room)
{
    union {
        struct file_handle handle;
        char bytes[sizeof(struct file_handle) + sizeof(id)];
    } name = {.handle = {.handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS}};
    memcpy(name.handle.f_handle, &id, sizeof(id));
    *path = 0;
    int fd = open_by_handle_at(c->mount_fd, &name.handle, O_RDONLY | O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, target, sizeof(target) - 1);
    close(fd);
    if (size < 0)
        return;
    target[size] = 0;
    size_t mount = strlen(c->mount);
    if (!strncmp(target, c->mount, mount))
        snprintf(path, room, "%s", target[mount] ? target + mount : "/");
}

const char *wp_cgroups_path(struct wp_cgroups *c, uint64_t id)
{
    uint32_t known;
    if (!id || c->mount_fd < 0)
        return "";
    if (wp_intmap_get(&c->by_id, (struct wp_intkey){id, 0}, &known))
        return wp_intern_text(c->paths, known);
    char path[PATH_MAX];
    look_up(c, id, path, sizeof(path));
    uint32_t text = wp_intern_str(c->paths, path);
    if (text == UINT32_MAX)
        return "";
    if (*path)
        wp_intmap_put(&c->by_id, (struct wp_intkey){id, 0}, text);
    return wp_intern_text(c->paths, text);
}
