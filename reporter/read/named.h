/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_READ_NAMED_H
#define WP_REPORTER_READ_NAMED_H
/* References (storage/upkeep/reference.h) where a command line asks for a release: REV~N, REV:AGGREGATE,
 * REV:AGGREGATE@TIMEBOX. Where no release is called REV, it is a commit or branch of the releases' metadata, or what
 * git knows by that name: HEAD, HEAD~2, a branch, a tag. REV~N of a release that the repository knows counts its
 * measured ancestors (storage/upkeep/ancestry.h). */
#include "reporter/read/stores.h"
#include "storage/upkeep/reference.h"

/* What a command line asks for; the texts are borrowed. */
struct wp_named {
    const char **release, **aggregate;
    struct wp_selection *selection;
    const char *git; /* as of wp_named_find */
};

/* True: a plain id, or something that wp_named_resolve understands. */
bool wp_named_valid(const char *text);
/* The release that is meant by `release` and `back`, as above; `git`: the repository, NULL: that of this folder if
 * there is one. What is nothing's name stays as it is. -ENOENT: there are not so many before it. */
int wp_named_find(
    const struct wp_stores *stores, const char *git, char release[WP_ID_ROOM], uint64_t *back, struct wp_error *err);
/* Leaves the id of a release that is there as it is. What a reference means replaces what `named` points at, by texts
 * in *reference. -ENOENT; -EINVAL: two different aggregates are asked for. */
int wp_named_resolve(const struct wp_named *named, struct wp_reference *reference, const char *const *roots,
    size_t count, struct wp_error *err);

#endif
