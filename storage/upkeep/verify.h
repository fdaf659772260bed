/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_VERIFY_H
#define WP_STORAGE_UPKEEP_VERIFY_H
/*
 * Reads all of a release and says what is wrong: key grammar, headers, digests, messages, heads, references between
 * keys. Faults are told one by one; the result is only an error when the release cannot be read at all.
 */
#include "storage/env/store.h"
#include "storage/value/keys.h"

/* Whom to report faults to, and what was read. */
struct wp_verify {
    /* Called for each fault; `key` may be "" for the release as a whole. */
    void (*fault)(void *context, const char *release, const char *key, const char *reason);
    void *context;
    uint64_t keys, stored_bytes, raw_bytes, faults; /* counted up */
};

/* One value by itself: -EBADMSG and what is wrong, or its raw body appended. -EPROTONOSUPPORT: a newer program's. */
int wp_verify_value(
    struct wp_txn *txn, const char *text, const struct wp_key *key, struct wp_buffer *raw, struct wp_error *err);
/* 0 also when there are faults. -ENOENT: no such release; -ENOMEM. A damaged environment is a fault. */
int wp_verify_release(struct wp_verify *verify, struct wp_store *store, const char *release, struct wp_error *err);

#endif
