/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_GONE_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_GONE_H
/* Threads that are gone are forgotten; what a timeline takes of memory. */
#include "aggregator/timeline/timeline_types.h"

/* What it takes of memory. */
size_t wp_timeline_bytes(const struct wp_timeline *timeline);

/* Forgets all of threads that were gone before `before_ns`: nothing of the time since then names one. Those with an
 * entry of the dictionary behind `known_entry` stay, since it is not in the store yet. */
void wp_timeline_bury(struct wp_timeline *timeline, uint64_t before_ns, uint32_t known_entry);

#endif
