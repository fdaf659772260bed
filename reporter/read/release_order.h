/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_READ_RELEASE_ORDER_H
#define WP_REPORTER_READ_RELEASE_ORDER_H
/*
 * The releases of some stores, newest first, and what each is compared with. With a repository: by ancestry, and the
 * nearest measured ancestor; without one, and for releases that it does not know: by the time of their newest activity,
 * and the one before. Releases of changed trees ("-dirty") are baselines only when asked for by name.
 */
#include "reporter/read/commits.h"
#include "reporter/read/stores.h"

/* A release and what it is compared with. */
struct wp_release_row {
    const char *id;
    uint64_t first_ns, last_ns; /* first and newest activity, 0 none or damaged */
    uint32_t place;             /* in the history, UINT32_MAX: not in it */
    size_t baseline;            /* row here; SIZE_MAX none */
    bool is_dirty;
    const struct wp_commit *commit; /* in the order's array, NULL: not asked for, or not known */
};

/* All releases of the stores; owns names and rows. */
struct wp_release_order {
    char **names; /* owned */
    struct wp_release_row *rows;
    struct wp_commit *commits; /* owned; NULL: no repository was given */
    size_t count;
};

/* How to order releases; borrowed during the read. */
struct wp_order_options {
    const char *git; /* a work tree or a bare clone; NULL none */
    /* When a release was active as an earlier run found it, false: not known; NULL: it is read. */
    bool (*known_time)(void *context, const char *release, uint64_t *first_ns, uint64_t *last_ns);
    void *known_context;
    const char *against; /* a release, or with git a commit: what all are compared with; NULL: each with its own */
};

/* -ENOENT: nothing is called `against`. */
int wp_release_order_read(struct wp_release_order *order, const struct wp_stores *stores,
    const struct wp_order_options *options, struct wp_error *err);
/* Frees names and rows, so the ids, too; a zeroed order is allowed. */
void wp_release_order_fini(struct wp_release_order *order);
/* SIZE_MAX: no such release. */
size_t wp_release_order_find(const struct wp_release_order *order, const char *id);

#endif
