/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_READ_STORES_H
#define WP_REPORTER_READ_STORES_H
/*
 * Several stores read as one: their releases together, and of a release every report merged by the law, whichever store
 * it is in. A snapshot is one read transaction in each store that has the release.
 */
#include "common/path.h"
#include "storage/env/store.h"
#include "storage/kind/report_shares.h"
#include "storage/kind/selection.h"
#include "storage/report/exemplars.h"
#include "storage/report/trace.h"

#define WP_STORES_LIMIT 64u

/* Up to WP_STORES_LIMIT stores, open for reading. */
struct wp_stores {
    struct wp_store *stores[WP_STORES_LIMIT];
    size_t count;
};

/* A release at one moment; borrows the stores and must end before they are closed. */
struct wp_snapshot {
    const struct wp_stores *stores;
    const char *release;                  /* borrowed */
    struct wp_txn *txns[WP_STORES_LIMIT]; /* NULL: not in this store */
    struct wp_damage *damage;             /* stores whose share of the release cannot be read */
    size_t damage_count;
};

/* A report merged over all stores. */
struct wp_snapshot_sum {
    struct wp_report *report; /* owned */
    struct wp_damage *damage; /* owned; what could not be read */
    size_t damage_count;
};

/* Whom wp_snapshot_traces calls. */
struct wp_trace_visit {
    bool (*each)(void *context, struct wp_trace *trace); /* as wp_txn_read_traces */
    void *context;
    size_t *of_store; /* becomes 0 before each store */
};

/* -EINVAL: a store is given twice. */
int wp_stores_open(struct wp_stores *stores, const char *const *roots, size_t count, struct wp_error *err);
/* Every snapshot must have ended; zeroed stores are allowed. */
void wp_stores_close(struct wp_stores *stores);
/* Sorted, each once; free with wp_strings_free. `is_known` as of wp_store_releases_known. */
int wp_stores_releases(const struct wp_stores *stores, bool (*is_known)(void *context, const char *release),
    void *context, char ***releases, size_t *count, struct wp_error *err);

/* -ENOENT: no store has it; -EBADMSG: none that has it can be read; -EEXIST: two stores hold the same session of the
 * same shard: one is a copy of the other and the sum would count it twice. */
int wp_snapshot_begin(
    struct wp_snapshot *snapshot, const struct wp_stores *stores, const char *release, struct wp_error *err);
/* Ends the transactions and frees the damage; a zeroed snapshot is allowed. */
void wp_snapshot_end(struct wp_snapshot *snapshot);
/* The aggregates as the stores name them, each bucket (storage/value/bucket.h) of them all. */
int wp_snapshot_buckets(const struct wp_snapshot *snapshot, char ***buckets, size_t *count, struct wp_error *err);
/* Their names for people, sorted: without the digest where there is only one bucket of that name. */
int wp_snapshot_aggregates(const struct wp_snapshot *snapshot, char ***aggregates, size_t *count, struct wp_error *err);
/* The shards that hold the release, sorted, each once; free with wp_strings_free. */
int wp_snapshot_shards(const struct wp_snapshot *snapshot, char ***shards, size_t *count, struct wp_error *err);
/* The bucket that a name means, with or without its digest. -ENOENT: none, or one of several. */
int wp_snapshot_bucket(
    const struct wp_snapshot *snapshot, const char *asked, char bucket[WP_ID_ROOM], struct wp_error *err);
/* The bucket of `older` that is compared with `asked` of `newer`: of the same parameters, so of the same command and
 * workload; else, when each has only one of that name, that one. `name`: as wp_snapshot_aggregates has it. -ENOENT:
 * there is none. */
int wp_snapshot_counterpart(const struct wp_snapshot *older, const struct wp_snapshot *newer, const char *asked,
    char name[WP_ID_ROOM], struct wp_error *err);
/* As wp_txn_read_report and wp_txn_read_trace. */
int wp_snapshot_report(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    struct wp_snapshot_sum *sum, struct wp_error *err);
/* Frees report and damage; a caller that keeps the report sets it to NULL first. */
void wp_snapshot_sum_fini(struct wp_snapshot_sum *sum);
/* As wp_txn_read_shares, store by store: a shard of the same name in another one is another machine's. */
int wp_snapshot_shares(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    int (*each)(void *context, const struct wp_share *share, struct wp_error *err), void *context,
    struct wp_error *err);
/* *trace: the one that begins last, the caller's to destroy. -ENOENT: no store has one. A store's error is returned
 * only when no store gives a trace. */
int wp_snapshot_trace(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    struct wp_trace **trace, struct wp_error *err);
/* As wp_txn_read_traces, of one store after the other; *of_store is set to 0 before each. */
int wp_snapshot_traces(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    const struct wp_trace_visit *visit, struct wp_error *err);
/* Joined, as wp_txn_read_exemplars. */
int wp_snapshot_exemplars(const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_selection *selection, struct wp_exemplars *set, struct wp_error *err);
/* What went into the release. A host has one session at a time, hosts of a fleet have theirs at once: so many
 * recordings as the host with most sessions has there were at least, one after the other, and of more nothing is known.
 */
struct wp_recordings {
    uint64_t sessions; /* of collectors, each counted once */
    uint64_t at_least; /* recordings one after the other */
};
/* Of `hosts` (wp_hosts_match), NULL: of all. */
int wp_snapshot_recordings(
    const struct wp_snapshot *snapshot, const char *hosts, struct wp_recordings *recordings, struct wp_error *err);

#endif
