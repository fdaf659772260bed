/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_RELEASE_RETENTION_H
#define WP_STORAGE_UPKEEP_RELEASE_RETENTION_H
/*
 * Which whole releases of a store go. The order is that of their last activity, and then of their names. Never goes:
 * the newest release of an aggregate, one that was named, one that is recorded now, and one that does not say when it
 * was active.
 */
#include "storage/env/store.h"

/* A release and what decides whether it goes. */
struct wp_retained_release {
    const char *name;  /* borrowed */
    uint64_t last_s;   /* when it was active last, realtime; 0 unknown */
    char **aggregates; /* names without what parts buckets; owned */
    size_t aggregate_count;
    bool is_named, is_live; /* named: its metadata has `keep` (not "no"), or cannot be read, or who prunes names it;
                               live: a session that has not ended was heard of in the last day */
    const char *why;        /* it goes; NULL it stays; a literal */
};

/* 1: its metadata has `keep` (not "no"), or cannot be read; else 0, or what hinders. */
int wp_txn_is_kept(struct wp_txn *txn, struct wp_error *err);
/* All but the name. */
int wp_release_row_read(struct wp_retained_release *row, struct wp_txn *txn, uint64_t now_s, struct wp_error *err);
/* Frees the array and what wp_release_row_read put into the rows; not their names. NULL is allowed. */
void wp_release_rows_free(struct wp_retained_release *rows, size_t count);

/* Sets `why` of those that are too many (most: SIZE_MAX none are) or too old (age_s from their last activity;
 * UINT64_MAX never). */
void wp_releases_choose(struct wp_retained_release *rows, size_t count, size_t most, uint64_t age_s, uint64_t now_s);
/* The oldest one that may go and does not go already; NULL: none. */
struct wp_retained_release *wp_releases_oldest(struct wp_retained_release *rows, size_t count);

#endif
