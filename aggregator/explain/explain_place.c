/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_place.h"

struct wp_explain_place wp_explain_enter(struct wp_explainer *x, uint32_t host, int64_t offset_ns)
{
    struct wp_explain_place place = {x->host, x->timeline, x->shift_ns};
    x->host = host;
    x->timeline = x->fleet->hosts[host].timeline;
    x->shift_ns -= offset_ns;
    return place;
}

void wp_explain_leave(struct wp_explainer *x, const struct wp_explain_place *place)
{
    x->host = place->host;
    x->timeline = place->timeline;
    x->shift_ns = place->shift_ns;
}

uint64_t wp_explain_horizon(const struct wp_explainer *x)
{
    uint64_t horizon_ns = x->fleet->hosts[x->host].horizon_ns;
    return horizon_ns < x->timeline->now_ns ? horizon_ns : x->timeline->now_ns;
}
