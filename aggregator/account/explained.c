/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/explained.h"

#include "aggregator/account/aggregate_body.h"

static struct wp_request_parts parts_of(const struct wp_aggregate *aggregate, const struct wp_explained *explained)
{
    if (explained->parts)
        return *explained->parts;
    for (uint32_t i = 0; i < aggregate->base_count; i++)
        if (aggregate->base[i].thread == explained->interval->thread)
            return aggregate->base[i].parts;
    return (struct wp_request_parts){0};
}

/* So that the step may pause (wp_fleet_pauses), reading counts a little. */
static bool tell_kept(struct wp_aggregate *aggregate, const struct wp_request_parts *parts,
    const struct wp_interval *interval, const struct wp_sink *sink)
{
    uint32_t told = wp_request_pieces_tell(&aggregate->requests, parts, interval->start_ns, interval->end_ns, sink);
    aggregate->fleet->visits += told;
    return told;
}

static void keep_piece(void *context, const struct wp_piece *piece)
{
    wp_request_pieces_add(context, piece);
}

/* Explains it for all that will look at it; false: there is no room. */
static bool keep_apart(struct wp_aggregate *aggregate, const struct wp_interval *interval)
{
    struct wp_request_pieces *pieces = &aggregate->requests;
    const struct wp_sink sink = {.piece = keep_piece, .context = pieces};
    if (!wp_request_pieces_open_apart(pieces, interval->thread, interval->start_ns, interval->end_ns))
        return false;
    wp_explain(aggregate->explainer, interval, &sink);
    wp_request_pieces_close(pieces);
    return !pieces->is_full;
}

void wp_explained_tell(struct wp_aggregate *aggregate, const struct wp_explained *explained, const struct wp_sink *sink)
{
    const struct wp_interval *interval = explained->interval;
    struct wp_request_parts parts = parts_of(aggregate, explained);
    if (aggregate->walk.leaves != aggregate->fleet->leaves) {
        wp_explain(aggregate->explainer, interval, sink);
        return;
    }
    if (tell_kept(aggregate, &parts, interval, sink))
        return;
    parts = wp_request_pieces_apart(&aggregate->requests, interval->thread, interval->end_ns);
    if (tell_kept(aggregate, &parts, interval, sink))
        return;
    struct wp_interval apart = *interval;
    if (explained->window_ns < apart.start_ns)
        apart.start_ns = explained->window_ns;
    if (explained->window_ns == UINT64_MAX || !keep_apart(aggregate, &apart)) {
        wp_explain(aggregate->explainer, interval, sink);
        return;
    }
    parts = wp_request_pieces_apart(&aggregate->requests, interval->thread, interval->end_ns);
    tell_kept(aggregate, &parts, interval, sink);
}
