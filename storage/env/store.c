/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/store.h"

#include "common/path.h"
#include "common/strings.h"
#include "storage/env/network_fs.h"
#include "storage/env/shrink.h"
#include "storage/env/store_body.h"
#include "storage/env/store_lock.h"
#include "storage/env/txn.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Address space, not disk: the file grows with what is in it. */
#define WRITERS 64u /* of a store at once: shards that are tried */
#define MAP_SIZE ((size_t)1 << 30)

static bool is_of_release(const char *folder)
{
    char path[PATH_MAX + NAME_MAX + 32];
    struct stat st;
    snprintf(path, sizeof(path), "%s/data.mdb", folder);
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

int wp_store_refuse_nested(const char *place, struct wp_error *err)
{
    char path[PATH_MAX], real[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s%s", *place == '/' ? "" : "./", place) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "'%.100s...' is too long", place);
    while (!realpath(path, real)) { /* what is there already of the way to it */
        char *slash = strrchr(path, '/');
        if (!slash)
            return 0;
        slash[slash == path] = 0;
    }
    for (char *slash; *real; *slash = 0) {
        if (is_of_release(real))
            return wp_error_set(err, -EINVAL,
                "'%s' is in the release '%s' of a store, where only its own files are kept: choose "
                "another place",
                place, real);
        slash = strrchr(real, '/');
    }
    return 0;
}

bool wp_store_is_at(const char *root)
{
    DIR *folder = opendir(root);
    bool has_others = false, has_own = false;
    char path[PATH_MAX + NAME_MAX + 2];
    if (!folder)
        return errno == EACCES; /* who lists it says so */
    for (struct dirent *entry; !has_own && (entry = readdir(folder));) {
        const char *name = entry->d_name, *mark = strchr(name, '~');
        snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX, root, name);
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        errno = 0;
        has_own = (mark && mark[1]) || is_of_release(path);               /* "notes.txt~" is an editor's */
        has_others |= errno != EACCES && strcmp(name, "lost+found") != 0; /* what may not be read may be a release */
    }
    closedir(folder);
    return has_own || !has_others;
}

/* -ENOENT or -EINVAL with the way out: a folder with other things in it than a store's, or a release. */
static int expect_store(const char *root, struct wp_error *err)
{
    char inside[PATH_MAX + 8];
    struct stat st;
    if (wp_store_is_at(root))
        return 0;
    if (is_of_release(root))
        return wp_error_set(err, -EINVAL, "'%s' is one release of a store: give the folder above it", root);
    snprintf(inside, sizeof(inside), "%.*s/store", PATH_MAX, root);
    if (!stat(inside, &st) && S_ISDIR(st.st_mode) && wp_store_is_at(inside)) /* of a recording */
        return wp_error_set(err, -ENOENT, "'%s' is not a store: did you mean '%s'?", root, inside);
    return wp_error_set(err, -ENOENT,
        "'%s' is not a store: there is no release in it. Give the folder that an aggregator's --store names", root);
}

static int check_root(const char *root, bool create, struct wp_error *err)
{
    struct stat st;
    int rc = create ? wp_store_refuse_nested(root, err) : 0;
    if (rc)
        return rc;
    if (stat(root, &st)) {
        if (errno != ENOENT || !create)
            return wp_error_errno(err, -errno, "cannot open store '%s'%s", root,
                errno == ENOENT ? " (aggregators and `wakepath record --store` make stores)" : "");
        rc = wp_path_make(root, err);
        if (rc)
            return wp_error_wrap(err, rc, "cannot make store '%s'%s", root,
                rc == -EACCES ? " (make the folder for this user, or choose another)" : "");
        wp_name_sync(root, NULL); /* the folder above need not be this user's to read */
    } else if (!S_ISDIR(st.st_mode)) {
        return wp_error_set(err, -ENOTDIR, "cannot open store '%s': it is a file, a store is a folder", root);
    }
    rc = wp_network_fs_refuse(root, err);
    if (rc)
        return wp_error_wrap(err, rc, "cannot open store");
    if (access(root, create ? R_OK | W_OK | X_OK : R_OK | X_OK))
        return wp_error_errno(err, -errno, "cannot %s store '%s' (run as its owner, or choose another)",
            create ? "write to" : "read", root);
    return create ? 0 : expect_store(root, err);
}

int wp_store_open(struct wp_store **out, const char *root, bool create, struct wp_error *err)
{
    *out = NULL;
    if (!*root || strlen(root) >= PATH_MAX - 300)
        return wp_error_set(err, -EINVAL, "cannot open a store at '%.100s': not a usable path", root);
    int rc = check_root(root, create, err);
    if (rc)
        return rc;
    struct wp_store *store = calloc(1, sizeof(*store));
    if (!store || !(store->root = strdup(root))) {
        free(store);
        return wp_error_set(err, -ENOMEM, "out of memory for store '%s'", root);
    }
    for (size_t size = strlen(store->root); size > 1 && store->root[size - 1] == '/'; size--)
        store->root[size - 1] = 0;
    store->map_size = MAP_SIZE;
    store->is_guarded = !create;
    store->shard_fd = store->upkeep_fd = -1;
    LIST_INIT(&store->envs);
    pthread_mutex_init(&store->lock, NULL);
    *out = store;
    return 0;
}

void wp_store_close(struct wp_store *store)
{
    if (!store)
        return;
    struct wp_env *env;
    while ((env = LIST_FIRST(&store->envs))) {
        LIST_REMOVE(env, link);
        if (env->mdb)
            mdb_env_close(env->mdb);
        free(env);
    }
    pthread_mutex_destroy(&store->lock);
    if (store->shard_fd >= 0)
        close(store->shard_fd);
    if (store->upkeep_fd >= 0)
        close(store->upkeep_fd);
    free(store->root);
    free(store);
}

int wp_store_claim_shard(struct wp_store *store, const char *shard, struct wp_error *err)
{
    char name[160], what[400];
    if (!wp_id_valid(shard))
        return wp_error_set(err, -EINVAL, "'%.150s' is not a shard's id: letters, digits and ._+- (1 to 128)", shard);
    assert(store->shard_fd < 0);
    snprintf(name, sizeof(name), "shard.%s", shard);
    snprintf(what, sizeof(what), "shard '%s' of store '%.200s' has a writer already, give this one another --shard",
        shard, store->root);
    snprintf(store->shard, sizeof(store->shard), "%s", shard);
    return wp_lock_file(store->root, name, what, &store->shard_fd, err);
}

/* `rc` of who has opened and claimed. */
static int opened(struct wp_store **store, int rc)
{
    if (rc) {
        wp_store_close(*store);
        *store = NULL;
    }
    return rc;
}

int wp_store_open_shard(struct wp_store **store, const char *root, const char *shard, struct wp_error *err)
{
    int rc = wp_store_open(store, root, true, err);
    return opened(store, rc ? rc : wp_store_claim_shard(*store, shard, err));
}

/* Who is quicker between the look and the claim is as one that has it. */
static int claim_free(struct wp_store *store, const char *shard, struct wp_error *err)
{
    for (unsigned i = 1; i <= WRITERS; i++) {
        char name[WP_ID_ROOM + 16], lock[WP_ID_ROOM + 32];
        snprintf(name, sizeof(name), i > 1 ? "%s-%u" : "%s", shard, i);
        snprintf(lock, sizeof(lock), "shard.%s", name);
        int rc = wp_lock_is_held(store->root, lock) ? -EBUSY : wp_store_claim_shard(store, name, err);
        if (rc != -EBUSY)
            return rc;
    }
    return wp_error_set(err, -EBUSY, "%u others write into store '%.200s': wait for one of them, or give another store",
        WRITERS, store->root);
}

int wp_store_open_free_shard(struct wp_store **store, const char *root, const char *shard, struct wp_error *err)
{
    int rc = wp_store_open(store, root, true, err);
    return opened(store, rc ? rc : claim_free(*store, shard, err));
}

const char *wp_store_shard(const struct wp_store *store)
{
    return store->shard;
}

void wp_store_remove_unused(const char *root, const char *shard)
{
    char lock[PATH_MAX];
    if ((size_t)snprintf(lock, sizeof(lock), "%s/~shard.%s.lock", root, shard) >= sizeof(lock))
        return;
    unlink(lock);
    rmdir(root);
}

int wp_store_upkeep(struct wp_store *store, struct wp_error *err)
{
    char what[400];
    if (store->upkeep_fd >= 0)
        return 0;
    snprintf(what, sizeof(what), "somebody else tidies store '%.200s', try again when that has ended", store->root);
    int rc = wp_lock_file(store->root, "store", what, &store->upkeep_fd, err);
    return rc ? rc : wp_shrink_clean(store->root, err);
}

const char *wp_store_root(const struct wp_store *store)
{
    return store->root;
}

void wp_store_set_map_size(struct wp_store *store, size_t bytes)
{
    store->map_size = bytes;
}

void wp_store_set_unsynced(struct wp_store *store)
{
    store->is_unsynced = true;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static int stop_at_first(void *context, const char *key, size_t size)
{
    (void)context, (void)key, (void)size;
    return 1;
}

/* A release whose first transaction was given up holds nothing; one that cannot be read is there all the same. */
static bool holds_something(struct wp_store *store, const char *release)
{
    struct wp_txn *txn = NULL;
    if (wp_txn_begin(&txn, store, release, false, NULL))
        return true;
    int rc = wp_txn_visit(txn, "", stop_at_first, NULL, NULL);
    wp_txn_abort(txn);
    return rc != 0;
}

static bool is_folder(const struct wp_store *store, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    if (!wp_id_valid(name) || (size_t)snprintf(path, sizeof(path), "%s/%s/data.mdb", store->root, name) >= sizeof(path))
        return false;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

int wp_store_folders(struct wp_store *store, char ***folders, size_t *count, struct wp_error *err)
{
    *folders = NULL;
    *count = 0;
    DIR *root = opendir(store->root);
    if (!root)
        return wp_error_errno(err, -errno, "cannot list store '%s'", store->root);
    int rc = 0;
    struct dirent *entry;
    while (!rc && (entry = readdir(root)))
        if (is_folder(store, entry->d_name))
            rc = wp_strings_add(folders, count, entry->d_name);
    closedir(root);
    if (rc) {
        wp_strings_free(*folders, *count);
        *folders = NULL;
        *count = 0;
        return wp_error_set(err, rc, "out of memory for the list of releases");
    }
    if (*count)
        qsort(*folders, *count, sizeof(**folders), compare_names);
    return 0;
}

int wp_store_releases(struct wp_store *store, char ***releases, size_t *count, struct wp_error *err)
{
    return wp_store_releases_known(store, NULL, NULL, releases, count, err);
}

int wp_store_releases_known(struct wp_store *store, bool (*is_known)(void *context, const char *release), void *context,
    char ***releases, size_t *count, struct wp_error *err)
{
    int rc = wp_store_folders(store, releases, count, err);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if ((is_known && is_known(context, (*releases)[i])) || holds_something(store, (*releases)[i]))
            (*releases)[kept++] = (*releases)[i];
        else
            free((*releases)[i]);
    }
    *count = kept;
    return rc;
}

int wp_store_update(struct wp_store *store, const char *release, int (*work)(struct wp_txn *txn, void *context),
    void *context, struct wp_error *err)
{
    int rc = -EAGAIN;
    for (int tries = 0; rc == -EAGAIN && tries < WP_STORE_TRIES; tries++) {
        struct wp_txn *txn = NULL;
        rc = wp_txn_begin(&txn, store, release, true, err);
        if (rc)
            continue;
        rc = work(txn, context);
        if (rc)
            wp_txn_abort(txn);
        else
            rc = wp_txn_commit(txn, err);
    }
    return rc;
}
