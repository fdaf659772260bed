/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/cpu_runs_state.h"

#include "aggregator/timeline/timeline_cpus.h"

#include <errno.h>
#include <stdlib.h>

#define SAVED_RUNS 65536u /* older ones of a CPU are left out */

/* --- into a checkpoint --- */

static int save_occupants(const struct wp_cpu_runs *runs, Wakepath__Resume__Checkpoint *out)
{
    if (runs->occupant_count <= WP_OCCUPANT_FIRST)
        return 0;
    out->occupants = calloc(runs->occupant_count - WP_OCCUPANT_FIRST, sizeof(*out->occupants));
    for (uint32_t i = WP_OCCUPANT_FIRST; out->occupants && i < runs->occupant_count; i++) {
        Wakepath__Resume__Occupant *row = malloc(sizeof(*row));
        if (!row)
            return -ENOMEM;
        wakepath__resume__occupant__init(row);
        bool is_free = runs->occupants[i].for_comm == WP_OCCUPANT_FREE;
        row->comm = is_free ? i : runs->occupants[i].comm; /* of free ones only that no two are the same is of use */
        row->for_comm = runs->occupants[i].for_comm;
        row->is_kernel = runs->occupants[i].is_kernel;
        out->occupants[out->n_occupants++] = row;
    }
    return out->occupants ? 0 : -ENOMEM;
}

/* The first run of that CPU to be saved, and how many there are from it up to the horizon. */
static uint32_t saved_runs(const struct wp_cpu_runs_save *save, uint32_t cpu, struct wp_cpu_cursor *cursor)
{
    if (!save->horizon_ns || !wp_cpu_runs_find(save->runs, cpu, save->horizon_ns - 1, cursor))
        return 0;
    uint32_t count = 1;
    while (count < SAVED_RUNS && wp_cpu_cursor_run(cursor).start_ns > save->since_ns && wp_cpu_cursor_back(cursor))
        count++;
    return count;
}

static int save_run(const struct wp_cpu_runs_save *save, uint32_t cpu, const struct wp_cpu_run *run, bool is_last,
    Wakepath__Resume__Checkpoint *out)
{
    Wakepath__Resume__CpuRun *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    wakepath__resume__cpu_run__init(row);
    row->cpu = cpu;
    row->start_ns = run->start_ns;
    row->process = save->process_rows[run->process];
    row->occupant = run->occupant;
    row->thread = is_last && cpu < save->runner_count ? save->runners[cpu] : 0;
    out->cpu_runs[out->n_cpu_runs++] = row;
    return 0;
}

int wp_cpu_runs_save(const struct wp_cpu_runs_save *save, Wakepath__Resume__Checkpoint *out)
{
    struct wp_cpu_cursor cursor;
    size_t total = 0;
    int rc = save_occupants(save->runs, out);
    for (uint32_t cpu = 0; cpu < save->runs->cpu_room; cpu++)
        total += saved_runs(save, cpu, &cursor);
    out->cpu_runs = rc ? NULL : calloc(total + 1, sizeof(*out->cpu_runs));
    if (!out->cpu_runs)
        return -ENOMEM;
    for (uint32_t cpu = 0; !rc && cpu < save->runs->cpu_room; cpu++)
        for (uint32_t left = saved_runs(save, cpu, &cursor); !rc && left; left--) {
            struct wp_cpu_run run = wp_cpu_cursor_run(&cursor);
            rc = save_run(save, cpu, &run, left == 1, out);
            wp_cpu_cursor_on(&cursor);
        }
    return rc;
}

/* --- back --- */

static int restore_occupants(struct wp_cpu_runs *runs, const Wakepath__Resume__Checkpoint *from)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->n_occupants; i++) {
        const Wakepath__Resume__Occupant *row = from->occupants[i];
        rc = wp_cpu_runs_put_occupant(runs, &(struct wp_occupant){row->comm, row->for_comm, row->is_kernel});
    }
    return rc;
}

/* The run is of what took the CPU from its thread. */
static bool is_seizure(const struct wp_cpu_runs *runs, uint32_t occupant)
{
    uint32_t for_comm = occupant >= WP_OCCUPANT_FIRST ? runs->occupants[occupant].for_comm : 0;
    return for_comm >= WP_OCCUPANT_STEAL && for_comm != WP_OCCUPANT_FREE;
}

/* The run is of the idle task, but for threads that are not told. */
static bool is_elsewhere(const struct wp_cpu_runs *runs, uint32_t occupant)
{
    return occupant >= WP_OCCUPANT_FIRST && runs->occupants[occupant].for_comm == WP_OCCUPANT_ELSEWHERE;
}

static int restore_run(struct wp_timeline *timeline, const Wakepath__Resume__Checkpoint *from,
    const Wakepath__Resume__CpuRun *row, const uint32_t *threads)
{
    if (row->cpu > UINT16_MAX || row->process >= timeline->process_count || row->thread > from->n_threads ||
        row->start_ns >= from->horizon_ns || row->occupant >= WP_OCCUPANT_FIRST + from->n_occupants)
        return -EBADMSG;
    struct wp_cpu_run before, run = {row->start_ns, .process = row->process, .occupant = (uint16_t)row->occupant};
    const struct wp_cpu_runs *runs = &timeline->cpu_runs;
    bool is_first = !wp_cpu_runs_last(runs, row->cpu, &before), is_seized = is_seizure(runs, row->occupant);
    if (!wp_timeline_cpu_fit(timeline, row->cpu) || !wp_cpu_runs_begin(&timeline->cpu_runs, row->cpu, &run))
        return -ENOMEM;
    if (is_first || (!is_seized && !is_seizure(runs, before.occupant))) /* else its thread had come before */
        timeline->cpu_time[row->cpu] = row->start_ns;
    bool is_idle =
        row->occupant == WP_OCCUPANT_IDLE || is_elsewhere(runs, row->occupant) || (is_seized && !row->thread);
    timeline->cpu_thread[row->cpu] = is_idle ? 1 : row->thread ? threads[row->thread - 1] + 1 : 0;
    return 0;
}

int wp_cpu_runs_restore(struct wp_timeline *timeline, const Wakepath__Resume__Checkpoint *from, const uint32_t *threads)
{
    int rc = restore_occupants(&timeline->cpu_runs, from);
    for (size_t i = 0; !rc && i < from->n_cpu_runs; i++)
        rc = restore_run(timeline, from, from->cpu_runs[i], threads);
    return rc;
}
