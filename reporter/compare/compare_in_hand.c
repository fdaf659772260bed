/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_in_hand.h"

#include "reporter/compare/compare_idle.h"
#include "reporter/facts/code_location.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THROUGH " › " /* between the processes of a transaction's part */
#define MOSTLY 0.5    /* of what is waited there */

/* The functions of the common tree's strings that something waits in. */
struct functions {
    const struct wp_report *tree;
    uint32_t *of_node; /* by node that waits for work: its frame's name; 0: it does not wait so. Owned, as the next */
    double *waits_ns, *in_hand_ns; /* by string */
    uint32_t strings;
};

static const struct wp_frame_info *frame_at(const struct wp_report *tree, uint32_t node)
{
    uint32_t count;
    return &wp_report_frames(tree, &count)[wp_report_nodes(tree, &count)[node].frame];
}

static uint32_t parent_of(const struct wp_report *tree, uint32_t node)
{
    uint32_t count;
    return wp_report_nodes(tree, &count)[node].parent;
}

/* The name of the application's innermost function that the node stands on, in its layer; 0 none. */
static uint32_t function_of(const struct wp_report *tree, uint32_t node)
{
    uint32_t best = 0;
    unsigned rank = 1;
    for (; node && frame_at(tree, node)->style != WP_STYLE_PROCESS; node = parent_of(tree, node)) {
        const struct wp_frame_info *frame = frame_at(tree, node);
        unsigned own =
            wp_code_location_rank(frame->style, wp_report_text(tree, frame->name), wp_report_text(tree, frame->object));
        if (own > rank) {
            rank = own;
            best = frame->name;
        }
    }
    return best;
}

static bool waits_for_work(const struct wp_compare_tree *tree, uint32_t node, uint32_t category)
{
    return tree->layer[node] < 2 && category == WP_OTHER_PATH && wp_compare_idle_is(tree->waits[node], category, false);
}

static void add_cells(struct functions *functions, const struct wp_compare_tree *tree, int side)
{
    const struct wp_compare_operand *from = &tree->operand[side];
    for (uint32_t i = 0; i < from->cell_count; i++) {
        uint32_t node = from->node[from->cells[i].node];
        if (!waits_for_work(tree, node, from->cells[i].category))
            continue;
        if (!functions->of_node[node])
            functions->of_node[node] = function_of(functions->tree, node);
        functions->waits_ns[functions->of_node[node]] += (double)from->cells[i].ns;
    }
}

/* Names are of each report's own strings. */
static void add_requests(struct functions *functions, const struct wp_report *report, uint32_t function)
{
    uint32_t count;
    const struct wp_transaction *rows = wp_report_transactions(report, &count);
    const char *name = wp_report_text(functions->tree, function);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].part == WP_OTHER_PATH && !strcmp(wp_report_text(report, rows[i].what), name) &&
            !strstr(wp_report_text(report, rows[i].who), THROUGH))
            functions->in_hand_ns[function] += (double)rows[i].ns;
}

static bool is_in_hand(const struct functions *functions, uint32_t node)
{
    uint32_t name = functions->of_node[node];
    return name && functions->in_hand_ns[name] >= MOSTLY * functions->waits_ns[name];
}

int wp_compare_in_hand(struct wp_compare_tree *tree)
{
    struct functions functions = {.tree = tree->tree};
    uint32_t count, last = 0;
    const struct wp_frame_info *frames = wp_report_frames(tree->tree, &count);
    for (uint32_t i = 0; i < count; i++)
        last = frames[i].name > last ? frames[i].name : last;
    functions.strings = last + 1;
    functions.of_node = calloc(tree->count + (size_t)1, sizeof(*functions.of_node));
    functions.waits_ns = calloc(functions.strings, sizeof(*functions.waits_ns));
    functions.in_hand_ns = calloc(functions.strings, sizeof(*functions.in_hand_ns));
    bool has_all = functions.of_node && functions.waits_ns && functions.in_hand_ns;
    for (int side = 0; side < 2 && has_all; side++)
        add_cells(&functions, tree, side);
    for (uint32_t i = 1; i < functions.strings && has_all; i++)
        for (int side = 0; side < 2 && functions.waits_ns[i] > 0; side++)
            add_requests(&functions, tree->operand[side].report, i);
    for (uint32_t i = 1; i < tree->count && has_all; i++)
        if (is_in_hand(&functions, i))
            tree->waits[i] = 0;
    free(functions.of_node);
    free(functions.waits_ns);
    free(functions.in_hand_ns);
    return has_all ? 0 : -ENOMEM;
}
