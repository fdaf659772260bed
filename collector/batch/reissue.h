/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_REISSUE_H
#define WP_COLLECTOR_BATCH_REISSUE_H
/*
 * A session whose dictionary is too large is reissued as sessions that are not: the same events, with ids of their
 * own. Each begins with how threads and connections stand at that instant. What comes out depends on the session, where
 * it is cut and the bound alone, ids of sessions included: repeated after a crash it is the same.
 */
#include "common/error.h"
#include "proto/batch.h"
#include "proto/session.h"

struct wp_reissue;

/* Where it goes; each returns 0 or -errno. Batches are numbered, and valid during the call. */
struct wp_reissue_to {
    int (*begin)(void *context, const struct wp_hello *hello, struct wp_error *err);
    int (*batch)(void *context, const struct wp_batch *batch, struct wp_error *err);
    int (*end)(void *context, const struct wp_bye *bye, struct wp_error *err);
    void *context;
    size_t session_bytes; /* bound of a session's dictionary; what lives comes on top of it */
    uint32_t part;        /* the sessions are numbered behind this one */
};

/* `hello` is the session's, and borrowed. */
int wp_reissue_create(
    struct wp_reissue **reissue, const struct wp_hello *hello, const struct wp_reissue_to *to, struct wp_error *err);
/* Frees it without a call of `end` for the session that was begun last (wp_reissue_finish makes it). NULL is
 * allowed. */
void wp_reissue_destroy(struct wp_reissue *reissue);
/* A batch that need not be told: what it defines, and how things stand behind it, is remembered. */
int wp_reissue_pass(struct wp_reissue *reissue, const struct wp_batch *batch, struct wp_error *err);
/* A batch that is reissued; the first one begins a session. */
int wp_reissue_batch(struct wp_reissue *reissue, const struct wp_batch *batch, struct wp_error *err);
/* The session that was begun last ends. 0 also when none was. */
int wp_reissue_finish(struct wp_reissue *reissue, struct wp_error *err);

#endif
