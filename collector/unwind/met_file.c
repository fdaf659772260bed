/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/met_file.h"

#include "collector/host/process_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Is the file that is open the one that the kernel met? A stacked file system may show another device. */
static bool is_file(int fd, const struct wp_met_file *met)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_ino != met->inode)
        return false;
    return major(status.st_dev) == met->device >> 20 || minor(status.st_dev) == (met->device & 0xfffff) ||
        !major(status.st_dev);
}

int wp_met_file_open(const struct wp_met_file *met, char *path, size_t room)
{
    char inside[4400];
    if (!met->address) {
        snprintf(path, room, "/proc/%u/exe", met->pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || is_file(fd, met))
            return fd;
        close(fd);
        return -1;
    }
    if (!wp_process_mapped_path(met->pid, met->address, path, room))
        return -1; /* it is gone already: another process will run the same file */
    snprintf(inside, sizeof(inside), "/proc/%u/root%s", met->pid, path);
    int fd = open(inside, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && !is_file(fd, met)) {
        close(fd);
        fd = -1;
    }
    return fd;
}
