/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_PIECE_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_PIECE_H
/* What an explanation leads to, told to whoever takes it: pieces, waits for other hosts, bounds that bit, and marks on
 * the slices that were waited for. Private to the explanation. */
#include "aggregator/explain/explain_types.h"

/* The piece as it stands in the present host; it is completed on the way. */
void wp_explain_emit(struct wp_explainer *x, struct wp_piece *piece);
/* A wait for another host: told to the sink, and recorded if a slice is. The struct is copied, the host names are
 * borrowed. */
void wp_explain_crossed(struct wp_explainer *x, const struct wp_crossed *crossed);
/* A bound bit so often, and so much time was explained otherwise for it. */
void wp_explain_limit(struct wp_explainer *x, enum wp_limit limit, uint64_t count, uint64_t ns);
/* It was waited for, though it is not looked at. */
void wp_explain_taken(struct wp_explainer *x, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

/* --- parts of a sleep --- */
static inline void wp_wait_emit(struct wp_explainer *x, const struct wp_wait *wait, uint32_t node,
    enum wp_category category, uint64_t from, uint64_t to)
{
    wp_explain_emit(x,
        &(struct wp_piece){.node = node,
            .thread = wait->thread,
            .category = category,
            .start_ns = from,
            .end_ns = to,
            .is_uncertain = wait->slice->flags & WP_SLICE_UNCERTAIN || wait->slice->is_inferred});
}
/* Nothing explains that part. */
static inline void wp_wait_unaccounted(
    struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, uint64_t from, uint64_t to, const char *reason)
{
    wp_explain_emit(x,
        &(struct wp_piece){.node = node,
            .thread = wait->thread,
            .category = WP_UNACCOUNTED,
            .start_ns = from,
            .end_ns = to,
            .reason = reason,
            .is_uncertain = wait->slice->flags & WP_SLICE_UNCERTAIN || wait->slice->is_inferred});
}

/* How a part of a sleep is shown; `text` is copied. */
struct wp_wait_label {
    enum wp_frame_style style;
    const char *text;
    enum wp_category category;
};

/* That part under a label on the sleep's node. */
void wp_wait_labelled(struct wp_explainer *x, const struct wp_wait *wait, const struct wp_wait_label *label,
    uint64_t from_ns, uint64_t to_ns);

#endif
