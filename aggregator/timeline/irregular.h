/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_IRREGULAR_H
#define WP_AGGREGATOR_TIMELINE_IRREGULAR_H
/*
 * What did not fit in the events of a session: how often, by kind. A host whose events are all there and in order has
 * none of most; wakings that were inferred or not seen are of every host.
 */
#include <stdint.h>

struct wp_timeline;

#define WP_IRREGULARS 14u

/* "late_sample" and so on, kind < WP_IRREGULARS. */
const char *wp_irregular_name(unsigned kind);

/* So far, of that session. */
uint64_t wp_irregular_count(const struct wp_timeline *timeline, unsigned kind);

#endif
