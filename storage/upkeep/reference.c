/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/reference.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/nearest.h"
#include "common/path.h"
#include "common/strings.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/commit_store.h"
#include "storage/kind/release_store.h"
#include "storage/report/head.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMIT_LEAST 4u /* digits that stand for a commit */

bool wp_is_reference(const char *text)
{
    return strpbrk(text, "~:@") != NULL;
}

static bool take_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *number = value;
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

int wp_reference_parse(struct wp_reference *reference, const char *text, struct wp_error *err)
{
    char copy[3 * WP_ID_ROOM], *mark;
    *reference = (struct wp_reference){0};
    if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
        return wp_error_set(err, -EINVAL, "'%.100s...' is too long for a reference", text);
    if ((mark = strchr(copy, '@'))) {
        *mark = 0;
        reference->has_timebox = true;
        if (!take_number(mark + 1, &reference->timebox_s))
            return wp_error_set(err, -EINVAL, "'%s': behind '@' stands the first second of a timebox", text);
    }
    if ((mark = strchr(copy, ':'))) {
        *mark = 0;
        if (!wp_aggregate_valid(mark + 1))
            return wp_error_set(err, -EINVAL, "'%s': behind ':' stands an aggregate", text);
        memcpy(reference->aggregate, mark + 1, strlen(mark + 1) + 1); /* an id has 128 bytes at most */
    } else if (reference->has_timebox) {
        return wp_error_set(err, -EINVAL, "'%s': a timebox is an aggregate's: REV:AGGREGATE@TIMEBOX", text);
    }
    if ((mark = strchr(copy, '~'))) {
        *mark = 0;
        reference->back = 1;
        if (mark[1] && !take_number(mark + 1, &reference->back))
            return wp_error_set(err, -EINVAL, "'%s': behind '~' stands a number of releases", text);
    }
    if (!wp_id_valid(copy))
        return wp_error_set(err, -EINVAL, "'%s' does not begin with a release", text);
    memcpy(reference->release, copy, strlen(copy) + 1);
    return 0;
}

struct begin {
    char *release;
    uint64_t first_ns;
};

struct search {
    struct wp_txn *txn;
    uint64_t first_ns;
};

static int look_at(void *context, const char *text, size_t size)
{
    struct search *search = context;
    struct wp_key key;
    struct wp_value value;
    struct wp_head head;
    const uint8_t *bytes;
    if (wp_key_parse(&key, text, NULL) || key.kind != WP_VALUE_REPORT ||
        wp_txn_stored(search->txn, text, &bytes, &size, NULL) || wp_value_parse(&value, bytes, size, NULL) ||
        !value.head_size || wp_head_decode(&head, value.head, value.head_size, NULL))
        return 0;
    uint64_t first_ns = head.first_ns ? head.first_ns : key.timebox_s * WP_NS_PER_S;
    if (!search->first_ns || first_ns < search->first_ns)
        search->first_ns = first_ns;
    return 0;
}

/* When it began to be active; 0: nothing says so, or it cannot be read. */
static uint64_t begin_of(struct wp_store *store, const char *release)
{
    struct search search = {0};
    if (wp_txn_begin(&search.txn, store, release, false, NULL))
        return 0;
    wp_txn_visit(search.txn, "", look_at, &search, NULL);
    wp_txn_abort(search.txn);
    return search.first_ns;
}

static int compare_begins(const void *left, const void *right)
{
    const struct begin *a = left, *b = right;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    return strcmp(a->release, b->release);
}

struct begins {
    struct begin *rows; /* names are owned */
    size_t count;
};

/* A release of several stores began where it began first. */
static int add_begin(struct begins *begins, const char *release, uint64_t first_ns)
{
    for (size_t i = 0; i < begins->count; i++)
        if (!strcmp(begins->rows[i].release, release)) {
            uint64_t known_ns = begins->rows[i].first_ns;
            begins->rows[i].first_ns = !known_ns || (first_ns && first_ns < known_ns) ? first_ns : known_ns;
            return 0;
        }
    if (WP_ARRAY_NEXT(begins->rows, begins->count))
        return -ENOMEM;
    begins->rows[begins->count] = (struct begin){strdup(release), first_ns};
    return begins->rows[begins->count].release ? (begins->count++, 0) : -ENOMEM;
}

static int list_begins(struct begins *begins, struct wp_store *const *stores, size_t count, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        char **releases = NULL;
        size_t release_count = 0;
        rc = wp_store_releases(stores[i], &releases, &release_count, err);
        for (size_t j = 0; !rc && j < release_count; j++)
            if (add_begin(begins, releases[j], begin_of(stores[i], releases[j])))
                rc = wp_error_set(err, -ENOMEM, "out of memory for the releases");
        wp_strings_free(releases, release_count);
    }
    if (!rc && begins->count)
        qsort(begins->rows, begins->count, sizeof(*begins->rows), compare_begins);
    return rc;
}

/* --- by commit --- */

bool wp_release_is_there(struct wp_store *const *stores, size_t count, const char *release)
{
    int rc = -ENOENT;
    for (size_t i = 0; rc == -ENOENT && i < count; i++) {
        struct wp_txn *txn = NULL;
        rc = wp_txn_begin(&txn, stores[i], release, false, NULL);
        wp_txn_abort(txn);
    }
    return rc != -ENOENT;
}

/* What a name fits best so far. */
struct match {
    char release[WP_ID_ROOM], commit[sizeof(((struct wp_commit *)0)->id)];
    uint64_t last_ns;
    bool is_of_commit, is_several;
    const char *only; /* commit; NULL: any */
};

static bool is_dirty(const char *release)
{
    size_t size = strlen(release);
    return size > 6 && !strcmp(release + size - 6, "-dirty");
}

/* A commit goes before a branch. Of a commit's releases the one whose tree was committed is the better one, then the
 * newest; of a branch's, the newest says which commit is meant. */
static void offer(
    struct match *match, const char *name, const char *release, const struct wp_commit *commit, uint64_t last_ns)
{
    size_t size = strlen(name);
    if (match->only && strcmp(match->only, commit->id))
        return;
    bool is_of_commit =
        size >= COMMIT_LEAST && strspn(name, "0123456789abcdef") == size && !strncmp(commit->id, name, size);
    if (!is_of_commit && (match->is_of_commit || strcmp(commit->branch, name)))
        return;
    bool is_other = match->is_of_commit && strcmp(match->commit, commit->id);
    match->is_several |= is_of_commit && is_other;
    bool is_by_tree = (is_of_commit || match->only) && is_dirty(match->release) != is_dirty(release);
    bool is_better = !*match->release || is_of_commit > match->is_of_commit ||
        (is_by_tree ? !is_dirty(release) : last_ns > match->last_ns);
    if (!is_better)
        return;
    snprintf(match->release, sizeof(match->release), "%s", release);
    snprintf(match->commit, sizeof(match->commit), "%s", commit->id);
    match->last_ns = last_ns;
    match->is_of_commit = is_of_commit;
}

static int match_store(struct match *match, struct wp_store *store, const char *name, struct wp_error *err)
{
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_store_releases(store, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_commit commit;
        struct wp_txn *txn = NULL;
        uint64_t first_ns, last_ns = 0;
        if (!wp_txn_begin(&txn, store, releases[i], false, NULL) && !wp_txn_commit_of(txn, &commit, NULL) &&
            *commit.id && !wp_txn_activity(txn, &first_ns, &last_ns, NULL))
            offer(match, name, releases[i], &commit, last_ns);
        wp_txn_abort(txn);
    }
    wp_strings_free(releases, count);
    return rc;
}

static int match_stores(
    struct match *match, struct wp_store *const *stores, size_t count, const char *name, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = match_store(match, stores[i], name, err);
    return rc;
}

static int find_commit(
    struct wp_reference *reference, struct wp_store *const *stores, size_t count, struct wp_error *err)
{
    struct match match = {.last_ns = 0}, newest;
    int rc = match_stores(&match, stores, count, reference->release, err);
    if (!rc && *match.release && !match.is_of_commit) {
        newest = match;
        match = (struct match){.only = newest.commit};
        rc = match_stores(&match, stores, count, reference->release, err);
    }
    if (!rc && match.is_several)
        return wp_error_set(
            err, -EINVAL, "releases of several commits begin with '%s': give more digits", reference->release);
    if (!rc && *match.release)
        snprintf(reference->release, sizeof(reference->release), "%s", match.release);
    return rc;
}

/* ", asked for as 'v7~1'"; "" where that is the name itself. */
static const char *asked_as(const struct wp_reference *reference, char *text, size_t room)
{
    *text = 0;
    if (reference->back)
        snprintf(text, room, ", asked for as '%s~%" PRIu64 "'", reference->release, reference->back);
    return text;
}

static int step_back(struct wp_reference *reference, struct wp_store *const *stores, size_t count, struct wp_error *err)
{
    char asked[WP_ID_ROOM + 48];
    struct begins begins = {0};
    size_t at = 0;
    if (!reference->back)
        return 0; /* who opens it will say whether it is there */
    int rc = list_begins(&begins, stores, count, err);
    while (!rc && at < begins.count && strcmp(begins.rows[at].release, reference->release))
        at++;
    if (!rc && at == begins.count)
        rc = wp_error_set(err, -ENOENT, "store '%s' has no release '%s'%s", wp_store_root(stores[0]),
            reference->release, asked_as(reference, asked, sizeof(asked)));
    else if (!rc && reference->back > at)
        rc = wp_error_set(err, -ENOENT, "there are only %zu releases before '%s'%s", at, reference->release,
            asked_as(reference, asked, sizeof(asked)));
    if (!rc)
        snprintf(reference->release, sizeof(reference->release), "%s", begins.rows[at - reference->back].release);
    reference->back = 0;
    for (size_t i = 0; i < begins.count; i++)
        free(begins.rows[i].release);
    free(begins.rows);
    return rc;
}

int wp_reference_resolve(
    struct wp_reference *reference, struct wp_store *const *stores, size_t count, struct wp_error *err)
{
    int rc = wp_release_is_there(stores, count, reference->release) ? 0 : find_commit(reference, stores, count, err);
    return rc ? rc : step_back(reference, stores, count, err);
}

/* With the release that a command that only reads would have found, or the nearest name. */
static int refuse_missing(const struct wp_reference *reference, struct wp_store *store, struct wp_error *err)
{
    struct wp_reference found = *reference;
    char **releases = NULL, asked[WP_ID_ROOM + 48];
    size_t count = 0;
    const char *name = reference->release, *meant = NULL;
    if (!find_commit(&found, &store, 1, NULL) && strcmp(found.release, name))
        meant = found.release;
    else if (!wp_store_releases(store, &releases, &count, NULL))
        meant = wp_nearest(name, (const char *const *)releases, count);
    wp_error_set(err, -ENOENT, "store '%s' has no release '%s'%s%s%s%s", wp_store_root(store), name,
        asked_as(reference, asked, sizeof(asked)), meant ? ": did you mean '" : "", meant ? meant : "",
        meant ? "'?" : "");
    wp_strings_free(releases, count);
    return -ENOENT;
}

int wp_reference_resolve_exact(struct wp_reference *reference, struct wp_store *store, struct wp_error *err)
{
    return wp_release_is_there(&store, 1, reference->release) ? step_back(reference, &store, 1, err)
                                                              : refuse_missing(reference, store, err);
}
