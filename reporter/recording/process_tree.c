/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/process_tree.h"

#include "common/cgroup_path.h"
#include "common/intern.h"
#include "reporter/display/humanize.h"
#include "reporter/recording/process_units.h"
#include "storage/kind/genealogy_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAMS 6u /* that are named, one after the other */
#define NAME_BYTES 200u
#define NONE UINT32_MAX

struct mark {
    bool is_kept, is_on_paths;
    uint64_t total_ns, running_ns;
    uint32_t first_child, next; /* places + 1 */
    uint32_t row;               /* place in the tree's rows */
};

struct maker {
    struct wp_facts *facts;
    const struct wp_genealogy *genealogy;
    struct wp_process_tree *tree;
    struct mark *marks; /* owned; by process of the genealogy */
    uint32_t *by_start; /* owned; places, the oldest first: parents before their children */
    uint32_t *of_fact;  /* owned; place of a process of the report, NONE */
    size_t kept;
};

static const struct wp_genealogy_process *process_at(const struct maker *maker, uint32_t place)
{
    return &maker->genealogy->processes[place];
}

static int by_start(const void *left, const void *right, void *context)
{
    const struct wp_genealogy *genealogy = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t a_ns = genealogy->processes[a].start_ns, b_ns = genealogy->processes[b].start_ns;
    return a_ns != b_ns ? (a_ns < b_ns ? -1 : 1) : a < b ? -1 : a > b;
}

/* The process and its ancestors, unless they are too many by then. */
static void keep_line(struct maker *maker, uint32_t place)
{
    size_t wanted = 0;
    for (uint32_t at = place + 1; at && !maker->marks[at - 1].is_kept; at = process_at(maker, at - 1)->parent)
        wanted++;
    if (maker->kept + wanted > WP_TREE_ROWS) {
        maker->tree->left_out++;
        return;
    }
    for (uint32_t at = place + 1; at && !maker->marks[at - 1].is_kept; at = process_at(maker, at - 1)->parent)
        maker->marks[at - 1].is_kept = true;
    maker->kept += wanted;
}

/* Those of the report come in its order: most time first. */
static void mark_paths(struct maker *maker)
{
    const struct wp_facts *facts = maker->facts;
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct wp_process_fact *fact = &facts->processes[i];
        uint32_t place = fact->pid ? wp_genealogy_find(maker->genealogy, fact->host, fact->pid, fact->start_ns) : NONE;
        maker->of_fact[i] = place;
        if (place == NONE)
            continue;
        struct mark *mark = &maker->marks[place];
        mark->total_ns += fact->total_ns;
        mark->running_ns += fact->running_ns;
        if (!mark->is_on_paths)
            keep_line(maker, place);
        mark->is_on_paths = true;
    }
}

/* Whom those on paths started, they and theirs, as far as they lived while it was recorded. */
static void mark_started(struct maker *maker)
{
    const struct wp_facts *facts = maker->facts;
    bool *is_below = calloc(maker->genealogy->process_count + (size_t)1, sizeof(*is_below));
    maker->facts->pool.failed |= !is_below;
    for (uint32_t i = 0; is_below && i < maker->genealogy->process_count; i++) {
        uint32_t place = maker->by_start[i];
        const struct wp_genealogy_process *process = process_at(maker, place);
        if (!process->parent)
            continue;
        const struct mark *parent = &maker->marks[process->parent - 1];
        bool is_there = (!facts->last_ns || process->start_ns <= facts->last_ns) &&
            (!process->end_ns || process->end_ns >= facts->first_ns);
        is_below[place] = is_below[process->parent - 1] || parent->is_on_paths;
        if (!is_below[place] || !is_there || maker->marks[place].is_kept)
            continue;
        if (!parent->is_kept || maker->kept >= WP_TREE_ROWS) {
            maker->tree->left_out++;
            continue;
        }
        maker->marks[place].is_kept = true;
        maker->kept++;
    }
    free(is_below);
}

static const char *text_of(struct maker *maker, uint32_t id)
{
    return wp_pool_clip(&maker->facts->pool, wp_intern_text(maker->genealogy->texts, id), NAME_BYTES);
}

static const char *programs_of(struct maker *maker, const struct wp_genealogy_process *process)
{
    struct wp_pool *pool = &maker->facts->pool;
    const char *text = "";
    uint32_t last = NONE, named = 0;
    for (uint32_t i = 0; i < process->program_count; i++) {
        const struct wp_program *program = &maker->genealogy->programs[process->first_program + i];
        if (program->comm == last)
            continue;
        last = program->comm;
        if (named++ == PROGRAMS)
            return wp_pool_printf(pool, "%s → …", text);
        text = wp_pool_printf(pool, "%s%s%s", text, *text ? " → " : "", text_of(maker, program->comm));
    }
    return text;
}

/* "nginx.service; it had 80.9 MB; most had hog". */
static const char *memory_of(struct maker *maker, const struct wp_genealogy_process *process)
{
    const struct wp_killed *killed = &process->killed;
    struct wp_pool *pool = &maker->facts->pool;
    char name[NAME_BYTES];
    if (process->ending != WP_ENDING_OOM || !killed->cgroup)
        return "";
    const char *path = text_of(maker, killed->cgroup), *holder = text_of(maker, killed->holder);
    wp_cgroup_path_name(path, name, sizeof(name));
    const char *had = killed->bytes ? wp_pool_printf(pool, "; it had %s", wp_human_bytes(pool, killed->bytes)) : "";
    return wp_pool_printf(
        pool, "%s%s%s%s", strcmp(path, "/") ? name : "the whole machine", had, *holder ? "; most had " : "", holder);
}

static void add_row(struct maker *maker, uint32_t place)
{
    const struct wp_genealogy_process *process = process_at(maker, place);
    const struct wp_program *last = &maker->genealogy->programs[process->first_program + process->program_count - 1];
    struct mark *mark = &maker->marks[place];
    const struct mark *parent = process->parent ? &maker->marks[process->parent - 1] : NULL;
    mark->row = (uint32_t)maker->tree->count;
    maker->tree->rows[maker->tree->count++] = (struct wp_tree_process){.host = text_of(maker, process->host),
        .comm = text_of(maker, last->comm),
        .programs = programs_of(maker, process),
        .exe = text_of(maker, last->exe),
        .pid = process->pid,
        .depth = parent ? maker->tree->rows[parent->row].depth + 1 : 0,
        .parent = parent ? parent->row + 1 : 0,
        .start_ns = process->start_ns,
        .end_ns = process->end_ns,
        .ending = process->ending,
        .memory = memory_of(maker, process),
        .total_ns = mark->total_ns,
        .running_ns = mark->running_ns,
        .is_on_paths = mark->is_on_paths};
}

/* Down to the first child, else on to the next one, else up. Depth does not count: chains may be long. */
static void walk(struct maker *maker, uint32_t root)
{
    for (uint32_t at = root + 1; at;) {
        struct mark *mark = &maker->marks[at - 1];
        add_row(maker, at - 1);
        if (mark->first_child) {
            at = mark->first_child;
            continue;
        }
        while (at && at != root + 1 && !maker->marks[at - 1].next)
            at = process_at(maker, at - 1)->parent;
        at = at == root + 1 ? 0 : maker->marks[at - 1].next;
    }
}

static void link_children(struct maker *maker)
{
    for (uint32_t i = maker->genealogy->process_count; i--;) {
        uint32_t place = maker->by_start[i], parent = process_at(maker, place)->parent;
        if (!maker->marks[place].is_kept || !parent)
            continue;
        maker->marks[place].next = maker->marks[parent - 1].first_child;
        maker->marks[parent - 1].first_child = place + 1;
    }
}

static void build_rows(struct maker *maker)
{
    struct wp_process_tree *tree = maker->tree;
    link_children(maker);
    for (uint32_t i = 0; i < maker->genealogy->process_count; i++) {
        uint32_t place = maker->by_start[i];
        if (maker->marks[place].is_kept && !process_at(maker, place)->parent)
            walk(maker, place);
    }
    for (size_t i = 0; i < maker->facts->process_count; i++) {
        uint32_t place = maker->of_fact[i];
        tree->of_fact[i] = place != NONE && maker->marks[place].is_kept ? maker->marks[place].row + 1 : 0;
    }
}

/* Sets facts->tree where the genealogy has some of the processes. */
static int build(struct wp_facts *facts, const struct wp_genealogy *genealogy, struct wp_error *err)
{
    struct maker maker = {.facts = facts,
        .genealogy = genealogy,
        .tree = wp_pool_alloc(&facts->pool, sizeof(*maker.tree)),
        .marks = calloc(genealogy->process_count + (size_t)1, sizeof(*maker.marks)),
        .by_start = calloc(genealogy->process_count + (size_t)1, sizeof(*maker.by_start)),
        .of_fact = calloc(facts->process_count + 1, sizeof(*maker.of_fact))};
    if (maker.tree && maker.marks && maker.by_start && maker.of_fact) {
        for (uint32_t i = 0; i < genealogy->process_count; i++)
            maker.by_start[i] = i;
        qsort_r(
            maker.by_start, genealogy->process_count, sizeof(*maker.by_start), by_start, (void *)(uintptr_t)genealogy);
        mark_paths(&maker);
        mark_started(&maker);
        maker.tree->rows = wp_pool_alloc(&facts->pool, (maker.kept + 1) * sizeof(*maker.tree->rows));
        maker.tree->of_fact = wp_pool_alloc(&facts->pool, (facts->process_count + 1) * sizeof(*maker.tree->of_fact));
        if (maker.tree->rows && maker.tree->of_fact)
            build_rows(&maker);
        maker.tree->damaged = genealogy->damaged;
        maker.tree->unheld = genealogy->left_out;
        if (maker.tree->count)
            facts->tree = maker.tree;
    }
    bool has_failed = !maker.marks || !maker.by_start || !maker.of_fact || facts->pool.failed;
    free(maker.marks);
    free(maker.by_start);
    free(maker.of_fact);
    return has_failed ? wp_error_set(err, -ENOMEM, "out of memory for the processes of %s", facts->aggregate) : 0;
}

static int tell_damage(struct wp_facts *facts, const struct wp_genealogy *genealogy, struct wp_error *err)
{
    char reason[80];
    if (!genealogy->damaged)
        return 0;
    snprintf(reason, sizeof(reason), "values of who started whom that cannot be read: %zu", genealogy->damaged);
    int rc = wp_facts_add_damage(facts, "genealogy", reason);
    return rc ? wp_error_set(err, rc, "out of memory for the damage list") : 0;
}

int wp_process_tree_read(
    struct wp_facts *facts, struct wp_genealogy **genealogy, const struct wp_snapshot *snapshot, struct wp_error *err)
{
    int rc = *genealogy ? 0 : wp_genealogy_read(genealogy, snapshot, err);
    if (!rc)
        rc = tell_damage(facts, *genealogy, err);
    if (!rc)
        rc = wp_process_units_build(facts, *genealogy, err);
    return rc ? rc : build(facts, *genealogy, err);
}

const struct wp_tree_process *wp_process_tree_parent(const struct wp_facts *facts, size_t process)
{
    const struct wp_process_tree *tree = facts->tree;
    uint32_t row = tree ? tree->of_fact[process] : 0, parent = row ? tree->rows[row - 1].parent : 0;
    return parent ? &tree->rows[parent - 1] : NULL;
}

const char *wp_process_tree_ending(struct wp_pool *pool, uint32_t ending)
{
    if (!ending)
        return "";
    if (ending == WP_ENDING_OOM)
        return "SIGKILL, out of memory";
    if (ending == WP_ENDING_MOST)
        return wp_pool_printf(pool, "exit status %u or more", WP_ENDING_OOM - WP_ENDING_STATUS);
    if (ending >= WP_ENDING_STATUS)
        return wp_pool_printf(pool, "exit status %u", ending - WP_ENDING_STATUS);
    const char *known = sigabbrev_np((int)ending);
    return known ? wp_pool_printf(pool, "SIG%s", known) : wp_pool_printf(pool, "signal %u", ending);
}
