/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/findings.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/code_location.h"
#include "reporter/facts/doing.h"
#include "reporter/facts/rivals.h"
#include "reporter/facts/role_name.h"
#include "reporter/facts/stack_text.h"
#include "reporter/findings/cause_rank.h"
#include "reporter/sentences/cause_text.h"
#include "reporter/findings/finding_beside.h"
#include "reporter/causes/path_wait.h"
#include "reporter/findings/pattern.h"
#include "reporter/findings/pattern_herd.h"
#include "reporter/causes/process_groups.h"
#include "reporter/findings/request_findings.h"
#include "reporter/findings/rival_list.h"
#include "reporter/sentences/running_text.h"
#include "reporter/causes/own_requests.h"
#include "reporter/findings/stuck.h"
#include "storage/report/report_read.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 1000u    /* a finding below a thousandth of the total says nothing */
#define PATTERN_SHARE 50u    /* a pattern of less than this part of the total is true, and mends nothing */
#define MOST_RAISED 20u      /* by its pattern: nothing with so many times its time stands behind it */
#define SERVED_SHARE 10u     /* requests that take this part of the total or more are what a program does */
#define UNSAMPLED_SHARE 100u /* a process that runs less than this between samples says nothing */

#define CAUSES 7u    /* so many causes at places are told, */
#define PROCESSES 4u /* ... processes, and what their other time is */
#define SAYS 4u      /* categories that have no place */
#define RIVALS 3u    /* who had the processor, each above a part in RIVAL_SHARE of the total */
#define RIVAL_SHARE 100u
_Static_assert(CAUSES + PROCESSES + SAYS + RIVALS + 3 + WP_REQUEST_FINDINGS <= WP_FINDINGS,
    "with what is unexplained, threads that are stuck, who was killed (killed_finding.h) and requests");

/* What a category says of a time that has no place: "<time> (<share>) <this>". */
static const char *const category_says[WP_CATEGORIES] = {
    [WP_SCHEDULER] = "is spent runnable, waiting for a CPU",
    [WP_HARDWARE_WAIT] = "goes to waiting for hardware",
    [WP_INVOLUNTARY] = "is lost to preemption",
    [WP_KERNEL_BLOCK] = "passes blocked inside the kernel",
};

struct walk {
    struct wp_facts *facts;
    struct wp_causes causes;
    struct wp_process_groups groups;
    uint32_t largest[WP_CATEGORIES]; /* cell of the most time, +1 ... */
    uint64_t ns[WP_CATEGORIES];      /* ... and all of it, of what no cause has */
    uint64_t told_ns[WP_CATEGORIES]; /* of it: findings of who had the processor have it */
    uint64_t most_ns[WP_CATEGORIES]; /* the largest of these findings: it stands before what is smaller */
    uint64_t count[WP_CATEGORIES];   /* pieces of that */
    bool is_quota_told;              /* by a finding of its own */
    bool *is_rival_told;             /* by frame: who had the processor, in a finding of its own */
};

static void add(struct wp_facts *facts, const struct wp_finding *finding)
{
    if (facts->finding_count < WP_FINDINGS)
        facts->findings[facts->finding_count++] = *finding;
}

static const char *fragment(struct wp_facts *facts, const char *key, const char *value)
{
    struct wp_buffer buffer = {0};
    wp_escape_url(&buffer, value);
    const char *text = wp_pool_printf(&facts->pool, "%s=%s", key, buffer.data ? (char *)buffer.data : "");
    wp_buffer_fini(&buffer);
    return text;
}

static uint32_t frame_of(const struct walk *walk, uint32_t node)
{
    return walk->facts->flame.nodes[node].frame;
}

static void sum_groups(struct walk *walk)
{
    const struct wp_flame *flame = &walk->facts->flame;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        const struct wp_cell *cell = &flame->cells[i];
        if (walk->causes.cell_cause[i])
            continue;
        walk->ns[cell->category] += cell->ns;
        walk->count[cell->category] += cell->count;
        uint32_t *largest = &walk->largest[cell->category];
        if (!*largest || flame->cells[*largest - 1].ns < cell->ns)
            *largest = i + 1;
        if (category_says[cell->category] || cell->category == WP_UNACCOUNTED)
            continue; /* told by itself */
        wp_process_groups_add(&walk->groups, cell);
    }
}

static const char *base_name(struct walk *walk)
{
    const struct wp_facts *facts = walk->facts;
    for (uint32_t i = 1; i < facts->flame.count; i++)
        if (walk->groups.base[i])
            return wp_stack_plain_process(
                &walk->facts->pool, wp_facts_frame_name(facts, frame_of(walk, walk->groups.base[i])));
    return facts->aggregate;
}

static const char *mostly(struct walk *walk, const struct wp_process_group *group)
{
    struct wp_pool *pool = &walk->facts->pool;
    unsigned most = wp_process_group_most(group);
    const char *how = group->categories[most] * 10 >= group->ns * 9 ? "which" : "which mostly";
    const char *function = most == WP_UNDERSTOOD_FUNCTIONS ? wp_running_busiest(&walk->groups, group) : NULL;
    if (function)
        return wp_pool_printf(pool, "%s %s, first of all in %s", how, wp_category_doing(most), function);
    return wp_pool_printf(pool, "%s %s%s", how, wp_category_doing(most),
        most == WP_RUNNING_NOT_SAMPLED ? wp_running_sampled(&walk->groups, group) : "");
}

/* "postgres"; of a thread that names itself "its thread worker", "java's thread worker". */
static const char *name_of(struct walk *walk, uint32_t frame, const char *base)
{
    struct wp_pool *pool = &walk->facts->pool;
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(walk->facts->report, &count);
    const char *plain = wp_stack_plain_process(pool, wp_facts_frame_name(walk->facts, frame));
    const char *process = frame < count ? wp_report_text(walk->facts->report, frames[frame].object) : "";
    if (!*process)
        return plain;
    if (!strcmp(plain, "?"))
        return base && !strcmp(base, process) ? "one of its threads"
                                              : wp_pool_printf(pool, "a thread of %s", wp_pool_clip(pool, process, 60));
    return base && !strcmp(base, process)
        ? wp_pool_printf(pool, "its thread %s", plain)
        : wp_pool_printf(pool, "%s's thread %s", wp_pool_clip(pool, process, 60), plain);
}

/* The same of one that is waited for. */
static const char *waited_for(struct walk *walk, const struct wp_process_group *group, const char *base)
{
    const char *name = name_of(walk, group->process, base);
    if (group->kind == WP_GROUP_OWN)
        return "another of its threads";
    return group->kind == WP_GROUP_ANOTHER ? wp_pool_printf(&walk->facts->pool, "another %s", name) : name;
}

static void add_process(struct walk *walk, const struct wp_process_group *group, const char *base)
{
    struct wp_facts *facts = walk->facts;
    struct wp_pool *pool = &facts->pool;
    const char *name = wp_facts_frame_name(facts, group->process);
    const char *time = wp_human_duration(pool, group->ns);
    const char *share = wp_human_share(pool, group->ns, facts->total_ns);
    bool is_base = group->kind == WP_GROUP_BASE;
    const char *text = is_base ? wp_pool_printf(pool, "%s of the time (%s) is %s itself, %s.", share, time,
                                     name_of(walk, group->process, NULL), mostly(walk, group))
                               : wp_pool_printf(pool, "%s spends %s of its time (%s) waiting for %s, %s.", base, share,
                                     time, waited_for(walk, group, base), mostly(walk, group));
    char role[WP_ROLE_BYTES];
    add(facts,
        &(struct wp_finding){.kind = is_base ? "running" : "waiting",
            .sentence = text,
            .key = wp_pool_printf(pool, "%s %s",
                is_base                               ? "running"
                    : group->kind == WP_GROUP_ANOTHER ? "waiting another"
                                                      : "waiting",
                wp_role_name(role, name)),
            .ns = group->ns,
            .rank_ns = group->ns - group->categories[WP_OTHER_PATH] - group->categories[WP_DELIBERATE_SLEEP],
            .page = WP_PAGE_FLAME,
            .fragment = fragment(facts, "process", name)});
}

static void find_processes(struct walk *walk)
{
    const char *base = base_name(walk);
    for (size_t taken = 0; taken < PROCESSES; taken++) {
        struct wp_process_group *best = wp_process_groups_largest(&walk->groups);
        if (!best || !best->ns || best->ns < walk->facts->total_ns / LEAST_SHARE)
            return;
        if (wp_process_group_most(best) != WP_RUNNING_NOT_SAMPLED ||
            best->ns >= walk->facts->total_ns / UNSAMPLED_SHARE)
            add_process(walk, best, base);
        best->ns = 0;
    }
}

/* " in FUNCTION", " for PEER" or "": where in its process a piece stood, in a reader's words. */
static const char *place_of(struct walk *walk, const struct wp_flame_node *node)
{
    struct wp_pool *pool = &walk->facts->pool;
    const char *top = wp_stack_top(walk->facts, node->source), *own = wp_facts_frame_name(walk->facts, node->frame);
    uint32_t style = wp_facts_frame_style(walk->facts, node->frame);
    if (style == WP_STYLE_NET)
        return wp_pool_printf(pool, " for %s", wp_pool_clip(pool, own, 60));
    if (top != own || style == WP_STYLE_USER || style == WP_STYLE_KERNEL)
        return wp_pool_printf(pool, " in %s", wp_pool_clip(pool, top, 60));
    if (style == WP_STYLE_SLEEP && !strncmp(own, "sleep:", 6))
        return wp_pool_printf(pool, " in %s", wp_pool_clip(pool, own + 6, 60));
    return "";
}

static void note_most(uint64_t *most_ns, uint64_t part_ns, uint64_t ns)
{
    if (part_ns && ns > *most_ns)
        *most_ns = ns;
}

/* What a herd costs who wakes it: to wake it, and to wait for processors. It stands before nothing that is as many
 * times its own time. */
static uint64_t of_machine(const struct walk *walk, uint64_t own_ns)
{
    uint64_t ns = walk->ns[WP_RUNNING_NOT_SAMPLED] + walk->ns[WP_UNDERSTOOD_FUNCTIONS] + walk->ns[WP_SCHEDULER] +
        walk->ns[WP_INVOLUNTARY];
    return ns < own_ns * MOST_RAISED ? ns : own_ns * MOST_RAISED;
}

/* Who had the processor, or which quota there was none by; the longest first. */
static void find_rivals(struct walk *walk)
{
    struct wp_facts *facts = walk->facts;
    struct wp_pool *pool = &facts->pool;
    struct wp_rivals rivals = wp_rivals_build(pool, facts);
    unsigned told = 0;
    for (size_t i = 0; i < rivals.count && told < RIVALS; i++) {
        const struct wp_rival *rival = &rivals.rows[i];
        bool is_quota = rival->kind == WP_RIVAL_QUOTA, is_told = is_quota || rival->kind == WP_RIVAL_PROCESS;
        if (!is_told || rival->ns < facts->total_ns / RIVAL_SHARE)
            continue;
        struct wp_pattern pattern = is_quota ? wp_pattern_of_quota() : wp_pattern_of_herd(facts, rival->name);
        add(facts,
            &(struct wp_finding){.kind = "processor",
                .sentence =
                    wp_pool_printf(pool, "%s%s", wp_rival_sentence(facts, rival), wp_pattern_text(pool, &pattern)),
                .key = wp_pool_printf(pool, "processor %s %s", rival->waiter, rival->name),
                .pattern = pattern,
                .count = rival->count,
                .ns = rival->ns,
                .rank_ns = pattern.key && !is_quota ? of_machine(walk, rival->ns) : rival->ns,
                .page = WP_PAGE_PROCESSOR});
        walk->is_quota_told |= is_quota;
        note_most(&walk->most_ns[WP_INVOLUNTARY], rival->preempted_ns, rival->ns);
        note_most(&walk->most_ns[WP_SCHEDULER], rival->ns - rival->preempted_ns, rival->ns);
        walk->told_ns[WP_INVOLUNTARY] += rival->preempted_ns;
        walk->told_ns[WP_SCHEDULER] += rival->ns - rival->preempted_ns;
        walk->is_rival_told[rival->frame] = true;
        told++;
    }
}

static void find_categories(struct walk *walk)
{
    struct wp_facts *facts = walk->facts;
    struct wp_pool *pool = &facts->pool;
    for (unsigned i = 0; i < WP_CATEGORIES; i++) {
        uint64_t told_ns = walk->told_ns[i], ns = walk->ns[i] > told_ns ? walk->ns[i] - told_ns : 0;
        if (!category_says[i] || !walk->largest[i] || ns < facts->total_ns / LEAST_SHARE || !ns)
            continue;
        const struct wp_cell *cell = &facts->flame.cells[walk->largest[i] - 1];
        const struct wp_flame_node *node = &facts->flame.nodes[cell->node];
        const char *where = place_of(walk, node);
        struct wp_pattern pattern = {0};
        if (i == WP_INVOLUNTARY && !walk->is_quota_told)
            pattern = wp_pattern_of_preemption(facts, ns, walk->count[i]);
        struct wp_rival_rest of = {i, walk->causes.cell_cause, walk->is_rival_told};
        bool has_rivals = i == WP_SCHEDULER || i == WP_INVOLUNTARY;
        const char *rest = has_rivals ? wp_rival_list(facts, &of) : "";
        uint64_t own_ns = has_rivals ? wp_rival_profiler_ns(facts, &of) : 0; /* nothing to mend in the program */
        if (!*rest && !told_ns)
            rest = wp_pool_printf(pool, "; the largest part is %s%s (%s)",
                wp_stack_plain_process(
                    pool, wp_facts_frame_name(facts, frame_of(walk, walk->groups.process[cell->node]))),
                where, wp_human_duration(pool, cell->ns));
        add(facts,
            &(struct wp_finding){.kind = wp_category_key(i),
                .sentence = wp_pool_printf(pool, "%s%s of the time (%s) %s%s.%s",
                    walk->most_ns[i] > ns ? "A further " : "", wp_human_share(pool, ns, facts->total_ns),
                    wp_human_duration(pool, ns), category_says[i], rest, wp_pattern_text(pool, &pattern)),
                .key = wp_category_key(i),
                .pattern = pattern,
                .count = walk->count[i],
                .ns = ns,
                .rank_ns = ns > own_ns ? ns - own_ns : 0,
                .page = WP_PAGE_FLAME,
                .fragment = fragment(facts, "category", wp_category_key(i))});
    }
}

static void find_unexplained(struct walk *walk)
{
    struct wp_facts *facts = walk->facts;
    uint64_t ns = walk->ns[WP_UNACCOUNTED];
    struct wp_pool *pool = &facts->pool;
    if (!ns)
        return;
    const char *largest = "";
    if (facts->unexplained_count && facts->unexplained[0].ns <= ns)
        largest = wp_pool_printf(pool, "; the largest wait is in %s (%s)",
            wp_pool_clip(pool, facts->unexplained[0].top, 60), wp_human_duration(pool, facts->unexplained[0].ns));
    add(facts,
        &(struct wp_finding){.kind = "unaccounted",
            .key = "unaccounted",
            .sentence = wp_pool_printf(pool, "%s of the time (%s) is unexplained%s.",
                wp_human_share(pool, ns, facts->total_ns), wp_human_duration(pool, ns), largest),
            .ns = ns,
            .rank_ns = ns,
            .page = WP_PAGE_UNEXPLAINED});
}

/* What a pattern's time is part of: all, or the requests where they have a good part in it, as threads may be idle. */
static uint64_t weighed_by(struct walk *walk, const struct wp_cause_fact *cause)
{
    struct wp_facts *facts = walk->facts;
    uint64_t ns = wp_own_requests_of(facts, cause->base).ns;
    return ns >= facts->total_ns / SERVED_SHARE && ns < facts->total_ns ? ns : facts->total_ns;
}

static void add_cause(struct walk *walk, uint32_t row)
{
    struct wp_facts *facts = walk->facts;
    struct wp_pool *pool = &facts->pool;
    struct wp_cause_case of = wp_cause_case(&walk->causes, facts, row);
    struct wp_code_location location = wp_code_location_at(facts, walk->causes.locations, of.cause->sleep);
    bool is_small =
        of.cause->ns < weighed_by(walk, of.cause) / PATTERN_SHARE && of.cause->kind != WP_CAUSE_KIND_DEADLOCK;
    struct wp_pattern pattern = is_small ? (struct wp_pattern){0} : wp_pattern_of_cause(&of);
    const char *key = wp_cause_key(of.cause->kind), *sentence = wp_cause_sentence(&of);
    char role[WP_ROLE_BYTES];
    bool is_told = of.cause->kind == WP_CAUSE_KIND_DEADLOCK || of.cause->kind == WP_CAUSE_KIND_GARBAGE;
    add(facts,
        &(struct wp_finding){.kind = key,
            .sentence = wp_pool_printf(pool, "%s%s", sentence, is_told ? "" : wp_pattern_text(pool, &pattern)),
            .key = wp_pool_printf(pool, "%s %s %s %s", key,
                wp_role_name(role, wp_facts_frame_name(facts, facts->flame.nodes[of.cause->process].frame)),
                location.function ? location.function : "", wp_cause_what(&of)),
            .pattern = pattern,
            .function = location.function,
            .file = location.file,
            .line = location.line,
            .threads = of.threads.count,
            .count = of.count,
            .ns = of.cause->ns,
            .rank_ns = wp_cause_rank(&of),
            .is_told_beside = wp_cause_is_told_beside(&of),
            .page = WP_PAGE_FLAME,
            .fragment = wp_pool_printf(pool, "node=%08" PRIx32, facts->flame.nodes[of.cause->sleep].permalink)});
}

/* Causes at places: a lock and who held it, a sleep, a file, a peer; the largest first, and then what may be idleness.
 */
static void find_causes(struct walk *walk)
{
    struct wp_facts *facts = walk->facts;
    struct wp_causes *causes = &walk->causes;
    bool *is_told = wp_pool_alloc(&facts->pool, causes->count + 1u);
    uint64_t *blamed = wp_pool_alloc(&facts->pool, (causes->count + 1u) * sizeof(*blamed));
    for (uint32_t i = 0; i < causes->count && blamed; i++)
        blamed[i] = causes->rows[i].ns < facts->total_ns / LEAST_SHARE ? 0 : wp_cause_blamed(causes, facts, i);
    for (unsigned told = 0; is_told && blamed && told < CAUSES; told++) {
        uint32_t best = causes->count;
        for (uint32_t i = 0; i < causes->count; i++)
            if (!is_told[i] &&
                (best == causes->count || blamed[i] > blamed[best] ||
                    (blamed[i] == blamed[best] && causes->rows[i].ns > causes->rows[best].ns)))
                best = i;
        const struct wp_cause_fact *cause = &causes->rows[best];
        if (best == causes->count || cause->ns < facts->total_ns / LEAST_SHARE || !cause->ns)
            return;
        is_told[best] = true;
        add_cause(walk, best);
    }
}

static void find_requests(struct wp_facts *facts)
{
    struct wp_finding found[WP_REQUEST_FINDINGS];
    size_t count = wp_request_findings(facts, found);
    for (size_t i = 0; i < count; i++)
        add(facts, &found[i]);
}

/* Where nobody goes on, what the others do meanwhile is no answer. */
static void find_stuck(struct walk *walk)
{
    struct wp_facts *facts = walk->facts;
    struct wp_pool *pool = &facts->pool;
    struct wp_stuck stuck = wp_stuck_threads(facts);
    for (size_t i = 0; i < facts->finding_count; i++)
        if (!strcmp(facts->findings[i].kind, wp_cause_key(WP_CAUSE_KIND_DEADLOCK)))
            return;
    if (!stuck.count)
        return;
    struct wp_pattern pattern = {.key = "deadlock",
        .title = "Deadlock",
        .sure = WP_SURETY_POSSIBLE,
        .evidence = "they wait at different places, each for a lock that may be another one's"};
    add(facts,
        &(struct wp_finding){.kind = "stuck",
            .sentence =
                wp_pool_printf(pool, "%u threads of %s wait for locks that nobody releases until the end: %s.%s",
                    stuck.count, base_name(walk), stuck.threads, wp_pattern_text(pool, &pattern)),
            .key = "stuck",
            .pattern = pattern,
            .function = stuck.function,
            .threads = stuck.count,
            .ns = stuck.ns,
            .rank_ns = facts->total_ns + 1,
            .page = WP_PAGE_RUNNING});
}

static int compare(const void *left, const void *right)
{
    const struct wp_finding *a = left, *b = right;
    if (a->rank_ns != b->rank_ns)
        return a->rank_ns > b->rank_ns ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return strcmp(a->sentence, b->sentence);
}

void wp_findings_build(struct wp_facts *facts)
{
    struct walk walk = {.facts = facts};
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    walk.is_rival_told = calloc(frames + 1u, sizeof(*walk.is_rival_told));
    facts->pool.failed |= !walk.is_rival_told;
    if (!facts->pool.failed)
        wp_causes_build(&walk.causes, facts);
    if (!facts->pool.failed)
        wp_process_groups_init(&walk.groups, &walk.causes, facts);
    if (!facts->pool.failed) {
        sum_groups(&walk);
        find_unexplained(&walk); /* first: it must find room */
        find_causes(&walk);
        find_stuck(&walk);
        find_processes(&walk);
        find_rivals(&walk);
        find_categories(&walk);
        find_requests(facts);
        wp_finding_beside_raise(facts);
        qsort(facts->findings, facts->finding_count, sizeof(*facts->findings), compare);
    }
    wp_process_groups_fini(&walk.groups);
    free(walk.is_rival_told);
}

size_t wp_findings_first(const struct wp_facts *facts, size_t first[3])
{
    size_t count = facts->finding_count < 3 ? facts->finding_count : 3;
    for (size_t i = 0; i < count; i++)
        first[i] = i;
    for (size_t i = 3; i < facts->finding_count; i++)
        if (!strcmp(facts->findings[i].kind, "unaccounted") && facts->findings[i].ns >= facts->total_ns / 50)
            first[2] = i;
    return count;
}
