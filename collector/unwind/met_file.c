/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/met_file.h"

#include "common/buffer.h"
#include "common/path.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAPS_BYTES ((size_t)16 << 20)

/* Is the file that is open the one that the kernel met? A stacked file system may show another device. */
static bool is_file(int fd, const struct wp_met_file *met)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_ino != met->inode)
        return false;
    return major(status.st_dev) == met->device >> 20 || minor(status.st_dev) == (met->device & 0xfffff) ||
        !major(status.st_dev);
}

/* The path of the mapping that begins at the address, from /proc/PID/maps. */
static bool find_path(const struct wp_met_file *met, char *path, size_t room)
{
    struct wp_buffer text = {0};
    char name[64], *rest = NULL;
    bool found = false;
    snprintf(name, sizeof(name), "/proc/%u/maps", met->pid);
    if (wp_file_read(name, MAPS_BYTES, &text, NULL) || wp_buffer_append(&text, "", 1)) {
        wp_buffer_fini(&text);
        return false;
    }
    for (char *line = strtok_r((char *)text.data, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest)) {
        char *slash = strchr(line, '/');
        if (strtoull(line, NULL, 16) != met->address || !slash)
            continue;
        snprintf(path, room, "%s", slash);
        found = true;
    }
    wp_buffer_fini(&text);
    return found;
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
    if (!find_path(met, path, room))
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
