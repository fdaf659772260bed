/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/read/named.h"

#include "common/path.h"
#include "common/strings.h"
#include "common/history.h"
#include "storage/kind/selection.h"
#include "storage/upkeep/ancestry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool wp_named_valid(const char *text)
{
    struct wp_reference reference;
    return wp_id_valid(text) || !wp_reference_parse(&reference, text, NULL);
}

/* What git knows by that name is a release's commit. The release, or SIZE_MAX. */
static size_t ask_git(const char *git, char *const *releases, size_t count, const char *release, uint64_t back)
{
    char name[WP_ID_ROOM + 32];
    struct wp_history *history = NULL;
    snprintf(name, sizeof(name), back ? "%s~%llu" : "%s", release, (unsigned long long)back);
    const struct wp_history_question question = {git, releases, count, name};
    size_t row = wp_history_read(&history, &question, NULL) ? SIZE_MAX : wp_history_named(history, true);
    wp_history_destroy(history);
    return row;
}

int wp_named_find(
    const struct wp_stores *stores, const char *git, char release[WP_ID_ROOM], uint64_t *back, struct wp_error *err)
{
    struct wp_reference reference = {0};
    char **releases = NULL;
    size_t count = 0, row = SIZE_MAX;
    snprintf(reference.release, sizeof(reference.release), "%s", release);
    bool is_there = wp_release_is_there(stores->stores, stores->count, release);
    int rc = is_there && !*back ? 0 : wp_stores_releases(stores, NULL, NULL, &releases, &count, err);
    if (!rc && !is_there)
        row = ask_git(git ? git : ".", releases, count, release, *back);
    if (row != SIZE_MAX) {
        snprintf(reference.release, sizeof(reference.release), "%s", releases[row]);
    } else if (!rc) {
        rc = wp_reference_resolve(&reference, stores->stores, stores->count, err);
        reference.back = *back;
    }
    if (!rc)
        rc = wp_reference_by_ancestry(&reference, &(struct wp_ancestry){git, releases, count}, err);
    wp_strings_free(releases, count);
    if (!rc)
        rc = wp_reference_resolve(&reference, stores->stores, stores->count, err);
    if (!rc)
        snprintf(release, WP_ID_ROOM, "%s", reference.release);
    *back = rc ? *back : 0;
    return rc;
}

static int find_release(struct wp_reference *reference, const struct wp_named *named, const char *const *roots,
    size_t count, struct wp_error *err)
{
    struct wp_stores stores;
    int rc = wp_stores_open(&stores, roots, count, err);
    if (rc)
        return rc;
    rc = wp_named_find(&stores, named->git, reference->release, &reference->back, err);
    wp_stores_close(&stores);
    return rc;
}

int wp_named_resolve(const struct wp_named *named, struct wp_reference *reference, const char *const *roots,
    size_t count, struct wp_error *err)
{
    if (!*named->release)
        return 0;
    int rc = wp_reference_parse(reference, *named->release, err);
    if (!rc)
        rc = find_release(reference, named, roots, count, err);
    if (rc)
        return rc;
    if (*reference->aggregate && *named->aggregate && strcmp(reference->aggregate, *named->aggregate))
        return wp_error_set(
            err, -EINVAL, "'%s' and --aggregate %s cannot both be meant", *named->release, *named->aggregate);
    *named->release = reference->release;
    if (*reference->aggregate)
        *named->aggregate = reference->aggregate;
    if (reference->has_timebox)
        *named->selection = (struct wp_selection){
            .since_s = reference->timebox_s, .until_s = reference->timebox_s + 1, .shard = named->selection->shard};
    return 0;
}
