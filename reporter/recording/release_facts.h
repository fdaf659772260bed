/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_RELEASE_FACTS_H
#define WP_REPORTER_RECORDING_RELEASE_FACTS_H
/* What the page of a release says beside its aggregates: shards, recordings, hosts, metadata. Needed while it is
 * written. */
#include "reporter/facts/metadata_facts.h"

/* Aggregates of one name that were recorded with different parameters stand side by side: what tells one from the
 * others. */
struct wp_bucket_row {
    const char *aggregate, *key, *value;
};

/* The facts of one release. */
struct wp_release_facts {
    struct wp_pool pool;
    struct wp_metadata metadata;
    char **shards; /* owned, sorted */
    size_t shard_count;
    uint64_t sessions;             /* of collectors */
    struct wp_bucket_row *buckets; /* in the pool */
    size_t bucket_count;
    const char *damage; /* why the metadata cannot be read; NULL: it can */
};

/* Fills *release from the snapshot. Damaged metadata is no error: `damage` then has the reason. On error *release is
 * zeroed and needs no fini. */
int wp_release_facts_read(struct wp_release_facts *release, const struct wp_snapshot *snapshot, struct wp_error *err);
/* Frees the shards' names and the pool; zeroed facts are allowed. */
void wp_release_facts_fini(struct wp_release_facts *release);

#endif
