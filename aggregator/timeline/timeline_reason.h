/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_REASON_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_REASON_H
/* Why a thread was off its CPU, as the collector tells it when that is over, and what took a CPU from its thread; for
 * timeline.c. */
#include "aggregator/timeline/timeline_types.h"

/* WP_EVENT_REASON of the thread of that index, 0: not known. Nothing is kept of a reason that is not known. A quota's
 * comes before the switch to the thread, or at the same time. */
void wp_timeline_reason(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread);

#endif
