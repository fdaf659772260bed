/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_rows.h"

#include "reporter/compare/comparable.h"
#include "reporter/compare/compare_idle.h"
#include "reporter/facts/stack_ends.h"
#include "reporter/facts/stack_text.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_BYTES 400u

/* The object files of a side, by their paths. */
static struct wp_intern *objects_of(const struct wp_report *report)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    struct wp_intern *texts = wp_intern_create();
    for (uint32_t i = 1; i < count && texts; i++)
        if (wp_intern_str(texts, wp_report_text(report, frames[i].object)) == UINT32_MAX) {
            wp_intern_destroy(texts);
            texts = NULL;
        }
    return texts;
}

/* A release that lies in a folder of its own ("/opt/shop-1.8/bin/api") has the same files under other paths: what the
 * other side has not under this path goes by its name alone. */
static const char *comparable_object(const char *path, const struct wp_intern *others)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] && wp_intern_find(others, path, strlen(path)) == UINT32_MAX ? slash + 1 : path;
}

/* The nodes of a side in the common tree; paths are held against `objects`, those of the other side. */
static int place_nodes(struct wp_compare_tree *tree, struct wp_compare_operand *operand,
    const struct wp_intern *objects, const struct wp_intern *roles)
{
    uint32_t frame_count, count;
    const struct wp_frame_info *frames = wp_report_frames(operand->report, &frame_count);
    const struct wp_node *nodes = wp_report_nodes(operand->report, &count);
    uint32_t *frame = calloc(frame_count + (size_t)1, sizeof(*frame));
    operand->node = calloc(count + (size_t)1, sizeof(*operand->node));
    if (!frame || !operand->node) {
        free(frame);
        return -ENOMEM;
    }
    for (uint32_t i = 1; i < frame_count; i++) {
        char room[WP_ROLE_BYTES];
        const char *name =
            wp_comparable_frame(room, wp_report_text(operand->report, frames[i].name), frames[i].style, roles);
        frame[i] = wp_report_frame(tree->tree, (enum wp_frame_style)frames[i].style, name,
            comparable_object(wp_report_text(operand->report, frames[i].object), objects));
    }
    for (uint32_t i = 1; i < count; i++)
        operand->node[i] = wp_report_child(tree->tree, operand->node[nodes[i].parent], frame[nodes[i].frame]);
    free(frame);
    return wp_report_failed(tree->tree) ? -ENOMEM : 0;
}

/* How long the process of interest lived in each bucket. */
static void measure_life(struct wp_compare_operand *operand, const uint64_t *buckets, unsigned shift)
{
    uint32_t count, at = 0;
    const struct wp_span *spans = wp_report_spans(operand->report, &count);
    double whole = 0;
    for (uint32_t i = 0; i < operand->buckets; i++) {
        uint64_t start = buckets[i] << shift, last = start + ((uint64_t)1 << shift) - 1;
        while (at < count && spans[at].end_ns <= start)
            at++;
        for (uint32_t span = at; span < count && spans[span].start_ns <= last; span++) {
            uint64_t from = spans[span].start_ns > start ? spans[span].start_ns : start;
            uint64_t to = spans[span].end_ns <= last ? spans[span].end_ns : last + 1;
            operand->activity[i] += (double)(to - from);
        }
        whole += operand->activity[i];
    }
    for (uint32_t i = 0; whole <= 0 && i < operand->buckets; i++) /* a report that says nothing of activity */
        operand->activity[i] = (double)((uint64_t)1 << shift);
}

static int take_samples(struct wp_compare_operand *operand)
{
    unsigned shift;
    const uint64_t *buckets = wp_report_buckets(operand->report, &operand->buckets, &shift);
    operand->cells = wp_report_cells(operand->report, &operand->cell_count);
    operand->samples = wp_report_samples(operand->report, &operand->sample_count);
    operand->place = calloc(operand->sample_count + (size_t)1, sizeof(*operand->place));
    operand->activity = calloc(operand->buckets + (size_t)1, sizeof(*operand->activity));
    if (!operand->place || !operand->activity)
        return -ENOMEM;
    for (uint32_t i = 0; i < operand->sample_count; i++)
        while (operand->place[i] + 1 < operand->buckets && buckets[operand->place[i]] < operand->samples[i].bucket)
            operand->place[i]++;
    measure_life(operand, buckets, shift);
    return 0;
}

/* "make › sh › cc1" from the chain below and a process' frame; endless chains (recursion) are cut in front. */
static uint32_t chain(struct wp_compare_tree *tree, uint32_t below, const char *frame)
{
    struct wp_pool pool = {0};
    const char *before = wp_intern_text(tree->names, below), *name = wp_stack_plain_process(&pool, frame);
    size_t size = strlen(before);
    const char *text = !size ? name
        : size > CHAIN_BYTES ? before /* what stands higher still is gathered with it */
                             : wp_pool_printf(&pool, "%s › %s", before, name);
    uint32_t id = pool.failed ? UINT32_MAX : wp_intern_id(tree->names, text, strlen(text));
    wp_pool_fini(&pool);
    return id;
}

static int describe_nodes(struct wp_compare_tree *tree)
{
    const struct wp_frame_info *frames = wp_report_frames(tree->tree, &tree->frame_count);
    const struct wp_node *nodes = wp_report_nodes(tree->tree, &tree->count);
    size_t room = tree->count + (size_t)1;
    tree->hop = calloc(room, sizeof(*tree->hop));
    tree->process = calloc(room, sizeof(*tree->process));
    tree->function = calloc(room, sizeof(*tree->function));
    tree->layer = calloc(room, sizeof(*tree->layer));
    if (!tree->hop || !tree->process || !tree->function || !tree->layer)
        return -ENOMEM;
    for (uint32_t i = 1; i < tree->count; i++) {
        uint32_t parent = nodes[i].parent, frame = nodes[i].frame, style = frames[frame].style;
        bool is_process = style == WP_STYLE_PROCESS, is_function = style == WP_STYLE_USER || style == WP_STYLE_KERNEL;
        is_function &=
            !tree->function[parent] || !wp_stack_is_scheduler(style, wp_report_text(tree->tree, frames[frame].name));
        tree->hop[i] = is_process ? chain(tree, tree->hop[parent], wp_report_text(tree->tree, frames[frame].name))
                                  : tree->hop[parent];
        if (tree->hop[i] == UINT32_MAX)
            return -ENOMEM;
        tree->process[i] = is_process ? frame : tree->process[parent];
        tree->function[i] = is_process ? 0 : is_function ? frame : tree->function[parent];
        tree->layer[i] =
            (uint8_t)(is_process && tree->layer[parent] < 2 ? tree->layer[parent] + 1 : tree->layer[parent]);
    }
    return 0;
}

static int place_flame(struct wp_compare_tree *tree, int which, const struct wp_flame *flame)
{
    uint32_t count, *place = calloc(tree->count + (size_t)1, sizeof(*place));
    const struct wp_node *nodes = wp_report_nodes(tree->tree, &count);
    tree->place[which] = place;
    if (!place)
        return -ENOMEM;
    for (uint32_t i = 1; i < flame->source_count; i++) {
        uint32_t *at = &place[tree->operand[which].node[i]], own = flame->by_source[i];
        if (flame->nodes[own].total_ns > flame->nodes[*at].total_ns || !*at)
            *at = own;
    }
    for (uint32_t i = 1; i < tree->count; i++)
        if (!place[i])
            place[i] = place[nodes[i].parent];
    return 0;
}

int wp_compare_tree_init(struct wp_compare_tree *tree, const struct wp_facts *before, const struct wp_facts *after)
{
    memset(tree, 0, sizeof(*tree));
    tree->tree = wp_report_create();
    tree->names = wp_intern_create();
    struct wp_intern *roles = wp_comparable_roles(before->report, after->report);
    int rc = tree->tree && tree->names && roles ? 0 : -ENOMEM;
    for (int i = 0; i < 2 && !rc; i++) {
        const struct wp_report *other = i == WP_BEFORE ? after->report : before->report;
        struct wp_intern *objects = objects_of(other);
        tree->operand[i].report = i == WP_BEFORE ? before->report : after->report;
        rc = objects ? place_nodes(tree, &tree->operand[i], objects, roles) : -ENOMEM;
        if (!rc)
            rc = take_samples(&tree->operand[i]);
        wp_intern_destroy(objects);
    }
    wp_intern_destroy(roles);
    if (!rc)
        rc = describe_nodes(tree);
    if (!rc)
        rc = (tree->waits = wp_compare_idle_find(tree->tree, tree->layer)) ? 0 : -ENOMEM;
    if (!rc)
        rc = place_flame(tree, WP_BEFORE, &before->flame);
    if (!rc)
        rc = place_flame(tree, WP_AFTER, &after->flame);
    if (rc)
        wp_compare_tree_fini(tree);
    return rc;
}

void wp_compare_tree_fini(struct wp_compare_tree *tree)
{
    for (int i = 0; i < 2; i++) {
        free(tree->operand[i].node);
        free(tree->operand[i].place);
        free(tree->operand[i].activity);
        free(tree->place[i]);
    }
    free(tree->hop);
    free(tree->process);
    free(tree->function);
    free(tree->layer);
    free(tree->waits);
    free(tree->apart);
    wp_intern_destroy(tree->names);
    wp_report_destroy(tree->tree);
    memset(tree, 0, sizeof(*tree));
}

/* Of parts by the request. */
static bool is_left_out(const struct wp_compare_tree *tree, uint32_t node, uint32_t category)
{
    return tree->is_by_request &&
        (wp_compare_idle_is(tree->waits[node], category, true) ||
            (tree->apart && tree->apart[tree->hop[node]] >> category & 1));
}

static int sum_operand(
    struct wp_row_sums *sums, const struct wp_compare_tree *tree, int which, wp_row_of row_of, void *context)
{
    const struct wp_compare_operand *operand = &tree->operand[which];
    uint32_t *row = calloc(operand->cell_count + (size_t)1, sizeof(*row));
    sums->ns[which] = calloc(sums->rows + (size_t)1, sizeof(uint64_t));
    sums->count[which] = calloc(sums->rows + (size_t)1, sizeof(uint64_t));
    sums->idle_ns[which] = calloc(sums->rows + (size_t)1, sizeof(uint64_t));
    sums->parts[which] = calloc((size_t)sums->rows * operand->buckets + 1, sizeof(double));
    if (!row || !sums->ns[which] || !sums->count[which] || !sums->idle_ns[which] || !sums->parts[which]) {
        free(row);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < operand->cell_count; i++) {
        const struct wp_cell *cell = &operand->cells[i];
        uint32_t node = operand->node[cell->node];
        row[i] = row_of(context, node, cell->category);
        if (row[i] >= sums->rows)
            continue;
        sums->ns[which][row[i]] += cell->ns;
        sums->count[which][row[i]] += cell->count;
        if (wp_compare_idle_is(tree->waits[node], cell->category, tree->is_by_request))
            sums->idle_ns[which][row[i]] += cell->ns;
    }
    for (uint32_t i = 0; i < operand->sample_count; i++) {
        const struct wp_cell *cell = &operand->cells[operand->samples[i].cell];
        uint32_t at = row[operand->samples[i].cell];
        if (at < sums->rows && !is_left_out(tree, operand->node[cell->node], cell->category))
            sums->parts[which][(size_t)at * operand->buckets + operand->place[i]] += (double)operand->samples[i].ns;
    }
    free(row);
    return 0;
}

int wp_row_sums_init(
    struct wp_row_sums *sums, const struct wp_compare_tree *tree, uint32_t rows, wp_row_of row_of, void *context)
{
    *sums = (struct wp_row_sums){.rows = rows};
    for (int i = 0; i < 2; i++)
        if (sum_operand(sums, tree, i, row_of, context)) {
            wp_row_sums_fini(sums);
            return -ENOMEM;
        }
    return 0;
}

void wp_row_sums_fini(struct wp_row_sums *sums)
{
    for (int i = 0; i < 2; i++) {
        free(sums->ns[i]);
        free(sums->count[i]);
        free(sums->idle_ns[i]);
        free(sums->parts[i]);
        free(sums->request[i]);
        free(sums->apart[i]);
        free(sums->apart_variance[i]);
    }
    *sums = (struct wp_row_sums){0};
}
