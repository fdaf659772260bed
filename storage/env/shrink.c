/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/shrink.h"

#include "common/path.h"
#include "storage/env/env_pages.h"
#include "storage/env/store_lock.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK "~copy." /* '~' is in no id: such a folder is no release */

int wp_txn_space(struct wp_txn *txn, struct wp_space *space, struct wp_error *err)
{
    MDB_stat main, spare;
    MDB_envinfo info;
    int rc = mdb_stat(txn->mdb, txn->dbi, &main);
    if (!rc)
        rc = mdb_stat(txn->mdb, 0, &spare); /* the tree of free pages is database 0 */
    if (!rc)
        rc = mdb_env_info(txn->env->mdb, &info);
    if (rc)
        return wp_txn_error(txn, err, rc, "cannot measure the file");
    size_t pages = 2 + main.ms_branch_pages + main.ms_leaf_pages + main.ms_overflow_pages;
    space->used_bytes = (uint64_t)pages * main.ms_psize;
    space->file_bytes = (uint64_t)(info.me_last_pgno + 1) * main.ms_psize;
    return 0;
}

#define COPY_LETTERS 6u /* of mkdtemp */

/* "<release>~copy.XXXXXX": others' folders stand beside it where a backup goes. */
static bool is_copy_name(const char *name)
{
    char release[WP_ID_ROOM];
    const char *mark = strstr(name, MARK);
    if (!mark || (size_t)(mark - name) >= sizeof(release) || strlen(mark) != strlen(MARK) + COPY_LETTERS)
        return false;
    snprintf(release, sizeof(release), "%.*s", (int)(mark - name), name);
    return wp_id_valid(release);
}

/* The two files that a copy, or the release that it has replaced, is made of. What else is in it stays, and the folder
 * with it. */
static int remove_copy(const char *path, struct wp_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : wp_error_errno(err, -errno, "cannot remove '%s'", path);
    unlinkat(fd, "data.mdb", 0);
    unlinkat(fd, "lock.mdb", 0);
    close(fd);
    return rmdir(path) && errno != ENOENT ? wp_error_errno(err, -errno, "cannot remove '%s'", path) : 0;
}

/* Nothing else is in it: a folder of another's may be called as a copy is. */
static bool holds_release_only(const char *path)
{
    DIR *folder = opendir(path);
    bool is = folder;
    for (struct dirent *entry; is && (entry = readdir(folder));)
        is = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || !strcmp(entry->d_name, "data.mdb") ||
            !strcmp(entry->d_name, "lock.mdb");
    if (folder)
        closedir(folder);
    return is;
}

/* The copy belongs to whom the original belongs to, or a pruner that runs as root would lock the store's owner out. A
 * backup may be its maker's. */
static int take_owner(int fd, const char *original, bool is_backup)
{
    struct stat st, own;
    if (stat(original, &st) || fstat(fd, &own))
        return -errno;
    if ((st.st_uid != own.st_uid || st.st_gid != own.st_gid) && fchown(fd, st.st_uid, st.st_gid) && !is_backup)
        return -errno;
    return fchmod(fd, st.st_mode & 07777) ? -errno : 0;
}

static int copy_data(struct wp_env *env, const char *from, const char *folder, bool is_backup)
{
    char path[PATH_MAX + 16], original[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/data.mdb", folder);
    snprintf(original, sizeof(original), "%s/data.mdb", from);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int mdb_rc = mdb_env_copyfd2(env->mdb, fd, MDB_CP_COMPACT);
    int rc = mdb_rc > 0 ? -mdb_rc
        : mdb_rc        ? -EBADMSG
                        : 0; /* LMDB's own codes are negative: it could not walk its tree */
    if (!rc)
        rc = take_owner(fd, original, is_backup);
    if (!rc && fsync(fd))
        rc = -errno;
    close(fd);
    return rc;
}

/* An empty lock.mdb: who opens it first fills it, and need not be its owner. */
static int make_lock(const char *from, const char *folder, bool is_backup)
{
    char path[PATH_MAX + 16], original[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/lock.mdb", folder);
    snprintf(original, sizeof(original), "%s/lock.mdb", from);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int rc = take_owner(fd, original, is_backup);
    close(fd);
    return rc;
}

static int finish_folder(const char *from, const char *folder, bool is_backup)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = take_owner(fd, from, is_backup);
    if (!rc && fsync(fd))
        rc = -errno;
    close(fd);
    return rc;
}

/* Whose folder is open so is at work in it: it is not swept up. */
static int hold_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void let_go(int *held)
{
    if (*held >= 0)
        close(*held);
    *held = -1;
}

static int refuse_head(void *context, const struct wp_env_head *head)
{
    return wp_error_set(context, -EBADMSG, "the pages of '%.*s' are", (int)head->key_size, head->key);
}

/* A copy takes as many pages as a head says. */
static int check_heads(struct wp_txn *txn, struct wp_error *err)
{
    struct wp_error why = {0};
    int rc = wp_env_look(txn->env->mdb, txn->mdb, &(struct wp_env_look){.ruined = refuse_head, .context = &why}, &why);
    return rc ? wp_error_set(err, rc,
                    "release '%s' of '%s' cannot be copied: %s damaged; wakepath-store repair --drop-damaged mends "
                    "what can be "
                    "mended",
                    txn->env->release, txn->store->root, why.text)
              : 0;
}

/* Makes "<parent>/<release>~copy.XXXXXX" with a durable copy in it; `held` is to be closed when it has its place. */
static int make_copy(struct wp_txn *txn, const char *parent, char folder[PATH_MAX], int *held, struct wp_error *err)
{
    *held = -1;
    char from[PATH_MAX];
    const char *release = txn->env->release;
    if ((size_t)snprintf(from, sizeof(from), "%s/%s", txn->store->root, release) >= sizeof(from) ||
        (size_t)snprintf(folder, PATH_MAX, "%s/%s" MARK "XXXXXX", parent, release) >= PATH_MAX)
        return wp_error_set(err, -ENAMETOOLONG, "the path of a copy of '%s' is too long", release);
    int rc = check_heads(txn, err);
    if (rc)
        return rc;
    if (!mkdtemp(folder))
        return wp_error_errno(err, -errno, "cannot make a folder for a copy of '%s' in '%s'", release, parent);
    *held = hold_folder(folder);
    bool is_backup = strcmp(parent, txn->store->root);
    rc = copy_data(txn->env, from, folder, is_backup);
    if (!rc)
        rc = make_lock(from, folder, is_backup);
    if (!rc)
        rc = finish_folder(from, folder, is_backup);
    if (!rc)
        return 0;
    remove_copy(folder, NULL);
    let_go(held);
    return wp_error_errno(err, rc, "cannot copy release '%s' of '%s' into '%s'", release, txn->store->root, parent);
}

/* From here on whoever opens the release gets the copy, and whoever waits for the old one's lock finds out. */
static int exchange(struct wp_txn *txn, const char *folder, struct wp_error *err)
{
    char path[PATH_MAX];
    const char *root = txn->store->root;
    int fd;
    snprintf(path, sizeof(path), "%s/%s", root, txn->env->release);
    int rc = wp_lock_root(root, true, &fd, err);
    if (rc)
        return rc;
    if (renameat2(AT_FDCWD, folder, AT_FDCWD, path, RENAME_EXCHANGE)) {
        bool is_unknown = errno == EINVAL || errno == ENOSYS || errno == EXDEV || errno == EOPNOTSUPP;
        rc = is_unknown ? wp_error_set(err, -ENOTSUP,
                              "the file system of '%s' cannot exchange folders: space is used again, "
                              "but not given back",
                              root)
                        : wp_error_errno(err, -errno, "cannot exchange '%s' for its copy", path);
    } else if (fsync(fd)) {
        rc = wp_error_errno(err, -errno, "cannot make the new '%s' durable", path);
    }
    close(fd);
    return rc;
}

/* The folder goes as a whole: what somebody else has put there must not go with it. */
static int refuse_strangers(const struct wp_store *store, const char *release, struct wp_error *err)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", store->root, release) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "the path of release '%s' is too long", release);
    DIR *folder = opendir(path);
    int rc = 0;
    if (!folder)
        return wp_error_errno(err, -errno, "cannot list '%s'", path);
    for (struct dirent *entry; !rc && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && strcmp(entry->d_name, "data.mdb") &&
            strcmp(entry->d_name, "lock.mdb"))
            rc = wp_error_set(err, -ENOTEMPTY,
                "'%s' holds '%s', which is not the store's: space is used again, but not given back "
                "while it is there",
                path, entry->d_name);
    closedir(folder);
    return rc;
}

int wp_store_shrink(struct wp_store *store, const char *release, struct wp_space *after, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    char folder[PATH_MAX];
    int held;
    assert(store->upkeep_fd >= 0);
    int rc = refuse_strangers(store, release, err);
    if (rc)
        return rc;
    /* LMDB's writer lock, from before the copy begins until it is in place: no commit can fall between the two. */
    rc = wp_txn_begin(&txn, store, release, true, err);
    if (rc)
        return rc;
    rc = make_copy(txn, store->root, folder, &held, err);
    if (!rc) {
        rc = exchange(txn, folder, err);
        remove_copy(folder, NULL); /* the copy, or the original that it has replaced */
        let_go(&held);
    }
    wp_txn_abort(txn);
    if (rc)
        return rc;
    rc = wp_txn_begin(&txn, store, release, false, err);
    if (!rc)
        rc = wp_txn_space(txn, after, err);
    wp_txn_abort(txn);
    return rc;
}

/* Out of the way under a name that is no release's, and then removed: one that is killed in between leaves it to
 * wp_shrink_clean. */
static int take_away(const struct wp_store *store, const char *path, struct wp_error *err)
{
    char folder[PATH_MAX + 16];
    int fd, held = hold_folder(path);
    snprintf(folder, sizeof(folder), "%s" MARK "XXXXXX", path);
    if (!mkdtemp(folder)) {
        let_go(&held);
        return wp_error_errno(err, -errno, "cannot make the folder '%s'", folder);
    }
    int rc = wp_lock_root(store->root, true, &fd, err);
    if (!rc && rename(path, folder)) /* over an empty folder */
        rc = wp_error_errno(err, -errno, "cannot remove '%s'", path);
    else if (!rc && fsync(fd))
        rc = wp_error_errno(err, -errno, "cannot make the removal of '%s' durable", path);
    if (fd >= 0)
        close(fd);
    int removed = wp_path_remove(folder, rc ? NULL : err);
    let_go(&held);
    return rc ? rc : removed;
}

int wp_store_drop(struct wp_store *store, const char *release, struct wp_error *err)
{
    return wp_store_drop_checked(store, release, NULL, NULL, err);
}

int wp_store_drop_checked(struct wp_store *store, const char *release, int (*check)(struct wp_txn *txn, void *context),
    void *context, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    char path[PATH_MAX];
    assert(store->upkeep_fd >= 0);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", store->root, release) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "the path of release '%s' is too long", release);
    int rc = refuse_strangers(store, release, err);
    if (!rc) /* LMDB's writer lock: who waits for it finds its file replaced and makes the release anew */
        rc = wp_txn_begin(&txn, store, release, true, err);
    if (rc)
        return rc;
    rc = check ? check(txn, context) : 0;
    if (!rc)
        rc = take_away(store, path, err);
    wp_txn_abort(txn);
    return rc;
}

static int durable_name(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    if (fd < 0)
        return -errno;
    if (fsync(fd))
        rc = -errno;
    close(fd);
    return rc;
}

int wp_store_copy(struct wp_store *store, const char *release, const char *to, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    char folder[PATH_MAX], path[PATH_MAX];
    int held;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", to, release) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "the path of a copy of '%s' is too long", release);
    if (!access(path, F_OK))
        return wp_error_set(err, -EEXIST, "'%s' is there already, and is not written over", path);
    int rc =
        wp_txn_begin(&txn, store, release, false, err); /* holds the environment open; the copy has its own snapshot */
    if (rc)
        return rc;
    rc = make_copy(txn, to, folder, &held, err);
    wp_txn_abort(txn);
    if (rc)
        return rc;
    if (renameat2(AT_FDCWD, folder, AT_FDCWD, path, RENAME_NOREPLACE))
        rc = -errno;
    if (rc == -EINVAL) /* a file system without that flag */
        rc = rename(folder, path) ? -errno : 0;
    if (rc)
        remove_copy(folder, NULL);
    else
        rc = durable_name(to);
    let_go(&held);
    return rc ? wp_error_errno(err, rc, "cannot put the copy in place as '%s'", path) : 0;
}

int wp_shrink_clean(const char *folder, struct wp_error *err)
{
    char path[PATH_MAX + NAME_MAX + 2];
    DIR *root = opendir(folder);
    struct dirent *entry;
    int rc = 0;
    if (!root)
        return wp_error_errno(err, -errno, "cannot list store '%s'", folder);
    while (!rc && (entry = readdir(root))) {
        if (!is_copy_name(entry->d_name))
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        int held = hold_folder(path);
        if (held >= 0 && holds_release_only(path))
            rc = remove_copy(path, err);
        let_go(&held);
    }
    closedir(root);
    return rc;
}
