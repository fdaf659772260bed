/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_path.h"

#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_piece.h"
#include "aggregator/timeline/slices.h"

#include <stdio.h>

bool wp_explain_is_base(const struct wp_explainer *x, uint32_t index, uint64_t at_ns)
{
    return index && wp_explain_is_of_interest(x, wp_explain_identity_at(x, index, at_ns));
}

static __attribute__((noinline)) uint32_t make_node(
    struct wp_explainer *x, uint32_t parent, const char *kind, uint32_t identity)
{
    char name[WP_EXPLAIN_NAME + 5];
    size_t length = (size_t)snprintf(name, sizeof(name), "%s", kind);
    if (wp_is_recorder(x->timeline, identity))
        snprintf(name + length, sizeof(name) - length, "recording");
    else
        wp_explain_name_process(x, identity, name + length, sizeof(name) - length);
    return wp_explain_label(x, parent, WP_STYLE_WAIT, name);
}

/* "path:[comm]", whose work is waited for; on "for:[comm]", who set that work going. */
static uint32_t path_node(struct wp_explainer *x, uint32_t parent, const char *kind, uint32_t identity)
{
    uint64_t bit = *kind == 'p' ? (uint64_t)1 << 41 : (uint64_t)1 << 44;
    struct wp_intkey key = {parent, wp_explain_here(x, bit | identity)};
    uint32_t node;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    node = make_node(x, parent, kind, identity);
    wp_explain_remember(x, key, node);
    return node;
}

void wp_explain_on_path_of(struct wp_explainer *x, uint32_t node, const struct wp_interval *interval, uint32_t identity,
    const struct wp_handover *by)
{
    uint32_t waker = interval->thread;
    if (by && by->thread && by->thread != waker)
        node = path_node(x, node, "for:", wp_explain_identity_at(x, by->thread, interval->end_ns - 1));
    wp_explain_emit(x,
        &(struct wp_piece){.node = path_node(x, node, "path:", identity),
            .thread = waker,
            .category = WP_OTHER_PATH,
            .start_ns = interval->start_ns,
            .end_ns = interval->end_ns,
            .is_uncertain = by && by->origin == WP_ORIGIN_NOT_KNOWN});
    if (x->sink->other_path && !wp_is_recorder(x->timeline, identity) &&
        !(waker && wp_explain_is_of_interest(x, identity)))
        x->sink->other_path(x->sink->context, interval);
}

void wp_explain_on_path(struct wp_explainer *x, uint32_t node, uint32_t waker, uint64_t from, uint64_t to)
{
    if (from < to)
        wp_explain_on_path_of(
            x, node, &(struct wp_interval){x->host, waker, from, to}, wp_explain_identity_at(x, waker, to - 1), NULL);
}

bool wp_explain_is_mate(const struct wp_explainer *x, uint32_t waker_identity)
{
    const struct wp_identity *waker = &x->timeline->identities[waker_identity];
    const struct wp_layer *sleeper = x->depth ? &x->layers[x->depth - 1] : NULL;
    return waker->mates & x->base_bit && sleeper && sleeper->host == x->host && sleeper->process == waker->process;
}
