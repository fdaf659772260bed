/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/cgroups.h"

#include "common/buffer.h"
#include "common/cgroup_path.h"
#include "common/intern.h"
#include "common/intmap.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define PROC_BYTES ((size_t)64 << 10)
#define GROUPS 16384u      /* remembered; those that live are looked up again */
#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h */

struct wp_cgroups {
    int mount_fd;   /* -1: none */
    bool has_first; /* version 1 is mounted too */
    char mount[PATH_MAX];
    struct wp_intmap by_id;
    struct wp_intern *paths;
};

static void find_mount(struct wp_cgroups *c)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char line[8192];
    while (mounts && getmntent_r(mounts, &entry, line, sizeof(line))) {
        c->has_first = c->has_first || !strcmp(entry.mnt_type, "cgroup");
        if (c->mount_fd < 0 && !strcmp(entry.mnt_type, "cgroup2")) {
            snprintf(c->mount, sizeof(c->mount), "%s", entry.mnt_dir);
            c->mount_fd = open(c->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
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

/* A path that is returned stays until the next one is asked for. */
static uint32_t keep_group(struct wp_cgroups *c, const char *path)
{
    struct wp_intern *paths =
        wp_intern_count(c->paths) >= GROUPS || c->by_id.count >= GROUPS ? wp_intern_create() : NULL;
    if (paths) {
        wp_intern_destroy(c->paths);
        c->paths = paths;
        wp_intmap_clear(&c->by_id);
    }
    return wp_intern_str(c->paths, path);
}

/* "/system.slice/nginx.service", "/" for the root, "" when it is not known (it may be gone). Valid until the next call.
 */
static const char *cgroups_path(struct wp_cgroups *c, uint64_t id)
{
    uint32_t known;
    if (!id || c->mount_fd < 0)
        return "";
    if (wp_intmap_get(&c->by_id, (struct wp_intkey){id, 0}, &known))
        return wp_intern_text(c->paths, known);
    char path[PATH_MAX];
    look_up(c, id, path, sizeof(path));
    uint32_t text = keep_group(c, path);
    if (text == UINT32_MAX)
        return "";
    if (*path)
        wp_intmap_put(&c->by_id, (struct wp_intkey){id, 0}, text);
    return wp_intern_text(c->paths, text);
}

/* Of the hierarchies of version 1 that whose path says a container, else systemd's, else the longest. */
static void pick(char *text, char *path, size_t room)
{
    unsigned best = 0;
    char *rest = NULL;
    *path = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        struct wp_cgroup_path parsed;
        if (!group)
            continue;
        *group++ = 0;
        wp_cgroup_path_parse(&parsed, group);
        unsigned rank = *parsed.container || *parsed.pod        ? 3
            : !strcmp(controllers, ":name=systemd") && group[1] ? 2
                                                                : 1;
        if (rank < best || (rank == best && strlen(group) <= strlen(path)))
            continue;
        best = rank;
        snprintf(path, room, "%s", group);
    }
}

static struct wp_cgroup of_first(struct wp_cgroups *c, uint32_t pid)
{
    struct wp_buffer text = {0};
    char name[64], path[PATH_MAX] = "";
    snprintf(name, sizeof(name), "/proc/%u/cgroup", pid);
    if (!wp_file_read(name, PROC_BYTES, &text, NULL) && !wp_buffer_append(&text, "", 1))
        pick((char *)text.data, path, sizeof(path));
    wp_buffer_fini(&text);
    uint32_t id = *path ? keep_group(c, path) : 0;
    if (!id || id == UINT32_MAX)
        return (struct wp_cgroup){0, ""};
    return (struct wp_cgroup){(uint64_t)1 << 63 | XXH3_64bits(path, strlen(path)), wp_intern_text(c->paths, id)};
}

struct wp_cgroup wp_cgroups_of(struct wp_cgroups *c, uint64_t id, uint32_t pid, bool reads_proc)
{
    const char *path = cgroups_path(c, id);
    if (!c->has_first || (*path && strcmp(path, "/")))
        return (struct wp_cgroup){*path ? id : 0, path};
    return reads_proc && pid ? of_first(c, pid) : (struct wp_cgroup){0, ""};
}
