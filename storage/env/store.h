/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_STORE_H
#define WP_STORAGE_ENV_STORE_H
/*
 * The store: one LMDB environment a release under one root, keys laid out like StatProfiler's aggregate directories
 * (docs/store-format.md), values with magic, kind, version, codec, raw size and digest around zstd.
 * A write transaction is all or nothing. Readers never block the writer and see one snapshot.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/report/exemplars.h"
#include "storage/report/report.h"
#include "storage/report/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum wp_value_kind {
    WP_VALUE_SHARD = 1, WP_VALUE_METADATA, WP_VALUE_PROCESSED, WP_VALUE_LAST_SAMPLE, WP_VALUE_GENEALOGY,
    WP_VALUE_SOURCEMAP, WP_VALUE_SOURCE, WP_VALUE_CLOCK, WP_VALUE_REPORT, WP_VALUE_TRACE, WP_VALUE_BLOB,
    WP_VALUE_EXEMPLARS,
    WP_VALUE_KINDS
};

struct wp_store;
struct wp_txn;

/* Opens (create: makes) the root. Without `create` each environment is walked through by a child process when it is
 * opened, so that a ruined one is -EBADMSG and not the end of the caller. -EACCES/-EROFS say whether it is the root or its
 * parent; a network file system is refused with an explanation where it can be told. */
int wp_store_open(struct wp_store **store, const char *root, bool create, struct wp_error *err);
void wp_store_close(struct wp_store *store);
/* A shard has one writer: claims it for this handle until it is closed or its process ends. -EBUSY: another has it. */
int wp_store_claim_shard(struct wp_store *store, const char *shard, struct wp_error *err);
/* wp_store_open that creates, and claims; what an aggregator opens with. */
int wp_store_open_shard(struct wp_store **store, const char *root, const char *shard, struct wp_error *err);
/* Before a handle prunes, merges, repairs or otherwise rewrites what others wrote: one at a time in a root, until the
 * handle is closed. Removes what a killed one has left. -EBUSY. */
int wp_store_upkeep(struct wp_store *store, struct wp_error *err);
/* A process opens a root once at a time (LMDB's file locks are the process's); threads may share the handle. */
const char *wp_store_root(const struct wp_store *store);
/* Address space of environments that are opened from now on (default 1 GiB); they grow by themselves. */
void wp_store_set_map_size(struct wp_store *store, size_t bytes);
/* Sorted release ids; free each and the array. Each is opened to see that it holds something. */
int wp_store_releases(struct wp_store *store, char ***releases, size_t *count, struct wp_error *err);
/* The same; those that `is_known` knows to hold something are not opened. NULL: none is known. */
int wp_store_releases_known(struct wp_store *store, bool (*is_known)(void *context, const char *release), void *context,
    char ***releases, size_t *count, struct wp_error *err);

/* Write transactions create the release when it is new; read transactions of a missing one return -ENOENT.
 * A full map grows by itself and the transaction must then be begun again: -EAGAIN from put or commit. */
int wp_txn_begin(struct wp_txn **txn, struct wp_store *store, const char *release, bool write, struct wp_error *err);
int wp_txn_commit(struct wp_txn *txn, struct wp_error *err); /* ends it, whatever it returns */
void wp_txn_abort(struct wp_txn *txn);                       /* NULL-safe */

/* Begins, works, commits, and does it again while the map grows. `work` must be able to run twice; a result other than
 * 0 ends the transaction without effect and is returned. */
#define WP_STORE_TRIES 40
int wp_store_update(struct wp_store *store, const char *release, int (*work)(struct wp_txn *txn, void *context),
    void *context, struct wp_error *err);

/* Raw protobuf (or blob) bytes by key; wraps and compresses. */
int wp_txn_put(struct wp_txn *txn, const char *key, enum wp_value_kind kind, const uint8_t *bytes, size_t size,
    struct wp_error *err);
/* Appends the raw bytes to `out`. -ENOENT; -EBADMSG: damaged (err names the key and what is wrong). */
int wp_txn_get(struct wp_txn *txn, const char *key, enum wp_value_kind kind, struct wp_buffer *out, struct wp_error *err);
int wp_txn_delete(struct wp_txn *txn, const char *key, struct wp_error *err);
/* Calls `visit` for every key with this prefix, in order, until it returns non-zero (which is returned). */
int wp_txn_visit(struct wp_txn *txn, const char *prefix, int (*visit)(void *context, const char *key, size_t value_size),
    void *context, struct wp_error *err);

/* --- what the aggregator writes in an epoch --- */
/* Deltas of a value that make its next one sum them up: a session that never ends does not pile them up. */
#define WP_DELTAS 64u
/* "<aggregate>/report.<timebox>.<shard>.~<delta>", delta = the next free number of that report, ten digits. */
int wp_txn_add_report(struct wp_txn *txn, const char *aggregate, uint64_t timebox_s, const char *shard,
    const struct wp_report *report, struct wp_error *err);
/* The same of one host, by its name: "<aggregate>/report.<timebox>.<shard>@<host>.~<delta>" (storage/value/host_part.h). NULL: of none. */
int wp_txn_add_host_report(struct wp_txn *txn, const char *aggregate, uint64_t timebox_s, const char *shard, const char *host,
    const struct wp_report *report, struct wp_error *err);
/* "<aggregate>/trace.<timebox>.<shard>", replaced. */
int wp_txn_put_trace(struct wp_txn *txn, const char *aggregate, uint64_t timebox_s, const char *shard,
    const struct wp_trace *trace, struct wp_error *err);
/* "<aggregate>/exemplars.<timebox>.<shard>": joined with those that are there. */
int wp_txn_join_exemplars(struct wp_txn *txn, const char *aggregate, uint64_t timebox_s, const char *shard,
    const struct wp_exemplars *set, struct wp_error *err);
/* Merges all deltas of every report of this shard into "<aggregate>/report.<timebox>.<shard>". */
int wp_txn_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);

struct wp_resume {             /* "__state__/processed.<session>.<shard>" */
    uint8_t session[16], host[16];
    char hostname[256];
    uint64_t seq;              /* all batches up to it are in */
    uint64_t until_mono_ns;    /* epochs are resolved up to here */
    bool ended;                /* the session said Bye */
};
int wp_txn_put_resume(struct wp_txn *txn, const char *shard, const struct wp_resume *resume, struct wp_error *err);
/* -ENOENT when the session is unknown here. */
int wp_txn_get_resume(struct wp_txn *txn, const char *shard, const uint8_t session[16], struct wp_resume *resume,
    struct wp_error *err);
/* "__state__/last_sample.<shard>": session -> realtime seconds of its last batch (merged into what is there). */
int wp_txn_put_last_sample(struct wp_txn *txn, const char *shard, const uint8_t session[16], uint64_t real_s,
    struct wp_error *err);
/* The same for many sessions: the value is read and written once. */
int wp_txn_put_last_samples(struct wp_txn *txn, const char *shard, const uint8_t (*sessions)[16], size_t count, uint64_t real_s,
    struct wp_error *err);

struct wp_genealogy_row {      /* "__state__/genealogy.<shard>": appended */
    const char *host, *comm, *exe;
    uint32_t pid, parent_pid;
    uint64_t start_ns, parent_start_ns; /* realtime; 0 unknown */
};
int wp_txn_add_genealogy(struct wp_txn *txn, const char *shard, const struct wp_genealogy_row *rows, size_t count,
    struct wp_error *err);

struct wp_sourcemap_row {      /* "__state__/sourcemap.<shard>": (build id, offset) -> function and those inlined there */
    const uint8_t *build_id;
    uint32_t build_id_size;
    const char *object, *function;
    uint64_t offset;
    const char *file;          /* NULL or "" unknown */
    uint32_t line;             /* in `file`: of the place, or of the call of the next level; 0 unknown */
    uint32_t level;            /* 0: the function itself, 1: what is inlined in it there ... */
};
int wp_txn_add_sourcemap(struct wp_txn *txn, const char *shard, const struct wp_sourcemap_row *rows, size_t count,
    struct wp_error *err);

struct wp_source_row {         /* "__state__/source.<shard>": a process had that object, or that part of a JIT map */
    const char *host, *name;   /* name: path, "[vdso]", "[jit]" */
    uint64_t start_ns;         /* realtime, 0 unknown */
    uint32_t pid;
    uint8_t digest[16];        /* of its blob, which wp_txn_put_blob has put in the same release */
};
int wp_txn_add_sources(struct wp_txn *txn, const char *shard, const struct wp_source_row *rows, size_t count, struct wp_error *err);
/* "__source__/<aa>/<bb>/<digest>", unless it is there already; its digest. */
int wp_txn_put_blob(struct wp_txn *txn, const uint8_t *bytes, size_t size, uint8_t digest[16], struct wp_error *err);

struct wp_clock_row {          /* "__state__/clock.<shard>": per host and span */
    uint8_t host[16];
    const char *hostname, *method; /* "anchor": the session's own realtime anchor */
    uint64_t from_mono_ns, to_mono_ns;
    int64_t offset_ns;         /* realtime - monotonic */
    uint64_t bound_ns;         /* UINT64_MAX: none known */
};
int wp_txn_put_clock(struct wp_txn *txn, const char *shard, const struct wp_clock_row *rows, size_t count,
    struct wp_error *err);
/* Key-value metadata at three levels: aggregate NULL: "__state__/metadata.<shard>", else "<aggregate>/metadata.<shard>".
 * Merged into what is there, last writer by time wins. */
int wp_txn_put_metadata(struct wp_txn *txn, const char *aggregate, const char *shard, const char *key, const char *value,
    uint64_t real_s, struct wp_error *err);
struct wp_metadata_entry {
    const char *key, *value;
};
/* The same for many keys, of which the later of two alike counts: the value is read and written once. */
int wp_txn_put_all_metadata(struct wp_txn *txn, const char *aggregate, const char *shard, const struct wp_metadata_entry *entries,
    size_t count, uint64_t real_s, struct wp_error *err);
struct wp_metadata_place {
    const char *aggregate;     /* NULL: of the release */
    bool has_timebox;          /* "<aggregate>/metadata.~<timebox>.<shard>" */
    uint64_t timebox_s;
};
/* As wp_txn_put_all_metadata, at any of the three levels. */
int wp_txn_put_metadata_at(struct wp_txn *txn, const struct wp_metadata_place *place, const char *shard, const struct wp_metadata_entry *entries,
    size_t count, uint64_t real_s, struct wp_error *err);
/* At any of the three levels; value NULL removes the key from this shard. -ENOENT: it was not there. */
int wp_txn_set_metadata(struct wp_txn *txn, const struct wp_metadata_place *place, const char *shard, const char *key,
    const char *value, uint64_t real_s, struct wp_error *err);
struct wp_metadata_row {
    const char *shard, *key, *value;
    uint64_t real_s;
    bool is_winner;            /* of all shards: later, then greater shard id */
};
/* By key, the winner first. */
int wp_txn_all_metadata(struct wp_txn *txn, const struct wp_metadata_place *place, int (*visit)(void *context,
    const struct wp_metadata_row *row), void *context, struct wp_error *err);
/* "__state__/shard.<shard>" with a new origin, and empty state values that are not there yet, so that the layout is whole. */
int wp_txn_register_shard(struct wp_txn *txn, const char *shard, struct wp_error *err);

/* --- what the reporter reads --- */
struct wp_damage {             /* a value that could not be read; left out, and said so */
    char *key, *reason;
};
struct wp_selection {          /* zeroed: everything */
    uint64_t since_s, until_s; /* timeboxes; until 0: no end */
    const char *shard;
    const char *hosts;         /* of these hosts (wp_hosts_match); NULL: of all */
};
/* What came for timeboxes when they had long been over (docs/store-format.md), as their metadata says. Added to. */
struct wp_late {
    uint64_t total_ns, timeboxes; /* of control paths; values that say so, one a timebox and shard */
    uint64_t last_s;           /* realtime when the last of it came */
};
int wp_txn_late(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection, struct wp_late *late, struct wp_error *err);
/* What one host, or a shard whose hosts have no reports of their own, has in a timebox. */
struct wp_share {
    uint64_t timebox_s;
    const char *shard, *host;  /* host: as the key has it (storage/value/host_part.h), "" none */
    struct wp_report *report;  /* whose hosts are its names; the taker's from now on */
};
/* Names of the aggregates of a release, sorted; free each and the array. */
int wp_txn_aggregates(struct wp_txn *txn, char ***aggregates, size_t *count, struct wp_error *err);
/* All matching reports merged; damaged ones go to *damage (free with wp_damage_free) and are left out. -ENOENT: none
 * matches. -EINVAL: hosts that are meant and others share one report. On failure *report and *damage are NULL. */
int wp_txn_read_report(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_report **report, struct wp_damage **damage, size_t *damage_count, struct wp_error *err);
/* Calls `take` with the sum of each share of the selection, by shard, host and timebox; damaged values are left out. Together they
 * are what wp_txn_read_report reads. -ENOENT: no such aggregate. */
int wp_txn_read_shares(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    int (*take)(void *context, const struct wp_share *share, struct wp_error *err), void *context, struct wp_error *err);
/* The newest trace of the aggregate in the selection; -ENOENT. */
int wp_txn_read_trace(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_trace **trace, struct wp_error *err);
/* Calls `take` with one after the other, those of newer timeboxes first, until it says false: they are its own from then on. What cannot be
 * read is left out. -ENOENT: no such aggregate. */
int wp_txn_read_traces(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    bool (*take)(void *context, struct wp_trace *trace), void *context, struct wp_error *err);
/* Joins the exemplars of the selection into `set`, which the caller has made ({0}) and frees whatever is returned. Those that
 * cannot be read are left out, and -EBADMSG tells of the last one when all others have been read. */
int wp_txn_read_exemplars(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_exemplars *set, struct wp_error *err);
/* Realtime of the first and the newest activity in any report of the release, from their heads alone; 0 none. Damaged ones say nothing. */
int wp_txn_activity(struct wp_txn *txn, uint64_t *first_ns, uint64_t *last_ns, struct wp_error *err);
/* Digest over the keys and value digests with this prefix: what a page rests on. */
int wp_txn_digest(struct wp_txn *txn, const char *prefix, uint64_t digest[2], struct wp_error *err);
/* Sorted shards and timeboxes; free. */
int wp_txn_shards(struct wp_txn *txn, char ***shards, size_t *count, struct wp_error *err);
int wp_txn_metadata(struct wp_txn *txn, const char *aggregate, int (*visit)(void *context, const char *shard,
    const char *key, const char *value), void *context, struct wp_error *err);
void wp_damage_free(struct wp_damage *damage, size_t count);
void wp_strings_free(char **strings, size_t count);
/* Appends a copy. -ENOMEM. */
int wp_strings_add(char ***strings, size_t *count, const char *text);

#endif
