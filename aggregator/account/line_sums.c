/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/line_sums.h"

#include "common/array.h"
#include "common/code_rank.h"
#include "storage/report/report_lines.h"
#include "storage/value/rows.h"

#include <stdlib.h>
#include <string.h>

enum {
    HAS_LINES = 1,           /* it or a node below it has a line */
    SITE_AGAIN = 2,          /* the same site is below it on the stack */
    SITE_AGAIN_IN_LAYER = 4, /* and in the same process */
    CALL_AGAIN = 8,          /* the same for what its parent calls */
    CALL_AGAIN_IN_LAYER = 16,
    THROUGH_AGAIN = 32, /* or what a script calls through its interpreter */
    THROUGH_AGAIN_IN_LAYER = 64,
};

void wp_line_sums_fini(struct wp_line_sums *s)
{
    free(s->nodes);
    free(s->rows);
    free(s->row_node);
    free(s->frame_site);
    *s = (struct wp_line_sums){0};
}

static void forget_rows(struct wp_line_sums *s)
{
    for (uint32_t i = 0; i < s->row_count; i++)
        s->nodes[s->row_node[i]].row = 0;
    s->row_count = 0;
}

void wp_line_sums_clear(struct wp_line_sums *s)
{
    forget_rows(s);
    if (s->frame_site)
        memset(s->frame_site, 0, s->frame_room * sizeof(*s->frame_site));
    s->site_count = 0;
    s->left_out = s->left_out_ns = 0;
}

/* --- what a node is --- */

static const struct wp_path_frame *frame_at(const struct wp_pathtree *tree, uint32_t node)
{
    return &tree->frames[tree->nodes[node].frame];
}

static bool is_same_site(const struct wp_path_frame *a, const struct wp_path_frame *b)
{
    return a->file == b->file && a->line == b->line && a->name == b->name;
}

/* A call is what stands right above a function, when the line of one of the two is known: the function's node; 0. */
static uint32_t called_by(const struct wp_pathtree *tree, uint32_t node)
{
    uint32_t parent = tree->nodes[node].parent;
    const struct wp_path_frame *callee = frame_at(tree, node), *caller = frame_at(tree, parent);
    bool is_call = parent && caller->style == WP_STYLE_USER && callee->style != WP_STYLE_PROCESS;
    return is_call && (caller->file || callee->file) ? parent : 0;
}

static bool is_interpreter(const struct wp_pathtree *tree, uint32_t node)
{
    const struct wp_path_frame *frame = frame_at(tree, node);
    const char *object = wp_intern_text(tree->strings, frame->object), *slash = strrchr(object, '/');
    return frame->style == WP_STYLE_USER && wp_code_rank_is_interpreter(slash ? slash + 1 : object);
}

/* The function of a script whose line called it through functions of the interpreter, which say nothing of it; 0. */
static uint32_t called_through(const struct wp_pathtree *tree, uint32_t node)
{
    uint32_t parent = tree->nodes[node].parent, at = parent;
    if (!parent || frame_at(tree, node)->style == WP_STYLE_PROCESS || !is_interpreter(tree, parent) ||
        is_interpreter(tree, node))
        return 0;
    while (at && is_interpreter(tree, at))
        at = tree->nodes[at].parent;
    const struct wp_path_frame *script = frame_at(tree, at);
    bool is_script = at && script->style == WP_STYLE_USER && script->file &&
        wp_code_rank_of_source(wp_intern_text(tree->strings, script->object));
    return is_script ? at : 0;
}

/* Of what stands in two nodes, by those two. */
static bool is_same_call(const struct wp_pathtree *tree, uint32_t a, uint32_t by_a, uint32_t b, uint32_t by_b)
{
    const struct wp_path_frame *x = frame_at(tree, a), *y = frame_at(tree, b);
    return by_a && by_b && x->name == y->name && x->style == y->style && x->is_inlined == y->is_inlined &&
        is_same_site(frame_at(tree, by_a), frame_at(tree, by_b));
}

/* Looks down the stack once, when the node is new. */
static uint8_t flags_of(const struct wp_line_sums *s, const struct wp_pathtree *tree, uint32_t node)
{
    const struct wp_path_frame *frame = frame_at(tree, node);
    uint32_t parent = tree->nodes[node].parent;
    uint8_t flags = parent ? s->nodes[parent].flags & HAS_LINES : 0;
    uint32_t by = called_by(tree, node), through = called_through(tree, node);
    bool is_in_layer = frame->style != WP_STYLE_PROCESS;
    if (frame->file)
        flags |= HAS_LINES;
    if (!frame->file && !by && !through)
        return flags;
    for (uint32_t at = parent; at; at = tree->nodes[at].parent) {
        const struct wp_path_frame *below = frame_at(tree, at);
        is_in_layer &= below->style != WP_STYLE_PROCESS;
        if (frame->file && below->file && is_same_site(frame, below))
            flags |= SITE_AGAIN | (is_in_layer ? SITE_AGAIN_IN_LAYER : 0);
        uint32_t by_below = called_by(tree, at), through_below = called_through(tree, at);
        if (is_same_call(tree, node, by, at, by_below) || is_same_call(tree, node, by, at, through_below))
            flags |= CALL_AGAIN | (is_in_layer ? CALL_AGAIN_IN_LAYER : 0);
        if (is_same_call(tree, node, through, at, through_below) || is_same_call(tree, node, through, at, by_below))
            flags |= THROUGH_AGAIN | (is_in_layer ? THROUGH_AGAIN_IN_LAYER : 0);
    }
    return flags;
}

/* Nodes come after their parents: those that are new since the last time, in their order. */
static bool know_nodes(struct wp_line_sums *s, const struct wp_pathtree *tree)
{
    if (WP_ARRAY_FIT(s->nodes, s->node_room, tree->node_count))
        return false;
    for (; s->node_count < tree->node_count; s->node_count++)
        s->nodes[s->node_count] = (struct wp_line_node){0, s->node_count ? flags_of(s, tree, s->node_count) : 0};
    return true;
}

/* --- sums --- */

static struct wp_line_sum *row_of(struct wp_line_sums *s, uint32_t node)
{
    if (!s->nodes[node].row) {
        uint32_t row = s->row_count;
        if (WP_ARRAY_FIT(s->rows, s->row_room, row + 1) || WP_ARRAY_FIT(s->row_node, s->row_node_room, row + 1))
            return NULL;
        s->rows[row] = (struct wp_line_sum){0};
        s->row_node[row] = node;
        s->nodes[node].row = ++s->row_count;
    }
    return &s->rows[s->nodes[node].row - 1];
}

void wp_line_sums_add(struct wp_line_sums *s, const struct wp_pathtree *tree, uint32_t node, enum wp_category category,
    uint64_t ns, bool is_run)
{
    if (!tree->has_lines || node >= tree->node_count || (unsigned)category >= WP_CATEGORIES ||
        (s->node_count < tree->node_count && !know_nodes(s, tree)) || !(s->nodes[node].flags & HAS_LINES))
        return;
    struct wp_line_sum *row = row_of(s, node);
    if (!row)
        return;
    row->total_ns[category] = wp_sum(row->total_ns[category], ns);
    if (is_run && category == WP_UNDERSTOOD_FUNCTIONS) {
        row->run_ns = wp_sum(row->run_ns, ns);
        row->self_ns = wp_sum(row->self_ns, ns);
    }
}

static int by_node_down(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a > b ? -1 : a < b;
}

/* Onto the node below, which was made before: its row comes later. Another process' run is no run of this one. */
static void pass_down(struct wp_line_sums *s, const struct wp_pathtree *tree, uint32_t node)
{
    const struct wp_line_node *parent = &s->nodes[tree->nodes[node].parent];
    if (!parent->row)
        return;
    const struct wp_line_sum *from = &s->rows[s->nodes[node].row - 1];
    struct wp_line_sum *to = &s->rows[parent->row - 1];
    for (int i = 0; i < WP_CATEGORIES; i++)
        to->total_ns[i] = wp_sum(to->total_ns[i], from->total_ns[i]);
    if (frame_at(tree, node)->style != WP_STYLE_PROCESS)
        to->run_ns = wp_sum(to->run_ns, from->run_ns);
}

/* --- to the report --- */

static uint64_t total_of(const struct wp_line_sum *sum)
{
    uint64_t total = 0;
    for (int i = 0; i < WP_CATEGORIES; i++)
        total = wp_sum(total, sum->total_ns[i]);
    return total;
}

/* The report's site for a frame; UINT32_MAX when no more fit. */
static uint32_t site_of(
    struct wp_line_sums *s, const struct wp_pathtree *tree, struct wp_report *report, uint32_t frame)
{
    if (WP_ARRAY_FIT_ZERO(s->frame_site, s->frame_room, frame + 1))
        return UINT32_MAX;
    if (!s->frame_site[frame]) {
        const struct wp_path_frame *f = &tree->frames[frame];
        if (s->site_count >= WP_LINE_SITES)
            return UINT32_MAX;
        s->site_count++;
        s->frame_site[frame] = 1 +
            wp_report_site(
                report, wp_intern_text(tree->strings, f->file), f->line, wp_intern_text(tree->strings, f->name));
    }
    return s->frame_site[frame] - 1;
}

static void put_line(const struct wp_line_sum *sum, uint8_t flags, uint32_t site, struct wp_report *report)
{
    for (uint32_t i = 0; i < WP_CATEGORIES; i++) {
        struct wp_report_line line = {
            .site = site, .category = i, .total_ns = flags & SITE_AGAIN ? 0 : sum->total_ns[i]};
        if (i == WP_UNDERSTOOD_FUNCTIONS) {
            line.run_ns = flags & SITE_AGAIN_IN_LAYER ? 0 : sum->run_ns;
            line.self_ns = sum->self_ns;
        }
        if (line.total_ns || line.run_ns || line.self_ns)
            wp_report_line_add(report, &line);
    }
}

/* What stands in the node is called by a line of that one. */
static void put_call(
    struct wp_line_sums *s, const struct wp_pathtree *tree, struct wp_report *report, uint32_t node, uint32_t caller)
{
    struct wp_line_sum *sum = &s->rows[s->nodes[node].row - 1];
    const struct wp_path_frame *frame = frame_at(tree, node);
    uint8_t flags = s->nodes[node].flags;
    bool is_through = caller != tree->nodes[node].parent;
    if (!is_through && flags & CALL_AGAIN && is_interpreter(tree, node))
        return; /* the lower one is reported without what it called in turn, and may be less than this */
    struct wp_report_call call = {.site = site_of(s, tree, report, tree->nodes[caller].frame),
        .style = frame->style,
        .is_inlined = frame->is_inlined,
        .total_ns = flags & (is_through ? THROUGH_AGAIN : CALL_AGAIN) ? 0 : total_of(sum) - sum->through_ns,
        .run_ns = flags & (is_through ? THROUGH_AGAIN_IN_LAYER : CALL_AGAIN_IN_LAYER)
            ? 0
            : sum->run_ns - sum->through_run_ns};
    if (call.site == UINT32_MAX || (!call.total_ns && !call.run_ns))
        return;
    call.callee = wp_report_string(report, wp_intern_text(tree->strings, frame->name));
    wp_report_call_add(report, &call);
    if (!is_through)
        return;
    while (tree->nodes[node].parent != caller)
        node = tree->nodes[node].parent;
    sum = s->nodes[node].row ? &s->rows[s->nodes[node].row - 1] : sum;
    sum->through_ns = wp_sum(sum->through_ns, call.total_ns);
    sum->through_run_ns = wp_sum(sum->through_run_ns, call.run_ns);
}

static void put_node(struct wp_line_sums *s, const struct wp_pathtree *tree, struct wp_report *report, uint32_t node)
{
    const struct wp_line_sum *sum = &s->rows[s->nodes[node].row - 1];
    const struct wp_path_frame *frame = frame_at(tree, node);
    uint32_t site = frame->file ? site_of(s, tree, report, tree->nodes[node].frame) : 0;
    if (frame->file && site != UINT32_MAX)
        put_line(sum, s->nodes[node].flags, site, report);
    s->left_out += site == UINT32_MAX;
    s->left_out_ns = wp_sum(s->left_out_ns, site == UINT32_MAX ? total_of(sum) : 0);
    uint32_t by = called_by(tree, node), through = called_through(tree, node);
    if (by)
        put_call(s, tree, report, node, by);
    if (through)
        put_call(s, tree, report, node, through);
}

void wp_line_sums_flush(struct wp_line_sums *s, const struct wp_pathtree *tree, struct wp_report *report)
{
    for (uint32_t i = 0; i < s->row_count; i++) { /* down to the lowest node that has lines under it */
        uint32_t parent = tree->nodes[s->row_node[i]].parent;
        if (s->nodes[parent].flags & HAS_LINES)
            row_of(s, parent);
    }
    uint32_t *order = s->row_count ? calloc(s->row_count, sizeof(*order)) : NULL;
    if (order) {
        if (s->row_count)
            memcpy(order, s->row_node, s->row_count * sizeof(*order));
        qsort(order, s->row_count, sizeof(*order), by_node_down);
        for (uint32_t i = 0, count = s->row_count; i < count; i++) {
            put_node(s, tree, report, order[i]);
            pass_down(s, tree, order[i]);
        }
        free(order);
    }
    forget_rows(s);
    if (s->left_out)
        wp_report_limit(report, "lines", s->left_out, s->left_out_ns);
    s->left_out = s->left_out_ns = 0;
}
