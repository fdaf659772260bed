/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/code/calls.h"

#include "common/intmap.h"
#include "reporter/base/components.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_CALL UINT32_MAX
#define CLIQUE_NAMES 5u

struct building {
    struct wp_calls *calls;
    const struct wp_facts *facts;
    struct wp_intmap index; /* (from, to) -> call */
    uint32_t *component;    /* by frame */
    uint32_t *call;         /* by flame node: the call that made it */
    uint32_t *open_frame;   /* by frame: how often it stands on the current stack */
    uint32_t *open;         /* by component: how often one of it stands on the current stack */
    uint32_t *open_call;    /* by call */
    uint8_t *is_primary;    /* by flame node: in the outermost entry of its clique */
};

static bool is_function(const struct wp_facts *facts, uint32_t frame)
{
    uint32_t style = frame ? wp_facts_frame_style(facts, frame) : 0;
    return style == WP_STYLE_USER || style == WP_STYLE_KERNEL;
}

/* A frame without a symbol is named after its file, "[dash]": it is many functions, and no recursion follows from it.
 */
static bool is_named(const struct wp_facts *facts, uint32_t frame)
{
    return is_function(facts, frame) && wp_facts_frame_name(facts, frame)[0] != '[';
}

/* The kernel's entries for interrupts and exceptions: they come over whatever runs, which does not call them. (x86:
 * arch/x86/include/asm/idtentry.h; arm64: arch/arm64/kernel/entry-common.c.) */
static bool is_interrupt(const struct wp_facts *facts, uint32_t frame)
{
    static const char *const starts[] = {
        "asm_sysvec_", "asm_common_interrupt", "asm_exc_", "el1h_64_", "el1_interrupt", "el1_irq"};
    if (!frame || wp_facts_frame_style(facts, frame) != WP_STYLE_KERNEL)
        return false;
    const char *name = wp_facts_frame_name(facts, frame);
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (!strncmp(name, starts[i], strlen(starts[i])))
            return true;
    return false;
}

static uint32_t frame_of(const struct building *building, uint32_t node)
{
    return building->facts->flame.nodes[node].frame;
}

/* Numbers every pair of frames that stand on each other, where one is a function. */
static int number_calls(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    for (uint32_t i = 1; i < flame->count; i++) {
        uint32_t from = frame_of(building, flame->nodes[i].parent), to = frame_of(building, i);
        struct wp_intkey key = {from, to};
        building->call[i] = NO_CALL;
        if (!is_function(building->facts, from) && !is_function(building->facts, to))
            continue;
        if (wp_intmap_get(&building->index, key, &building->call[i]))
            continue;
        building->call[i] = building->calls->call_count;
        building->calls->calls[building->calls->call_count++] = (struct wp_call){.from = from, .to = to};
        if (wp_intmap_put(&building->index, key, building->call[i]))
            return -ENOMEM;
    }
    return 0;
}

/* Functions that call each other in a circle, from the calls between functions alone. */
static int find_cliques(struct building *building)
{
    struct wp_calls *calls = building->calls;
    struct wp_arc *arcs = calloc(calls->call_count + 1u, sizeof(*arcs));
    uint32_t *members = calloc(calls->frame_count + 1u, sizeof(*members));
    size_t count = 0;
    int rc = arcs && members ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < calls->call_count && !rc; i++)
        if (is_named(building->facts, calls->calls[i].from) && is_named(building->facts, calls->calls[i].to) &&
            !is_interrupt(building->facts, calls->calls[i].to))
            arcs[count++] = (struct wp_arc){calls->calls[i].from, calls->calls[i].to};
    if (!rc)
        rc = wp_components(arcs, count, calls->frame_count, building->component);
    for (uint32_t i = 1; i < calls->frame_count && !rc; i++)
        members[building->component[i]]++;
    for (size_t i = 0; i < count && !rc; i++) /* a function that calls itself is a clique of one */
        if (arcs[i].from == arcs[i].to && members[building->component[arcs[i].from]] == 1)
            members[building->component[arcs[i].from]] = UINT32_MAX;
    for (uint32_t i = 0; i < calls->frame_count && !rc; i++)
        members[i] = members[i] > 1 ? ++calls->clique_count : 0;
    for (uint32_t i = 1; i < calls->frame_count && !rc; i++)
        calls->clique[i] = members[building->component[i]];
    free(arcs);
    free(members);
    return rc;
}

static bool is_inside(const struct wp_calls *calls, uint32_t from, uint32_t to)
{
    return from && calls->clique[to] && calls->clique[from] == calls->clique[to];
}

static void note(struct wp_call *call, const struct wp_flame_node *node)
{
    if (node->total_ns > call->largest_ns) {
        call->largest_ns = node->total_ns;
        call->permalink = node->permalink;
    }
}

static void enter(struct building *building, uint32_t node)
{
    const struct wp_flame_node *at = &building->facts->flame.nodes[node];
    struct wp_calls *calls = building->calls;
    uint32_t from = frame_of(building, at->parent), to = at->frame;
    bool inside = is_inside(calls, from, to);
    struct wp_call *call = building->call[node] == NO_CALL ? NULL : &calls->calls[building->call[node]];
    building->is_primary[node] = inside ? building->is_primary[at->parent] : !building->open[building->component[to]];
    if (call)
        note(call, at);
    if (call && inside && !building->open_call[building->call[node]])
        call->inside_ns += at->total_ns;
    if (call && !inside && building->is_primary[at->parent])
        call->callee_ns += at->total_ns;
    if (call && !inside && building->is_primary[node] && is_function(building->facts, to))
        call->caller_ns += at->total_ns;
    if (!building->open_frame[to]++ && is_function(building->facts, to))
        calls->sites[calls->site_count++] = (struct wp_call_site){to, node, at->total_ns};
    building->open[building->component[to]]++;
    if (call)
        building->open_call[building->call[node]]++;
}

/* Preorder with closing: nodes whose range has ended leave the stack before the next one enters it. */
static void walk(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    uint32_t top = 0;
    building->is_primary[0] = 1;
    for (uint32_t i = 1; i < flame->count; i++) {
        for (; top && flame->nodes[top].end <= i; top = flame->nodes[top].parent) {
            building->open[building->component[frame_of(building, top)]]--;
            building->open_frame[frame_of(building, top)]--;
            if (building->call[top] != NO_CALL)
                building->open_call[building->call[top]]--;
        }
        top = i;
        enter(building, i);
    }
}

static int by_callee(const void *left, const void *right)
{
    const struct wp_call *a = left, *b = right;
    uint64_t a_ns = a->caller_ns + a->inside_ns, b_ns = b->caller_ns + b->inside_ns;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

static int by_caller(const void *left, const void *right, void *context)
{
    const struct wp_call *calls = context, *a = &calls[*(const uint32_t *)left], *b = &calls[*(const uint32_t *)right];
    uint64_t a_ns = a->callee_ns + a->inside_ns, b_ns = b->callee_ns + b->inside_ns;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int by_site(const void *left, const void *right)
{
    const struct wp_call_site *a = left, *b = right;
    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* After counting: from the number of rows of each frame to where they begin. */
static void accumulate(uint32_t *first, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t rows = first[i];
        first[i] = sum;
        sum += rows;
    }
}

static void sort(struct wp_calls *calls)
{
    qsort(calls->calls, calls->call_count, sizeof(*calls->calls), by_callee);
    qsort(calls->sites, calls->site_count, sizeof(*calls->sites), by_site);
    for (uint32_t i = 0; i < calls->call_count; i++) {
        calls->by_caller[i] = i;
        calls->first_caller[calls->calls[i].to]++;
        calls->first_callee[calls->calls[i].from]++;
    }
    for (uint32_t i = 0; i < calls->site_count; i++)
        calls->first_site[calls->sites[i].frame]++;
    qsort_r(calls->by_caller, calls->call_count, sizeof(*calls->by_caller), by_caller, calls->calls);
    accumulate(calls->first_caller, calls->frame_count);
    accumulate(calls->first_callee, calls->frame_count);
    accumulate(calls->first_site, calls->frame_count);
}

static int by_time(const void *left, const void *right, void *context)
{
    const struct wp_clique *cliques = context, *a = &cliques[*(const uint32_t *)left],
                           *b = &cliques[*(const uint32_t *)right];
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

static void fill_cliques(struct building *building, struct wp_clique *rows)
{
    struct wp_calls *calls = building->calls;
    struct wp_pool *pool = &calls->pool;
    for (uint32_t i = 1; i < calls->frame_count; i++) {
        struct wp_clique *clique = calls->clique[i] ? &rows[calls->clique[i] - 1] : NULL;
        if (clique && clique->members++ < CLIQUE_NAMES)
            clique->name = wp_pool_printf(pool, "%s%s%s", clique->name ? clique->name : "", clique->name ? ", " : "",
                wp_pool_clip(pool, wp_facts_frame_name(building->facts, i), 60));
    }
    for (uint32_t i = 0; i < calls->clique_count; i++)
        if (rows[i].members > CLIQUE_NAMES)
            rows[i].name = wp_pool_printf(pool, "%s and %u more", rows[i].name, rows[i].members - CLIQUE_NAMES);
    for (uint32_t i = 0; i < calls->call_count; i++) {
        const struct wp_call *call = &calls->calls[i];
        struct wp_clique *clique = calls->clique[call->to] ? &rows[calls->clique[call->to] - 1] : NULL;
        if (!clique || !call->caller_ns)
            continue;
        clique->ns += call->caller_ns;
        if (call->caller_ns > clique->entry_ns) {
            clique->entry_ns = call->caller_ns;
            clique->entry = call->from;
        }
    }
}

static int sort_cliques(struct building *building)
{
    struct wp_calls *calls = building->calls;
    struct wp_clique *rows = calloc(calls->clique_count + 1u, sizeof(*rows));
    uint32_t *order = calloc(calls->clique_count * 2u + 1u, sizeof(*order)), *place = order + calls->clique_count;
    calls->cliques = calloc(calls->clique_count + 1u, sizeof(*calls->cliques));
    int rc = rows && order && calls->cliques ? 0 : -ENOMEM;
    if (!rc) {
        fill_cliques(building, rows);
        for (uint32_t i = 0; i < calls->clique_count; i++)
            order[i] = i;
        qsort_r(order, calls->clique_count, sizeof(*order), by_time, rows);
        for (uint32_t i = 0; i < calls->clique_count; i++) {
            calls->cliques[i] = rows[order[i]];
            place[order[i]] = i + 1;
        }
        for (uint32_t i = 0; i < calls->frame_count; i++)
            calls->clique[i] = calls->clique[i] ? place[calls->clique[i] - 1] : 0;
    }
    free(rows);
    free(order);
    return rc;
}

static int allocate(struct building *building)
{
    struct wp_calls *calls = building->calls;
    size_t nodes = building->facts->flame.count + (size_t)1, frames = calls->frame_count + (size_t)2;
    calls->calls = calloc(nodes, sizeof(*calls->calls));
    calls->by_caller = calloc(nodes, sizeof(*calls->by_caller));
    calls->sites = calloc(nodes, sizeof(*calls->sites));
    calls->first_caller = calloc(frames, sizeof(*calls->first_caller));
    calls->first_callee = calloc(frames, sizeof(*calls->first_callee));
    calls->first_site = calloc(frames, sizeof(*calls->first_site));
    calls->clique = calloc(frames, sizeof(*calls->clique));
    calls->rank = calloc(frames, sizeof(*calls->rank));
    building->component = calloc(frames, sizeof(*building->component));
    building->open_frame = calloc(frames, sizeof(*building->open_frame));
    building->open = calloc(frames, sizeof(*building->open));
    building->call = calloc(nodes, sizeof(*building->call));
    building->open_call = calloc(nodes, sizeof(*building->open_call));
    building->is_primary = calloc(nodes, sizeof(*building->is_primary));
    return calls->calls && calls->by_caller && calls->sites && calls->first_caller && calls->first_callee &&
            calls->first_site && calls->clique && calls->rank && building->component && building->open_frame &&
            building->open && building->call && building->open_call && building->is_primary
        ? 0
        : -ENOMEM;
}

int wp_calls_build(struct wp_calls *calls, const struct wp_facts *facts, struct wp_error *err)
{
    struct building building = {.calls = calls, .facts = facts};
    memset(calls, 0, sizeof(*calls));
    wp_report_frames(facts->report, &calls->frame_count);
    int rc = allocate(&building);
    if (!rc)
        rc = number_calls(&building);
    if (!rc)
        rc = find_cliques(&building);
    if (!rc) {
        walk(&building);
        sort(calls);
        rc = sort_cliques(&building);
        for (uint32_t i = 0; i < facts->function_count; i++)
            calls->rank[facts->functions[i].frame] = i + 1;
    }
    wp_intmap_fini(&building.index);
    free(building.component);
    free(building.call);
    free(building.open_frame);
    free(building.open);
    free(building.open_call);
    free(building.is_primary);
    if (!rc && !calls->pool.failed)
        return 0;
    wp_calls_fini(calls);
    return wp_error_set(err, -ENOMEM, "out of memory for the calls of %s", facts->aggregate);
}

void wp_calls_fini(struct wp_calls *calls)
{
    free(calls->calls);
    free(calls->by_caller);
    free(calls->sites);
    free(calls->first_caller);
    free(calls->first_callee);
    free(calls->first_site);
    free(calls->clique);
    free(calls->rank);
    wp_pool_fini(&calls->pool);
    free(calls->cliques);
    memset(calls, 0, sizeof(*calls));
}
