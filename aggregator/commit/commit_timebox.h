/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_COMMIT_COMMIT_TIMEBOX_H
#define WP_AGGREGATOR_COMMIT_COMMIT_TIMEBOX_H
/*
 * What a commit says of timeboxes, as their metadata (wakepath-store(5)): what the hosts were when they began to add
 * to it (host.NAME.{kernel,boot,version,label.KEY}), and how much came late for it: behind its end by more than
 * late_after_s (late.{events,total_ns,last_s}, host.NAME.late.{events,total_ns}). The latter are added to in the
 * transaction that brings the reports, so that they are as exact.
 */
#include "aggregator/commit/commit_options.h"
#include "aggregator/session/host_session.h"

struct wp_report;
struct wp_timebox_note; /* of one timebox of one aggregate */
struct wp_txn;

/* Zeroed: none. */
struct wp_timebox_notes {
    struct wp_timebox_note *rows; /* owned */
    size_t count;
};

/* What was late is `report`, of that host (NULL: of several). -ENOMEM. */
int wp_timebox_notes_late(struct wp_timebox_notes *notes, const char *bucket, uint64_t timebox_s, const char *host,
    const struct wp_report *report);
/* A session adds to it for the first time. -ENOMEM. The texts are borrowed. */
int wp_timebox_notes_host(
    struct wp_timebox_notes *notes, const char *bucket, uint64_t timebox_s, const struct wp_host_session *session);
/* Puts the metadata into the transaction, late counts added to what the store has: once a transaction. The notes stay.
 * -ENOMEM, or an -errno of the store; err says why. */
int wp_timebox_notes_write(const struct wp_timebox_notes *notes, struct wp_txn *txn,
    const struct wp_commit_options *options, struct wp_error *err);
/* Adds what of them was late. */
void wp_timebox_notes_count(const struct wp_timebox_notes *notes, struct wp_late_counts *counts);
/* Frees the notes and zeroes them; zeroed is allowed. Sessions, buckets and names are the caller's. */
void wp_timebox_notes_fini(struct wp_timebox_notes *notes);

#endif
