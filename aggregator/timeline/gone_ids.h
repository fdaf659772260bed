/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_GONE_IDS_H
#define WP_AGGREGATOR_TIMELINE_GONE_IDS_H
/* Which threads and sockets a dictionary has forgotten, in a checkpoint; for timeline_state.c. */
#include "proto/dictionary.h"
#include "proto/resume.pb-c.h"

/* Fills gone_threads and gone_sockets of `out`, which owns them. -ENOMEM. */
int wp_gone_ids_save(const struct wp_dictionary *dictionary, Wakepath__Resume__Checkpoint *out);
/* Forgets the same; those behind what the batches of the checkpoint defined come again, if only to be spoken of no
 * more. */
void wp_gone_ids_restore(struct wp_dictionary *dictionary, const Wakepath__Resume__Checkpoint *from);

#endif
