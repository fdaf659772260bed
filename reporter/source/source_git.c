/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/source/source_git.h"

#include "common/git.h"
#include "common/history.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LIST_BYTES (64u << 20)
#define NAME_BYTES 4096u

static int find_commit(struct wp_source_git *git, const char *release, struct wp_error *err)
{
    char name[300];
    struct wp_buffer out = {0};
    int size = (int)(strlen(release) - (wp_release_is_dirty(release) ? strlen("-dirty") : 0));
    snprintf(name, sizeof(name), "%.*s^{commit}", size, release);
    const char *words[] = {"rev-parse", "--verify", "--quiet", "--end-of-options", name, NULL};
    int rc = wp_git_run(git->dir, words, 4096, &out, err);
    size_t hex = rc ? 0 : strspn((const char *)out.data, "0123456789abcdef");
    if (!rc && (hex < 40 || hex >= sizeof(git->commit)))
        rc = wp_error_set(err, -EBADMSG, "git in %s gave no commit for %s", git->dir, release);
    if (rc == -EINVAL)
        rc = wp_error_set(err, -ENOENT, "git in %s knows no commit %.*s", git->dir, size, release);
    if (!rc)
        snprintf(git->commit, sizeof(git->commit), "%.*s", (int)hex, (const char *)out.data);
    wp_buffer_fini(&out);
    return rc;
}

static int list_files(struct wp_source_git *git, struct wp_error *err)
{
    struct wp_buffer out = {0};
    const char *words[] = {"ls-tree", "-r", "-z", "--name-only", "--full-tree", git->commit, NULL};
    int rc = wp_git_run(git->dir, words, LIST_BYTES, &out, err);
    git->files = wp_intern_create();
    const char *at = rc ? NULL : (const char *)out.data, *end = at ? at + out.size : NULL;
    for (size_t size; git->files && at && at < end; at += size + 1) {
        size = strnlen(at, (size_t)(end - at));
        wp_intern_id(git->files, at, size);
    }
    if (!rc && !git->files)
        rc = wp_error_set(err, -ENOMEM, "out of memory for the files of %s", git->dir);
    wp_buffer_fini(&out);
    return rc;
}

int wp_source_git_open(struct wp_source_git *git, const char *dir, const char *release, struct wp_error *err)
{
    *git = (struct wp_source_git){.dir = dir};
    int rc = find_commit(git, release, err);
    if (!rc)
        rc = list_files(git, err);
    if (rc)
        wp_source_git_close(git);
    return rc;
}

void wp_source_git_close(struct wp_source_git *git)
{
    wp_intern_destroy(git->files);
    *git = (struct wp_source_git){0};
}

const char *wp_source_git_find(const struct wp_source_git *git, const char *path)
{
    const char *end = path + (*path == '/');
    for (; git->files; end = strchr(end, '/') + 1) {
        uint32_t id = *end ? wp_intern_find(git->files, end, strlen(end)) : UINT32_MAX;
        bool is_bare = !strchr(end, '/');
        if (id != UINT32_MAX && id && (!is_bare || *path == '/'))
            return wp_intern_text(git->files, id);
        if (is_bare)
            return NULL;
    }
    return NULL;
}

int wp_source_git_read(
    const struct wp_source_git *git, const char *file, size_t limit, struct wp_buffer *out, struct wp_error *err)
{
    char object[NAME_BYTES + 80];
    if ((size_t)snprintf(object, sizeof(object), "%s:%s", git->commit, file) >= sizeof(object))
        return wp_error_set(err, -ENAMETOOLONG, "a file of %s has too long a name", git->dir);
    const char *words[] = {"cat-file", "blob", object, NULL};
    return wp_git_run(git->dir, words, limit, out, err);
}
