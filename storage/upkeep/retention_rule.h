/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_RETENTION_RULE_H
#define WP_STORAGE_UPKEEP_RETENTION_RULE_H
/* What a release keeps and for how long, and the deleting by it. */
#include "storage/upkeep/rollup.h"

#define WP_RAW_TIMEBOX_S 3600u /* the length of a timebox that does not say its own */

struct wp_retention {
    struct wp_roll_up roll_up; /* first; when not `is_rolled`, hours and days of its ages are deleted instead */
    bool is_rolled;
    uint64_t traces_s, months_s, state_s; /* ages, from a timebox' end; WP_FOREVER */
    /* Called for each value that goes, of each one that is made smaller (bytes: by how much) or becomes part of a sum.
     */
    void (*gone)(void *context, const char *key, uint64_t bytes, const char *why);
    void *context;
};

/* Deletes and tells. */
int wp_retention_delete(
    struct wp_txn *txn, const struct wp_retention *rule, const char *key, const char *why, struct wp_error *err);

#endif
