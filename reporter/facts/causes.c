/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/causes.h"

#include "common/intmap.h"
#include "reporter/facts/frame_table.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

static const char *name_at(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
}

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

/* --- locks --- */

/* The innermost call of a threads library decides what a futex is for; 1 a lock, -1 something else, 0 not known. */
static int call_kind(const char *name)
{
    static const char *const locks[] = {"mutex_cond_lock", "mutex_lock", "mutex_timedlock", "mutex_clocklock",
        "lll_lock", "rwlock", "lock_contended", "lockSlow", "acquire_lock", "take_gil", "__lll_", "spin_lock"};
    static const char *const others[] = {"cond_", "join", "barrier", "futex_park", "Parker", "notesleep"};
    for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++)
        if (strstr(name, locks[i]))
            return 1;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strstr(name, others[i]))
            return -1;
    return 0;
}

bool wp_cause_is_lock(const struct wp_facts *facts, uint32_t sleep, const char **name)
{
    const char *text = name_at(facts, sleep), *call = text + 6;
    if (style_at(facts, sleep) != WP_STYLE_SLEEP || strncmp(text, "sleep:", 6))
        return false;
    const char *what = strchr(call, ' ');
    *name = what ? what + 1 : "";
    size_t size = what ? (size_t)(what - call) : strlen(call);
    if ((size == 5 && !strncmp(call, "flock", 5)) || (size == 5 && !strncmp(call, "fcntl", 5)))
        return true;
    if (size < 5 || strncmp(call, "futex", 5))
        return false;
    for (uint32_t at = facts->flame.nodes[sleep].parent; at && style_at(facts, at) != WP_STYLE_PROCESS;
         at = facts->flame.nodes[at].parent) {
        int kind = style_at(facts, at) == WP_STYLE_USER ? call_kind(name_at(facts, at)) : 0;
        if (kind)
            return kind > 0;
    }
    return **name;
}

/* --- what causes a cell's time --- */

/* Of a node: where its pseudo-stack begins, its layer, and the sleeps that decide; 0 none. */
struct on_stack {
    uint32_t base, process; /* process nodes */
    uint32_t sleep;         /* of its layer, the innermost */
    uint32_t lock;          /* the lowest sleep of all layers that waits for a lock */
    uint32_t deadlock;
    bool is_unended; /* the recording's end cut off sleeps that stand on it */
};

static void look(struct on_stack *on, const struct wp_facts *facts, uint32_t node)
{
    const char *lock, *name = name_at(facts, node);
    struct on_stack *at = &on[node];
    bool is_unended = at->is_unended;
    *at = on[facts->flame.nodes[node].parent];
    at->is_unended = is_unended;
    switch (style_at(facts, node)) {
    case WP_STYLE_PROCESS:
        at->process = node;
        at->base = at->base ? at->base : node;
        at->sleep = 0;
        break;
    case WP_STYLE_SLEEP:
        at->sleep = node;
        if (!at->lock && wp_cause_is_lock(facts, node, &lock))
            at->lock = node;
        break;
    case WP_STYLE_WAIT:
        if (!at->deadlock && !strncmp(name, "deadlock:", 9))
            at->deadlock = node;
        break;
    default:
        break;
    }
}

static enum wp_cause_kind kind_of_category(unsigned category)
{
    switch (category) {
    case WP_DELIBERATE_SLEEP:
        return WP_CAUSE_KIND_SLEEP;
    case WP_TIMEOUT:
        return WP_CAUSE_KIND_TIMEOUT;
    case WP_BLOCKING_IO:
    case WP_IO_QUEUE:
        return WP_CAUSE_KIND_DISK;
    case WP_REMOTE_NOT_TRACED:
        return WP_CAUSE_KIND_PEER;
    case WP_MESSAGE_IN_FLIGHT:
        return WP_CAUSE_KIND_FLIGHT;
    default:
        return WP_CAUSE_KIND_NONE;
    }
}

/* Who was woken with the lock and has no CPU yet, does not wait for the lock any more. */
static enum wp_cause_kind kind_of(const struct wp_facts *facts, const struct on_stack *at, const struct wp_cell *cell)
{
    uint32_t node = cell->node, parent = facts->flame.nodes[node].parent;
    bool is_signal = style_at(facts, node) == WP_STYLE_WAIT && !strncmp(name_at(facts, node), "signal:", 7);
    if (at->deadlock)
        return WP_CAUSE_KIND_DEADLOCK;
    if (is_signal && cell->category != WP_DELIBERATE_SLEEP && at->sleep == parent && (!at->lock || at->lock == parent))
        return WP_CAUSE_KIND_INTERRUPTED;
    if (at->lock && !(parent == at->lock && style_at(facts, node) == WP_STYLE_SCHED))
        return node == at->lock && cell->category == WP_TIMEOUT ? WP_CAUSE_KIND_TIMEOUT : WP_CAUSE_KIND_LOCK;
    if (at->is_unended && cell->category == WP_UNACCOUNTED && node == at->sleep)
        return WP_CAUSE_KIND_UNENDED;
    return at->sleep ? kind_of_category(cell->category) : WP_CAUSE_KIND_NONE;
}

/* By the reason that the engine files with it (aggregator/explain). */
static void mark_unended(struct on_stack *on, const struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_unexplained *rows = wp_report_unexplained_rows(facts->report, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].node < facts->flame.source_count &&
            !strcmp(wp_report_text(facts->report, rows[i].reason), "the recording ended before it did"))
            on[facts->flame.by_source[rows[i].node]].is_unended = true;
    on[0].is_unended = false;
}

/* What two cells must share to be told as one: kind, process and place, and what is waited for. */
static struct wp_intkey key_of(const struct wp_causes *causes, const struct wp_facts *facts, const struct on_stack *at,
    const struct wp_cause_fact *cause)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t what = nodes[cause->sleep].frame, location = causes->locations[cause->sleep];
    uint32_t where = location ? nodes[location].frame : 0;
    const char *lock;
    if (cause->kind == WP_CAUSE_KIND_DEADLOCK)
        return (struct wp_intkey){nodes[at->deadlock].frame, cause->kind};
    if (cause->kind == WP_CAUSE_KIND_LOCK && wp_cause_is_lock(facts, cause->sleep, &lock) && *lock)
        where = 0; /* one lock is one cause, wherever it is waited for */
    else if (cause->kind == WP_CAUSE_KIND_DISK || (cause->kind == WP_CAUSE_KIND_LOCK && where))
        what = 0;
    return (struct wp_intkey){
        (uint64_t)what << 32 | where, (uint64_t)nodes[cause->process].frame << 8 | (unsigned)cause->kind};
}

static void add(struct wp_causes *causes, struct wp_facts *facts, struct wp_intmap *index, const struct on_stack *on,
    const struct wp_cell *cell)
{
    const struct on_stack *at = &on[cell->node];
    struct wp_cause_fact made = {.kind = kind_of(facts, at, cell), .node = cell->node, .base = at->base};
    uint32_t row;
    if (made.kind == WP_CAUSE_KIND_NONE)
        return;
    made.sleep = made.kind == WP_CAUSE_KIND_DEADLOCK ? at->deadlock
        : made.kind == WP_CAUSE_KIND_LOCK            ? at->lock
                                                     : at->sleep;
    made.process = on[made.sleep].process;
    struct wp_intkey key = key_of(causes, facts, at, &made);
    if (!wp_intmap_get(index, key, &row)) {
        row = causes->count++;
        facts->pool.failed |= wp_intmap_put(index, key, row) != 0;
    }
    struct wp_cause_fact *cause = &causes->rows[row];
    made.ns = cause->ns + cell->ns;
    made.largest_ns = cell->ns;
    causes->cell_cause[cell - facts->flame.cells] = row + 1;
    if (cell->ns >= cause->largest_ns)
        *cause = made;
    cause->ns = made.ns;
}

void wp_causes_build(struct wp_causes *causes, struct wp_facts *facts)
{
    const struct wp_flame *flame = &facts->flame;
    struct wp_intmap index = {0};
    struct on_stack *on = calloc(flame->count + 1u, sizeof(*on));
    *causes = (struct wp_causes){.locations = wp_code_locations_build(facts)};
    causes->rows = wp_pool_alloc(&facts->pool, (flame->cell_count + 1u) * sizeof(*causes->rows));
    causes->cell_cause = wp_pool_alloc(&facts->pool, (flame->cell_count + 1u) * sizeof(*causes->cell_cause));
    facts->pool.failed |= !on;
    if (!facts->pool.failed) {
        mark_unended(on, facts);
        for (uint32_t i = 1; i < flame->count; i++)
            look(on, facts, i);
        for (uint32_t i = 0; i < flame->cell_count; i++)
            add(causes, facts, &index, on, &flame->cells[i]);
    }
    wp_intmap_fini(&index);
    free(on);
}

/* --- who held it --- */

/* The process node of the first layer above the topmost wait for that lock; 0: none is known. */
static uint32_t holder_layer(
    const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_stack_walk *walk, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    uint32_t frame = facts->flame.nodes[cause->sleep].frame, layer = 0;
    bool is_past = false;
    for (uint32_t i = 0; i < walk->depth; i++) {
        if (facts->flame.nodes[walk->stack[i]].frame == frame) {
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

uint32_t wp_cause_held_in(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row, uint64_t *ns)
{
    struct wp_intmap sums = {0};
    struct {
        uint64_t ns, largest_ns;
        uint32_t node;
    } *rows = calloc(facts->flame.cell_count + 1u, sizeof(*rows));
    struct wp_stack_walk walk;
    uint32_t count = 0, best = 0;
    wp_stack_walk_init(&walk, &facts->flame);
    while (rows && wp_stack_walk_next(&walk)) {
        if (causes->cell_cause[walk.cell - facts->flame.cells] != row + 1)
            continue;
        uint32_t layer = holder_layer(causes, facts, &walk, row);
        uint32_t top = layer ? top_of_layer(facts, &walk, layer) : 0, at = 0;
        uint32_t location = top ? causes->locations[top] : 0, callee = top;
        if (!location)
            continue;
        while (callee != location && facts->flame.nodes[callee].parent != location)
            callee = facts->flame.nodes[callee].parent;
        struct wp_intkey key = {facts->flame.nodes[location].frame, facts->flame.nodes[callee].frame};
        if (!wp_intmap_get(&sums, key, &at) && wp_intmap_put(&sums, key, at = count++))
            break;
        rows[at].ns += walk.cell->ns;
        if (walk.cell->ns >= rows[at].largest_ns) {
            rows[at].largest_ns = walk.cell->ns;
            rows[at].node = top;
        }
        best = rows[at].ns > rows[best].ns ? at : best;
    }
    uint32_t node = count ? rows[best].node : 0;
    *ns = count ? rows[best].ns : 0;
    wp_stack_walk_fini(&walk);
    wp_intmap_fini(&sums);
    free(rows);
    return node;
}
