/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_REMOVAL_H
#define WP_STORAGE_UPKEEP_REMOVAL_H
/*
 * What somebody removes by its name, inside a transaction of the caller's. Only what is named goes: state, objects and
 * other aggregates stay whole, and who writes the release meanwhile goes on with what comes after.
 */
#include "storage/upkeep/retention_rule.h"

/* Reports, traces and exemplars of all shards and hosts. */
struct wp_removal {
    const char *aggregate; /* a bucket's whole name; "": all aggregates */
    bool has_timebox;      /* else all of them */
    uint64_t timebox_s;
};

/* Deletes them, damaged ones too, and the metadata that is of nothing any more; tells each to rule->gone. -ENOENT:
 * nothing is there by that name; the error names the nearest timebox. */
int wp_txn_remove(
    struct wp_txn *txn, const struct wp_retention *rule, const struct wp_removal *removal, struct wp_error *err);
/* The session whose id begins with `text` (at least four hex digits). -ENOENT: none; -EINVAL: several, or no id. */
int wp_txn_find_session(struct wp_txn *txn, const char *text, uint8_t session[16], struct wp_error *err);

#endif
