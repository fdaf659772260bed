/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/process_file.h"

#include "common/buffer.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_BYTES ((size_t)16 << 20)
#define FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* The file if it is a regular one, and the one that was meant; else it is closed. */
static int regular(int fd, uint64_t inode)
{
    struct stat status;
    if (fd < 0)
        return -errno;
    int rc = fstat(fd, &status)           ? -errno
        : !S_ISREG(status.st_mode)        ? -EACCES
        : inode && status.st_ino != inode ? -ESTALE
                                          : 0;
    if (rc)
        close(fd);
    return rc ? rc : fd;
}

int wp_process_root(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/root", pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int below(int root_fd, const char *path, uint64_t inode, uint64_t extra_flags)
{
    struct open_how how = {.flags = FLAGS | extra_flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    return regular((int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how)), inode);
}

int wp_process_file_below(int root_fd, const char *path)
{
    if (root_fd >= 0)
        return below(root_fd, path, 0, O_NOFOLLOW);
    return regular(open(path, FLAGS), 0);
}

int wp_process_file_mapped(uint32_t pid, const struct wp_process_mapping *mapping, unsigned way)
{
    char path[128];
    int root, fd;
    switch (way) {
    case 0:
        snprintf(path, sizeof(path), "/proc/%u/map_files/%lx-%lx", pid, (unsigned long)mapping->start,
            (unsigned long)mapping->end);
        return regular(open(path, FLAGS), mapping->inode);
    case 1:
        snprintf(path, sizeof(path), "/proc/%u/exe", pid);
        return regular(open(path, FLAGS), mapping->inode);
    case 2:
        root = wp_process_root(pid);
        if (root < 0)
            return root;
        fd = below(root, mapping->path, mapping->inode, 0);
        close(root);
        return fd;
    default:
        return regular(open(mapping->path, FLAGS), mapping->inode);
    }
}

/* struct procmap_query of include/uapi/linux/fs.h. */
struct procmap_query {
    uint64_t size, flags, address; /* no flags: of the mapping that holds the address */
    uint64_t start, end, vma_flags, page_size, offset, inode;
    uint32_t device_major, device_minor, name_size, build_id_size;
    uint64_t name, build_id; /* where they go */
};
_Static_assert((WP_PROCMAP_QUERY >> 16 & 0x3fff) == sizeof(struct procmap_query), "as the kernel has it");

/* -ENOENT: no file is mapped from there on; another error: the kernel cannot say. */
static int ask_path(const char *maps, uint64_t address, char *path, size_t room)
{
    struct procmap_query query = {
        .size = sizeof(query), .address = address, .name_size = (uint32_t)room, .name = (uint64_t)(uintptr_t)path};
    int fd = open(maps, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -ENOENT;
    int rc = ioctl(fd, WP_PROCMAP_QUERY, &query) ? -errno : 0;
    close(fd);
    return rc ? rc : query.start == address && query.name_size && *path == '/' ? 0 : -ENOENT;
}

static bool read_path(const char *maps, uint64_t address, char *path, size_t room)
{
    struct wp_buffer text = {0};
    char *rest = NULL;
    bool found = false, is_read = !wp_file_read(maps, MAPS_BYTES, &text, NULL) && !wp_buffer_append(&text, "", 1);
    char *line = is_read ? strtok_r((char *)text.data, "\n", &rest) : NULL;
    for (; line && !found; line = strtok_r(NULL, "\n", &rest)) {
        char *slash = strchr(line, '/');
        if (strtoull(line, NULL, 16) != address || !slash)
            continue;
        snprintf(path, room, "%s", slash);
        found = true;
    }
    wp_buffer_fini(&text);
    return found;
}

bool wp_process_mapped_path(uint32_t pid, uint64_t address, char *path, size_t room)
{
    char maps[64];
    snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
    int rc = ask_path(maps, address, path, room);
    return !rc || (rc != -ENOENT && read_path(maps, address, path, room));
}
