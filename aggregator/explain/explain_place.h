/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_PLACE_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_PLACE_H
/* Where the walk is: on a host, whose clock is not home's. Private to the explanation. */
#include "aggregator/explain/explain_types.h"

/* Where the walk was before wp_explain_enter(). */
struct wp_explain_place {
    uint32_t host;
    struct wp_timeline *timeline;
    int64_t shift_ns;
};

/* Goes to that host, whose time is the present host's plus offset; the place to come back to. */
struct wp_explain_place wp_explain_enter(struct wp_explainer *x, uint32_t host, int64_t offset_ns);
/* Goes back to where that call was made; places are left in the reverse order of entering. */
void wp_explain_leave(struct wp_explainer *x, const struct wp_explain_place *place);
/* Facts of the present host behind this do not count. */
static inline uint64_t wp_explain_horizon(const struct wp_explainer *x)
{
    uint64_t horizon_ns = x->fleet->hosts[x->host].horizon_ns;
    return horizon_ns < x->timeline->now_ns ? horizon_ns : x->timeline->now_ns;
}
/* Causes before that, in the present host's clock, do not count. */
static inline uint64_t wp_explain_oldest(const struct wp_explainer *x)
{
    int64_t oldest_ns = (int64_t)x->oldest_ns - x->shift_ns;
    return oldest_ns > 0 ? (uint64_t)oldest_ns : 0;
}
/* A key of `sites` that is of this host alone. */
static inline uint64_t wp_explain_here(const struct wp_explainer *x, uint64_t key)
{
    return key | (uint64_t)x->host << 48;
}
/* A layer on the others, the time of that thread of the present host; x->depth goes back by one at its end. There has
 * to be room: x->options.depth. */
static inline void wp_explain_push(struct wp_explainer *x, uint32_t identity, uint32_t thread)
{
    x->asleep[x->depth] = (struct wp_layer_sleep){.doubts = x->doubts};
    x->layers[x->depth++] = (struct wp_layer){x->host, x->timeline->identities[identity].process, thread};
}

#endif
