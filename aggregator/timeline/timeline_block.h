/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_BLOCK_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_BLOCK_H
/* Block requests, and until when a thread worked on one that it serves. */
#include "aggregator/timeline/timeline_types.h"

/* Takes a BLOCK event, in the order of time. `thread`: index of its task, 0 not known. */
void wp_timeline_block(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread);

#endif
