/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/store_env.h"

#include "common/path.h"
#include "storage/env/env_check.h"
#include "storage/env/env_pages.h"
#include "storage/env/store_body.h"
#include "storage/env/store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define IDLE_ENVS 16u /* kept open: two file descriptors each */
#define READERS 512u
#define MAP_KNOWN SIZE_MAX /* take the size that the file says */
#define MAP_LIMIT ((size_t)1 << 46)
#define LOCK_BYTES (READERS * 64u + 4096u) /* of lock.mdb: 64 a reader, and LMDB's own head */
#define NO_ROOM_BYTES (1u << 20)           /* free on a disk that has just cut a write short */

int wp_env_error(struct wp_error *err, int mdb_rc, const char *what, const struct wp_store *store, const char *release)
{
    const char *root = store->root;
    switch (mdb_rc) {
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
        return wp_error_set(
            err, -EAGAIN, "%s in '%s/%s': the map grows, begin the transaction again", what, root, release);
    case ENOSPC:
    case EDQUOT:
        return wp_error_set(
            err, -ENOSPC, "%s in '%s/%s': the disk is full; nothing of this transaction was kept", what, root, release);
    case EACCES:
    case EROFS:
        return wp_error_set(err, -mdb_rc,
            "%s in '%s/%s': %s. Readers too need to write lock.mdb: run as the store's owner", what, root, release,
            strerror(mdb_rc));
    case MDB_VERSION_MISMATCH:
    case MDB_INVALID:
        return wp_error_set(err, -EBADMSG, "%s in '%s/%s': data.mdb is not an LMDB file of this version, or damaged",
            what, root, release);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
        return wp_error_set(
            err, -EBADMSG, "%s in '%s/%s': data.mdb is damaged (%s)", what, root, release, mdb_strerror(mdb_rc));
    case MDB_READERS_FULL:
        return wp_error_set(err, -EBUSY, "%s in '%s/%s': %u readers are there already", what, root, release, READERS);
    case MDB_BAD_VALSIZE:
        return wp_error_set(err, -EINVAL, "%s in '%s/%s': key or value has a bad size", what, root, release);
    default:
        return wp_error_set(
            err, mdb_rc > 0 ? -mdb_rc : -EIO, "%s in '%s/%s': %s", what, root, release, mdb_strerror(mdb_rc));
    }
}

static int make_path(
    const struct wp_store *store, const char *release, const char *file, char path[PATH_MAX], struct wp_error *err)
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s%s", store->root, release, file) >= PATH_MAX)
        return wp_error_set(err, -ENAMETOOLONG, "the path of release '%s' is too long", release);
    return 0;
}

/* A reader finds a release or does not; a writer makes it. */
static int prepare_folder(
    const struct wp_store *store, const char *release, bool write, char path[PATH_MAX], struct wp_error *err)
{
    struct stat st;
    char data[PATH_MAX];
    int rc = make_path(store, release, "", path, err);
    if (!rc)
        rc = make_path(store, release, "/data.mdb", data, err);
    if (rc)
        return rc;
    if (stat(data, &st) == 0) {
        if (!st.st_size && !write)
            return wp_error_set(err, -EBADMSG, "release '%s' of store '%s': data.mdb is empty", release, store->root);
        return 0;
    }
    if (errno != ENOENT)
        return wp_error_errno(err, -errno, "cannot look at '%s'", data);
    if (!write)
        return wp_error_set(err, -ENOENT, "store '%s' has no release '%s'", store->root, release);
    rc = wp_path_make(path, err);
    /* What will be acknowledged must be found there after a crash of the machine. */
    return rc || store->is_unsynced ? rc : wp_name_sync(path, err);
}

/* LMDB would end the process that reads a ruined file. A writer has no time to read all of it. */
static int check_file(const struct wp_store *store, const char *path, struct wp_error *err)
{
    int rc = wp_env_measure(path, err);
    if (rc > 0 || (!rc && store->is_guarded))
        rc = wp_env_walk(path, err);
    return rc;
}

/* Which file it is; LMDB's own descriptor knows. */
static int note_file(struct wp_env *env)
{
    struct stat st;
    mdb_filehandle_t fd;
    int mdb_rc = mdb_env_get_fd(env->mdb, &fd);
    if (!mdb_rc && fstat(fd, &st))
        mdb_rc = errno;
    if (!mdb_rc) {
        env->device = st.st_dev;
        env->inode = st.st_ino;
    }
    return mdb_rc;
}

bool wp_env_is_replaced(const struct wp_store *store, const struct wp_env *env)
{
    char path[PATH_MAX];
    struct stat st;
    return make_path(store, env->release, "/data.mdb", path, NULL) || stat(path, &st) || st.st_dev != env->device ||
        st.st_ino != env->inode;
}

/*
 * LMDB (0.9.24, mdb_env_setup_locks) makes lock.mdb a hole and writes to it through a map: on a full disk that is
 * SIGBUS. So it gets its blocks first, from who may still be told that there are none. LMDB takes a file that is large
 * enough as it is.
 */
static int allot_lock(const struct wp_store *store, const char *folder, bool write, struct wp_error *err)
{
    char path[PATH_MAX + 16];
    struct stat st;
    snprintf(path, sizeof(path), "%s/lock.mdb", folder);
    if (!stat(path, &st) && st.st_size >= (off_t)LOCK_BYTES && st.st_blocks * 512 >= st.st_size)
        return 0;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0664);
    if (fd < 0)
        return write ? wp_error_errno(err, -errno, "cannot open '%s'", path)
                     : 0; /* LMDB reads without it where nobody may write */
    off_t size = lseek(fd, 0, SEEK_END);
    int rc = posix_fallocate(fd, 0, size > (off_t)LOCK_BYTES ? size : (off_t)LOCK_BYTES);
    close(fd);
    if (rc == ENOSPC || rc == EDQUOT)
        return wp_env_error(err, ENOSPC, "cannot open the environment", store, strrchr(folder, '/') + 1);
    return rc ? wp_error_errno(err, -rc, "cannot write '%s'", path) : 0;
}

/*
 * LMDB (0.9.24, mdb_env_init_meta) does not sync the first two pages of a new file: a crash of the machine before the
 * end of the first commit can leave one that nobody opens any more. So the file gets its name when they are on disk.
 * Where the file system knows no files without a name LMDB makes it as it does.
 */
static int make_data(const struct wp_store *store, const char *folder, struct wp_error *err)
{
    char path[PATH_MAX + 16], self[64];
    MDB_env *env = NULL;
    snprintf(path, sizeof(path), "%s/data.mdb", folder);
    int fd = access(path, F_OK) && errno == ENOENT ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0664) : -1;
    if (fd < 0)
        return 0;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    int mdb_rc = mdb_env_create(&env);
    if (!mdb_rc)
        mdb_rc = mdb_env_set_mapsize(env, store->map_size);
    if (!mdb_rc)
        mdb_rc = mdb_env_open(env, self, MDB_NOSUBDIR | MDB_NOLOCK, 0664);
    if (!mdb_rc && !store->is_unsynced)
        mdb_rc = mdb_env_sync(env, 1);
    mdb_env_close(env);
    bool is_linked =
        !mdb_rc && !linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW); /* else another writer was quicker */
    close(fd);
    if (mdb_rc)
        return wp_env_error(err, mdb_rc, "cannot make the environment", store, strrchr(folder, '/') + 1);
    return is_linked && !store->is_unsynced ? wp_folder_sync(folder, err) : 0;
}

/* NOTLS: transactions belong to handles, not to threads. */
static unsigned flags_of(const struct wp_store *store, bool write)
{
    return MDB_NOTLS | (write ? 0 : MDB_RDONLY) | (write && store->is_unsynced ? MDB_NOSYNC : 0);
}

static void close_env(struct wp_env *env)
{
    if (env->mdb)
        mdb_env_close(env->mdb);
    env->mdb = NULL;
}

/* A writer takes pages from there without looking. */
static int check_free(const struct wp_store *store, struct wp_env *env, struct wp_error *err)
{
    struct wp_error why = {0};
    MDB_txn *txn;
    int mdb_rc = mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn);
    if (mdb_rc)
        return wp_env_error(err, mdb_rc, "cannot begin a transaction", store, env->release);
    int rc = wp_env_look(env->mdb, txn, &(struct wp_env_look){.is_free_only = true}, &why);
    mdb_txn_abort(txn);
    return rc ? wp_error_set(err, rc, "'%s/%s/data.mdb' is damaged: %s; its list of free pages is what a writer needs",
                    store->root, env->release, why.text)
              : 0;
}

static int open_files(const struct wp_store *store, struct wp_env *env, bool write, struct wp_error *err)
{
    char path[PATH_MAX];
    int dead, rc = prepare_folder(store, env->release, write, path, err);
    if (!rc) /* first: who looks at the file maps it, too, and would be taken for one that died of damage */
        rc = allot_lock(store, path, write, err);
    if (!rc && write)
        rc = make_data(store, path, err);
    if (!rc)
        rc = check_file(store, path, err);
    if (rc)
        return rc;
    int mdb_rc = mdb_env_create(&env->mdb);
    if (!mdb_rc)
        mdb_rc = mdb_env_set_maxreaders(env->mdb, READERS);
    if (!mdb_rc)
        mdb_rc = mdb_env_set_mapsize(env->mdb, store->map_size);
    if (!mdb_rc)
        mdb_rc = mdb_env_open(env->mdb, path, flags_of(store, write), 0664);
    if (!mdb_rc)
        mdb_rc = mdb_reader_check(env->mdb, &dead); /* readers that were killed hold back pages */
    if (!mdb_rc)
        mdb_rc = note_file(env);
    if (!mdb_rc && write)
        rc = check_free(store, env, err);
    if (rc) {
        close_env(env);
        return rc;
    }
    if (mdb_rc) {
        mdb_env_close(env->mdb);
        env->mdb = NULL;
        return wp_env_error(err, mdb_rc, "cannot open the environment", store, env->release);
    }
    env->is_read_only = !write;
    env->is_broken = false;
    env->wanted_map = 0;
    return 0;
}

/* A folder that was made for a release that cannot be. Who opens it holds the root's lock, shared; so where there is no
 * data.mdb nobody has it open. */
static void take_back(const struct wp_store *store, const char *release)
{
    char folder[PATH_MAX], data[PATH_MAX], lock[PATH_MAX];
    int fd;
    if (make_path(store, release, "", folder, NULL) || make_path(store, release, "/data.mdb", data, NULL) ||
        make_path(store, release, "/lock.mdb", lock, NULL) || wp_lock_root(store->root, true, &fd, NULL))
        return;
    if (access(data, F_OK) && errno == ENOENT) {
        unlink(lock);
        rmdir(folder);
    }
    close(fd);
}

/* LMDB opens data.mdb and lock.mdb by name, one after the other: both must be of one folder. */
static int open_env(const struct wp_store *store, struct wp_env *env, bool write, struct wp_error *err)
{
    char folder[PATH_MAX];
    bool is_new = write && !make_path(store, env->release, "", folder, NULL) && access(folder, F_OK) && errno == ENOENT;
    int fd, rc = wp_lock_root(store->root, false, &fd, err);
    if (rc)
        return rc;
    rc = open_files(store, env, write, err);
    close(fd);
    if (rc && is_new)
        take_back(store, env->release);
    return rc;
}

static struct wp_env *find_env(struct wp_store *store, const char *release)
{
    struct wp_env *env;
    LIST_FOREACH(env, &store->envs, link)
    if (!strcmp(env->release, release))
        return env;
    return NULL;
}

static void drop_env(struct wp_store *store, struct wp_env *env)
{
    LIST_REMOVE(env, link);
    store->env_count--;
    close_env(env);
    free(env);
}

static void trim_idle(struct wp_store *store)
{
    struct wp_env *env = LIST_FIRST(&store->envs);
    while (env && store->env_count > IDLE_ENVS) {
        struct wp_env *next = LIST_NEXT(env, link);
        if (!env->transactions)
            drop_env(store, env);
        env = next;
    }
}

static int set_map_size(struct wp_store *store, struct wp_env *env, struct wp_error *err)
{
    int mdb_rc = 0, dead;
    if (!env->wanted_map)
        return 0;
    if (env->transactions)
        return wp_error_set(err, -EBUSY,
            "release '%s' of '%s': the map must grow, but %u transactions of this process are "
            "open in it; end them first",
            env->release, store->root, env->transactions);
    if (env->wanted_map != MAP_KNOWN)
        mdb_rc = mdb_reader_check(env->mdb, &dead);
    if (!mdb_rc)
        mdb_rc = mdb_env_set_mapsize(env->mdb, env->wanted_map == MAP_KNOWN ? 0 : env->wanted_map);
    if (mdb_rc)
        return wp_env_error(err, mdb_rc, "cannot enlarge the map", store, env->release);
    env->wanted_map = 0;
    return 0;
}

/* Opens, opens again for writing, or sets right what the last transaction left to do. */
static int ready_env(struct wp_store *store, struct wp_env *env, bool write, struct wp_error *err)
{
    bool is_replaced = env->mdb && wp_env_is_replaced(store, env);
    if (is_replaced && env->transactions && !write)
        return 0; /* as it was when they began: one snapshot */
    if (env->mdb && (env->is_broken || is_replaced || (write && env->is_read_only))) {
        if (env->transactions)
            return wp_error_set(err, -EBUSY,
                "release '%s' of '%s' must be opened again, but %u transactions of this "
                "process are open in it; end them first",
                env->release, store->root, env->transactions);
        close_env(env);
    }
    if (!env->mdb)
        return open_env(store, env, write, err);
    return set_map_size(store, env, err);
}

int wp_env_enter(struct wp_store *store, const char *release, bool write, struct wp_env **out, struct wp_error *err)
{
    if (!wp_id_valid(release))
        return wp_error_set(err, -EINVAL, "'%.150s' is not a release id: letters, digits and ._+- (1 to 128)", release);
    pthread_mutex_lock(&store->lock);
    int rc = 0;
    struct wp_env *env = find_env(store, release);
    if (!env) {
        env = calloc(1, sizeof(*env));
        if (env) {
            snprintf(env->release, sizeof(env->release), "%s", release);
            LIST_INSERT_HEAD(&store->envs, env, link);
            store->env_count++;
        } else {
            rc = wp_error_set(err, -ENOMEM, "out of memory for release '%s'", release);
        }
    }
    if (!rc)
        rc = ready_env(store, env, write, err);
    if (!rc) {
        env->transactions++;
        *out = env;
    } else if (env && !env->mdb && !env->transactions) {
        drop_env(store, env);
    }
    pthread_mutex_unlock(&store->lock);
    return rc;
}

void wp_env_leave(struct wp_store *store, struct wp_env *env)
{
    pthread_mutex_lock(&store->lock);
    env->transactions--;
    trim_idle(store);
    pthread_mutex_unlock(&store->lock);
}

void wp_env_want_larger(struct wp_store *store, struct wp_env *env)
{
    MDB_envinfo info;
    pthread_mutex_lock(&store->lock);
    if (!env->wanted_map && !mdb_env_info(env->mdb, &info) && info.me_mapsize < MAP_LIMIT)
        env->wanted_map = info.me_mapsize * 2;
    pthread_mutex_unlock(&store->lock);
}

void wp_env_want_known_size(struct wp_store *store, struct wp_env *env)
{
    pthread_mutex_lock(&store->lock);
    env->wanted_map = MAP_KNOWN;
    pthread_mutex_unlock(&store->lock);
}

void wp_env_set_broken(struct wp_store *store, struct wp_env *env)
{
    pthread_mutex_lock(&store->lock);
    env->is_broken = true;
    pthread_mutex_unlock(&store->lock);
}

bool wp_env_disk_is_full(const struct wp_store *store)
{
    struct statvfs disk;
    return !statvfs(store->root, &disk) && disk.f_bavail * disk.f_frsize < NO_ROOM_BYTES;
}
