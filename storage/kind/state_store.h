/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_STATE_STORE_H
#define WP_STORAGE_KIND_STATE_STORE_H
/* State of sessions and hosts: where each session resumes, when it was heard of last, and its clock. */
#include "storage/env/txn.h"

struct wp_resume { /* "__state__/processed.<session>.<shard>" */
    uint8_t session[16], host[16];
    char hostname[256];
    uint64_t seq;           /* all batches up to it are in */
    uint64_t until_mono_ns; /* epochs are resolved up to here */
    bool ended;             /* the session said Bye */
};
/* In place of what the session has there. -EINVAL: not a valid shard id. */
int wp_txn_put_resume(struct wp_txn *txn, const char *shard, const struct wp_resume *resume, struct wp_error *err);
/* -ENOENT when the session is unknown here. */
int wp_txn_get_resume(
    struct wp_txn *txn, const char *shard, const uint8_t session[16], struct wp_resume *resume, struct wp_error *err);
/* "__state__/last_sample.<shard>": session -> realtime seconds of its last batch (merged into what is there). */
int wp_txn_put_last_sample(
    struct wp_txn *txn, const char *shard, const uint8_t session[16], uint64_t real_s, struct wp_error *err);
/* The same for many sessions: the value is read and written once. */
int wp_txn_put_last_samples(struct wp_txn *txn, const char *shard, const uint8_t (*sessions)[16], size_t count,
    uint64_t real_s, struct wp_error *err);

struct wp_clock_row { /* "__state__/clock.<shard>": per host and span */
    uint8_t host[16];
    const char *hostname, *method; /* "anchor": the session's own realtime anchor */
    uint64_t from_mono_ns, to_mono_ns;
    int64_t offset_ns; /* realtime - monotonic */
    uint64_t bound_ns; /* UINT64_MAX: none known */
};
/* Merged into what is there: a span takes the place of the one of the same host, start and method. -EBADMSG: what is
 * there is damaged; -EINVAL: not a valid shard id. */
int wp_txn_put_clock(
    struct wp_txn *txn, const char *shard, const struct wp_clock_row *rows, size_t count, struct wp_error *err);

/* The checks of the three bodies; -EBADMSG with what is wrong. This one holds the session against the key's. */
int wp_processed_check(const struct wp_key *key, const uint8_t *bytes, size_t size, struct wp_error *err);
/* Sessions have 16 bytes and ascend, each once. */
int wp_last_sample_check(const uint8_t *bytes, size_t size, struct wp_error *err);
/* Hosts have 16 bytes, no span ends before it starts, and spans ascend by host, start and method. */
int wp_clock_check(const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
