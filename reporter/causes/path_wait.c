/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/path_wait.h"

#include "reporter/evidence/cause_lock.h"
#include "reporter/evidence/path_label.h"
#include "reporter/evidence/waker_trace.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PERCENT 30u /* of what is waited: less says nothing of it */

static const char *name_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_name(facts, facts->flame.nodes[node].frame) : "";
}

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

const char *wp_path_wait_whose(const struct wp_facts *facts, uint32_t node)
{
    const char *name = name_at(facts, node);
    return style_at(facts, node) == WP_STYLE_WAIT && !strncmp(name, "path:", 5) ? name + 5 : NULL;
}

/* The node "for:[cron]" that this one stands on; 0: it is not told. */
static uint32_t below_path(const struct wp_facts *facts, uint32_t node)
{
    uint32_t below = facts->flame.nodes[node].parent;
    return style_at(facts, below) == WP_STYLE_WAIT && !strncmp(name_at(facts, below), "for:", 4) ? below : 0;
}

const char *wp_path_wait_for(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    uint32_t below = below_path(facts, cause->node), frame = facts->flame.nodes[below].frame;
    uint64_t ns = 0;
    for (uint32_t i = 0; below && i < facts->flame.cell_count; i++) {
        uint32_t other = causes->cell_cause[i] == row + 1 ? below_path(facts, facts->flame.cells[i].node) : 0;
        ns += other && facts->flame.nodes[other].frame == frame ? facts->flame.cells[i].ns : 0;
    }
    return below && ns >= cause->ns / 2 ? name_at(facts, below) + 4 : NULL;
}

bool wp_path_wait_is_own(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    const char *whose = wp_path_wait_whose(facts, cause->node);
    if (!whose || !strcmp(whose, name_at(facts, cause->process))) /* a process of that name may be asked */
        return whose && !wp_cause_is_asking(facts, cause->sleep);
    bool is_own = false;
    for (uint32_t i = 1; i < facts->flame.count && !is_own; i++) {
        struct wp_cause_fact layer = {.base = cause->process, .process = i};
        is_own = style_at(facts, i) == WP_STYLE_PROCESS && !strcmp(whose, name_at(facts, i)) &&
            wp_cause_is_own(facts, &layer);
    }
    return is_own;
}

bool wp_path_wait_is_busy(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const char *whose = wp_path_wait_whose(facts, causes->rows[row].node);
    const struct wp_trace *trace = facts->is_progress ? NULL : facts->by_threads;
    bool is_other = whose && strcmp(whose, name_at(facts, causes->rows[row].base)) != 0;
    for (uint32_t i = 0; trace && i < trace->thread_count && is_other; i++) {
        const char *comm = wp_intern_text(trace->strings, trace->threads[i].comm);
        size_t size = strlen(comm);
        is_other = !trace->threads[i].is_base || strncmp(whose + 1, comm, size) != 0 || whose[size + 1] != ']';
    }
    return is_other && !wp_path_wait_is_own(causes, facts, row);
}

bool wp_path_wait_is_asked(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    const char *call;
    size_t size = wp_cause_call(facts, cause->sleep, &call);
    if (wp_path_label_is_answer(facts, cause->node) && !wp_path_wait_is_own(causes, facts, row))
        return true;
    if (!wp_cause_is_asking(facts, cause->sleep))
        return wp_path_wait_is_own(causes, facts, row) &&
            (wp_cause_lock_call(facts, cause->sleep) == WP_LOCK_CALL_INTERPRETER ||
                wp_cause_is_barrier(facts, cause->sleep));
    /* Where several are waited for at once, as in epoll_wait, it may be who has nothing to do. */
    return size >= 4 && (!strncmp(call, "recv", 4) || !strncmp(call, "read", 4));
}

/* The outermost process of that node's stack, if it stands alone. */
static uint32_t base_of(const struct wp_facts *facts, uint32_t node)
{
    uint32_t base = 0, layers = 0;
    for (; node; node = facts->flame.nodes[node].parent)
        if (style_at(facts, node) == WP_STYLE_PROCESS) {
            base = node;
            layers++;
        }
    return layers == 1 ? base : 0;
}

static uint32_t sleep_below(const struct wp_facts *facts, uint32_t node)
{
    while (node && style_at(facts, node) != WP_STYLE_SLEEP)
        node = facts->flame.nodes[node].parent;
    return node;
}

/* A node of the flame at that place in the process of interest, the one with most time in one piece. */
static uint32_t node_at(
    const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_trace_place *place)
{
    const struct wp_flame *flame = &facts->flame;
    uint64_t most = 0;
    uint32_t best = 0;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        uint32_t node = wp_facts_below_scheduler(facts, flame->cells[i].node), sleep = sleep_below(facts, node);
        if (flame->cells[i].ns <= most || !base_of(facts, node) || strcmp(name_at(facts, sleep), place->sleep) != 0 ||
            strcmp(name_at(facts, causes->locations[node]), place->location) != 0 ||
            (flame->cells[i].category == WP_OTHER_PATH) != place->is_waiting)
            continue;
        most = flame->cells[i].ns;
        best = sleep ? sleep : node;
    }
    return best;
}

static struct wp_cause_held held_by_thread(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    struct wp_trace_place waits = {name_at(facts, cause->sleep), name_at(facts, causes->locations[cause->sleep]), true};
    uint64_t waited_ns;
    struct wp_waker_doing doing = wp_waker_trace_doing(facts, &waits, &waited_ns);
    uint32_t node = doing.ns && doing.ns >= waited_ns / 100 * LEAST_PERCENT ? node_at(causes, facts, &doing.place) : 0;
    if (doing.ns > waited_ns)
        doing.ns = waited_ns;
    bool is_one = doing.thread_ns > waited_ns / 2;
    return (struct wp_cause_held){.thread = is_one ? doing.thread : 0,
        .node = node,
        .ns = node ? (uint64_t)((double)cause->ns * (double)doing.ns / (double)waited_ns) : 0};
}

/* A sum over nodes to the nodes that they stand on, up to each one's process. */
static void add_below(const struct wp_facts *facts, uint64_t *sums)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    for (uint32_t i = facts->flame.count; i-- > 1;) /* parents come first */
        if (style_at(facts, i) != WP_STYLE_PROCESS)
            sums[nodes[i].parent] += sums[i];
}

/* The innermost function of the program in which most of it passes, with what that calls; node 0: none. */
static struct wp_cause_held within(
    const struct wp_causes *causes, const struct wp_facts *facts, uint64_t *sums, uint64_t all_ns)
{
    struct wp_cause_held held = {0};
    add_below(facts, sums);
    for (uint32_t i = 1; i < facts->flame.count; i++)
        if (causes->locations[i] == i && sums[i] >= all_ns / 2 && wp_cause_is_own_function(facts, i))
            held = (struct wp_cause_held){.node = i, .ns = sums[i]};
    return held;
}

/* Neither does it wait for another path then, nor for a CPU; who holds an interpreter's lock runs. */
static bool is_doing(uint32_t category, bool must_run)
{
    if (must_run)
        return category == WP_UNDERSTOOD_FUNCTIONS;
    return category != WP_OTHER_PATH && category != WP_SCHEDULER && category != WP_INVOLUNTARY;
}

/* What that process or thread does on paths of its own, each of which is in the flame once. */
static struct wp_cause_held held_by_process(
    const struct wp_causes *causes, struct wp_facts *facts, const char *whose, bool must_run)
{
    const struct wp_flame *flame = &facts->flame;
    struct wp_cause_held held = {0};
    uint64_t *sums = calloc(flame->count + 1u, sizeof(*sums)), all_ns = 0;
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < flame->cell_count; i++) {
        uint32_t node = wp_facts_below_scheduler(facts, flame->cells[i].node), sleep = sleep_below(facts, node);
        uint32_t base = base_of(facts, node), at = sleep ? sleep : causes->locations[node];
        if (!base || strcmp(name_at(facts, base), whose) != 0 || !is_doing(flame->cells[i].category, must_run))
            continue;
        all_ns += flame->cells[i].ns;
        sums[at] += flame->cells[i].ns;
        if (at && causes->locations[at] && sums[at] > held.ns)
            held = (struct wp_cause_held){.node = at, .ns = sums[at]};
    }
    struct wp_cause_held called = {0};
    bool is_part = held.ns < all_ns / 2 && style_at(facts, held.node) != WP_STYLE_SLEEP;
    if (sums && is_part)
        called = within(causes, facts, sums, all_ns);
    free(sums);
    if (called.node)
        return called;
    return held.ns && held.ns >= all_ns / 100 * LEAST_PERCENT ? held : (struct wp_cause_held){0};
}

/* Whose paths most of it waits for: "[reindexer]", of a thread with a name of its own; NULL: it is not one. */
static const char *one_waited_for(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    uint64_t *sums = calloc(frames + 1u, sizeof(*sums)), waited_ns = causes->rows[row].ns;
    const char *name = NULL;
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < flame->cell_count && !name; i++) {
        uint32_t node = flame->cells[i].node;
        const char *whose = causes->cell_cause[i] == row + 1 ? wp_path_wait_whose(facts, node) : NULL;
        sums[flame->nodes[node].frame] += whose ? flame->cells[i].ns : 0;
        name = whose && sums[flame->nodes[node].frame] >= waited_ns / 2 ? whose : NULL;
    }
    free(sums);
    return name;
}

struct wp_cause_held wp_path_wait_held(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    const char *base = name_at(facts, cause->base), *lock = wp_cause_language_lock(facts, cause->sleep);
    bool is_other = cause->kind == WP_CAUSE_KIND_PATH && !wp_path_wait_is_own(causes, facts, row);
    bool is_interpreter = lock && wp_lock_is_of_interpreter(lock);
    struct wp_cause_held held = is_other ? (struct wp_cause_held){0} : held_by_thread(causes, facts, row);
    const char *whose = NULL;
    if (is_other)
        whose = wp_path_wait_whose(facts, cause->node);
    else if (!held.node && cause->kind != WP_CAUSE_KIND_PATH)
        whose = one_waited_for(causes, facts, row);
    if (whose && (is_interpreter || strcmp(whose, base) != 0)) /* of several of a name one is as good as the other */
        held = held_by_process(causes, facts, whose, is_interpreter);
    if (held.ns > cause->ns)
        held.ns = cause->ns;
    return held;
}
