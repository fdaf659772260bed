/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_BUCKET_STORE_H
#define WP_STORAGE_KIND_BUCKET_STORE_H
/* The parameters of buckets (storage/value/bucket.h) in the metadata of their aggregates. */
#include "storage/env/txn.h"
#include "storage/value/bucket.h"

/* Says the facts in the aggregate's metadata. */
int wp_bucket_put(struct wp_txn *txn, const char *shard, const struct wp_bucket_fact facts[WP_BUCKET_FACTS],
    uint64_t real_s, struct wp_error *err);

/* The one that is meant by `asked` (wp_bucket_choose) among the aggregates of a release. */
int wp_txn_bucket(struct wp_txn *txn, const char *asked, char chosen[WP_ID_ROOM], struct wp_error *err);
/* "key value, key value" of the parameters in which a bucket differs from others of its NAME; "" when it is alone. */
int wp_bucket_difference(struct wp_txn *txn, char *const *names, size_t count, const char *name, struct wp_buffer *out,
    struct wp_error *err);
/* -EBADMSG: its metadata says parameters, and its name has not been made of them. */
int wp_bucket_check(struct wp_txn *txn, const char *name, struct wp_error *err);

#endif
