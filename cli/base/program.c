/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/program.h"

#include "common/selector.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, -ENOENT or -EACCES: what execve would say of this path, as far as it can be told beforehand. */
static int judge(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return errno == EACCES ? -EACCES : -ENOENT;
    if (S_ISDIR(st.st_mode) || eaccess(path, X_OK))
        return -EACCES;
    return 0;
}

static int search_path(const char *command, char *path, size_t room)
{
    const char *at = getenv("PATH");
    int found = -ENOENT;
    if (!at)
        at = "/usr/local/bin:/usr/bin:/bin";
    for (;; at++) {
        size_t size = strcspn(at, ":");
        int written =
            size ? snprintf(path, room, "%.*s/%s", (int)size, at, command) : snprintf(path, room, "./%s", command);
        at += size;
        if (written > 0 && (size_t)written < room) {
            int rc = judge(path);
            if (!rc)
                return 0;
            if (rc == -EACCES)
                found = rc;
        }
        if (!*at)
            return found;
    }
}

/* "comm=nginx": an option was left out. */
static bool is_selector(const char *command)
{
    struct wp_selector selector;
    if (!strpbrk(command, "=~") || wp_selector_parse(&selector, command, NULL))
        return false;
    wp_selector_fini(&selector);
    return true;
}

int wp_program_resolve(const char *command, char *path, size_t room, struct wp_error *err)
{
    int rc = -ENOENT;
    if (strchr(command, '/')) {
        rc = judge(command);
        if ((size_t)snprintf(path, room, "%s", command) >= room)
            rc = -ENAMETOOLONG;
    } else if (*command) {
        rc = search_path(command, path, room);
    }
    if (rc == -EACCES)
        return wp_error_set(err, rc, "command '%.300s' cannot be run: it is not an executable file", command);
    if (rc)
        return wp_error_set(err, rc, "command '%.300s' was not found%s%s", command,
            strchr(command, '/') ? "" : " in PATH",
            is_selector(command) ? "; what runs already is recorded by --aggregate NAME=SELECTOR" : "");
    return 0;
}

int wp_program_sibling(const char *name, char *path, size_t room, struct wp_error *err)
{
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (size > 0) {
        self[size] = 0;
        char *slash = strrchr(self, '/');
        if (slash)
            slash[1] = 0;
        if ((size_t)snprintf(path, room, "%s%s", self, name) < room && !judge(path))
            return 0;
    }
    if (!search_path(name, path, room))
        return 0;
    return wp_error_set(
        err, -ENOENT, "program '%s' is neither beside wakepath nor in PATH: install all of Wakepath", name);
}
