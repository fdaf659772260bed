/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/rivals.h"

#include "common/array.h"
#include "common/intmap.h"
#include "reporter/facts/stack_text.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

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

uint32_t wp_rival_frame(const struct wp_facts *facts, uint32_t node)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t rival = wp_facts_rival(facts, node);
    return is_scheduler(facts, rival) && is_scheduler(facts, nodes[rival].parent) ? nodes[rival].frame : 0;
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
    uint32_t rival = wp_facts_rival(s->facts, cell->node), frame = wp_rival_frame(s->facts, cell->node);
    if (!frame)
        return; /* who had it is not told: of an older store */
    uint32_t waiter = s->process[rival];
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

const char *wp_rival_name(struct wp_pool *pool, const char *frame)
{
    bool is_process = !strncmp(frame, BEHIND, strlen(BEHIND));
    return is_process ? wp_stack_plain_process(pool, frame + strlen(BEHIND) - 1) : other_name(pool, frame);
}

bool wp_rival_is_profiler(const char *frame)
{
    return !strcmp(frame, "sched:behind recording") || !strncmp(frame, BEHIND "wakepath-", strlen(BEHIND "wakepath-"));
}

static struct wp_rival rival_of(struct wp_pool *pool, const struct wp_facts *facts, const struct sum *sum)
{
    const char *frame = wp_facts_frame_name(facts, sum->rival), *waiter = wp_facts_frame_name(facts, sum->waiter);
    bool is_process = !strncmp(frame, BEHIND, strlen(BEHIND)), is_quota = is_of_quota(frame);
    return (struct wp_rival){.kind = is_process && wp_rival_is_profiler(frame) ? WP_RIVAL_PROFILER
            : is_process                                                       ? WP_RIVAL_PROCESS
            : is_quota                                                         ? WP_RIVAL_QUOTA
                                                                               : WP_RIVAL_OTHER,
        .waiter = *waiter ? wp_stack_plain_process(pool, waiter) : "?",
        .host = wp_stack_host(pool, waiter),
        .name = wp_rival_name(pool, frame),
        .name_host = is_process ? wp_stack_host(pool, frame + strlen(BEHIND) - 1) : NULL,
        .search = wp_pool_text(pool, frame),
        .frame = sum->rival,
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

/* Frame of who had the processor in a cell of the report; 0: it is none of the scheduler's, or that is not told. */
static uint32_t rival_frame(const struct wp_facts *facts, const struct wp_cell *cell)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t node = cell->node < flame->source_count ? flame->by_source[cell->node] : 0;
    return node ? wp_rival_frame(facts, node) : 0;
}

struct rival_time {
    uint32_t place, frame;
    uint64_t ns;
};

static int by_place(const void *left, const void *right)
{
    const struct rival_time *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* The samples of the scheduler's cells, by bucket and then by who it was. */
static uint32_t sort_times(struct rival_time *times, const struct wp_facts *facts)
{
    uint32_t buckets, samples, cells, count = 0;
    unsigned shift;
    const uint64_t *bucket = wp_report_buckets(facts->report, &buckets, &shift);
    const struct wp_cell_sample *sample = wp_report_samples(facts->report, &samples);
    const struct wp_cell *cell = wp_report_cells(facts->report, &cells);
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t frame = sample[i].cell < cells ? rival_frame(facts, &cell[sample[i].cell]) : 0;
        uint32_t place = WP_LOWER_BOUND(middle, 0, buckets, bucket[middle] < sample[i].bucket);
        if (frame && place < buckets && bucket[place] == sample[i].bucket)
            times[count++] = (struct rival_time){place, frame, sample[i].ns};
    }
    if (count)
        qsort(times, count, sizeof(*times), by_place);
    return count;
}

struct wp_rival_buckets wp_rivals_over_time(struct wp_pool *pool, const struct wp_facts *facts)
{
    uint32_t buckets, samples, count;
    unsigned shift;
    const uint64_t *bucket = wp_report_buckets(facts->report, &buckets, &shift);
    wp_report_samples(facts->report, &samples);
    struct wp_rival_buckets out = {.rows = wp_pool_alloc(pool, (buckets + 1u) * sizeof(*out.rows))};
    struct rival_time *times = calloc(samples + 1u, sizeof(*times));
    pool->failed |= !times;
    if (!out.rows || !times) {
        free(times);
        return out;
    }
    out.count = buckets;
    for (uint32_t i = 0; i < buckets; i++)
        out.rows[i] = (struct wp_rival_bucket){.start_ns = bucket[i] << shift, .most = ""};
    count = sort_times(times, facts);
    for (uint32_t i = 0, end; i < count; i = end) {
        struct wp_rival_bucket *row = &out.rows[times[i].place];
        uint64_t ns = 0;
        for (end = i; end < count && !by_place(&times[end], &times[i]); end++)
            ns += times[end].ns;
        row->ns += ns;
        if (ns <= row->most_ns)
            continue;
        row->most_ns = ns;
        row->most = wp_rival_name(pool, wp_facts_frame_name(facts, times[i].frame));
    }
    free(times);
    return out;
}
