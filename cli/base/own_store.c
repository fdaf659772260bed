/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/own_store.h"

#include "common/buffer.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MARK "~recording" /* '~' is in no id: it is no release */
#define MARK_WORDS "wakepath recording "
#define MARK_BYTES 4096u
#define LOCKS 8u /* writers of a store at once that are reckoned with */
#define BLOCK ((size_t)1 << 20)

/* What stands in the mark. */
struct mark {
    bool is_there, is_sealed;
    char release[WP_ID_ROOM];
    uint64_t digest; /* of the release's data.mdb, when it is whole */
};

struct store {
    const char *path;
    int fd; /* of the folder; -1: there is none */
    struct mark mark;
    int locks[LOCKS]; /* of its writers, held */
    unsigned lock_count;
};

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), more = strlen(end);
    return size >= more && !strcmp(text + size - more, end);
}

static bool is_file(int folder, const char *name)
{
    struct stat st;
    return !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
}

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether `judge` agrees with each name in the folder. */
static bool all_names(int folder, bool (*judge)(const char *name, int folder, const void *context), const void *context)
{
    int copy = open_folder(folder, ".");
    DIR *names = copy < 0 ? NULL : fdopendir(copy);
    bool agrees = names;
    if (!names && copy >= 0)
        close(copy);
    for (struct dirent *entry = agrees ? readdir(names) : NULL; entry && agrees; entry = readdir(names))
        agrees = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || judge(entry->d_name, folder, context);
    if (names)
        closedir(names);
    return agrees;
}

static bool is_none(const char *name, int folder, const void *context)
{
    (void)name, (void)folder, (void)context;
    return false;
}

static bool is_of_release(const char *name, int folder, const void *context)
{
    (void)context;
    return (!strcmp(name, "data.mdb") || !strcmp(name, "lock.mdb")) && is_file(folder, name);
}

static bool is_lock(const char *name)
{
    return name[0] == '~' && ends_with(name, ".lock");
}

static bool is_mark(const char *name)
{
    return !strncmp(name, MARK, strlen(MARK)) && (!name[strlen(MARK)] || !strncmp(name + strlen(MARK), ".tmp.", 5));
}

/* What a recording keeps beside the release: its events, and pages made of them. */
static bool is_kept(const char *name)
{
    return !strcmp(name, WP_OWN_CAPTURE) || !strcmp(name, WP_OWN_CAPTURE ".partial") ||
        !strncmp(name, WP_OWN_PREFIX, strlen(WP_OWN_PREFIX));
}

static bool is_of_store(const char *name, int folder, const void *context)
{
    const struct mark *mark = context;
    if (is_lock(name) || is_mark(name) || is_kept(name))
        return is_file(folder, name);
    int release = strcmp(name, mark->release) ? -1 : open_folder(folder, name);
    bool is = release >= 0 && all_names(release, is_of_release, NULL);
    if (release >= 0)
        close(release);
    return is;
}

static int digest_of(int folder, const char *path, uint64_t *digest)
{
    int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    uint8_t *block = fd < 0 ? NULL : malloc(BLOCK);
    XXH3_state_t *state = block ? XXH3_createState() : NULL;
    ssize_t got = 0;
    if (!state)
        rc = fd < 0 ? -errno : -ENOMEM;
    else
        XXH3_64bits_reset(state);
    while (!rc && (got = read(fd, block, BLOCK)) != 0)
        if (got > 0)
            XXH3_64bits_update(state, block, (size_t)got);
        else if (errno != EINTR)
            rc = -errno;
    *digest = rc ? 0 : XXH3_64bits_digest(state);
    XXH3_freeState(state);
    free(block);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int data_digest(int folder, const char *release, uint64_t *digest)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/data.mdb", release);
    return digest_of(folder, path, digest);
}

static void read_mark(struct store *store)
{
    char text[MARK_BYTES];
    int fd = openat(store->fd, MARK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    if (sscanf(text, MARK_WORDS "%128s", store->mark.release) != 1 || !wp_id_valid(store->mark.release))
        return;
    store->mark.is_there = true;
    const char *line = strchr(text, '\n');
    store->mark.is_sealed = line && sscanf(line + 1, "data.mdb %16" SCNx64, &store->mark.digest) == 1;
}

/* 0; *fd -1 when nothing is there. */
static int open_store(struct store *store, const char *path, struct wp_error *err)
{
    *store = (struct store){.path = path, .fd = open_folder(AT_FDCWD, path)};
    if (store->fd < 0 && errno == ENOENT)
        return 0;
    if (store->fd < 0)
        return errno == ELOOP || errno == ENOTDIR
            ? wp_error_set(
                  err, -EEXIST, "'%s' is not a folder of a recording: move it away, or give another --out", path)
            : wp_error_errno(err, -errno, "cannot open '%s'", path);
    read_mark(store);
    return 0;
}

static void close_store(struct store *store)
{
    while (store->lock_count)
        close(store->locks[--store->lock_count]);
    if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
}

static bool is_empty(const struct store *store)
{
    return store->fd < 0 || all_names(store->fd, is_none, NULL);
}

static bool is_as_it_was(const struct store *store)
{
    uint64_t digest;
    return !store->mark.is_sealed ||
        (!data_digest(store->fd, store->mark.release, &digest) && digest == store->mark.digest);
}

static int check(const struct store *store, struct wp_error *err)
{
    if (is_empty(store) ||
        (store->mark.is_there && all_names(store->fd, is_of_store, &store->mark) && is_as_it_was(store)))
        return 0;
    return wp_error_set(err, -EEXIST,
        "'%s' is not a recording's own store, or was changed since: it is not removed. Add to it with "
        "--store '%s', move it away, or give another --out",
        store->path, store->path);
}

static void remove_release(int folder, const char *release)
{
    int fd = open_folder(folder, release);
    if (fd < 0)
        return;
    unlinkat(fd, "data.mdb", 0);
    unlinkat(fd, "lock.mdb", 0);
    close(fd);
    unlinkat(folder, release, AT_REMOVEDIR);
}

static bool unlink_file(const char *name, int folder, const void *context)
{
    (void)context;
    if (is_lock(name) || is_mark(name) || is_kept(name))
        unlinkat(folder, name, 0);
    return true;
}

/* What is left then was put there meanwhile, and stays. */
static int remove_files(const struct store *store, struct wp_error *err)
{
    remove_release(store->fd, store->mark.release);
    all_names(store->fd, unlink_file, NULL);
    return rmdir(store->path) ? wp_error_errno(err, -errno, "cannot remove '%s'", store->path) : 0;
}

int wp_own_store_check(const char *path, struct wp_error *err)
{
    struct store store;
    int rc = open_store(&store, path, err);
    if (!rc)
        rc = check(&store, err);
    close_store(&store);
    return rc;
}

bool wp_own_store_is_whole(const char *path)
{
    struct store store;
    bool is = !open_store(&store, path, NULL) && store.mark.is_sealed && !check(&store, NULL);
    close_store(&store);
    return is;
}

int wp_own_store_remove(const char *path, struct wp_error *err)
{
    struct store store;
    int rc = open_store(&store, path, err);
    if (!rc)
        rc = check(&store, err);
    if (!rc && store.fd >= 0)
        rc = remove_files(&store, err);
    close_store(&store);
    return rc;
}

int wp_own_store_begin(const char *path, const char *release, struct wp_error *err)
{
    char mark[PATH_MAX];
    int rc = wp_path_make(path, err);
    if (rc)
        return rc;
    if ((size_t)snprintf(mark, sizeof(mark), "%s/" MARK, path) >= sizeof(mark))
        return wp_error_set(err, -ENAMETOOLONG, "the name of the store is too long");
    int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 || dprintf(fd, MARK_WORDS "%s\n", release) < 0)
        rc = wp_error_errno(err, -errno, "cannot write '%s'", mark);
    if (fd >= 0)
        close(fd);
    if (rc && fd >= 0 && !unlink(mark)) /* it is this one's */
        rmdir(path);
    return rc;
}

/* It was written without waiting for the disk. */
static int sync_data(int folder, const char *release)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/data.mdb", release);
    int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

int wp_own_store_seal(const char *path, const char *release, struct wp_error *err)
{
    char mark[PATH_MAX], text[256];
    uint64_t digest = 0;
    int fd = open_folder(AT_FDCWD, path), rc = fd < 0 ? -errno : sync_data(fd, release);
    if (!rc)
        rc = data_digest(fd, release, &digest);
    if (fd >= 0)
        close(fd);
    if (rc)
        return wp_error_errno(err, rc, "cannot read the store '%s'", path);
    snprintf(mark, sizeof(mark), "%.*s/" MARK, PATH_MAX - 16, path);
    int size = snprintf(text, sizeof(text), MARK_WORDS "%s\ndata.mdb %016" PRIx64 "\n", release, digest);
    return wp_file_write_atomic(mark, text, (size_t)size, err);
}

static bool hold_lock(const char *name, int folder, const void *context)
{
    struct store *store = (struct store *)(uintptr_t)context;
    if (!is_lock(name))
        return true;
    int fd = store->lock_count < LOCKS ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd >= 0)
        store->locks[store->lock_count++] = fd;
    return fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB);
}

void wp_own_store_take_back(const char *path, const char *release)
{
    struct store store;
    if (open_store(&store, path, NULL) || store.fd < 0)
        return;
    snprintf(store.mark.release, sizeof(store.mark.release), "%s", release);
    if (!store.mark.is_there && all_names(store.fd, hold_lock, &store) && all_names(store.fd, is_of_store, &store.mark))
        remove_files(&store, NULL);
    close_store(&store);
}
