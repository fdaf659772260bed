/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place.h"

#include "common/path.h"
#include "reporter/site_publish.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_IN_OUT "store"
#define STORE_UNFINISHED "store.new"

static bool exists(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

/* A report of ours has the reporter's list of files; a store alone is what a failed report leaves. */
static int check_out(const char *out, struct wp_error *err)
{
    DIR *dir = opendir(out);
    if (!dir)
        return errno == ENOENT ? 0 : wp_error_errno(err, -errno, "cannot use '%s' for the report", out);
    bool is_ours = false, is_foreign = false;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        is_ours |= !strcmp(entry->d_name, WP_SITE_MANIFEST);
        is_foreign |= strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
            strcmp(entry->d_name, STORE_IN_OUT) && strcmp(entry->d_name, STORE_UNFINISHED);
    }
    closedir(dir);
    if (is_foreign && !is_ours)
        return wp_error_set(err, -EEXIST,
            "'%s' holds files that are not a report of Wakepath: give another folder with --out DIR", out);
    return 0;
}

/* root passes every access(2), so a file is made and removed: read-only and full file systems show here. */
static int check_writable(const char *folder, const char *what, const char *flag, struct wp_error *err)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/.wakepath-XXXXXX", folder) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "the name of the %s is too long", what);
    int fd = mkstemp(path);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write the %s in '%s' (choose another with %s)", what, folder, flag);
    close(fd);
    unlink(path);
    return 0;
}

static int make_folder(const char *path, const char *what, const char *flag, bool *made, struct wp_error *err)
{
    *made = !exists(path);
    int rc = wp_path_make(path, err);
    if (rc) {
        *made = false;
        return wp_error_wrap(err, rc, "cannot write the %s (choose another with %s)", what, flag);
    }
    return check_writable(path, what, flag, err);
}

static int make_private(struct wp_place *place, struct wp_error *err)
{
    const char *base = getenv("TMPDIR");
    /* An ipc:// socket's whole name must fit in 107 bytes. */
    if (!base || *base != '/' || strlen(base) > 60)
        base = "/tmp";
    snprintf(place->private_dir, sizeof(place->private_dir), "%s/wakepath-XXXXXX", base);
    if (mkdtemp(place->private_dir))
        return 0;
    int rc = wp_error_errno(err, -errno, "cannot make a private folder in '%s'", base);
    place->private_dir[0] = 0;
    return rc;
}

int wp_place_prepare(struct wp_place *place, const char *out, const char *store, struct wp_error *err)
{
    *place = (struct wp_place){0};
    int written = snprintf(place->out, sizeof(place->out), "%s", out);
    int more = store ? snprintf(place->store, sizeof(place->store), "%s", store)
                     : snprintf(place->store, sizeof(place->store), "%.*s/" STORE_UNFINISHED, PATH_MAX - 32, out);
    place->is_own_store = !store;
    if (!*out || (store && !*store) || written >= PATH_MAX - 32 || more >= PATH_MAX - 32)
        return wp_error_set(err, -EINVAL, "--out and --store take the name of a folder");
    int rc = check_out(place->out, err);
    if (!rc)
        rc = make_folder(place->out, "report", "--out", &place->made_out, err);
    if (!rc && place->is_own_store) /* what a killed recording left */
        rc = wp_path_remove(place->store, err);
    if (!rc)
        rc = make_folder(place->store, "store", "--store", &place->made_store, err);
    return rc ? rc : make_private(place, err);
}

int wp_place_keep_store(struct wp_place *place, struct wp_error *err)
{
    char kept[PATH_MAX];
    if (!place->is_own_store)
        return 0;
    snprintf(kept, sizeof(kept), "%.*s/" STORE_IN_OUT, PATH_MAX - 32, place->out);
    int rc = wp_path_remove(kept, err);
    if (!rc && rename(place->store, kept))
        rc = wp_error_errno(err, -errno, "cannot keep the store as '%s'", kept);
    if (!rc)
        memcpy(place->store, kept, sizeof(kept));
    return rc;
}

void wp_place_fini(struct wp_place *place, bool undo)
{
    if (place->private_dir[0])
        wp_path_remove(place->private_dir, NULL);
    if (undo && place->made_store)
        wp_path_remove(place->store, NULL);
    if (undo && place->made_out)
        wp_path_remove(place->out, NULL);
}
