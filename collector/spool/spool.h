/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SPOOL_SPOOL_H
#define WP_COLLECTOR_SPOOL_SPOOL_H
/*
 * The spool: a folder with one folder a session (spool_session.h), bounded as a whole. What is not yet acknowledged
 * waits there, through crashes of the collector and of the machine. One collector at a time: `lock` is held while it is
 * open. When it is full, by its limit or because the disk is, whole oldest segments go: their events are counted as
 * lost.
 */
#include "collector/spool/spool_session.h"
#include "common/log.h"

struct wp_spool;

/* -EBUSY: another collector has it. `path` is made when it is not there. */
int wp_spool_open(struct wp_spool **spool, const char *path, uint64_t limit_bytes, const struct wp_logger *logger,
    struct wp_error *err);
/* Everything stays on disk. */
void wp_spool_close(struct wp_spool *spool);
/* The session that is recorded now; what the spool already has of it stays. The spool owns it. */
int wp_spool_begin(
    struct wp_spool *spool, const struct wp_hello *hello, struct wp_spool_session **session, struct wp_error *err);
/* True when one of the others goes on behind a session. */
bool wp_spool_has_successors(const struct wp_spool *spool);
/* The session that is recorded goes on in another one and is still being delivered: it is no part of the backlog until
 * it is let go (NULL). */
void wp_spool_hold(struct wp_spool *spool, const struct wp_spool_session *session);
/* The oldest of the other sessions, NULL: none is left. */
struct wp_spool_session *wp_spool_backlog(struct wp_spool *spool);
/* A frame for wp_spool_append, borrowed during the call. */
struct wp_spool_frame {
    const uint8_t *bytes; /* of a batch, as it is sent */
    size_t size;
    bool may_go;
};

/* As wp_spool_session_append; makes room first. When the disk is full before the limit is reached, batches that are not
 * acknowledged go only if they `may_go`: else -ENOSPC. */
int wp_spool_append(struct wp_spool *spool, struct wp_spool_session *session, const struct wp_batch *batch,
    const struct wp_spool_frame *frame, struct wp_error *err);
/* The session that is recorded is a part of the backlog from now on. */
void wp_spool_let_go(struct wp_spool *spool, const struct wp_spool_session *session);
/* All of it has arrived: its folder is removed. */
void wp_spool_remove(struct wp_spool *spool, struct wp_spool_session *session);
/* It cannot be delivered now: it stays on disk for the next collector, and is no part of the backlog any more. */
void wp_spool_set_aside(struct wp_spool *spool, struct wp_spool_session *session);
/* Bytes on disk of all sessions, and of the reserve that is given back to make room when the disk is full. */
uint64_t wp_spool_bytes(const struct wp_spool *spool);

#endif
