/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_REFERENCE_H
#define WP_STORAGE_UPKEEP_REFERENCE_H
/*
 * Names of what is in a store: REV, REV~N (the release N before it, by when each began to be active, or by
 * ancestry.h), REV:AGGREGATE, REV:AGGREGATE@TIMEBOX (its first second). None of the marks is in an id. Where no release
 * is called REV, it is the release of the commit whose id begins so (four digits or more), or the newest one of the
 * branch of that name, as the releases' metadata says it.
 */
#include "storage/value/keys.h"

struct wp_store;
struct wp_txn;

struct wp_reference {
    char release[WP_ID_ROOM];
    uint64_t back;              /* releases before it */
    char aggregate[WP_ID_ROOM]; /* "": none */
    bool has_timebox;
    uint64_t timebox_s;
};

/* Whether a text has one of the marks, and so is no plain id. */
bool wp_is_reference(const char *text);
/* -EINVAL, with what is wrong. */
int wp_reference_parse(struct wp_reference *reference, const char *text, struct wp_error *err);
/* Whether one of the stores has a release of that very name, damaged or not. */
bool wp_release_is_there(struct wp_store *const *stores, size_t count, const char *release);
/* Writes the release that is meant into `release`, and leaves `back` at 0. The releases of all these stores are
 * counted. One that is not there stays as it is, for who opens it, where `back` is 0. -ENOENT; -EINVAL: several
 * releases are meant. */
int wp_reference_resolve(
    struct wp_reference *reference, struct wp_store *const *stores, size_t count, struct wp_error *err);
/* For who changes the release: its own id, and what is N before it, but no commit or branch. -ENOENT: the error names
 * the release that may be meant. */
int wp_reference_resolve_exact(struct wp_reference *reference, struct wp_store *store, struct wp_error *err);

#endif
