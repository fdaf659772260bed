/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/devices.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void wp_device_name(uint32_t device, char *name, size_t room)
{
    char path[64], target[PATH_MAX];
    unsigned major = device >> 20, minor = device & 0xfffff;
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major, minor);
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    if (size <= 0) {
        snprintf(name, room, "%u:%u", major, minor);
        return;
    }
    target[size] = 0;
    const char *slash = strrchr(target, '/');
    snprintf(name, room, "%s", slash ? slash + 1 : target);
}
