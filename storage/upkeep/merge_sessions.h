/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_MERGE_SESSIONS_H
#define WP_STORAGE_UPKEEP_MERGE_SESSIONS_H
/*
 * A recording may reach a store twice: by an aggregator, and by an `import` of its capture. The two are shards of
 * different origins, which a merge would keep side by side, and so count all of it twice. Of a session that two
 * aggregators had, one behind the other, each has its own part: that is no such case.
 */
#include "storage/env/txn.h"

/* -EEXIST: a session of `from` was imported from a capture, here or there, and `to` has it in a shard of another
 * origin. */
int wp_merge_sessions_check(struct wp_txn *to, struct wp_txn *from, struct wp_error *err);

#endif
