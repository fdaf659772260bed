/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/aggregate_bytes.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/sample_sums.h"

static uint64_t by_tree(const struct wp_pathtree *tree)
{
    return wp_intern_bytes(tree->strings) + tree->frame_room * sizeof(*tree->frames) +
        tree->node_room * (sizeof(*tree->nodes) + sizeof(*tree->recent)) + wp_intmap_bytes(&tree->frame_index) +
        wp_intmap_bytes(&tree->line_index) + wp_intmap_bytes(&tree->node_index);
}

static uint64_t by_account(const struct wp_aggregate *aggregate)
{
    const struct wp_request_pieces *requests = &aggregate->requests;
    const struct wp_line_sums *lines = &aggregate->lines;
    const struct wp_transactions *transactions = &aggregate->transactions;
    return requests->request_room * sizeof(*requests->requests) + requests->part_room * sizeof(*requests->parts) +
        requests->piece_room * sizeof(*requests->pieces) + lines->node_room * sizeof(*lines->nodes) +
        lines->row_room * sizeof(*lines->rows) + lines->row_node_room * sizeof(*lines->row_node) +
        lines->frame_room * sizeof(*lines->frame_site) + wp_transaction_names_bytes(&transactions->names) +
        wp_intmap_bytes(&transactions->slots) + wp_sample_sums_bytes(&aggregate->sample_sums) +
        wp_intmap_bytes(&aggregate->detached.nodes) + wp_intmap_bytes(&aggregate->detached.processes) +
        wp_intmap_bytes(&aggregate->detached.starts.reached[0]) +
        wp_intmap_bytes(&aggregate->detached.starts.reached[1]) + wp_idle_places_bytes(&aggregate->idle_places);
}

static uint64_t by_sample(const struct wp_exemplar_sample *sampled)
{
    uint64_t bytes = sampled->box_room * sizeof(*sampled->boxes);
    for (uint32_t i = 0; i < sampled->box_count; i++) {
        const struct wp_exemplars *set = &sampled->boxes[i].set;
        bytes += set->room * sizeof(*set->rows);
        for (uint32_t row = 0; row < set->count; row++)
            bytes += set->rows[row].trace.capacity;
    }
    return bytes;
}

void wp_aggregate_bytes_add(struct wp_aggregate_bytes *bytes, const struct wp_aggregate *aggregate)
{
    bytes->tree += by_tree(&aggregate->tree);
    bytes->sites += wp_explainer_bytes(aggregate->explainer);
    bytes->reports += wp_report_bytes(aggregate->delta.report);
    for (uint32_t i = 0; i < aggregate->delta.closed_count; i++)
        bytes->reports += wp_report_bytes(aggregate->delta.closed[i].report);
    bytes->windows += wp_exemplar_bytes(&aggregate->exemplar) + by_sample(&aggregate->sampled);
    bytes->base += aggregate->base_room * sizeof(*aggregate->base);
    bytes->account += by_account(aggregate) +
        ((uint64_t)aggregate->waiting.room + aggregate->asked.room + aggregate->following.rows.room) *
            sizeof(*aggregate->asked.rows);
}

uint64_t wp_aggregate_bytes_sum(const struct wp_aggregate_bytes *bytes)
{
    return bytes->tree + bytes->sites + bytes->reports + bytes->windows + bytes->base + bytes->account;
}
