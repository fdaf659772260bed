/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/allowlist.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <xxhash.h>

#define BAD_NS (60 * WP_NS_PER_S) /* between two lines of the log about a bad list */
#define KEYS 65536u
#define FILE_BYTES ((size_t)16 << 20)
#define UNSETTLED_S 2 /* a file so young may change again without its times telling */

struct keys {
    struct wp_public_key *items; /* sorted by their bytes, owned */
    uint32_t count, room;
};

/* What the files look like from outside. */
struct looks {
    uint64_t hash;
    time_t youngest;
};

struct wp_allowlist {
    char *path;
    pthread_mutex_t lock; /* guards all below */
    struct keys keys;
    struct wp_log_limit bad; /* what the log has of it */
    uint64_t seen;           /* looks of the files when they were read last; 0: read them again */
};

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct wp_public_key *)a)->bytes, ((const struct wp_public_key *)b)->bytes, WP_KEY_BYTES);
}

static int add_key(struct keys *keys, const struct wp_public_key *key)
{
    if (keys->count == KEYS)
        return -E2BIG;
    if (WP_ARRAY_FIT(keys->items, keys->room, keys->count + 1))
        return -ENOMEM;
    keys->items[keys->count++] = *key;
    return 0;
}

static int read_file(struct keys *keys, const char *path, struct wp_error *err)
{
    struct wp_buffer text = {0};
    int rc = wp_file_read(path, FILE_BYTES, &text, err);
    unsigned number = 0;
    for (size_t at = 0; !rc && at < text.size;) {
        struct wp_public_key key;
        const char *line = (const char *)text.data + at, *end = memchr(line, '\n', text.size - at);
        size_t size = end ? (size_t)(end - line) : text.size - at;
        int got = wp_public_key_parse(&key, line, size, err);
        number++;
        at += size + 1;
        if (got > 0 && (got = add_key(keys, &key)) < 0)
            wp_error_errno(err, got, "cannot take more than %u keys", keys->count);
        if (got < 0)
            rc = wp_error_wrap(err, got, "%s:%u", path, number);
    }
    wp_buffer_fini(&text);
    return rc;
}

/* Calls for the file, or for each *.pub of the folder in no particular order; *.pub files that vanish meanwhile are
 * none. */
static int each_file(const char *path, int (*call)(void *context, const char *path, struct wp_error *err),
    void *context, struct wp_error *err)
{
    struct stat status;
    if (stat(path, &status))
        return wp_error_errno(err, -errno, "cannot read the allowlist '%s'%s", path,
            errno == ENOENT ? " (make the folder, and put each collector's NAME.pub there)" : "");
    if (!S_ISDIR(status.st_mode))
        return call(context, path, err);
    DIR *folder = opendir(path);
    if (!folder)
        return wp_error_errno(err, -errno, "cannot read the allowlist '%s'", path);
    int rc = 0;
    for (struct dirent *entry; !rc && (entry = readdir(folder));) {
        char name[PATH_MAX];
        size_t size = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || size < 5 || strcmp(entry->d_name + size - 4, ".pub"))
            continue;
        if ((size_t)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) < sizeof(name))
            rc = call(context, name, err);
        rc = rc == -ENOENT ? 0 : rc;
    }
    closedir(folder);
    return rc;
}

static int call_read(void *context, const char *path, struct wp_error *err)
{
    return read_file(context, path, err);
}

/* Order must not matter: hashes are added. */
static int call_look(void *context, const char *path, struct wp_error *err)
{
    struct looks *looks = context;
    struct stat st;
    if (stat(path, &st))
        return wp_error_errno(err, -errno, "cannot read '%s'", path);
    uint64_t values[] = {st.st_dev, st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
        (uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec};
    looks->hash += XXH3_64bits_withSeed(values, sizeof(values), XXH3_64bits(path, strlen(path)));
    looks->youngest = st.st_ctim.tv_sec > looks->youngest ? st.st_ctim.tv_sec : looks->youngest;
    return 0;
}

/* One key may not speak for two. */
static int check(struct keys *keys, const char *path, struct wp_error *err)
{
    if (keys->count)
        qsort(keys->items, keys->count, sizeof(*keys->items), compare);
    for (uint32_t i = 1; i < keys->count; i++) {
        const struct wp_public_key *a = &keys->items[i - 1], *b = &keys->items[i];
        if (!compare(a, b) && (a->kind != b->kind || memcmp(a->host, b->host, 16)))
            return wp_error_set(
                err, -EINVAL, "'%s' lists the key %s for two hosts ('%s' and '%s')", path, a->text, a->name, b->name);
    }
    return 0;
}

/* With the lock held. */
static int load(struct wp_allowlist *list, struct wp_error *err)
{
    struct looks looks = {.hash = 1};
    struct keys keys = {0};
    int rc =
        each_file(list->path, call_look, &looks, err); /* before it is read: what changes meanwhile is seen next time */
    list->seen = rc || time(NULL) - looks.youngest <= UNSETTLED_S ? 0 : looks.hash;
    if (!rc)
        rc = each_file(list->path, call_read, &keys, err);
    if (!rc)
        rc = check(&keys, list->path, err);
    if (rc) {
        free(keys.items);
        return rc;
    }
    bool is_same = keys.count == list->keys.count &&
        (!keys.count || !memcmp(keys.items, list->keys.items, keys.count * sizeof(*keys.items)));
    free(list->keys.items);
    list->keys = keys;
    return is_same ? 0 : 1;
}

int wp_allowlist_open(struct wp_allowlist **out, const char *path, struct wp_error *err)
{
    struct wp_allowlist *list = calloc(1, sizeof(*list));
    if (!list || !(list->path = strdup(path))) {
        free(list);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    pthread_mutex_init(&list->lock, NULL);
    int rc = load(list, err);
    if (rc < 0) {
        wp_allowlist_close(list);
        return rc;
    }
    *out = list;
    return 0;
}

void wp_allowlist_close(struct wp_allowlist *list)
{
    if (!list)
        return;
    pthread_mutex_destroy(&list->lock);
    free(list->keys.items);
    free(list->path);
    free(list);
}

int wp_allowlist_reload(struct wp_allowlist *list, bool is_forced, struct wp_error *err)
{
    struct looks looks = {.hash = 1};
    pthread_mutex_lock(&list->lock);
    int rc = each_file(list->path, call_look, &looks, err);
    if (!rc && (is_forced || !list->seen || looks.hash != list->seen))
        rc = load(list, err);
    pthread_mutex_unlock(&list->lock);
    return rc;
}

void wp_allowlist_refresh(struct wp_allowlist *list, bool is_forced, const struct wp_logger *logger)
{
    struct wp_error why = {0};
    int rc = wp_allowlist_reload(list, is_forced, &why);
    pthread_mutex_lock(&list->lock);
    size_t count = list->keys.count;
    bool is_told = rc < 0 && wp_log_allowed(logger, &list->bad, wp_clock_ns(), BAD_NS);
    pthread_mutex_unlock(&list->lock);
    if (rc > 0)
        wp_log(logger, WP_LOG_INFO, "the allowlist has changed keys=%zu", count);
    else if (is_told)
        wp_log(logger, WP_LOG_WARN, "cannot use the new allowlist, the previous one stays in force: %s", why.text);
}

size_t wp_allowlist_count(struct wp_allowlist *list)
{
    pthread_mutex_lock(&list->lock);
    size_t count = list->keys.count;
    pthread_mutex_unlock(&list->lock);
    return count;
}

bool wp_allowlist_find(struct wp_allowlist *list, const uint8_t bytes[WP_KEY_BYTES], struct wp_public_key *key)
{
    struct wp_public_key wanted;
    memcpy(wanted.bytes, bytes, WP_KEY_BYTES);
    pthread_mutex_lock(&list->lock);
    const struct wp_public_key *found =
        list->keys.count ? bsearch(&wanted, list->keys.items, list->keys.count, sizeof(wanted), compare) : NULL;
    if (found)
        *key = *found;
    pthread_mutex_unlock(&list->lock);
    return found;
}

bool wp_allowlist_has_host(struct wp_allowlist *list, const uint8_t host[16])
{
    bool is_there = false;
    pthread_mutex_lock(&list->lock);
    for (uint32_t i = 0; i < list->keys.count && !is_there; i++)
        is_there = list->keys.items[i].kind == WP_KEY_OF_HOST && !memcmp(list->keys.items[i].host, host, 16);
    pthread_mutex_unlock(&list->lock);
    return is_there;
}
