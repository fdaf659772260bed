/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSE_PIECES_H
#define WP_REPORTER_CAUSES_CAUSE_PIECES_H
/* How long each of a cause's sleeps is, where the window has all of them event by event. */
#include "reporter/causes/causes.h"

struct wp_cause_pieces {
    uint64_t count; /* without crumbs, which are shorter than a twentieth of the longest; 0 not known */
    uint64_t longest_ns, mean_ns;
    uint64_t usual_ns; /* the one in the middle */
};

/* Of a sleep that is waited for in parts, each part that goes on without a break is one. Out of memory shows in
 * facts->pool.failed. */
struct wp_cause_pieces wp_cause_pieces(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);

#endif
