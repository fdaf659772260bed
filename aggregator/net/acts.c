/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/acts.h"

void wp_acts_init(struct wp_acts *acts)
{
    wp_thread_rings_init(&acts->rings, sizeof(struct wp_act));
}

void wp_acts_fini(struct wp_acts *acts)
{
    wp_thread_rings_fini(&acts->rings);
}

void wp_acts_forget(struct wp_acts *acts, uint32_t thread)
{
    wp_thread_rings_forget(&acts->rings, thread);
}

size_t wp_acts_bytes(const struct wp_acts *acts)
{
    return wp_thread_rings_bytes(&acts->rings);
}

void wp_acts_add(struct wp_acts *acts, uint32_t thread, const struct wp_act *act)
{
    bool asks = act->kind == WP_ACT_ASK || act->kind == WP_ACT_ANSWER;
    if (asks || wp_thread_rings_of(&acts->rings, thread))
        wp_thread_rings_add(&acts->rings, thread, act);
}

struct wp_acts_back wp_acts_before(const struct wp_acts *acts, uint32_t thread, uint64_t before_ns)
{
    const struct wp_thread_ring *list = wp_thread_rings_of(&acts->rings, thread);
    return (struct wp_acts_back){list, list ? wp_thread_ring_since(list, sizeof(struct wp_act), before_ns) : 0};
}

static const struct wp_act *act_at(const struct wp_thread_ring *list, uint64_t i)
{
    return (const struct wp_act *)list->rows + (i & list->ring.mask);
}

const struct wp_act *wp_acts_next(struct wp_acts_back *back)
{
    return back->list && back->next > back->list->ring.first ? act_at(back->list, --back->next) : NULL;
}

const struct wp_act *wp_acts_since(const struct wp_acts *acts, uint32_t thread, uint64_t since_ns)
{
    const struct wp_thread_ring *list = wp_thread_rings_of(&acts->rings, thread);
    uint64_t i = list ? wp_thread_ring_since(list, sizeof(struct wp_act), since_ns) : 0;
    return list && i < list->ring.end ? act_at(list, i) : NULL;
}
