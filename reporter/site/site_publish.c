/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_publish.h"

#include "common/path.h"
#include "reporter/site/site_state.h"

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

/* Names at the top of the published site and of the new one. */
struct entries {
    struct wp_site_lines ours, next, held; /* held: of both, and as they are */
};

static int entries_read(struct entries *entries, const struct wp_site_tree *tree)
{
    int rc = wp_site_lines_tops(&entries->ours, &tree->before);
    if (!rc)
        rc = wp_site_lines_tops(&entries->next, &tree->manifest);
    return rc ? rc : wp_site_lines_tops(&entries->held, &tree->held);
}

static void entries_fini(struct entries *entries)
{
    wp_site_lines_fini(&entries->ours);
    wp_site_lines_fini(&entries->next);
    wp_site_lines_fini(&entries->held);
}

/* True when `out` holds anything that the old manifest does not name. */
static bool has_foreign(const char *out, const struct wp_site_lines *ours)
{
    DIR *dir = opendir(out);
    bool foreign = false;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !foreign; entry = readdir(dir))
        foreign = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
            strcmp(entry->d_name, WP_SITE_MANIFEST) && !wp_site_lines_have(ours, entry->d_name);
    if (dir)
        closedir(dir);
    return foreign;
}

static int check_conflicts(const char *out, const struct entries *entries, struct wp_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    for (size_t i = 0; i < entries->next.count; i++) {
        const char *name = entries->next.items[i];
        if (wp_site_lines_have(&entries->ours, name))
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", out, name) >= sizeof(path))
            return wp_error_set(err, -ENAMETOOLONG, "'%s/%s' is too long a name", out, name);
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

static int remove_gone(const char *out, const struct entries *entries, struct wp_error *err)
{
    char path[PATH_MAX];
    int rc = 0;
    for (size_t i = 0; i < entries->ours.count && !rc; i++)
        if (!wp_site_lines_have(&entries->next, entries->ours.items[i]) &&
            (size_t)snprintf(path, sizeof(path), "%s/%s", out, entries->ours.items[i]) < sizeof(path))
            rc = wp_path_remove(path, err);
    return rc;
}

/* Pages before what leads to them, and last of all what says that they are as they should be. */
static int step_of(const char *name)
{
    return !strcmp(name, WP_SITE_STATE) ? 2 : !strcmp(name, "index.html") ? 1 : 0;
}

static int move_entries(const struct wp_site_tree *tree, const struct entries *entries, struct wp_error *err)
{
    int rc = 0;
    for (int step = 0; step < 3; step++)
        for (size_t i = 0; i < entries->next.count && !rc; i++) {
            const char *name = entries->next.items[i];
            if (step_of(name) == step && !wp_site_lines_have(&entries->held, name))
                rc = move_entry(tree->fresh, tree->out, name, err);
        }
    return rc;
}

/* Entry by entry, pages before what leads to them: folders first, then index.html. The list names old and new entries
 * while both may be there, so that a crash in between leaves nothing that a later run would take for a stranger's. */
static int publish_entries(const struct wp_site_tree *tree, const struct entries *entries, struct wp_error *err)
{
    int rc = check_conflicts(tree->out, entries, err);
    if (!rc)
        rc = write_manifest(tree->out, &tree->before, &tree->manifest, err);
    if (!rc)
        rc = move_entries(tree, entries, err);
    if (!rc)
        rc = remove_gone(tree->out, entries, err);
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

/* Has the file's pages written, and waits for none: file systems that lay out late (ext4) do that now, and the first
 * file that is waited for has the others in its transaction. */
static int begin_writing(int fd)
{
    return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static void sync_files(const struct wp_site_tree *tree, int (*sync)(int fd))
{
    char path[PATH_MAX];
    for (const char *at = tree->changed.data ? (const char *)tree->changed.data : "", *end; (end = strchr(at, '\n'));
         at = end + 1)
        if ((size_t)snprintf(path, sizeof(path), "%s/%.*s", tree->fresh, (int)(end - at), at) < sizeof(path))
            sync_path(path, sync);
}

/* The new files reach the disk before their names do: one by one when they are few, since others' files may wait there
 * too. */
static void sync_fresh(const struct wp_site_tree *tree)
{
    if (tree->is_unsynced)
        return;
    if (tree->written > FEW_FILES || tree->changed.failed) {
        sync_path(tree->fresh, syncfs);
        return;
    }
    sync_files(tree, begin_writing);
    sync_files(tree, fsync);
    sync_path(tree->fresh, fsync);
}

int wp_site_publish(struct wp_site_tree *tree, struct wp_error *err)
{
    struct entries entries = {0};
    int rc = entries_read(&entries, tree);
    if (rc)
        wp_error_set(err, rc, "out of memory for the list of files");
    else
        rc = wp_site_strangers(tree->out, &tree->before, &entries.held, err);
    if (!rc) {
        sync_fresh(tree);
        rc = entries.held.count || has_foreign(tree->out, &entries.ours) ? 1 : publish_whole(tree, err);
        if (rc) /* folders that stay, strangers' files, or a file system that cannot exchange folders */
            rc = publish_entries(tree, &entries, err);
    }
    entries_fini(&entries);
    return rc;
}
