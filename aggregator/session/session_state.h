/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_SESSION_STATE_H
#define WP_AGGREGATOR_SESSION_SESSION_STATE_H
/*
 * A session as a checkpoint (proto/resume.proto) has it: the state at the end of a batch, with the history before what
 * was resolved. The dictionary is beside it (wp_host_session_pending).
 */
#include "common/error.h"
#include "proto/batch.h"
#include "proto/resume.pb-c.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_host_session;

/* Of the last batch that can be gone on from, dictionary_bytes left out; owned by the caller. *m is NULL and 0 comes
 * back when it is not time for one, or when it would say no more than the last. -ENOMEM. */
int wp_session_state_save(
    const struct wp_host_session *session, Wakepath__Resume__Checkpoint **m, struct wp_error *err);
/* That of batch `seq` is on disk: batches up to it need not come again. */
void wp_session_state_saved(struct wp_host_session *session, uint64_t seq);

/* Whether it is a checkpoint of that session, and of this version. */
bool wp_session_state_is_of(const Wakepath__Resume__Checkpoint *m, const uint8_t session[16]);
/* What a batch before the checkpoint's defined; of each of them, in order, before wp_session_state_restore(). -errno:
 * see wp_dictionary_apply(). */
int wp_session_state_define(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err);
/* Into a session that has seen nothing. The message is checked first, and stays the caller's. On -errno (-EBADMSG: it
 * cannot be one of this session) the session must be made anew. */
int wp_session_state_restore(struct wp_host_session *session, Wakepath__Resume__Checkpoint *m, struct wp_error *err);

#endif
