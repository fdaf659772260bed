/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_GENEALOGY_STORE_H
#define WP_STORAGE_KIND_GENEALOGY_STORE_H
/* Which process was started by which: rows of a shard, appended, compacted, expired. */
#include "storage/env/txn.h"

#define WP_GENEALOGY_ROWS                                                                                              \
    262144u               /* of a shard: of more the latest of each name and file stay, and whom they descend from */
struct wp_genealogy_row { /* "__state__/genealogy.<shard>": appended */
    const char *host, *comm, *exe;
    uint32_t pid, parent_pid;
    uint64_t start_ns, parent_start_ns; /* realtime; 0 unknown */
    uint64_t exec_ns, end_ns;           /* realtime; when it became that program, and when it ended as it; 0 not seen */
    uint32_t ending;                    /* WP_ENDING_*; 0 not known */
    /* Of one that the kernel killed for want of memory: the path of the cgroup whose memory had run out, "/" of the
     * whole machine; the name of the process that had most of it; how much the killed one had. NULL or "", 0: not
     * known. */
    const char *oom_cgroup, *oom_holder;
    uint64_t oom_bytes;
    const char *cgroup,
        *workload; /* the path of the one that it is in, and the container's name; NULL or "" not known */
};
/* How a process ended: a signal's number, or WP_ENDING_STATUS and its exit status, WP_ENDING_MOST where that is
 * greater. */
#define WP_ENDING_STATUS 65u
#define WP_ENDING_OOM 254u /* killed, as there was no memory */
#define WP_ENDING_MOST 255u

/* Whom the rows of a shard are shown to. */
struct wp_genealogy_visit {
    int (*each)(void *context, const struct wp_genealogy_row *row); /* texts are valid during the call */
    void *context;
    size_t damaged; /* becomes the number of values that cannot be read and are left out */
};
/* All rows, by host, pid and start; stops with what `each` returns when that is not 0. */
int wp_txn_read_genealogy(
    struct wp_txn *txn, const char *shard, struct wp_genealogy_visit *visit, struct wp_error *err);
/* Appends one delta, and compacts after every WP_DELTAS of them. Nothing is written for 0 rows; NULL texts are "". Rows
 * that differ behind parent_start_ns alone become one with the greatest of each. */
int wp_txn_add_genealogy(
    struct wp_txn *txn, const char *shard, const struct wp_genealogy_row *rows, size_t count, struct wp_error *err);

/* The part "genealogy", "sourcemap" or "source" of wp_txn_compact. */
int wp_genealogy_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);
/* Drops the rows that are not needed, nor ancestors of one that is. */
int wp_genealogy_expire(struct wp_txn *txn, const char *shard,
    bool (*is_needed)(void *context, const struct wp_genealogy_row *row), void *context, size_t *dropped,
    struct wp_error *err);
/* Whether two start times (0 unknown) may be of one process. */
bool wp_genealogy_same_start(uint64_t a_ns, uint64_t b_ns);

/* -EBADMSG unless a body has the very bytes that the writer makes of its rows; -ENOMEM. */
int wp_genealogy_check(const uint8_t *bytes, size_t size, struct wp_error *err);

/* Chunks of rows: a base and its deltas, of any number of stores. */
int wp_genealogy_join(const struct wp_buffer *values, size_t count, struct wp_buffer *out, struct wp_error *err);

#endif
