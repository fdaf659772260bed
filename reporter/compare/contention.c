/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/contention.h"

#include "storage/report/report_read.h"

#include <math.h>
#include <string.h>

#define BEHIND "sched:behind "
#define LEAST_SETTLED 4u /* recordings that tell how such waits vary from one to the next */
#define MOST 0.95        /* of a request */

static const char *name_at(const struct wp_report *tree, uint32_t node)
{
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(tree, &count);
    const struct wp_frame_info *frames = wp_report_frames(tree, &count);
    return wp_report_text(tree, frames[nodes[node].frame].name);
}

/* "sched:behind own threads", or a process that the service waits for. */
static bool is_own(const struct wp_compare_tree *tree, uint32_t node)
{
    const char *name = name_at(tree->tree, node);
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(tree->tree, &count);
    if (strncmp(name, BEHIND, sizeof(BEHIND) - 1))
        return false;
    name += sizeof(BEHIND) - 1;
    bool is = !strcmp(name, "own threads");
    for (uint32_t i = 1; i < count && !is; i++)
        is = frames[i].style == WP_STYLE_PROCESS && !strcmp(name, wp_report_text(tree->tree, frames[i].name));
    return is;
}

void wp_contention_find(struct wp_compare_build *build)
{
    const struct wp_compare_tree *tree = &build->tree;
    for (int side = 0; side < 2; side++) {
        const struct wp_compare_operand *from = &tree->operand[side];
        double own = 0, whole = 0;
        for (uint32_t i = 0; i < from->cell_count; i++) {
            const struct wp_cell *cell = &from->cells[i];
            if (cell->category != WP_SCHEDULER && cell->category != WP_INVOLUNTARY)
                continue;
            whole += (double)cell->ns;
            own += is_own(tree, from->node[cell->node]) ? (double)cell->ns : 0;
        }
        build->requests.others[side] = whole > 0 ? 1 - own / whole : 0;
    }
}

bool wp_compare_is_unsettled(const struct wp_compare_build *build)
{
    return build->requests.count && build->intervals[WP_BEFORE].count < LEAST_SETTLED &&
        build->intervals[WP_AFTER].count < LEAST_SETTLED;
}

double wp_contention_of(const struct wp_compare_build *build, int side, double share)
{
    const struct wp_compare_requests *requests = &build->requests;
    double left = 0, told = 0, contended = 0;
    if (!wp_compare_is_unsettled(build))
        return 0;
    for (unsigned i = 0; i < WP_LATENCY_BUCKETS; i++)
        left += requests->number[side][i] * share;
    for (unsigned i = WP_LATENCY_BUCKETS; i-- > 0 && left > 0;) {
        told += requests->told_ns[side][i];
        contended += requests->contended_ns[side][i];
        left -= requests->number[side][i];
    }
    return told > 0 ? contended / told * requests->others[side] : 0;
}

double wp_contention_rest(double difference, double before, double after)
{
    double rest = difference + log1p(-fmin(after, MOST)) - log1p(-fmin(before, MOST));
    return difference * rest <= 0 ? 0 : copysign(fmin(fabs(difference), fabs(rest)), difference);
}
