/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/rival_list.h"

#include "reporter/display/humanize.h"
#include "reporter/findings/own_rival.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define NAMES 3u
#define LEAST_SHARE 10u /* of the time: a smaller part is not told */

/* The frame of who had the processor in a cell of the rest; 0: it is none of it. */
static uint32_t frame_of(const struct wp_facts *facts, const struct wp_rival_rest *rest, uint32_t cell)
{
    bool is_of = facts->flame.cells[cell].category == rest->category && !rest->cell_cause[cell];
    uint32_t frame = is_of ? wp_rival_frame(facts, facts->flame.cells[cell].node) : 0;
    return rest->is_told[frame] ? 0 : frame;
}

uint64_t wp_rival_profiler_ns(const struct wp_facts *facts, const struct wp_rival_rest *rest)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++) {
        uint32_t frame = frame_of(facts, rest, i);
        ns += frame && wp_rival_is_profiler(wp_facts_frame_name(facts, frame)) ? facts->flame.cells[i].ns : 0;
    }
    return ns;
}

static uint64_t sum_rivals(uint64_t *sums, const struct wp_facts *facts, const struct wp_rival_rest *rest)
{
    uint64_t whole = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++) {
        const struct wp_cell *cell = &facts->flame.cells[i];
        uint32_t frame = frame_of(facts, rest, i);
        if (!frame)
            continue;
        sums[frame] += cell->ns;
        whole += cell->ns;
    }
    return whole;
}

/* The frame of the largest sum; 0 none is left. */
static uint32_t largest_frame(const uint64_t *sums, uint32_t count)
{
    uint32_t largest = 0;
    for (uint32_t i = 1; i < count; i++)
        if (sums[i] > sums[largest])
            largest = i;
    return largest;
}

const char *wp_rival_list(struct wp_facts *facts, const struct wp_rival_rest *rest)
{
    struct wp_pool *pool = &facts->pool;
    const char *text = "";
    uint32_t count, frame;
    wp_report_frames(facts->report, &count);
    uint64_t *sums = calloc(count + 1u, sizeof(*sums));
    uint64_t whole = sums ? sum_rivals(sums, facts, rest) : 0;
    pool->failed |= !sums;
    for (unsigned i = 0; whole && i < NAMES && (frame = largest_frame(sums, count)) != 0; i++) {
        if (sums[frame] < whole / LEAST_SHARE)
            break;
        const char *name = wp_rival_name(pool, wp_facts_frame_name(facts, frame));
        const char *thread = strcmp(name, "own threads") ? NULL : wp_own_rival(facts, rest->category);
        if (thread)
            name = wp_pool_printf(pool, "own thread %s", wp_pool_clip(pool, thread, 40));
        if (!strcmp(name, "recording"))
            name = "this recording (of the profiler)";
        if (!strncmp(name, "wakepath-", 9))
            name = wp_pool_printf(pool, "%s (of the profiler)", name);
        text = wp_pool_printf(pool, "%s%s %s %s", text, i ? "," : ":", name, wp_human_duration(pool, sums[frame]));
        sums[frame] = 0;
    }
    free(sums);
    return text;
}

const char *wp_rival_sentence(struct wp_facts *facts, const struct wp_rival *rival)
{
    struct wp_pool *pool = &facts->pool;
    bool is_quota = rival->kind == WP_RIVAL_QUOTA;
    const char *party = *rival->party
        ? wp_pool_printf(pool, is_quota ? ", most of it spent by %s" : " on behalf of %s", rival->party)
        : "";
    return wp_pool_printf(pool,
        is_quota ? "%s is throttled for %s (%s) by the %s%s." : "%s waits %s (%s) for a CPU that %s uses%s.",
        rival->waiter, wp_human_duration(pool, rival->ns), wp_human_share(pool, rival->ns, facts->total_ns),
        strcmp(rival->name, "quota") ? rival->name : "quota of its cgroup", party);
}
