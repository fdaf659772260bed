/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/flame_tree.h"

#include "storage/report/report_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct build {
    const struct wp_report *report;
    const struct wp_frame_info *frames;
    const struct wp_node *nodes;
    uint64_t *totals; /* a report node */
    uint64_t *selfs;
    uint32_t *order; /* nodes by parent, then as siblings stand */
    uint32_t *first; /* parent -> its first place in order; [count] ends it */
    uint32_t frame_count, count;
};

/* FNV-1a, 32 bits: small, and the scripts compute the same. */
static uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

static uint32_t hash_node(uint32_t parent, const struct build *build, uint32_t frame)
{
    const char *name = wp_report_text(build->report, build->frames[frame].name);
    uint8_t style = (uint8_t)build->frames[frame].style;
    return hash_bytes(hash_bytes(parent, &style, 1), name, strlen(name) + 1);
}

static int compare_siblings(const void *left, const void *right, void *context)
{
    const struct build *build = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (build->nodes[a].parent != build->nodes[b].parent)
        return build->nodes[a].parent < build->nodes[b].parent ? -1 : 1;
    if (build->totals[a] != build->totals[b])
        return build->totals[a] > build->totals[b] ? -1 : 1;
    const struct wp_frame_info *fa = &build->frames[build->nodes[a].frame], *fb = &build->frames[build->nodes[b].frame];
    int rc = strcmp(wp_report_text(build->report, fa->name), wp_report_text(build->report, fb->name));
    if (!rc)
        rc = strcmp(wp_report_text(build->report, fa->object), wp_report_text(build->report, fb->object));
    return rc ? rc : (int)fa->style - (int)fb->style;
}

static int compare_cells(const void *left, const void *right)
{
    const struct wp_cell *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->category < b->category ? -1 : a->category > b->category;
}

static int check(const struct build *build, struct wp_error *err)
{
    for (uint32_t i = 1; i < build->count; i++)
        if (build->nodes[i].parent >= i || build->nodes[i].frame >= build->frame_count)
            return wp_error_set(err, -EINVAL, "the report's node %u has a wrong parent or frame", i);
    return 0;
}

static int sum_totals(struct build *build, struct wp_error *err)
{
    uint32_t cells;
    const struct wp_cell *cell = wp_report_cells(build->report, &cells);
    for (uint32_t i = 0; i < cells; i++) {
        if (cell[i].node >= build->count)
            return wp_error_set(err, -EINVAL, "the report has time on node %u of %u", cell[i].node, build->count);
        build->selfs[cell[i].node] += cell[i].ns;
    }
    memcpy(build->totals, build->selfs, build->count * sizeof(*build->totals));
    for (uint32_t i = build->count - 1; i > 0; i--)
        build->totals[build->nodes[i].parent] += build->totals[i];
    return 0;
}

/* order[first[p]..first[p+1]) are p's children. */
static void sort_siblings(struct build *build)
{
    for (uint32_t i = 1; i < build->count; i++)
        build->order[i - 1] = i;
    qsort_r(build->order, build->count - 1, sizeof(*build->order), compare_siblings, build);
    uint32_t at = 0;
    for (uint32_t parent = 0; parent < build->count; parent++) {
        build->first[parent] = at;
        while (at < build->count - 1 && build->nodes[build->order[at]].parent == parent)
            at++;
    }
    build->first[build->count] = at;
}

static uint32_t append(struct wp_flame *flame, const struct build *build, uint32_t source, uint32_t parent)
{
    uint32_t at = flame->count++;
    struct wp_flame_node *node = &flame->nodes[at];
    *node = (struct wp_flame_node){
        .parent = parent, .source = source, .total_ns = build->totals[source], .self_ns = build->selfs[source]};
    if (at) {
        node->frame = build->nodes[source].frame;
        node->depth = flame->nodes[parent].depth + 1;
        node->permalink = hash_node(flame->nodes[parent].permalink, build, node->frame);
    } else {
        node->permalink = 2166136261u;
    }
    flame->by_source[source] = at;
    return at;
}

/* Preorder without recursion (a stack may be thousands of frames deep): `next` is each open node's next child. */
static int write_preorder(struct wp_flame *flame, const struct build *build)
{
    uint32_t *next = malloc((build->count + 1) * sizeof(*next));
    if (!next)
        return -ENOMEM;
    memcpy(next, build->first, (build->count + 1) * sizeof(*next));
    uint32_t at = append(flame, build, 0, 0);
    for (;;) {
        uint32_t source = flame->nodes[at].source;
        if (next[source] < build->first[source + 1]) {
            uint32_t child = build->order[next[source]++];
            if (build->totals[child])
                at = append(flame, build, child, at);
            continue;
        }
        flame->nodes[at].end = flame->count;
        if (!at)
            break;
        at = flame->nodes[at].parent;
    }
    free(next);
    return 0;
}

static int take_cells(struct wp_flame *flame, const struct wp_report *report)
{
    uint32_t count;
    const struct wp_cell *cells = wp_report_cells(report, &count);
    flame->cells = calloc((size_t)count + 1, sizeof(*flame->cells));
    if (!flame->cells)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = flame->by_source[cells[i].node];
        if (!cells[i].ns || (!node && cells[i].node) || cells[i].category >= WP_CATEGORIES)
            continue;
        flame->cells[flame->cell_count] = cells[i];
        flame->cells[flame->cell_count++].node = node;
    }
    qsort(flame->cells, flame->cell_count, sizeof(*flame->cells), compare_cells);
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        struct wp_flame_node *node = &flame->nodes[flame->cells[i].node];
        if (!node->cell_count++)
            node->cell = i;
    }
    return 0;
}

static int allocate(struct wp_flame *flame, struct build *build)
{
    size_t room = (size_t)build->count + 1;
    flame->source_count = build->count;
    flame->nodes = calloc(room, sizeof(*flame->nodes));
    flame->by_source = calloc(room, sizeof(*flame->by_source));
    build->totals = calloc(room, sizeof(*build->totals));
    build->selfs = calloc(room, sizeof(*build->selfs));
    build->order = calloc(room, sizeof(*build->order));
    build->first = calloc(room, sizeof(*build->first));
    return flame->nodes && flame->by_source && build->totals && build->selfs && build->order && build->first ? 0
                                                                                                             : -ENOMEM;
}

int wp_flame_build(struct wp_flame *flame, const struct wp_report *report, struct wp_error *err)
{
    struct build build = {.report = report};
    memset(flame, 0, sizeof(*flame));
    build.frames = wp_report_frames(report, &build.frame_count);
    build.nodes = wp_report_nodes(report, &build.count);
    int rc = build.count ? allocate(flame, &build) : wp_error_set(err, -EINVAL, "the report has no root");
    if (!rc)
        rc = check(&build, err);
    if (!rc)
        rc = sum_totals(&build, err);
    if (!rc) {
        sort_siblings(&build);
        rc = write_preorder(flame, &build);
    }
    if (!rc)
        rc = take_cells(flame, report);
    if (rc == -ENOMEM)
        wp_error_set(err, rc, "out of memory for a flame of %u nodes", build.count);
    free(build.totals);
    free(build.selfs);
    free(build.order);
    free(build.first);
    if (rc)
        wp_flame_fini(flame);
    return rc;
}

void wp_flame_fini(struct wp_flame *flame)
{
    free(flame->nodes);
    free(flame->cells);
    free(flame->by_source);
    memset(flame, 0, sizeof(*flame));
}
