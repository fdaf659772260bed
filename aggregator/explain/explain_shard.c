/* SPDX-License-Identifier: Apache-2.0 */
/* A wait that ended with a message from another shard's host: the shard's answer is grafted onto the sleep. */
#include "aggregator/explain/explain_shard.h"

#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_piece.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/peer/shard_peers.h"
#include "aggregator/peer/shard_questions.h"
#include "proto/shard_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_BYTES 512u

struct graft {
    struct wp_explainer *x;
    const struct wp_wait *wait;
    const Wakepath__Shard__Answer *answer;
    uint32_t node;   /* the wait's own */
    uint32_t *nodes; /* the answer's -> the tree's, 0 not yet; owned */
    char text[WP_SHARD_STRING_BYTES], other[WP_SHARD_STRING_BYTES];
};

static const char *text_of(const Wakepath__Shard__Answer *answer, uint32_t id, char text[WP_SHARD_STRING_BYTES])
{
    size_t size = id < answer->n_strings ? answer->strings[id].len : 0;
    if (size)
        memcpy(text, answer->strings[id].data, size);
    text[size] = 0;
    return text;
}

static uint32_t node_of(struct graft *graft, uint32_t number)
{
    const Wakepath__Shard__Answer *answer = graft->answer;
    if (!number)
        return graft->node;
    uint32_t *slot = &graft->nodes[number - 1];
    if (*slot)
        return *slot;
    uint32_t path[WP_SHARD_STRINGS], count = 0, node = graft->node; /* parents come first: this ends */
    for (; number && !graft->nodes[number - 1]; number = answer->node_parent[number - 1])
        path[count++] = number - 1;
    if (number)
        node = graft->nodes[number - 1];
    while (count) {
        uint32_t at = path[--count], frame = answer->node_frame[at] - 1;
        uint32_t made = wp_pathtree_frame(graft->x->tree, answer->frame_style[frame],
            text_of(answer, answer->frame_name[frame], graft->text),
            text_of(answer, answer->frame_object[frame], graft->other));
        node = graft->nodes[at] = wp_pathtree_child(graft->x->tree, node, made);
    }
    return node;
}

/* The layers of a piece onto those here; how many there were before. */
static uint32_t push_layers(struct graft *graft, uint32_t layer)
{
    const Wakepath__Shard__Answer *answer = graft->answer;
    struct wp_explainer *x = graft->x;
    uint32_t before = x->depth, path[WP_DEPTH_LIMIT], count = 0;
    for (; layer && count < WP_DEPTH_LIMIT; layer = answer->layer_parent[layer - 1])
        path[count++] = answer->layer_process[layer - 1];
    while (count && x->depth < WP_DEPTH_LIMIT) {
        uint32_t at = path[--count];
        struct wp_shard_process process = {text_of(answer, answer->process_host[at], graft->text),
            text_of(answer, answer->process_comm[at], graft->other), answer->process_pid[at],
            answer->process_start_ns[at]};
        uint32_t number = wp_shards_process_number(x->fleet->shards, &process);
        if (number != UINT32_MAX)
            x->layers[x->depth++] = (struct wp_layer){WP_LAYER_FOREIGN, number, 0};
    }
    return before;
}

static void emit(struct graft *graft, size_t piece, uint64_t from, uint64_t to)
{
    const Wakepath__Shard__Answer *answer = graft->answer;
    uint32_t node = node_of(graft, answer->piece_node[piece]);
    uint32_t before = push_layers(graft, answer->piece_layer[piece]);
    uint32_t flags = answer->piece_flags[piece], reason = answer->piece_reason[piece];
    wp_explain_emit(graft->x,
        &(struct wp_piece){.node = node,
            .thread = graft->wait->thread,
            .category = answer->piece_category[piece],
            .start_ns = from,
            .end_ns = to,
            .is_run = flags & WP_SHARD_PIECE_RUN,
            .is_uncertain = flags & WP_SHARD_PIECE_UNCERTAIN,
            .reason = reason ? text_of(answer, reason, graft->text) : NULL});
    graft->x->depth = before;
}

static void tell_edges(struct graft *graft)
{
    const Wakepath__Shard__Answer *answer = graft->answer;
    for (size_t i = 0; i < answer->n_edge_from; i++)
        wp_explain_crossed(graft->x,
            &(struct wp_crossed){.from = text_of(answer, answer->edge_from[i], graft->text),
                .to = text_of(answer, answer->edge_to[i], graft->other),
                .waited_ns = answer->edge_waited_ns[i],
                .transit_ns = answer->edge_transit_ns[i],
                .bound_ns = answer->edge_bound_ns[i]});
    for (size_t i = 0; i < answer->n_limit_count && i < WP_LIMITS; i++) {
        wp_explain_limit(graft->x, (enum wp_limit)i, answer->limit_count[i], answer->limit_ns[i]);
    }
}

/* Down to where the pieces reach, which is `from` unless the answer was for less; returns what is left before. */
static uint64_t put_pieces(struct graft *graft, uint64_t end, uint64_t from, uint64_t to)
{
    const Wakepath__Shard__Answer *answer = graft->answer;
    for (size_t i = 0; i < answer->n_piece_ns && to > from; i++) {
        uint64_t start = answer->piece_ns[i] < end ? end - answer->piece_ns[i] : 0;
        uint64_t low = start > from + graft->x->options.fit_ns
            ? start
            : from; /* clocks are known better by now than when it was asked */
        if (low < start && i + 1 < answer->n_piece_ns)
            low = start > from ? start : from;
        if (low < to) {
            emit(graft, i, low, to);
            to = low;
        }
        end = start;
    }
    return to;
}

static void label(
    struct wp_explainer *x, const struct wp_wait *wait, const char *name, const char *why, uint64_t from, uint64_t to)
{
    char text[LABEL_BYTES];
    snprintf(text, sizeof(text), "%s (%s)", name, why);
    wp_wait_labelled(x, wait, &(struct wp_wait_label){WP_STYLE_NET, text, WP_REMOTE_NOT_TRACED}, from, to);
    wp_explain_limit(x, WP_LIMIT_SHARDS, 1, to - from);
}

void wp_wait_on_shard(
    struct wp_explainer *x, const struct wp_wait *wait, const struct wp_shard_wait *asked, const char *name)
{
    struct wp_shard_reply reply;
    uint64_t from = asked->from_ns, to = asked->to_ns;
    if (from >= to)
        return;
    if (x->recording) /* what it is called is the answer's, which may go */
        wp_shared_refuse(x, false);
    bool is_known = wp_shards_look(x->fleet->shards, asked, x->sink->asks, &reply);
    if (is_known && reply.to_ns < to && to - reply.to_ns <= x->options.fit_ns)
        reply.to_ns = to;
    if (!is_known || *reply.answer->missing || reply.to_ns < to) {
        label(x, wait, name,
            is_known && *reply.answer->missing ? reply.answer->missing
                : asked->hops                  ? WP_SHARD_SILENT
                                               : WP_SHARD_FAR,
            from, to);
        return;
    }
    struct graft *graft = malloc(sizeof(*graft));
    uint32_t *nodes = calloc(reply.answer->n_node_parent + 1, sizeof(*nodes));
    if (graft && nodes) {
        graft->x = x;
        graft->wait = wait;
        graft->answer = reply.answer;
        graft->nodes = nodes;
        graft->node = wp_explain_label(x, wait->node, WP_STYLE_NET, name);
        tell_edges(graft);
        to = put_pieces(graft, reply.to_ns, from, to);
    }
    if (from < to)
        label(x, wait, name, WP_SHARD_SILENT, from, to);
    free(nodes);
    free(graft);
}
