/* SPDX-License-Identifier: Apache-2.0 */
/* ROOT, RELEASE and KEY in one argument or in several: taken apart by where data.mdb is. */
#include "storage/tool/tool_location.h"

#include "storage/env/store.h"
#include "storage/upkeep/reference.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_release_folder(const char *path)
{
    char data[PATH_MAX + NAME_MAX + 32];
    struct stat st;
    snprintf(data, sizeof(data), "%s/data.mdb", path);
    return !stat(data, &st);
}

/* Nothing is there: the store that is on the way to it has not such a release. */
static int refuse_missing(const char *text, int code, struct wp_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", text);
    for (char *slash = strrchr(path, '/'); slash && slash > path; slash = strrchr(path, '/')) {
        *slash = 0;
        if (slash[1] && wp_store_is_at(path))
            return wp_error_set(err, -ENOENT, "store '%s' has no release '%s'", path, slash + 1);
    }
    return wp_error_errno(err, code, "cannot open '%s'", text);
}

static int split_release(struct wp_tool_location *location, const char *path, const char *rest, struct wp_error *err)
{
    char copy[PATH_MAX];
    if ((size_t)snprintf(location->rest, sizeof(location->rest), "%s", rest) >= sizeof(location->rest))
        return wp_error_set(err, -ENAMETOOLONG, "'%.100s...' is not a key", rest);
    snprintf(copy, sizeof(copy), "%s", path);
    snprintf(location->release, sizeof(location->release), "%s", basename(copy));
    snprintf(copy, sizeof(copy), "%s", path);
    snprintf(location->root, sizeof(location->root), "%s", dirname(copy));
    return 0;
}

static int take_more(char *to, size_t room, const char *text, struct wp_error *err)
{
    return (size_t)snprintf(to, room, "%s", text) < room
        ? 0
        : wp_error_set(err, -ENAMETOOLONG, "'%.100s...' is too long", text);
}

/* A reference, or the digits of a commit. */
static bool may_be_named(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return wp_is_reference(name) || (digits >= 4 && !name[digits]);
}

static int split_path(struct wp_tool_location *location, const char *text, struct wp_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof(path), "%s", text) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "'%.100s...' is too long", text);
    for (size_t size = strlen(path); size > 1 && path[size - 1] == '/'; size--)
        path[size - 1] = 0;
    if (is_release_folder(path))
        return split_release(location, path, "", err);
    if (!stat(path, &st)) {
        memcpy(location->root, path, sizeof(path));
        return 0;
    }
    int code = -errno;
    char *last = strrchr(path, '/');
    if (last && last > path && may_be_named(last + 1)) { /* ROOT/REV~2, where ROOT is a folder */
        *last = 0;
        if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
            memcpy(location->root, path, sizeof(path));
            return take_more(location->release, sizeof(location->release), last + 1, err);
        }
        *last = '/';
    }
    for (char *slash = strrchr(path, '/'); slash && slash > path; slash = strrchr(path, '/')) {
        *slash = 0;
        if (is_release_folder(path))
            return split_release(location, path, text + (slash - path) + 1, err);
    }
    return refuse_missing(text, code, err);
}

int wp_tool_location_of(
    struct wp_tool_location *location, const char *const arguments[WP_TOOL_ARGUMENTS], struct wp_error *err)
{
    *location = (struct wp_tool_location){0};
    int rc = split_path(location, arguments[0], err);
    for (int i = 1; !rc && i < WP_TOOL_ARGUMENTS && arguments[i]; i++) {
        const char *word = arguments[i];
        const char *slash = strchr(word, '/');
        if (*location->release && *location->rest) {
            rc = wp_error_set(err, -WP_TOOL_MISUSE, "unexpected argument '%s'", word);
        } else if (*location->release) {
            rc = take_more(location->rest, sizeof(location->rest), word, err);
        } else {
            size_t size = slash ? (size_t)(slash - word) : strlen(word);
            rc = take_more(location->rest, sizeof(location->rest), slash ? slash + 1 : "", err);
            if (!rc && size >= sizeof(location->release))
                return wp_error_set(err, -ENAMETOOLONG, "'%.100s...' is too long", word);
            snprintf(location->release, sizeof(location->release), "%.*s", (int)size, word);
        }
    }
    return rc;
}
