/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/process_groups.h"

#include "storage/report/report_read.h"

#include <stdlib.h>

/* Of the last process name that was looked up: whether one of that name may have several threads. */
struct shared {
    uint32_t frame;
    bool is_shared;
};

static uint32_t frame_of(const struct wp_process_groups *groups, uint32_t node)
{
    return groups->facts->flame.nodes[node].frame;
}

/* Of a process node. */
static enum wp_process_group_kind kind_of(const struct wp_process_groups *groups, struct shared *shared, uint32_t node)
{
    uint32_t frame = frame_of(groups, node);
    if (node == groups->base[node])
        return WP_GROUP_BASE;
    if (frame != frame_of(groups, groups->base[node]))
        return WP_GROUP_ABOVE;
    if (frame != shared->frame)
        shared->is_shared = wp_cause_may_share(groups->facts, node);
    shared->frame = frame;
    return groups->causes->is_asked[node] || !shared->is_shared ? WP_GROUP_ANOTHER : WP_GROUP_OWN;
}

static void look_at_nodes(struct wp_process_groups *groups)
{
    const struct wp_flame *flame = &groups->facts->flame;
    struct shared shared = {0};
    for (uint32_t i = 1; i < flame->count; i++) {
        uint32_t parent = flame->nodes[i].parent;
        bool is_process = wp_facts_frame_style(groups->facts, flame->nodes[i].frame) == WP_STYLE_PROCESS;
        groups->process[i] = is_process ? i : groups->process[parent];
        groups->base[i] = groups->base[parent] ? groups->base[parent] : groups->process[i];
        groups->kind[i] = is_process ? (uint8_t)kind_of(groups, &shared, i) : groups->kind[parent];
    }
}

void wp_process_groups_init(struct wp_process_groups *groups, const struct wp_causes *causes, struct wp_facts *facts)
{
    uint32_t count = facts->flame.count + 1u;
    *groups = (struct wp_process_groups){.facts = facts, .causes = causes};
    wp_report_frames(facts->report, &groups->frame_count);
    groups->process = calloc(count, sizeof(*groups->process));
    groups->base = calloc(count, sizeof(*groups->base));
    groups->kind = calloc(count, sizeof(*groups->kind));
    groups->rows = calloc((size_t)(groups->frame_count + 1) * WP_GROUP_KINDS, sizeof(*groups->rows));
    if (groups->process && groups->base && groups->kind && groups->rows)
        look_at_nodes(groups);
    else
        facts->pool.failed = true;
}

void wp_process_groups_fini(struct wp_process_groups *groups)
{
    free(groups->process);
    free(groups->base);
    free(groups->kind);
    free(groups->rows);
    *groups = (struct wp_process_groups){0};
}

void wp_process_groups_add(struct wp_process_groups *groups, const struct wp_cell *cell)
{
    uint32_t process = frame_of(groups, groups->process[cell->node]);
    enum wp_process_group_kind kind = groups->kind[cell->node];
    struct wp_process_group *group = &groups->rows[process * WP_GROUP_KINDS + kind];
    group->process = process;
    group->kind = kind;
    group->ns += cell->ns;
    group->categories[cell->category] += cell->ns;
}

struct wp_process_group *wp_process_groups_largest(const struct wp_process_groups *groups)
{
    struct wp_process_group *best = NULL;
    for (uint32_t i = WP_GROUP_KINDS; i < groups->frame_count * WP_GROUP_KINDS; i++)
        if (!best || groups->rows[i].ns > best->ns)
            best = &groups->rows[i];
    return best;
}

bool wp_process_groups_has(
    const struct wp_process_groups *groups, const struct wp_process_group *group, const struct wp_cell *cell)
{
    return frame_of(groups, groups->process[cell->node]) == group->process && groups->kind[cell->node] == group->kind;
}

unsigned wp_process_group_most(const struct wp_process_group *group)
{
    unsigned most = 0;
    for (unsigned i = 1; i < WP_CATEGORIES; i++)
        if (group->categories[i] > group->categories[most])
            most = i;
    return most;
}
