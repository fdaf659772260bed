/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/waits/detached_work.h"

#include "common/intmap.h"
#include "reporter/facts/stack_text.h"

#include <stdlib.h>
#include <string.h>

#define LINK "starts:"

/* A row while it is summed: the cell with most time says what it mostly was. */
struct sum {
    uint64_t ns, running_ns, count, largest_ns;
    uint32_t link, last, worker, largest; /* nodes */
};

struct summing {
    struct wp_pool *pool;
    const struct wp_facts *work;
    uint32_t *link, *last, *worker; /* by node: of its stack the first and the last link, 0 none yet */
    struct sum *sums;
    struct wp_intmap index; /* row of a last link and worker */
};

static uint32_t frame_at(const struct summing *summing, uint32_t node)
{
    return summing->work->flame.nodes[node].frame;
}

static const char *name_at(const struct summing *summing, uint32_t node)
{
    return wp_facts_frame_name(summing->work, frame_at(summing, node));
}

static bool is_process(const struct summing *summing, uint32_t node)
{
    return wp_facts_frame_style(summing->work, frame_at(summing, node)) == WP_STYLE_PROCESS;
}

/* Which links and which worker each node stands on: the first process behind the last link. */
static void find_ends(struct summing *summing)
{
    for (uint32_t i = 1; i < summing->work->flame.count; i++) {
        uint32_t parent = summing->work->flame.nodes[i].parent, link = summing->link[parent];
        uint32_t style = wp_facts_frame_style(summing->work, frame_at(summing, i));
        bool is_link = style == WP_STYLE_WAIT && !strncmp(name_at(summing, i), LINK, strlen(LINK));
        summing->link[i] = !link && is_link ? i : link;
        summing->last[i] = is_link ? i : summing->last[parent];
        summing->worker[i] = is_link            ? 0
            : summing->worker[parent]           ? summing->worker[parent]
            : link && style == WP_STYLE_PROCESS ? i
                                                : 0;
    }
}

static bool is_run(uint32_t category)
{
    return category == WP_RUNNING_NOT_SAMPLED || category == WP_UNDERSTOOD_FUNCTIONS;
}

static void add_cell(struct summing *summing, const struct wp_cell *cell)
{
    uint32_t link = summing->link[cell->node], worker = summing->worker[cell->node], row = summing->index.count;
    struct wp_intkey key = {summing->last[cell->node], frame_at(summing, worker)};
    if (!wp_intmap_get(&summing->index, key, &row) && wp_intmap_put(&summing->index, key, row)) {
        summing->pool->failed = true;
        return;
    }
    struct sum *sum = &summing->sums[row];
    sum->ns += cell->ns;
    sum->running_ns += is_run(cell->category) ? cell->ns : 0;
    sum->count += cell->count;
    if (cell->ns < sum->largest_ns)
        return;
    sum->largest_ns = cell->ns;
    sum->largest = cell->node;
    sum->link = link;
    sum->last = summing->last[cell->node];
    sum->worker = worker;
}

/* The function on top of the largest cell, if it is one of the worker's. */
static const char *mostly(const struct summing *summing, const struct sum *sum)
{
    for (uint32_t node = sum->largest; node > sum->worker; node = summing->work->flame.nodes[node].parent) {
        uint32_t style = wp_facts_frame_style(summing->work, frame_at(summing, node));
        if (style == WP_STYLE_USER || style == WP_STYLE_KERNEL)
            return wp_pool_text(summing->pool, name_at(summing, node));
    }
    return "";
}

static const char *process_at(const struct summing *summing, uint32_t node)
{
    return node ? wp_stack_plain_process(summing->pool, name_at(summing, node)) : "?";
}

/* The processes between the first link and the last one. */
static const char *through(const struct summing *summing, const struct sum *sum)
{
    const char *text = "";
    for (uint32_t node = sum->last; node > sum->link; node = summing->work->flame.nodes[node].parent)
        if (is_process(summing, node))
            text = wp_pool_printf(summing->pool, *text ? "%s › %s" : "%s%s", process_at(summing, node), text);
    return text;
}

static int compare_rows(const void *left, const void *right)
{
    const struct wp_detached_row *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    int order = strcmp(a->starter, b->starter);
    order = order ? order : strcmp(a->through, b->through);
    order = order ? order : strcmp(a->worker, b->worker);
    return order ? order : strcmp(a->how, b->how);
}

static void put_rows(struct wp_detached_work *out, const struct summing *summing)
{
    for (uint32_t i = 0; i < summing->index.count; i++) {
        const struct sum *sum = &summing->sums[i];
        const struct wp_flame_node *nodes = summing->work->flame.nodes;
        out->rows[out->row_count++] = (struct wp_detached_row){.starter = process_at(summing, nodes[sum->link].parent),
            .through = through(summing, sum),
            .direct = process_at(summing, nodes[sum->last].parent),
            .how = sum->last ? wp_pool_text(summing->pool, name_at(summing, sum->last) + strlen(LINK)) : "",
            .worker = process_at(summing, sum->worker),
            .mostly = mostly(summing, sum),
            .ns = sum->ns,
            .running_ns = sum->running_ns,
            .count = sum->count};
    }
    if (out->row_count && !summing->pool->failed)
        qsort(out->rows, out->row_count, sizeof(*out->rows), compare_rows);
}

static int compare_stacks(const void *left, const void *right)
{
    const struct wp_detached_stack *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->category != b->category ? (a->category < b->category ? -1 : 1) : strcmp(a->text, b->text);
}

static void put_stacks(struct wp_detached_work *out, const struct summing *summing)
{
    const struct wp_flame *flame = &summing->work->flame;
    for (uint32_t i = 0; i < flame->cell_count; i++)
        out->stacks[out->stack_count++] = (struct wp_detached_stack){
            .text = wp_stack_text(summing->pool, summing->work, flame->nodes[flame->cells[i].node].source),
            .category = flame->cells[i].category,
            .ns = flame->cells[i].ns,
            .count = flame->cells[i].count};
    if (out->stack_count && !summing->pool->failed)
        qsort(out->stacks, out->stack_count, sizeof(*out->stacks), compare_stacks);
}

struct wp_detached_work wp_detached_work_build(struct wp_pool *pool, const struct wp_facts *facts)
{
    struct wp_detached_work out = {0};
    struct summing summing = {.pool = pool, .work = facts->detached};
    if (!facts->detached)
        return out;
    const struct wp_flame *flame = &facts->detached->flame;
    summing.link = wp_pool_alloc(pool, (flame->count + 1u) * sizeof(*summing.link));
    summing.last = wp_pool_alloc(pool, (flame->count + 1u) * sizeof(*summing.last));
    summing.worker = wp_pool_alloc(pool, (flame->count + 1u) * sizeof(*summing.worker));
    summing.sums = wp_pool_alloc(pool, (flame->cell_count + 1u) * sizeof(*summing.sums));
    out.rows = wp_pool_alloc(pool, (flame->cell_count + 1u) * sizeof(*out.rows));
    out.stacks = wp_pool_alloc(pool, (flame->cell_count + 1u) * sizeof(*out.stacks));
    if (summing.link && summing.last && summing.worker && summing.sums && out.rows && out.stacks) {
        find_ends(&summing);
        for (uint32_t i = 0; i < flame->cell_count; i++)
            add_cell(&summing, &flame->cells[i]);
        put_rows(&out, &summing);
        put_stacks(&out, &summing);
    }
    wp_intmap_fini(&summing.index);
    return out;
}
