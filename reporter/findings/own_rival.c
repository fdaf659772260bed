/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/own_rival.h"

#include "common/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PERCENT 80u
#define STEPS (1u << 20) /* pairs of a run and a wait that are looked at */

struct wait {
    uint64_t start_ns, end_ns;
    uint32_t pid;
};

static bool is_behind_own(const struct wp_trace *trace, uint32_t node)
{
    const struct wp_frame_info *frame = &trace->frames[trace->nodes[node].frame];
    return frame->style == WP_STYLE_SCHED &&
        !strcmp(wp_intern_text(trace->strings, frame->name), "sched:behind own threads");
}

static int by_start(const void *left, const void *right)
{
    const struct wait *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Of the process of interest, by time; *longest_ns of them and *all_ns together. */
static uint32_t collect(
    struct wait *waits, const struct wp_trace *trace, uint32_t category, uint64_t *longest_ns, uint64_t *all_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        if (piece->category != category || piece->node >= trace->node_count || piece->path >= trace->path_count ||
            trace->paths[piece->path].thread >= trace->thread_count || !is_behind_own(trace, piece->node))
            continue;
        waits[count++] = (struct wait){
            piece->start_ns, piece->start_ns + piece->length_ns, trace->threads[trace->paths[piece->path].thread].pid};
        *all_ns += piece->length_ns;
        *longest_ns = piece->length_ns > *longest_ns ? piece->length_ns : *longest_ns;
    }
    qsort(waits, count, sizeof(*waits), by_start);
    return count;
}

const char *wp_own_rival(struct wp_facts *facts, uint32_t category)
{
    const struct wp_trace *trace = facts->by_threads ? facts->by_threads : facts->trace;
    struct wait *waits = trace ? malloc((trace->piece_count + 1u) * sizeof(*waits)) : NULL;
    uint64_t *sums = trace ? calloc(trace->thread_count + 1u, sizeof(*sums)) : NULL, longest_ns = 0, all_ns = 0;
    facts->pool.failed |= trace && (!waits || !sums);
    uint32_t count = waits && sums ? collect(waits, trace, category, &longest_ns, &all_ns) : 0, steps = 0, found = 0;
    for (uint32_t i = 0; count && i < trace->run_count; i++) {
        const struct wp_trace_run *run = &trace->runs[i];
        uint64_t end_ns = run->start_ns + run->length_ns;
        uint64_t from_ns = run->start_ns > longest_ns ? run->start_ns - longest_ns : 0;
        uint32_t first = WP_LOWER_BOUND(at, 0u, count, waits[at].start_ns < from_ns);
        for (uint32_t at = first;
             at < count && waits[at].start_ns < end_ns && run->thread < trace->thread_count && steps++ < STEPS; at++) {
            uint64_t low = waits[at].start_ns > run->start_ns ? waits[at].start_ns : run->start_ns;
            uint64_t high = waits[at].end_ns < end_ns ? waits[at].end_ns : end_ns;
            bool is_own = trace->threads[run->thread].pid == waits[at].pid;
            sums[run->thread] += is_own && low < high ? high - low : 0;
        }
    }
    for (uint32_t i = 0; count && i < trace->thread_count; i++)
        if (sums[i] >= all_ns / 100 * MOST_PERCENT)
            found = found ? UINT32_MAX : i + 1;
    free(waits);
    free(sums);
    return found && found != UINT32_MAX && steps < STEPS
        ? wp_pool_text(&facts->pool, wp_intern_text(trace->strings, trace->threads[found - 1].comm))
        : NULL;
}
