/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_REPORT_STORE_H
#define WP_STORAGE_KIND_REPORT_STORE_H
/* Stored reports one by one, for what rewrites them: compaction, roll-up, merging of stores. */
#include "storage/env/txn.h"
#include "storage/kind/report_place.h"
#include "storage/kind/selection.h"
#include "storage/report/report.h"
#include "storage/report/trace.h"

/* The key of a report (or trace, exemplars) that stands there. -EINVAL: an id is too long,
 * or not valid. */
int wp_txn_report_key(
    struct wp_key *key, enum wp_value_kind kind, const struct wp_report_place *place, struct wp_error *err);
/* A report's body and head as they are stored. */
int wp_report_pack_headed(const struct wp_report *report, uint64_t timebox_length_s, struct wp_buffer *body,
    struct wp_buffer *head_bytes, struct wp_error *err);
/* Lists "<aggregate>/<what>."; -ENOENT when the aggregate has no key at all. */
int wp_txn_list(
    struct wp_txn *txn, const char *aggregate, const char *what, char ***keys, size_t *count, struct wp_error *err);
/* The report of one key, which the caller destroys. -ENOENT; -EBADMSG: damaged, the error names the key. */
int wp_txn_decode_report(struct wp_txn *txn, const char *key, struct wp_report **report, struct wp_error *err);
/* Merges the value into *sum (NULL: becomes it). */
int wp_txn_merge_report(struct wp_txn *txn, const char *key, struct wp_report **sum, struct wp_error *err);
/* Whether a result means that this value is damaged, and no other. */
bool wp_is_damage(int rc);
/* Ids and rows in canonical order: what is shown must not depend on how many deltas it came in. */
int wp_report_make_canonical(struct wp_report **report, struct wp_error *err);
/* Writes body and head under the key, in place of what is there. `timebox_length_s` as in struct wp_head. */
int wp_txn_put_report(struct wp_txn *txn, const struct wp_key *key, const struct wp_report *report,
    uint64_t timebox_length_s, struct wp_error *err);
/* Seconds that a rolled-up report covers; 0: as long as its writer made it (and for a damaged one). */
uint64_t wp_txn_timebox_length(struct wp_txn *txn, const char *key);

/* "<aggregate>/trace.<timebox>.<shard>", replaced. */
int wp_txn_put_trace(
    struct wp_txn *txn, const struct wp_report_place *place, const struct wp_trace *trace, struct wp_error *err);

struct wp_damage { /* a value that could not be read; left out, and said so */
    char *key, *reason;
};
/* What there was to be read; both are the caller's. */
struct wp_report_reading {
    struct wp_report *report;
    struct wp_damage *damage; /* free with wp_damage_free */
    size_t damage_count;
};
/* All matching reports merged; damaged ones are left out. -ENOENT: none matches. -EINVAL: hosts that are meant and
 * others share one report. On failure *reading is zeroed. */
int wp_txn_read_report(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_report_reading *reading, struct wp_error *err);
/* The newest trace of the aggregate in the selection; -ENOENT. */
int wp_txn_read_trace(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_trace **trace, struct wp_error *err);
/* Calls `take` with one after the other, those of newer timeboxes first, until it says false: they are its own from
 * then on. What cannot be read is left out. -ENOENT: no such aggregate. */
int wp_txn_read_traces(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    bool (*take)(void *context, struct wp_trace *trace), void *context, struct wp_error *err);
/* Frees the array and the texts in it; NULL with a count of 0 is allowed. */
void wp_damage_free(struct wp_damage *damage, size_t count);

#endif
