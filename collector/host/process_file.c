/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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
