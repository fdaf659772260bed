/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/devices.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What LVM, cryptsetup or multipath calls it. */
static bool mapped_name(const char *path, char *name, size_t room)
{
    char file[PATH_MAX + 16], line[128];
    snprintf(file, sizeof(file), "%s/dm/name", path);
    FILE *in = fopen(file, "re");
    bool is_known = in && fgets(line, sizeof(line), in);
    if (in)
        fclose(in);
    line[is_known ? strcspn(line, "\n") : 0] = 0;
    for (char *at = line; *at; at++)
        if (iscntrl((unsigned char)*at) || *at == ' ')
            *at = '?';
    if (*line)
        snprintf(name, room, "%s", line);
    return *line;
}

void wp_device_name(uint32_t device, char *name, size_t room)
{
    wp_device_name_in("/sys", device, name, room);
}

void wp_device_name_in(const char *sys, uint32_t device, char *name, size_t room)
{
    char path[PATH_MAX], target[PATH_MAX];
    unsigned major = device >> 20, minor = device & 0xfffff;
    snprintf(path, sizeof(path), "%s/dev/block/%u:%u", sys, major, minor);
    if (mapped_name(path, name, room))
        return;
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    if (size <= 0) {
        snprintf(name, room, "%u:%u", major, minor);
        return;
    }
    target[size] = 0;
    const char *slash = strrchr(target, '/');
    snprintf(name, room, "%s", slash ? slash + 1 : target);
}
