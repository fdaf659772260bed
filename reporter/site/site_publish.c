/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_publish.h"

#include "common/array.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEW_FILES 200u

/* The distinct first components of a manifest's paths. */
struct entries {
    char **names;
    size_t count;
};

static void entries_free(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free(entries->names[i]);
    free(entries->names);
    *entries = (struct entries){0};
}

static bool entries_have(const struct entries *entries, const char *name)
{
    for (size_t i = 0; i < entries->count; i++)
        if (!strcmp(entries->names[i], name))
            return true;
    return false;
}

static int entries_add(struct entries *entries, const char *name, size_t size)
{
    char *copy = strndup(name, size);
    if (!copy || WP_ARRAY_NEXT(entries->names, entries->count)) {
        free(copy);
        return -ENOMEM;
    }
    /* A manifest is a file like any other: a line in it must not lead us out of the folder. */
    if (!size || !strcmp(copy, ".") || !strcmp(copy, "..") || entries_have(entries, copy))
        free(copy);
    else
        entries->names[entries->count++] = copy;
    return 0;
}

static int entries_parse(struct entries *entries, const struct wp_buffer *manifest)
{
    const char *at = manifest->data ? (const char *)manifest->data : "";
    while (*at) {
        int rc = entries_add(entries, at, strcspn(at, "/\n"));
        if (rc)
            return rc;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return 0;
}

/* True when `out` holds anything that the old manifest does not name. */
static bool has_foreign(const char *out, const struct entries *ours)
{
    DIR *dir = opendir(out);
    bool foreign = false;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !foreign; entry = readdir(dir))
        foreign = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
            strcmp(entry->d_name, WP_SITE_MANIFEST) && !entries_have(ours, entry->d_name);
    if (dir)
        closedir(dir);
    return foreign;
}

static int check_conflicts(
    const char *out, const struct entries *ours, const struct entries *next, struct wp_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    for (size_t i = 0; i < next->count; i++) {
        if (entries_have(ours, next->names[i]))
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", out, next->names[i]) >= sizeof(path))
            return wp_error_set(err, -ENAMETOOLONG, "'%s/%s' is too long a name", out, next->names[i]);
        if (!lstat(path, &st))
            return wp_error_set(err, -EEXIST,
                "'%s' exists and was not made by wakepath-reporter: choose another --out or move it away", path);
    }
    return 0;
}

static int write_manifest(
    const char *out, const struct wp_buffer *first, const struct wp_buffer *second, struct wp_error *err)
{
    char path[PATH_MAX];
    struct wp_buffer both = {0};
    if ((size_t)snprintf(path, sizeof(path), "%s/" WP_SITE_MANIFEST, out) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "'%s' is too long a name", out);
    wp_buffer_append(&both, first->data, first->size);
    if (second)
        wp_buffer_append(&both, second->data, second->size);
    int rc = both.failed ? wp_error_set(err, -ENOMEM, "out of memory for the list of files")
                         : wp_file_write_atomic(path, both.data, both.size, err);
    wp_buffer_fini(&both);
    return rc;
}

/* Puts one entry in place; what was there goes into the fresh folder, which is removed at the end. */
static int move_entry(const char *fresh, const char *out, const char *name, struct wp_error *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    if ((size_t)snprintf(from, sizeof(from), "%s/%s", fresh, name) >= sizeof(from) ||
        (size_t)snprintf(to, sizeof(to), "%s/%s", out, name) >= sizeof(to))
        return wp_error_set(err, -ENAMETOOLONG, "'%s/%s' is too long a name", out, name);
    if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) || (errno == ENOENT && !rename(from, to)))
        return 0;
    /* A file system without the exchange: a short gap for folders, none for files. */
    struct stat st;
    if ((errno == EINVAL || errno == ENOSYS) && (lstat(to, &st) || !S_ISDIR(st.st_mode) || !wp_path_remove(to, NULL)) &&
        !rename(from, to))
        return 0;
    return wp_error_errno(err, -errno, "cannot put '%s' in place", to);
}

static int remove_gone(const char *out, const struct entries *ours, const struct entries *next, struct wp_error *err)
{
    char path[PATH_MAX];
    int rc = 0;
    for (size_t i = 0; i < ours->count && !rc; i++) {
        if (entries_have(next, ours->names[i]))
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", out, ours->names[i]) < sizeof(path))
            rc = wp_path_remove(path, err);
    }
    return rc;
}

/* Entry by entry, pages before what leads to them: folders first, then index.html. The list names old and new entries
 * while both may be there, so that a crash in between leaves nothing that a later run would take for a stranger's. */
static int publish_entries(
    struct wp_site_tree *tree, const struct entries *ours, const struct entries *next, struct wp_error *err)
{
    int rc = check_conflicts(tree->out, ours, next, err);
    if (!rc)
        rc = write_manifest(tree->out, &tree->before, &tree->manifest, err);
    for (int last = 0; last < 2; last++)
        for (size_t i = 0; i < next->count && !rc; i++)
            if ((strcmp(next->names[i], "index.html") == 0) == (last == 1))
                rc = move_entry(tree->fresh, tree->out, next->names[i], err);
    if (!rc)
        rc = remove_gone(tree->out, ours, next, err);
    return rc ? rc : write_manifest(tree->out, &tree->manifest, NULL, err);
}

static int publish_whole(struct wp_site_tree *tree, struct wp_error *err)
{
    int rc = write_manifest(tree->fresh, &tree->manifest, NULL, err);
    if (!rc)
        rc = wp_site_scratch_mark(tree->fresh, false, err);
    if (rc)
        return rc;
    if (!rename(tree->fresh, tree->out)) /* nothing or an empty folder was there */
        return 0;
    if (!renameat2(AT_FDCWD, tree->fresh, AT_FDCWD, tree->out, RENAME_EXCHANGE))
        return 0;
    rc =
        wp_site_scratch_mark(tree->fresh, true, err); /* its entries are exchanged one by one, and it stays a scratch */
    return rc ? rc : -EXDEV;
}

static void sync_path(const char *path, int (*sync)(int fd))
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    sync(fd);
    close(fd);
}

/* The new files reach the disk before their names do: one by one when they are few, since others' files may wait there
 * too. */
static void sync_fresh(const struct wp_site_tree *tree)
{
    if (tree->is_passing)
        return;
    char path[PATH_MAX];
    if (tree->written > FEW_FILES || tree->changed.failed) {
        sync_path(tree->fresh, syncfs);
        return;
    }
    for (const char *at = tree->changed.data ? (const char *)tree->changed.data : "", *end; (end = strchr(at, '\n'));
         at = end + 1)
        if ((size_t)snprintf(path, sizeof(path), "%s/%.*s", tree->fresh, (int)(end - at), at) < sizeof(path))
            sync_path(path, fsync);
    sync_path(tree->fresh, fsync);
}

int wp_site_publish(struct wp_site_tree *tree, struct wp_error *err)
{
    struct entries ours = {0}, next = {0};
    int rc = entries_parse(&ours, &tree->before);
    if (!rc)
        rc = entries_parse(&next, &tree->manifest);
    if (rc)
        wp_error_set(err, rc, "out of memory for the list of files");
    else
        rc = wp_site_strangers(tree->out, &tree->before, err); /* once more: they may have come meanwhile */
    if (!rc) {
        sync_fresh(tree);
        rc = has_foreign(tree->out, &ours) ? 1 : publish_whole(tree, err);
        if (rc) /* strangers' files, or a file system that cannot exchange folders */
            rc = publish_entries(tree, &ours, &next, err);
    }
    entries_free(&ours);
    entries_free(&next);
    return rc;
}
