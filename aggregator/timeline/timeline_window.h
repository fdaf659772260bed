/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_WINDOW_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_WINDOW_H
/*
 * A recording in windows (WP_EVENT_WINDOW): what goes on when one ends is cut there, and nothing is known until the
 * next begins.
 */
#include "aggregator/timeline/timeline_types.h"

/* A WINDOW event. Once more what it is already changes nothing. */
void wp_timeline_window(struct wp_timeline *timeline, const struct wp_event *event);
/* How much of [from, to) the recording paused: of all since its start, or from a time that is not forgotten. */
uint64_t wp_timeline_paused(const struct wp_timeline *timeline, uint64_t from_ns, uint64_t to_ns);

/* Events that come between two windows as well. */
static inline bool wp_event_is_told_always(const struct wp_event *event)
{
    return event->kind == WP_EVENT_WINDOW || (event->kind >= WP_EVENT_FORK && event->kind <= WP_EVENT_RENAME) ||
        event->kind == WP_EVENT_SOCK_STATE;
}

#endif
