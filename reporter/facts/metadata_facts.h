/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_METADATA_FACTS_H
#define WP_REPORTER_FACTS_METADATA_FACTS_H
/* What recordings and people said of a release or of an aggregate: keys with values, of all shards and all stores. */
#include "reporter/base/text_pool.h"
#include "reporter/read/stores.h"

struct wp_metadata_fact {
    const char *key, *value, *shard;
    uint64_t real_s; /* when it was said */
};

struct wp_metadata {
    const struct wp_metadata_fact *rows; /* by key; of one key the later comes first, then the greater shard */
    size_t count;
};

/* aggregate NULL: of the release. The rows belong to the pool. -EBADMSG: a value is damaged, then nothing is read. */
int wp_metadata_read(struct wp_metadata *metadata, struct wp_pool *pool, const struct wp_snapshot *snapshot,
    const char *aggregate, struct wp_error *err);
/* The place of the first row of that key or after it. */
size_t wp_metadata_find(const struct wp_metadata *metadata, const char *key);
/* The value that counts; NULL when nobody said any. */
const char *wp_metadata_text(const struct wp_metadata *metadata, const char *key);
/* A counter: the shards' values together; what is no number counts as 0. */
uint64_t wp_metadata_sum(const struct wp_metadata *metadata, const char *key);

#endif
