/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/process_rows.h"

#include "common/clock.h"

#define HOUR_NS (3600 * WP_NS_PER_S)

/* Whether there is a row for one more, now. */
static bool count_row(struct wp_timeline *timeline)
{
    struct wp_process_rows_count *now = &timeline->rows_now;
    uint64_t hour = timeline->now_ns / HOUR_NS;
    if (now->hour != hour) {
        timeline->rows_before = *now;
        *now = (struct wp_process_rows_count){.hour = hour};
    }
    now->count += now->count < UINT32_MAX;
    return now->count <= (timeline->process_rows ? timeline->process_rows : WP_PROCESS_ROWS);
}

static bool is_counted(const struct wp_timeline *timeline, const struct wp_process *process)
{
    return !process->start_ns || process->start_ns >= timeline->start_ns;
}

void wp_process_rows_add(struct wp_timeline *timeline, struct wp_process *process)
{
    process->is_grouped = is_counted(timeline, process) && !count_row(timeline);
}

void wp_process_rows_name(struct wp_timeline *timeline, struct wp_process *process, uint32_t comm)
{
    if (process->comm != comm && !process->is_grouped)
        process->is_grouped = !count_row(timeline);
    process->comm = comm;
}

void wp_process_rows_continue(struct wp_timeline *timeline, const struct wp_timeline *before)
{
    timeline->rows_now = before->rows_now;
}

uint32_t wp_process_rows_until(const struct wp_timeline *timeline, uint64_t horizon_ns)
{
    uint64_t hour = horizon_ns / HOUR_NS;
    const struct wp_process_rows_count *of = timeline->rows_now.hour == hour ? &timeline->rows_now
        : timeline->rows_before.hour == hour                                 ? &timeline->rows_before
                                                                             : NULL;
    uint32_t later = 0;
    for (uint32_t i = timeline->process_count; i-- > 1;) {
        const struct wp_process *process = &timeline->processes[i];
        later += process->made_ns >= horizon_ns && process->made_ns / HOUR_NS == hour && is_counted(timeline, process);
    }
    return of && of->count > later ? of->count - later : 0;
}

void wp_process_rows_restore(struct wp_timeline *timeline, uint64_t horizon_ns, uint32_t count)
{
    timeline->rows_now = (struct wp_process_rows_count){.hour = horizon_ns / HOUR_NS, .count = count};
}
