/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SPOOL_SPOOL_SESSION_H
#define WP_COLLECTOR_SPOOL_SPOOL_SESSION_H
/*
 * One session in the spool: a folder with its `hello`, segments of whole batches named by their first number, and the
 * `dictionary`: what is left of the batches before the segments, which has no events but everything later batches refer
 * to. `acked` says up to where which aggregator has it, `bye` that the session ended as it should.
 *
 * Every number from 1 to the last can be read at any time: as it was, without its events, or as a counted gap.
 */
#include "collector/spool/spool_batch.h"
#include "proto/session.h"

struct wp_spool_session;

/* Opens the folder `path`, and makes it when `hello` is given and there is none. -ENOENT: no hello in it. */
int wp_spool_session_open(struct wp_spool_session **session, const char *path, const struct wp_hello *hello,
    uint64_t segment_bytes, struct wp_error *err);
/* Everything stays on disk. */
void wp_spool_session_close(struct wp_spool_session *session);
/* Removes the folder and frees the session. */
void wp_spool_session_remove(struct wp_spool_session *session);

/* The Hello that it was opened with or that is in the folder. The session owns it. */
const struct wp_hello *wp_spool_session_hello(const struct wp_spool_session *session);
uint64_t wp_spool_session_last(const struct wp_spool_session *session); /* batch, 0: none yet */
/* The last acknowledged batch, at whichever aggregator; 0: none yet. */
uint64_t wp_spool_session_acked(const struct wp_spool_session *session);
/* The first batch that still has its events; last + 1: none. */
uint64_t wp_spool_session_oldest(const struct wp_spool_session *session);
/* Bytes on disk of segments, dictionary and small files. */
uint64_t wp_spool_session_bytes(const struct wp_spool_session *session);
/* Times that a batch was asked for of which something is lost: damaged, or not there. */
uint64_t wp_spool_session_damaged(const struct wp_spool_session *session);
uint64_t wp_spool_session_torn(const struct wp_spool_session *session); /* bytes that were cut at opening */
/* It was refused once more: how often that was, by this collector and those before. */
unsigned wp_spool_session_refused(struct wp_spool_session *session);
/* Batches that were dropped before they were acknowledged. */
uint64_t wp_spool_session_lost(const struct wp_spool_session *session);
/* Its Bye: what was set, or as the records say. */
void wp_spool_session_bye(const struct wp_spool_session *session, struct wp_bye *bye);
/* Writes `bye` to disk, in place of an earlier one. -errno: it is not there, but this session uses it from now on all
 * the same. */
int wp_spool_session_set_bye(struct wp_spool_session *session, const struct wp_bye *bye, struct wp_error *err);

/* `frame` is the batch as it travels. A number that is there already is ignored. -ENOSPC or another -errno: nothing
 * changed.
 */
int wp_spool_session_append(struct wp_spool_session *session, const struct wp_batch *batch, const uint8_t *frame,
    size_t size, struct wp_error *err);
/* The aggregator at `endpoint` has no use for its events: they are counted, there or at another one. */
bool wp_spool_session_is_past(const struct wp_spool_session *session, uint64_t seq, const char *endpoint);
/* A whole BATCH frame for `endpoint`, valid until the next call. What another aggregator has acknowledged comes without
 * its events: they are counted there. */
int wp_spool_session_read(struct wp_spool_session *session, uint64_t seq, const char *endpoint, const uint8_t **frame,
    size_t *size, struct wp_error *err);
/* Durable at `endpoint` up to `seq`. Segments that are older than that by the history go into the dictionary. */
int wp_spool_session_acknowledge(
    struct wp_spool_session *session, uint64_t seq, const char *endpoint, struct wp_error *err);
/* Makes room: the oldest segment goes into the dictionary, and what was not acknowledged in it is counted as lost. 0
 * when there is none, or when something would be lost and that is not wanted. */
int wp_spool_session_shrink(struct wp_spool_session *session, bool may_lose, struct wp_error *err);
/* The last resort: 1 when the dictionary was given up, and what it named is nameless to an aggregator that begins anew.
 */
int wp_spool_session_forget(struct wp_spool_session *session);
/* Once a second: what was written is synced. What could not be may read as zeros from now on, and each later call fails
 * as well. */
int wp_spool_session_sync(struct wp_spool_session *session, struct wp_error *err);

#endif
