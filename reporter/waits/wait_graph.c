/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/waits/wait_graph.h"

#include "common/array.h"
#include "common/intern.h"
#include "common/intmap.h"
#include "reporter/base/components.h"
#include "reporter/base/io_name.h"
#include "reporter/facts/rivals.h"
#include "reporter/facts/stack_text.h"
#include "reporter/waits/wait_locks.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define LEAST_OF_KNOT                                                                                                  \
    1000u /* a wait shorter than this part of the longest one ties no knot: a late acknowledgement is no circle */
#define KNOT_NAMES 6u /* members that a knot's name says */

struct building {
    struct wp_wait_graph *graph;
    struct wp_pool *pool;
    const struct wp_facts *facts;
    struct wp_intern *names; /* a letter of the kind, then the name; id - 1 is the party */
    struct wp_intmap waits;  /* (from, to) -> wait */
    uint32_t *party;         /* by flame node: whose layer it is in, NONE: nobody's yet */
    uint32_t *wait;          /* by flame node: the wait that begins there, NONE none */
    uint32_t *open;          /* by wait, then by knot: how often it stands on the current stack */
    uint32_t party_room, wait_room;
    bool failed;
};

static uint32_t party_of(struct building *building, enum wp_party_kind kind, const char *name)
{
    struct wp_wait_graph *graph = building->graph;
    char key[256] = {(char)('a' + kind)};
    strncat(key, name, sizeof(key) - 2); /* names that are alike so far are one party */
    uint32_t id = wp_intern_str(building->names, key);
    if (id == UINT32_MAX) {
        building->failed = true;
        return NONE;
    }
    if (id <= graph->party_count)
        return id - 1;
    if (WP_ARRAY_FIT(graph->parties, building->party_room, graph->party_count + 1)) {
        building->failed = true;
        return NONE;
    }
    graph->parties[graph->party_count] = (struct wp_party){.kind = kind, .name = wp_pool_text(building->pool, key + 1)};
    return graph->party_count++;
}

static uint32_t wait_of(struct building *building, uint32_t from, uint32_t to)
{
    struct wp_wait_graph *graph = building->graph;
    struct wp_intkey key = {from, to};
    uint32_t place;
    if (from == NONE || to == NONE || building->failed)
        return NONE;
    if (wp_intmap_get(&building->waits, key, &place))
        return place;
    if (WP_ARRAY_FIT(graph->waits, building->wait_room, graph->wait_count + 1) ||
        wp_intmap_put(&building->waits, key, graph->wait_count)) {
        building->failed = true;
        return NONE;
    }
    graph->waits[graph->wait_count] = (struct wp_graph_wait){.from = from, .to = to};
    return graph->wait_count++;
}

static const char *plain_name(struct building *building, const char *frame)
{
    return wp_stack_plain_process(building->pool, frame);
}

/* Which party each node's time belongs to, and where one begins to wait for another. */
static void assign(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    building->party[0] = NONE;
    for (uint32_t i = 1; i < flame->count && !building->failed; i++) {
        uint32_t below = building->party[flame->nodes[i].parent], mine = below;
        uint32_t style = wp_facts_frame_style(building->facts, flame->nodes[i].frame);
        const char *name = wp_facts_frame_name(building->facts, flame->nodes[i].frame);
        bool is_new = style == WP_STYLE_PROCESS;
        if (is_new)
            mine = party_of(building, WP_PARTY_PROCESS, plain_name(building, name));
        if (is_new && mine != NONE && !building->graph->parties[mine].frame)
            building->graph->parties[mine].frame = name;
        if (style == WP_STYLE_IO && below != NONE && building->graph->parties[below].kind == WP_PARTY_PROCESS) {
            mine = party_of(building, WP_PARTY_DISK, wp_io_device(building->pool, name));
            is_new = true;
        }
        building->party[i] = mine;
        building->wait[i] = is_new ? wait_of(building, below, mine) : NONE;
        if (is_new && below == NONE && mine != NONE)
            building->graph->parties[mine].is_base = true;
    }
}

static bool is_of_interest(const struct wp_trace *trace, const char *name)
{
    for (uint32_t i = 0; trace && i < trace->path_count; i++)
        if (trace->paths[i].is_base && trace->paths[i].thread < trace->thread_count &&
            !strcmp(wp_intern_text(trace->strings, trace->threads[trace->paths[i].thread].comm), name))
            return true;
    return false;
}

/* What a process of interest waited for as another control path stands on the ground, too; "path:[name]" says that it
 * was so. Only the kept window knows which of those are of interest themselves. */
static void drop_other_paths(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    for (uint32_t i = 1; i < flame->count && !building->failed; i++) {
        const char *name = wp_facts_frame_name(building->facts, flame->nodes[i].frame);
        if (wp_facts_frame_style(building->facts, flame->nodes[i].frame) != WP_STYLE_WAIT || strncmp(name, "path:[", 6))
            continue;
        const char *plain = plain_name(building, name + 5);
        char key[256] = {(char)('a' + WP_PARTY_PROCESS)};
        strncat(key, plain, sizeof(key) - 2);
        uint32_t id = wp_intern_find(building->names, key, strlen(key));
        if (id != UINT32_MAX && id && building->graph->parties[id - 1].is_base)
            building->graph->parties[id - 1].is_base = is_of_interest(building->facts->trace, plain);
    }
}

static void add_node(struct wp_graph_wait *wait, const struct wp_flame_node *node, uint64_t ns, uint64_t count)
{
    wait->ns += ns;
    wait->count += count;
    if (ns > wait->largest_ns) {
        wait->largest_ns = ns;
        wait->permalink = node->permalink;
    }
}

/* Time that stands on a peer nobody records, or on nothing, belongs to no layer above: it is the cell's own. */
static void take_cells(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    for (uint32_t i = 0; i < flame->cell_count && !building->failed; i++) {
        const struct wp_cell *cell = &flame->cells[i];
        const struct wp_flame_node *node = &flame->nodes[cell->node];
        bool is_peer = cell->category == WP_REMOTE_NOT_TRACED &&
            wp_facts_frame_style(building->facts, node->frame) == WP_STYLE_NET;
        if (!is_peer && cell->category != WP_UNACCOUNTED)
            continue;
        uint32_t to = is_peer ? party_of(building, WP_PARTY_PEER,
                                    wp_net_address(building->pool, wp_facts_frame_name(building->facts, node->frame)))
                              : party_of(building, WP_PARTY_UNKNOWN, "unexplained");
        uint32_t wait = wait_of(building, building->party[cell->node], to);
        if (wait != NONE)
            add_node(&building->graph->waits[wait], node, cell->ns, cell->count);
    }
}

/* Locks and who waits for and holds them. */
static void take_locks(struct building *building)
{
    struct wp_lock_waits locks;
    wp_lock_waits_build(&locks, building->pool, building->facts);
    for (size_t i = 0; i < locks.count && !building->failed; i++) {
        const struct wp_lock_wait *row = &locks.rows[i];
        uint32_t lock = party_of(building, WP_PARTY_LOCK, row->lock);
        uint32_t thread = party_of(building, WP_PARTY_THREAD, row->thread);
        uint32_t wait = wait_of(building, row->is_holder ? lock : thread, row->is_holder ? thread : lock);
        if (wait == NONE)
            return;
        building->graph->parties[lock].search = row->lock_frame;
        building->graph->parties[thread].search = row->thread_name;
        struct wp_graph_wait *made = &building->graph->waits[wait];
        made->ns += row->ns;
        made->count += row->count;
        if (row->largest_ns > made->largest_ns) {
            made->largest_ns = row->largest_ns;
            made->permalink = row->permalink;
        }
    }
}

/* The processor, by who had it: what a thread that could have run waited for. */
static void take_rivals(struct building *building)
{
    struct wp_rivals rivals = wp_rivals_build(building->pool, building->facts);
    for (size_t i = 0; i < rivals.count && !building->failed; i++) {
        const struct wp_rival *rival = &rivals.rows[i];
        if (rival->kind == WP_RIVAL_OTHER)
            continue;
        uint32_t from = party_of(building, WP_PARTY_PROCESS, rival->waiter);
        uint32_t to =
            party_of(building, WP_PARTY_PROCESSOR, wp_pool_printf(building->pool, "%s: processor", rival->name));
        uint32_t wait = wait_of(building, from, to);
        if (wait == NONE)
            return;
        building->graph->parties[to].search = rival->search;
        struct wp_graph_wait *made = &building->graph->waits[wait];
        made->ns += rival->ns;
        made->count += rival->count;
        if (rival->largest_ns > made->largest_ns) {
            made->largest_ns = rival->largest_ns;
            made->permalink = rival->permalink;
        }
    }
}

/* The open count of what `node` begins: its wait, or the knot that the wait is in. */
static uint32_t *open_of(struct building *building, uint32_t node, bool is_knot)
{
    uint32_t wait = building->wait[node];
    if (wait == NONE || (is_knot && !building->graph->waits[wait].knot))
        return NULL;
    return &building->open[is_knot ? building->graph->waits[wait].knot - 1 : wait];
}

/* Preorder with closing: adds each wait's time where it is outermost; then the knots' likewise. */
static void sum(struct building *building, bool is_knot)
{
    const struct wp_flame_node *nodes = building->facts->flame.nodes;
    uint32_t top = 0, *open;
    for (uint32_t i = 1; i < building->facts->flame.count; i++) {
        for (; top && nodes[top].end <= i; top = nodes[top].parent)
            if ((open = open_of(building, top, is_knot)))
                --*open;
        top = i;
        if (!(open = open_of(building, i, is_knot)) || (*open)++)
            continue;
        struct wp_graph_wait *wait = &building->graph->waits[building->wait[i]];
        if (is_knot)
            building->graph->knots[wait->knot - 1].ns += nodes[i].total_ns;
        else
            add_node(wait, &nodes[i], nodes[i].total_ns, 0);
    }
}

/* Pieces of a wait: those of the cells that stand in the layer it leads to. */
static void count_pieces(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    uint32_t *entry = building->open; /* by node: the node where its layer began; reused before it counts */
    for (uint32_t i = 1; i < flame->count; i++)
        entry[i] = building->wait[i] != NONE                                ? i
            : building->party[i] == building->party[flame->nodes[i].parent] ? entry[flame->nodes[i].parent]
                                                                            : 0;
    for (uint32_t i = 0; i < flame->cell_count; i++)
        if (entry[flame->cells[i].node])
            building->graph->waits[building->wait[entry[flame->cells[i].node]]].count += flame->cells[i].count;
    memset(entry, 0, flame->count * sizeof(*entry));
}

static int by_name(const void *left, const void *right, void *context)
{
    const struct wp_party *parties = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (parties[a].knot != parties[b].knot)
        return parties[a].knot < parties[b].knot ? -1 : 1;
    return strcmp(parties[a].name, parties[b].name);
}

static void name_knots(struct building *building)
{
    struct wp_wait_graph *graph = building->graph;
    uint32_t *order = calloc(graph->party_count + 1u, sizeof(*order));
    if (!order) {
        building->failed = true;
        return;
    }
    for (uint32_t i = 0; i < graph->party_count; i++)
        order[i] = i;
    qsort_r(order, graph->party_count, sizeof(*order), by_name, graph->parties);
    for (uint32_t i = 0; i < graph->party_count; i++) {
        const struct wp_party *party = &graph->parties[order[i]];
        struct wp_knot *knot = party->knot ? &graph->knots[party->knot - 1] : NULL;
        if (knot && knot->members++ < KNOT_NAMES)
            knot->name = wp_pool_printf(building->pool, "%s%s%s", knot->name ? knot->name : "", knot->name ? " ⇄ " : "",
                wp_pool_clip(building->pool, party->name, 40));
    }
    for (uint32_t i = 0; i < graph->knot_count; i++)
        if (graph->knots[i].members > KNOT_NAMES)
            graph->knots[i].name = wp_pool_printf(
                building->pool, "%s and %u more", graph->knots[i].name, graph->knots[i].members - KNOT_NAMES);
    free(order);
}

/* A name that several processes or threads have: one of them waiting for another is no circle, and the flame does not
 * tell them apart. */
static bool is_several(const struct building *building, const struct wp_party *party)
{
    const struct wp_facts *facts = building->facts;
    uint32_t pid = 0;
    if (party->kind == WP_PARTY_LOCK || party->kind == WP_PARTY_THREAD || party->kind == WP_PARTY_PROCESSOR)
        return true; /* a function that waits for a lock and holds it at another time is no circle */
    for (size_t i = 0; i < facts->process_count && party->kind == WP_PARTY_PROCESS; i++) {
        const struct wp_process_fact *process = &facts->processes[i];
        size_t size = strlen(process->comm);
        bool is_it = !strncmp(party->name, process->comm, size) &&
            (!party->name[size] ||
                (!strncmp(party->name + size, " on ", 4) && !strcmp(party->name + size + 4, process->host)));
        if (is_it && pid && process->pid != pid)
            return true;
        pid = is_it ? process->pid : pid;
    }
    return false;
}

/* By party. */
static bool *several_of(struct building *building)
{
    bool *several = calloc(building->graph->party_count + 1u, sizeof(*several));
    for (uint32_t i = 0; several && i < building->graph->party_count; i++)
        several[i] = is_several(building, &building->graph->parties[i]);
    return several;
}

/* Components of more than one party. */
static void find_knots(struct building *building)
{
    struct wp_wait_graph *graph = building->graph;
    struct wp_arc *arcs = calloc(graph->wait_count + 1u, sizeof(*arcs));
    uint32_t *component = calloc(graph->party_count * 2u + 1u, sizeof(*component)),
             *members = component + graph->party_count;
    bool *several = several_of(building);
    uint64_t longest = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < graph->wait_count; i++)
        longest = graph->waits[i].ns > longest ? graph->waits[i].ns : longest;
    for (uint32_t i = 0; arcs && several && i < graph->wait_count; i++)
        if (graph->waits[i].ns >= longest / LEAST_OF_KNOT && !several[graph->waits[i].from] &&
            !several[graph->waits[i].to])
            arcs[count++] = (struct wp_arc){graph->waits[i].from, graph->waits[i].to};
    if (!arcs || !component || !several || wp_components(arcs, count, graph->party_count, component)) {
        building->failed = true;
    } else {
        for (uint32_t i = 0; i < graph->party_count; i++)
            members[component[i]]++;
        for (uint32_t i = 0; i < graph->party_count; i++) /* from counts to numbers */
            members[i] = members[i] > 1 ? ++graph->knot_count : 0;
        graph->knots = wp_pool_alloc(building->pool, (graph->knot_count + 1u) * sizeof(*graph->knots));
        for (uint32_t i = 0; graph->knots && i < graph->party_count; i++)
            graph->parties[i].knot = members[component[i]];
        for (uint32_t i = 0; graph->knots && i < graph->wait_count; i++)
            if (graph->parties[graph->waits[i].from].knot == graph->parties[graph->waits[i].to].knot)
                graph->waits[i].knot = graph->parties[graph->waits[i].from].knot;
        if (graph->knots)
            name_knots(building);
    }
    free(arcs);
    free(several);
    free(component);
}

static int compare_parties(const void *left, const void *right, void *context)
{
    const struct wp_party *parties = context, *a = &parties[*(const uint32_t *)left],
                          *b = &parties[*(const uint32_t *)right];
    uint64_t a_ns = a->waited_ns + a->waited_for_ns, b_ns = b->waited_ns + b->waited_for_ns;
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : (int)a->kind - (int)b->kind;
}

static int compare_waits(const void *left, const void *right)
{
    const struct wp_graph_wait *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->from != b->from ? a->from < b->from ? -1 : 1 : a->to < b->to ? -1 : a->to > b->to;
}

static int compare_knots(const void *left, const void *right, void *context)
{
    const struct wp_knot *knots = context, *a = &knots[*(const uint32_t *)left], *b = &knots[*(const uint32_t *)right];
    if (a->members != b->members)
        return a->members > b->members ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* `order` sorted by `compare` over `rows`, and in place[old] where a row went. */
static void rank(
    uint32_t *order, uint32_t *place, uint32_t count, void *rows, int (*compare)(const void *, const void *, void *))
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), compare, rows);
    for (uint32_t i = 0; i < count; i++)
        place[order[i]] = i;
}

/* Everything into the order in which it is shown, in the pool. */
static void finish(struct building *building)
{
    struct wp_wait_graph *graph = building->graph;
    uint32_t most = graph->party_count > graph->knot_count ? graph->party_count : graph->knot_count;
    uint32_t *order = calloc((size_t)most * 3 + 1, sizeof(*order)), *party_place = order + most,
             *knot_place = party_place + most;
    struct wp_party *parties = wp_pool_alloc(building->pool, (graph->party_count + 1u) * sizeof(*parties));
    struct wp_graph_wait *waits = wp_pool_alloc(building->pool, (graph->wait_count + 1u) * sizeof(*waits));
    struct wp_knot *knots = wp_pool_alloc(building->pool, (graph->knot_count + 1u) * sizeof(*knots));
    if (!order || !parties || !waits || !knots || building->failed) {
        building->failed = true;
        free(order);
        return;
    }
    rank(order, knot_place, graph->knot_count, graph->knots, compare_knots);
    for (uint32_t i = 0; i < graph->knot_count; i++)
        knots[i] = graph->knots[order[i]];
    rank(order, party_place, graph->party_count, graph->parties, compare_parties);
    for (uint32_t i = 0; i < graph->party_count; i++) {
        parties[i] = graph->parties[order[i]];
        parties[i].knot = parties[i].knot ? knot_place[parties[i].knot - 1] + 1 : 0;
    }
    for (uint32_t i = 0; i < graph->wait_count; i++) {
        waits[i] = graph->waits[i];
        waits[i].from = party_place[waits[i].from];
        waits[i].to = party_place[waits[i].to];
        waits[i].knot = waits[i].knot ? knot_place[waits[i].knot - 1] + 1 : 0;
    }
    qsort(waits, graph->wait_count, sizeof(*waits), compare_waits);
    free(order);
    free(graph->parties);
    free(graph->waits);
    *graph = (struct wp_wait_graph){parties, waits, knots, graph->party_count, graph->wait_count, graph->knot_count};
}

static void sum_parties(struct wp_wait_graph *graph)
{
    for (uint32_t i = 0; i < graph->wait_count; i++) {
        graph->parties[graph->waits[i].from].waited_ns += graph->waits[i].ns;
        graph->parties[graph->waits[i].to].waited_for_ns += graph->waits[i].ns;
    }
}

static void end(struct building *building)
{
    struct wp_wait_graph *graph = building->graph;
    if (building->failed) {
        building->pool->failed = true;
        free(graph->parties);
        free(graph->waits);
        *graph = (struct wp_wait_graph){0};
    }
    wp_intern_destroy(building->names);
    wp_intmap_fini(&building->waits);
    free(building->party);
    free(building->wait);
    free(building->open);
}

void wp_wait_graph_processes(struct wp_wait_graph *graph, struct wp_pool *pool, const struct wp_facts *facts)
{
    struct building building = {.graph = graph, .pool = pool, .facts = facts};
    size_t room = facts->flame.count + (size_t)1;
    memset(graph, 0, sizeof(*graph));
    building.names = wp_intern_create();
    building.party = calloc(room, sizeof(*building.party));
    building.wait = calloc(room, sizeof(*building.wait));
    building.open =
        calloc(room, sizeof(*building.open)); /* waits and knots begin at nodes: there are no more of them */
    building.failed = !building.names || !building.party || !building.wait || !building.open;
    if (!building.failed) {
        building.wait[0] = NONE;
        assign(&building);
        drop_other_paths(&building);
    }
    if (!building.failed) {
        count_pieces(&building);
        sum(&building, false);
        take_cells(&building);
        take_locks(&building);
        take_rivals(&building);
    }
    if (!building.failed)
        find_knots(&building);
    if (!building.failed) {
        memset(building.open, 0, room * sizeof(*building.open));
        sum(&building, true);
        sum_parties(graph);
        finish(&building);
    }
    end(&building);
}

void wp_wait_graph_hosts(struct wp_wait_graph *graph, struct wp_pool *pool, const struct wp_facts *facts)
{
    struct building building = {.graph = graph, .pool = pool, .facts = facts};
    memset(graph, 0, sizeof(*graph));
    building.names = wp_intern_create();
    building.failed = !building.names;
    for (size_t i = 0; i < facts->edge_count && !building.failed; i++) {
        const struct wp_edge_fact *edge = &facts->edges[i];
        uint32_t wait = wait_of(
            &building, party_of(&building, WP_PARTY_HOST, edge->to), party_of(&building, WP_PARTY_HOST, edge->from));
        if (wait == NONE)
            break;
        graph->waits[wait].ns += edge->waited_ns;
        graph->waits[wait].count += edge->messages;
    }
    if (!building.failed)
        find_knots(&building);
    if (!building.failed) {
        for (uint32_t i = 0; i < graph->wait_count; i++)
            if (graph->waits[i].knot)
                graph->knots[graph->waits[i].knot - 1].ns += graph->waits[i].ns;
        sum_parties(graph);
        for (uint32_t i = 0; i < graph->party_count; i++)
            graph->parties[i].is_base = graph->parties[i].waited_ns > graph->parties[i].waited_for_ns;
        finish(&building);
    }
    end(&building);
}
