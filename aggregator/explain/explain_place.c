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
