/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cgroup_path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ID 64u /* digits of a container */
#define ID_SHORT 12u
#define UID 32u /* digits of a pod */

static size_t hex_digits(const char *text, size_t size)
{
    size_t count = 0;
    while (count < size && isxdigit((unsigned char)text[count]) && !isupper((unsigned char)text[count]))
        count++;
    return count;
}

static bool ends_with(const char *part, size_t size, const char *end)
{
    size_t length = strlen(end);
    return size > length && !memcmp(part + size - length, end, length);
}

static void copy(char *to, size_t room, const char *part, size_t size)
{
    snprintf(to, room, "%.*s", (int)(size < room ? size : room - 1), part);
}

/* "<id>", "docker-<id>.scope", "libpod-<id>", "...slice:cri-containerd:<id>"; of "crio-conmon-<id>.scope": nothing, for
 * what watches over a container is not in it. */
static void take_container(struct wp_cgroup_path *p, const char *part, size_t size)
{
    if (size > 12 && !memcmp(part, "lxc.payload.", 12)) {
        copy(p->container, sizeof(p->container), part + 12, size - 12);
        strcpy(p->runtime, "lxc");
        return;
    }
    if (ends_with(part, size, ".scope"))
        size -= strlen(".scope");
    if (size < ID || hex_digits(part + size - ID, ID) != ID)
        return;
    size_t before = size - ID;
    if (before && part[before - 1] != '-' && part[before - 1] != ':')
        return;
    if (before) {
        size_t start = --before;
        while (start && part[start - 1] != ':')
            start--;
        if (ends_with(part + start, before - start, "conmon"))
            return;
        copy(p->runtime, sizeof(p->runtime), part + start, before - start);
    } else if (!strcmp(p->runtime, "lxc")) {
        *p->runtime = 0;
    }
    copy(p->container, sizeof(p->container), part + size - ID, ID);
}

/* "pod<uid>" or "kubepods-burstable-pod<uid>.slice", where systemd wants '_' for '-'. Mirror pods have no dashes. */
static void take_pod(struct wp_cgroup_path *p, const char *part, size_t size)
{
    for (size_t at = 0; at + 3 + UID <= size; at++) {
        char uid[sizeof(p->pod)];
        size_t count = 0, digits = 0, i = at + 3;
        if (memcmp(part + at, "pod", 3) || (at && part[at - 1] != '-'))
            continue;
        for (; i < size && digits < UID && count < sizeof(uid) - 1; i++) {
            bool is_dash = part[i] == '-' || part[i] == '_';
            if (!is_dash && !hex_digits(part + i, 1))
                break;
            uid[count++] = is_dash ? '-' : part[i];
            digits += !is_dash;
        }
        if (digits != UID || (i < size && part[i] != '.' && part[i] != ':'))
            continue;
        copy(p->pod, sizeof(p->pod), uid, count);
        return;
    }
}

void wp_cgroup_path_parse(struct wp_cgroup_path *p, const char *path)
{
    const char *folder = "";
    size_t folder_size = 0;
    *p = (struct wp_cgroup_path){.container = ""};
    for (const char *part = path + strspn(path, "/"); *part;) {
        size_t size = strcspn(part, "/");
        if (ends_with(part, size, ".slice"))
            copy(p->slice, sizeof(p->slice), part, size);
        if (ends_with(part, size, ".service") || ends_with(part, size, ".scope"))
            copy(p->unit, sizeof(p->unit), part, size);
        take_pod(p, part, size);
        take_container(p, part, size);
        if (folder_size == 3 && !memcmp(folder, "lxc", 3)) {
            copy(p->container, sizeof(p->container), part, size);
            strcpy(p->runtime, "lxc");
        } else if (folder_size == 6 && !memcmp(folder, "docker", 6) && *p->container && !*p->runtime) {
            strcpy(p->runtime, "docker");
        }
        folder = part;
        folder_size = size;
        part += size;
        part += strspn(part, "/");
    }
}

bool wp_cgroup_path_in_container(const struct wp_cgroup_path *p, const char *id)
{
    size_t size = strlen(id);
    if (!*p->container)
        return false;
    return !strcmp(p->container, id) ||
        (size >= ID_SHORT && strlen(p->container) == ID && !strncmp(p->container, id, size));
}

bool wp_cgroup_path_in_pod(const struct wp_cgroup_path *p, const char *uid)
{
    const char *pod = p->pod;
    if (!*pod)
        return false;
    for (;; pod++, uid++) {
        pod += *pod == '-';
        uid += *uid == '-' || *uid == '_';
        if (*pod != *uid)
            return false;
        if (!*pod)
            return true;
    }
}

void wp_cgroup_path_name(const char *path, char *name, size_t room)
{
    struct wp_cgroup_path parsed;
    wp_cgroup_path_parse(&parsed, path);
    if (*parsed.container)
        snprintf(name, room, "container %.12s", parsed.container);
    else
        snprintf(name, room, "%.256s", *parsed.unit ? parsed.unit : path);
}
