/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ENGINE_CHECKPOINT_H
#define WP_AGGREGATOR_ENGINE_CHECKPOINT_H
/*
 * What an aggregator keeps of a live session beside the store, so that one that was killed goes on where the last
 * commit ended: in FOLDER/SHARD, SESSION.dictionary (what the batches defined, appended) and SESSION.checkpoint (the
 * state at the end of a batch, history before what was resolved; replaced as a whole). A batch is acknowledged when it
 * is not needed any more to make the state again. After a restart the batches behind the checkpoint come again, and
 * what is resolved of them up to the last commit is thrown away: it is in the store. docs/delivery.md.
 */
#include "aggregator/session/host_session.h"

struct wp_checkpoints;

/* Makes the folder. */
int wp_checkpoints_open(struct wp_checkpoints **checkpoints, const char *folder, const char *shard,
    const struct wp_logger *logger, struct wp_error *err);
/* The files stay, for the next start; NULL is allowed. */
void wp_checkpoints_close(struct wp_checkpoints *checkpoints);
/* Writes the session's checkpoint if there is one to be had that says more than the last; then acked_seq of its
 * progress has grown. Errors leave the last one in force. */
int wp_checkpoints_write(struct wp_checkpoints *checkpoints, struct wp_host_session *session, struct wp_error *err);
/* Into a session that was just created and has seen nothing. -ENOENT: there is none; -EBADMSG: there is a ruined one.
 * On both the session must be made anew. */
int wp_checkpoints_read(struct wp_checkpoints *checkpoints, struct wp_host_session *session, struct wp_error *err);
/* For a start: removes what sessions left that are over (a crash may come between their last commit and the removal, or
 * undo that), as `has_ended` says of one with reports in `release`, and what nobody has gone on with for a month. */
void wp_checkpoints_sweep(struct wp_checkpoints *checkpoints,
    bool (*has_ended)(void *context, const uint8_t session[16], const char *release), void *context);
/* The session is over. */
void wp_checkpoints_remove(struct wp_checkpoints *checkpoints, const uint8_t session[16]);

#endif
