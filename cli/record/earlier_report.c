/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/earlier_report.h"

#include "cli/base/own_store.h"
#include "common/buffer.h"
#include "common/path.h"
#include "reporter/site/site_own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_BYTES (256u << 20)
#define END ".old"
#define MARK ".wakepath-kept" /* a recording moved the report here, and nobody made another since */

/* A report's folder: its list of files, and the name of its store. */
struct folder {
    const char *path, *store;
    struct wp_buffer manifest; /* ends with 0 */
};

static bool join(char path[PATH_MAX], const struct folder *folder, const char *name)
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", folder->path, name) < PATH_MAX;
}

/* -ENOENT: no report is there. */
static int open_folder(struct folder *folder)
{
    char path[PATH_MAX];
    if (!join(path, folder, WP_SITE_MANIFEST))
        return -ENAMETOOLONG;
    int rc = wp_file_read(path, MANIFEST_BYTES, &folder->manifest, NULL);
    return rc ? rc : wp_buffer_putc(&folder->manifest, 0);
}

/* The manifest without the 0 behind it. */
static struct wp_buffer listed(const struct folder *folder)
{
    struct wp_buffer bytes = folder->manifest;
    bytes.size = bytes.size ? bytes.size - 1 : 0;
    return bytes;
}

/* Whether an entry of the folder is one of the report's: the first component of a listed path. */
static bool is_listed(const struct folder *folder, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = (const char *)folder->manifest.data; *at;) {
        if (!strncmp(at, name, size) && (at[size] == '/' || at[size] == '\n' || !at[size]))
            return true;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return false;
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Calls `each` with every entry of the report but its list and its store; index.html first. */
static int each_entry(const struct folder *folder,
    int (*each)(const struct folder *folder, const char *name, void *context), void *context)
{
    DIR *names = opendir(folder->path);
    int rc = 0;
    if (!names)
        return -errno;
    if (is_listed(folder, "index.html"))
        rc = each(folder, "index.html", context);
    for (struct dirent *entry; !rc && (entry = readdir(names));)
        if (!is_dots(entry->d_name) && strcmp(entry->d_name, "index.html") && is_listed(folder, entry->d_name))
            rc = each(folder, entry->d_name, context);
    closedir(names);
    return rc;
}

static bool has_mark(const struct folder *folder)
{
    char path[PATH_MAX];
    struct stat st;
    return join(path, folder, MARK) && !lstat(path, &st) && S_ISREG(st.st_mode);
}

static int make_mark(const struct folder *folder)
{
    char path[PATH_MAX];
    if (!join(path, folder, MARK))
        return -ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 || close(fd) ? -errno : 0;
}

/* True when it is not there. */
static bool unlink_in(const struct folder *folder, const char *name)
{
    char path[PATH_MAX];
    return join(path, folder, name) && (!unlink(path) || errno == ENOENT);
}

/* A recording moved it here, and nothing in it is anybody else's. */
static bool is_ours(const struct folder *folder)
{
    char path[PATH_MAX];
    if (!has_mark(folder))
        return false;
    struct wp_buffer bytes = listed(folder);
    DIR *names = opendir(folder->path);
    bool is = names && join(path, folder, folder->store) && !wp_own_store_check(path, NULL) &&
        !wp_site_strangers(folder->path, &bytes, &(struct wp_site_lines){0}, NULL);
    for (struct dirent *entry; is && (entry = readdir(names));)
        is = is_dots(entry->d_name) || !strcmp(entry->d_name, folder->store) ||
            !strcmp(entry->d_name, WP_SITE_MANIFEST) || !strcmp(entry->d_name, MARK) ||
            is_listed(folder, entry->d_name);
    if (names)
        closedir(names);
    return is;
}

static int remove_entry(const struct folder *folder, const char *name, void *context)
{
    char path[PATH_MAX];
    (void)context;
    return join(path, folder, name) ? wp_path_remove(path, NULL) : -ENAMETOOLONG;
}

/* True when nothing is left at the path. */
static bool remove_folder(struct folder *folder)
{
    char path[PATH_MAX];
    struct stat st;
    if (lstat(folder->path, &st))
        return errno == ENOENT;
    if (!S_ISDIR(st.st_mode))
        return false;
    if (!rmdir(folder->path))
        return true;
    int rc = open_folder(folder);
    if (rc == -ENOENT) /* a crash left the mark alone */
        rc = wp_buffer_putc(&folder->manifest, 0);
    bool is_gone = !rc && is_ours(folder) && join(path, folder, folder->store) && !wp_own_store_remove(path, NULL) &&
        !each_entry(folder, remove_entry, NULL) && unlink_in(folder, WP_SITE_MANIFEST) && unlink_in(folder, MARK) &&
        !rmdir(folder->path);
    wp_buffer_fini(&folder->manifest);
    return is_gone;
}

static int move_entry(const struct folder *folder, const char *name, void *context)
{
    char from[PATH_MAX], to[PATH_MAX];
    const struct folder *old = context;
    if (!join(from, folder, name) || !join(to, old, name))
        return -ENAMETOOLONG;
    return rename(from, to) ? -errno : 0;
}

/* The list is in both folders while files are moved: what a crash leaves is known as a report's on both sides. */
static int move_all(const struct folder *folder, struct folder *old)
{
    char list[PATH_MAX], copy[PATH_MAX];
    if (!join(list, folder, WP_SITE_MANIFEST) || !join(copy, old, WP_SITE_MANIFEST))
        return -ENAMETOOLONG;
    int rc = make_mark(old);
    if (!rc)
        rc = link(list, copy) ? -errno : each_entry(folder, move_entry, old);
    if (!rc)
        rc = move_entry(folder, folder->store, old);
    return !rc && unlink(list) ? -errno : rc;
}

static int move_entry_back(const struct folder *old, const char *name, void *context)
{
    int rc = move_entry(old, name, context);
    return rc == -ENOENT ? 0 : rc; /* it was not moved */
}

/* What move_all moved before it failed; the folder that it filled is gone then. */
static int move_all_back(struct folder *folder, const struct folder *old)
{
    const struct folder from = {.path = old->path, .store = old->store, .manifest = folder->manifest};
    int rc = each_entry(&from, move_entry_back, folder);
    if (!rc)
        rc = move_entry_back(&from, from.store, folder);
    if (!rc && (!unlink_in(old, WP_SITE_MANIFEST) || !unlink_in(old, MARK) || rmdir(old->path)))
        rc = -errno;
    return rc;
}

/* A mount point, or a file system without links: names cannot go from the one folder to the other. */
static bool is_other_place(int rc)
{
    return rc == -EXDEV || rc == -EPERM || rc == -EOPNOTSUPP || rc == -EMLINK || rc == -EBUSY;
}

/* *is_kept: it was moved. */
static int keep_report(struct folder *folder, struct folder *old, bool *is_kept, struct wp_error *err)
{
    if (mkdir(old->path, 0700))
        return 0;
    int rc = move_all(folder, old), back = rc ? move_all_back(folder, old) : 0;
    *is_kept = !rc;
    if (rc && (back || !is_other_place(rc)))
        return wp_error_errno(err, rc, "cannot keep the earlier report as '%s'", old->path);
    return 0;
}

int wp_earlier_report_keep(const char *out, const char *store, struct wp_earlier_report *earlier, struct wp_error *err)
{
    char whole[PATH_MAX], path[PATH_MAX];
    struct folder folder = {.path = whole, .store = store}, old = {.path = earlier->path, .store = store};
    *earlier = (struct wp_earlier_report){0};
    if (!realpath(out, whole))
        return 0;
    if (!strcmp(whole, "/") || (size_t)snprintf(earlier->path, PATH_MAX, "%s" END, whole) >= PATH_MAX)
        return 0;
    bool is_there =
        !open_folder(&folder) && join(path, &folder, store) && !access(path, F_OK) && !wp_own_store_check(path, NULL);
    bool is_free = is_there && remove_folder(&old);
    earlier->is_taken = is_there && !is_free;
    int rc = is_free ? keep_report(&folder, &old, &earlier->is_kept, err) : 0;
    wp_buffer_fini(&folder.manifest);
    return rc;
}

void wp_earlier_report_claim(const char *out)
{
    unlink_in(&(struct folder){.path = out}, MARK);
}
