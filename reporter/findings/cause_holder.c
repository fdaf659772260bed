/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/cause_holder.h"

#include "common/intmap.h"
#include "reporter/facts/frame_table.h"
#include "reporter/findings/cause_lock.h"
#include "reporter/findings/pauses.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

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

/* Whether who sleeps there on a condition has given up the lock of the cause for that. A condition of Java's belongs to
 * a lock of its own kind: who waits for a monitor's keeps a ReentrantLock. */
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
    return !lock || !(strcmp(lock, "monitor") ? is_of_monitor : is_of_other);
}

uint32_t wp_cause_held_in(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row, uint64_t *ns)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    struct wp_intmap sums = {0};
    struct {
        uint64_t ns, largest_ns;
        uint32_t node;
    } *rows = calloc(facts->flame.cell_count + 1u, sizeof(*rows));
    struct wp_stack_walk walk;
    uint32_t count = 0, best = 0;
    uint64_t given_up_ns = 0;
    wp_stack_walk_init(&walk, &facts->flame);
    while (rows && wp_stack_walk_next(&walk)) {
        if (causes->cell_cause[walk.cell - facts->flame.cells] != row + 1)
            continue;
        uint32_t layer = holder_layer(causes, facts, &walk, row);
        uint32_t top = layer ? top_of_layer(facts, &walk, layer) : 0;
        uint32_t sleep = sleep_below(facts, top), at = 0;
        uint32_t location = top ? causes->locations[top] : 0, callee = location ? top : sleep;
        bool is_nap =
            walk.cell->category == WP_DELIBERATE_SLEEP && walk.cell->node == sleep; /* some call it a condition */
        if (callee && !is_nap && gives_up(facts, cause, sleep)) {
            given_up_ns += walk.cell->ns;
            continue;
        }
        if (!callee)
            continue;
        if (!location && wp_cause_is_idle(facts, sleep)) /* a thread of Go's that nothing is known of */
            continue;
        while (location && callee != location && facts->flame.nodes[callee].parent != location)
            callee = facts->flame.nodes[callee].parent;
        struct wp_intkey key = {location ? facts->flame.nodes[location].frame : 0, facts->flame.nodes[callee].frame};
        if (!wp_intmap_get(&sums, key, &at) && wp_intmap_put(&sums, key, at = count++))
            break;
        rows[at].ns += walk.cell->ns;
        if (walk.cell->ns >= rows[at].largest_ns) {
            rows[at].largest_ns = walk.cell->ns;
            rows[at].node = top;
        }
        best = rows[at].ns > rows[best].ns ? at : best;
    }
    /* Else another one had it most of the time. */
    bool is_known = count && (cause->kind != WP_CAUSE_KIND_LOCK || rows[best].ns >= given_up_ns);
    uint32_t node = is_known ? rows[best].node : 0;
    *ns = is_known ? rows[best].ns : 0;
    wp_stack_walk_fini(&walk);
    wp_intmap_fini(&sums);
    free(rows);
    return node;
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
