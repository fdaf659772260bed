/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/rivals.h"

#include "common/intmap.h"
#include "reporter/facts/stack_text.h"

#include <stdlib.h>
#include <string.h>

#define BEHIND "sched:behind ["
#define QUOTA "sched:quota"
#define SCHED "sched:"

/* Of a row with what stands on the rival: one for whom it ran. */
struct part {
    uint32_t frame; /* 0: the rival alone */
    uint64_t ns;
};

struct sum {
    uint32_t waiter, rival; /* frames */
    uint64_t ns, count, preempted_ns, largest_ns;
    uint32_t permalink;
    struct part part; /* the largest */
};

struct summing {
    const struct wp_facts *facts;
    uint32_t *process; /* by node: frame of the process that its layer is of, 0 none */
    struct sum *sums;
    struct part *parts;
    struct wp_intmap sum_of, part_of; /* (waiter, rival) -> sum; (sum, party) -> part */
    bool failed;
};

static uint32_t row_of(struct summing *s, struct wp_intmap *map, struct wp_intkey key)
{
    uint32_t row = map->count;
    if (!wp_intmap_get(map, key, &row) && wp_intmap_put(map, key, row))
        s->failed = true;
    return row;
}

static bool is_scheduler(const struct wp_facts *facts, uint32_t node)
{
    return node && wp_facts_frame_style(facts, facts->flame.nodes[node].frame) == WP_STYLE_SCHED;
}

static void find_processes(struct summing *s)
{
    const struct wp_flame *flame = &s->facts->flame;
    for (uint32_t i = 1; i < flame->count; i++) {
        uint32_t frame = flame->nodes[i].frame;
        bool is_process = wp_facts_frame_style(s->facts, frame) == WP_STYLE_PROCESS;
        s->process[i] = is_process ? frame : s->process[flame->nodes[i].parent];
    }
}

static void add_cell(struct summing *s, const struct wp_cell *cell)
{
    const struct wp_flame_node *nodes = s->facts->flame.nodes;
    uint32_t rival = wp_facts_rival(s->facts, cell->node);
    if (!is_scheduler(s->facts, rival) || !is_scheduler(s->facts, nodes[rival].parent))
        return; /* who had it is not told: of an older store */
    uint32_t waiter = s->process[rival], frame = nodes[rival].frame;
    uint32_t row = row_of(s, &s->sum_of, (struct wp_intkey){waiter, frame});
    uint32_t party = rival == cell->node ? 0 : nodes[cell->node].frame;
    uint32_t part = row_of(s, &s->part_of, (struct wp_intkey){row, party});
    if (s->failed)
        return;
    struct sum *sum = &s->sums[row];
    sum->waiter = waiter;
    sum->rival = frame;
    sum->ns += cell->ns;
    sum->count += cell->count;
    sum->preempted_ns += cell->category == WP_INVOLUNTARY ? cell->ns : 0;
    s->parts[part].frame = party;
    s->parts[part].ns += cell->ns;
    if (party && s->parts[part].ns > sum->part.ns)
        sum->part = s->parts[part];
    if (cell->ns <= sum->largest_ns)
        return;
    sum->largest_ns = cell->ns;
    sum->permalink = nodes[rival].permalink;
}

/* "cron" of "sched:for [cron]", "own threads" of "sched:spent by own threads". */
static const char *party_name(struct wp_pool *pool, const char *frame)
{
    const char *process = strchr(frame, '[');
    size_t skip = !strncmp(frame, "sched:spent by ", 15) ? 15 : !strncmp(frame, SCHED, 6) ? 6 : 0;
    return process ? wp_stack_plain_process(pool, process) : wp_pool_text(pool, frame + skip);
}

/* "own threads" of "sched:behind own threads", "quota of web" of "sched:quota of web". */
static const char *other_name(struct wp_pool *pool, const char *frame)
{
    static const char *const heads[] = {"sched:behind ", SCHED};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        if (!strncmp(frame, heads[i], strlen(heads[i])))
            return wp_pool_clip(pool, frame + strlen(heads[i]), 80);
    return wp_pool_clip(pool, frame, 80);
}

/* "sched:quota of web"; "sched:quota" where the cgroup is not known. */
static bool is_of_quota(const char *frame)
{
    size_t size = strlen(QUOTA);
    return !strncmp(frame, QUOTA, size) && (!frame[size] || !strncmp(frame + size, " of ", 4));
}

static struct wp_rival rival_of(struct wp_pool *pool, const struct wp_facts *facts, const struct sum *sum)
{
    const char *frame = wp_facts_frame_name(facts, sum->rival), *waiter = wp_facts_frame_name(facts, sum->waiter);
    bool is_process = !strncmp(frame, BEHIND, strlen(BEHIND)), is_quota = is_of_quota(frame);
    return (struct wp_rival){.kind = is_process ? WP_RIVAL_PROCESS
            : is_quota                          ? WP_RIVAL_QUOTA
                                                : WP_RIVAL_OTHER,
        .waiter = *waiter ? wp_stack_plain_process(pool, waiter) : "?",
        .name = is_process ? wp_stack_plain_process(pool, frame + strlen(BEHIND) - 1) : other_name(pool, frame),
        .search = wp_pool_text(pool, frame),
        .party = sum->part.frame ? party_name(pool, wp_facts_frame_name(facts, sum->part.frame)) : "",
        .ns = sum->ns,
        .count = sum->count,
        .party_ns = sum->part.ns,
        .preempted_ns = sum->preempted_ns,
        .largest_ns = sum->largest_ns,
        .permalink = sum->permalink};
}

static int compare(const void *left, const void *right)
{
    const struct wp_rival *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    int order = strcmp(a->waiter, b->waiter);
    return order ? order : strcmp(a->search, b->search);
}

struct wp_rivals wp_rivals_build(struct wp_pool *pool, const struct wp_facts *facts)
{
    const struct wp_flame *flame = &facts->flame;
    struct summing s = {.facts = facts};
    struct wp_rivals out = {0};
    s.process = calloc(flame->count + 1u, sizeof(*s.process));
    s.sums = calloc(flame->cell_count + 1u, sizeof(*s.sums));
    s.parts = calloc(flame->cell_count + 1u, sizeof(*s.parts));
    s.failed = !s.process || !s.sums || !s.parts;
    if (!s.failed)
        find_processes(&s);
    for (uint32_t i = 0; i < flame->cell_count && !s.failed; i++)
        add_cell(&s, &flame->cells[i]);
    out.rows = s.failed ? NULL : wp_pool_alloc(pool, (s.sum_of.count + 1u) * sizeof(*out.rows));
    for (uint32_t i = 0; out.rows && i < s.sum_of.count; i++) {
        out.rows[out.count++] = rival_of(pool, facts, &s.sums[i]);
        out.ns += s.sums[i].ns;
    }
    if (out.count)
        qsort(out.rows, out.count, sizeof(*out.rows), compare);
    pool->failed |= s.failed;
    free(s.process);
    free(s.sums);
    free(s.parts);
    wp_intmap_fini(&s.sum_of);
    wp_intmap_fini(&s.part_of);
    return out;
}
