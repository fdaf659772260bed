/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_piece.h"

#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/timeline/taken.h"

/* The walk is on another host, or has been. Apart, so that what most pieces go through is short. */
static __attribute__((noinline)) void from_afar(const struct wp_explainer *x, struct wp_piece *piece)
{
    if (x->host != x->home && wp_fleet_has_drops(x->fleet, x->host, piece->start_ns, piece->end_ns))
        piece->is_uncertain = true;
    piece->start_ns += (uint64_t)x->shift_ns;
    piece->end_ns += (uint64_t)x->shift_ns;
}

/* Of its own, and `times` is written here: a field that is read in another width than it was written in, as part of
 * zeros, is read late. */
__attribute__((noinline)) void wp_explain_emit(struct wp_explainer *x, struct wp_piece *piece)
{
    if (piece->start_ns >= piece->end_ns)
        return;
    piece->host = x->host;
    if (x->doubts)
        piece->is_uncertain = true;
    if (x->host != x->home || x->shift_ns)
        from_afar(x, piece);
    if (piece->end_ns == x->parted_ns)
        piece->is_part = true;
    piece->layers = x->layers;
    piece->layer_count = x->depth;
    piece->times = 1;
    if (x->recording)
        wp_shared_piece(x, piece);
    wp_sink_piece(x->sink, piece);
}

void wp_explain_crossed(struct wp_explainer *x, const struct wp_crossed *crossed)
{
    wp_sink_crossed(x->sink, crossed);
    if (x->recording)
        wp_shared_crossed(x, crossed);
}

void wp_explain_limit(struct wp_explainer *x, enum wp_limit limit, uint64_t count, uint64_t ns)
{
    wp_sink_limit(x->sink, limit, count, ns);
    if (x->recording)
        wp_shared_limit(x, limit, count, ns);
}

void wp_explain_taken(struct wp_explainer *x, uint32_t thread, uint64_t from, uint64_t to)
{
    if (x->host == x->home && x->sink->marks)
        wp_slices_followed(&x->timeline->threads[thread], from, to, x->base_bit);
}

void wp_wait_labelled(
    struct wp_explainer *x, const struct wp_wait *wait, const struct wp_wait_label *label, uint64_t from, uint64_t to)
{
    if (from < to)
        wp_wait_emit(x, wait, wp_explain_label(x, wait->node, label->style, label->text), label->category, from, to);
}
