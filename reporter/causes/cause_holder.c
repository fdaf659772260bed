/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/cause_holder.h"

#include "common/intmap.h"
#include "reporter/facts/frame_table.h"
#include "reporter/facts/rivals.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/evidence/pauses.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PERCENT 30u /* of what is known of the holders: what they do less than that is no answer */

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

/* Waits without a name of what they are for look the same if they are of one kind. */
static bool is_same_wait(const struct wp_facts *facts, const struct wp_cause_fact *cause, uint32_t node)
{
    const char *lock;
    if (facts->flame.nodes[node].frame != facts->flame.nodes[cause->sleep].frame)
        return false;
    return cause->kind == WP_CAUSE_KIND_LOCK
        ? wp_cause_is_lock(facts, node, &lock)
        : wp_cause_lock_call(facts, node) == wp_cause_lock_call(facts, cause->sleep);
}

/* The process node of the first layer above the topmost wait for that lock; 0: none is known. */
static uint32_t holder_layer(
    const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_stack_walk *walk, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    uint32_t layer = 0;
    bool is_past = false;
    for (uint32_t i = 0; i < walk->depth; i++) {
        if (is_same_wait(facts, cause, walk->stack[i])) {
            is_past = true;
            layer = 0;
        } else if (is_past && !layer && style_at(facts, walk->stack[i]) == WP_STYLE_PROCESS) {
            layer = walk->stack[i];
        }
    }
    return layer;
}

/* The innermost node of that layer on the stack. */
static uint32_t top_of_layer(const struct wp_facts *facts, const struct wp_stack_walk *walk, uint32_t layer)
{
    uint32_t top = layer;
    bool is_in = false;
    for (uint32_t i = 0; i < walk->depth; i++) {
        if (walk->stack[i] == layer)
            is_in = true;
        else if (is_in && style_at(facts, walk->stack[i]) == WP_STYLE_PROCESS)
            break;
        if (is_in)
            top = walk->stack[i];
    }
    return top;
}

/* The sleep of the layer that `node` is the top of; 0: it runs. */
static uint32_t sleep_below(const struct wp_facts *facts, uint32_t node)
{
    for (; node && style_at(facts, node) != WP_STYLE_PROCESS; node = facts->flame.nodes[node].parent)
        if (style_at(facts, node) == WP_STYLE_SLEEP)
            return node;
    return 0;
}

/* Whether it is a function of Java's class library that calls the locks of that, in the sleep. */
static bool is_of_library(const struct wp_facts *facts, uint32_t sleep)
{
    static const char locks[] = "java.util.concurrent.locks.";
    bool is_behind = false;
    for (uint32_t at = sleep; at && style_at(facts, at) != WP_STYLE_PROCESS; at = facts->flame.nodes[at].parent) {
        const char *name = wp_facts_frame_name(facts, facts->flame.nodes[at].frame);
        if (style_at(facts, at) != WP_STYLE_USER)
            continue;
        if (!strncmp(name, locks, sizeof(locks) - 1))
            is_behind = true;
        else if (is_behind && strncmp(name, "java.util.concurrent.ForkJoinPool.", 34)) /* what awaits may block there */
            return !strncmp(name, "java.", 5) || !strncmp(name, "jdk.", 4) || !strncmp(name, "sun.", 4);
    }
    return false;
}

/* Whether who sleeps there on a condition has given up the lock of the cause for that. A condition of Java's belongs to
 * a lock of its own kind: who waits for a monitor's keeps a ReentrantLock; so does who waits for one of the class
 * library's own (from 21 on, for a child's end), if the lock is not that's. */
static bool gives_up(const struct wp_facts *facts, const struct wp_cause_fact *cause, uint32_t sleep)
{
    bool is_of_monitor = false, is_of_other = false;
    if (!wp_cause_is_condition(facts, sleep))
        return false;
    for (uint32_t at = sleep; at && style_at(facts, at) != WP_STYLE_PROCESS; at = facts->flame.nodes[at].parent) {
        const char *name = wp_facts_frame_name(facts, facts->flame.nodes[at].frame);
        if (style_at(facts, at) != WP_STYLE_USER)
            continue;
        is_of_monitor |= strstr(name, "ObjectMonitor::wait") || !strcmp(name, "java.lang.Object.wait");
        is_of_other |= strstr(name, "ConditionObject.await") || strstr(name, "ConditionNode.block");
    }
    const char *lock = wp_cause_language_lock(facts, cause->sleep);
    if (lock && is_of_other && is_of_library(facts, sleep) && !is_of_library(facts, cause->sleep))
        return false;
    return !lock || !(strcmp(lock, "monitor") ? is_of_monitor : is_of_other);
}

/* Of equal doings of holders. */
struct doing {
    uint64_t ns, largest_ns;
    uint32_t node;
};

struct doings {
    struct doing *rows;
    struct wp_intmap index;
    uint32_t best;
    uint64_t ns, count; /* of all */
    bool failed;
};

static void add_doing(struct doings *doings, struct wp_intkey key, const struct wp_cell *cell, uint32_t top)
{
    uint32_t at = doings->index.count;
    if (!wp_intmap_get(&doings->index, key, &at) && wp_intmap_put(&doings->index, key, at)) {
        doings->failed = true;
        return;
    }
    struct doing *row = &doings->rows[at];
    doings->ns += cell->ns;
    doings->count += cell->count;
    row->ns += cell->ns;
    if (cell->ns >= row->largest_ns) {
        row->largest_ns = cell->ns;
        row->node = top;
    }
    doings->best = row->ns > doings->rows[doings->best].ns ? at : doings->best;
}

/* What the holder whose layer ends in `top` does there: a sleep, or a function. */
static bool key_of(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t top, struct wp_intkey *key)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t sleep = sleep_below(facts, top), location = top ? causes->locations[top] : 0;
    uint32_t callee = location ? top : sleep;
    if (!callee || (!location && wp_cause_is_idle(facts, sleep))) /* a thread of Go's that nothing is known of */
        return false;
    while (location && callee != location && nodes[callee].parent != location)
        callee = nodes[callee].parent;
    *key = (struct wp_intkey){location ? nodes[location].frame : 0, nodes[callee].frame};
    return true;
}

/* The holder would run, and has no CPU: for longer than the moment between two things that it does. */
static bool is_starved(
    const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_cell *cell, uint32_t top)
{
    bool is_moment = cell->ns < (cell->count ? cell->count : 1) * WP_STARVED_NS;
    return style_at(facts, top) == WP_STYLE_SCHED &&
        !(is_moment && (causes->locations[top] || sleep_below(facts, top)));
}

/* What holders of the lock of that row do, and who has the CPU where they would run. */
struct holders {
    struct doings does, starved;
    uint64_t given_up_ns;
};

static void look_at_cell(struct holders *holders, const struct wp_causes *causes, const struct wp_facts *facts,
    const struct wp_stack_walk *walk, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    const struct wp_cell *cell = walk->cell;
    uint32_t layer = holder_layer(causes, facts, walk, row);
    uint32_t top = layer ? top_of_layer(facts, walk, layer) : 0, sleep = sleep_below(facts, top);
    bool is_nap = cell->category == WP_DELIBERATE_SLEEP && cell->node == sleep; /* some call it a condition */
    struct wp_intkey key;
    if (is_starved(causes, facts, cell, top))
        add_doing(&holders->starved, (struct wp_intkey){wp_rival_frame(facts, top), 0}, cell, top);
    else if (sleep && !is_nap && gives_up(facts, cause, sleep))
        holders->given_up_ns += cell->ns;
    else if (key_of(causes, facts, top, &key))
        add_doing(&holders->does, key, cell, top);
}

static struct wp_cause_held held_of(const struct holders *holders, const struct wp_facts *facts, bool is_lock)
{
    const struct doing *does = &holders->does.rows[holders->does.best];
    const struct doing *rival = &holders->starved.rows[holders->starved.best];
    uint64_t known_ns = holders->does.ns + holders->given_up_ns, starved_ns = holders->starved.ns;
    /* A wait for a CPU is counted once, behind whom it ends: mostly not the one that it is longest behind. */
    uint64_t mean_ns = starved_ns / (holders->starved.count ? holders->starved.count : 1);
    bool is_long = rival->ns >= starved_ns / 2 && mean_ns >= WP_STARVED_NS;
    if (starved_ns > known_ns && (is_long || known_ns < starved_ns / 10))
        return (struct wp_cause_held){.node = rival->node,
            .is_starved = true,
            .rival = rival->ns >= starved_ns / 2 ? wp_rival_frame(facts, rival->node) : 0,
            .ns = starved_ns,
            .starved_ns = starved_ns,
            .mean_ns = mean_ns};
    /* Else another one had it most of the time. */
    if (!does->ns || does->ns < known_ns / 100 * LEAST_PERCENT || (is_lock && does->ns < holders->given_up_ns))
        return (struct wp_cause_held){0};
    return (struct wp_cause_held){.node = does->node, .ns = does->ns, .starved_ns = starved_ns};
}

struct wp_cause_held wp_cause_held_in(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    struct holders holders = {.does.rows = calloc(facts->flame.cell_count + 1u, sizeof(struct doing)),
        .starved.rows = calloc(facts->flame.cell_count + 1u, sizeof(struct doing))};
    struct wp_cause_held held = {0};
    struct wp_stack_walk walk;
    wp_stack_walk_init(&walk, &facts->flame);
    facts->pool.failed |= !holders.does.rows || !holders.starved.rows;
    while (!facts->pool.failed && wp_stack_walk_next(&walk)) {
        if (causes->cell_cause[walk.cell - facts->flame.cells] == row + 1)
            look_at_cell(&holders, causes, facts, &walk, row);
        facts->pool.failed |= holders.does.failed || holders.starved.failed;
    }
    if (!facts->pool.failed)
        held = held_of(&holders, facts, causes->rows[row].kind == WP_CAUSE_KIND_LOCK);
    wp_stack_walk_fini(&walk);
    wp_intmap_fini(&holders.does.index);
    wp_intmap_fini(&holders.starved.index);
    free(holders.does.rows);
    free(holders.starved.rows);
    return held;
}

/* --- what threads are stopped for --- */

/* The frame of the operation on top of the node `below`; 0: none is known. */
static uint32_t operation_at(const struct wp_facts *facts, uint32_t node, uint32_t below)
{
    for (; node && node != below; node = facts->flame.nodes[node].parent)
        if (wp_pause_operation_size(wp_facts_frame_name(facts, facts->flame.nodes[node].frame)))
            return facts->flame.nodes[node].frame;
    return 0;
}

const char *wp_cause_operation(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t frames, best = 0;
    wp_report_frames(facts->report, &frames);
    uint64_t *sums = calloc(frames + 1u, sizeof(*sums));
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < flame->cell_count; i++) {
        uint32_t frame =
            causes->cell_cause[i] == row + 1 ? operation_at(facts, flame->cells[i].node, causes->cell_sleep[i]) : 0;
        if (!frame || frame >= frames)
            continue;
        sums[frame] += flame->cells[i].ns;
        best = !best || sums[frame] > sums[best] ? frame : best;
    }
    free(sums);
    const char *name = best ? wp_facts_frame_name(facts, best) : "";
    return wp_pool_printf(&facts->pool, "%.*s", (int)wp_pause_operation_size(name), name);
}
