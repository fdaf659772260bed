/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/process_rows.h"

#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS (3600 * WP_NS_PER_S)

void wp_process_rows_fini(struct wp_timeline *timeline)
{
    free(timeline->row_names);
    wp_intmap_fini(&timeline->row_names_now);
}

size_t wp_process_rows_bytes(const struct wp_timeline *timeline)
{
    return timeline->row_name_room * sizeof(*timeline->row_names) + wp_intmap_bytes(&timeline->row_names_now);
}

/* --- the hour --- */

/* Of names, those of the hour that ends now may be asked for yet. */
static void turn_hour(struct wp_timeline *timeline)
{
    struct wp_process_rows_count *now = &timeline->rows_now;
    uint64_t hour = timeline->now_ns / HOUR_NS;
    uint32_t old = 0;
    if (now->hour == hour)
        return;
    while (old < timeline->row_name_count && timeline->row_names[old].time_ns / HOUR_NS != now->hour)
        old++;
    timeline->row_name_count -= old;
    if (old)
        memmove(
            timeline->row_names, timeline->row_names + old, timeline->row_name_count * sizeof(*timeline->row_names));
    wp_intmap_clear(&timeline->row_names_now);
    timeline->rows_before = *now;
    *now = (struct wp_process_rows_count){.hour = hour};
}

static bool is_full(const struct wp_timeline *timeline)
{
    return timeline->rows_now.count >= (timeline->process_rows ? timeline->process_rows : WP_PROCESS_ROWS);
}

static struct wp_intkey key_of(const struct wp_process_name *name)
{
    return (struct wp_intkey){name->process, name->comm};
}

static int note(struct wp_timeline *timeline, const struct wp_process_name *name)
{
    if (WP_ARRAY_FIT(timeline->row_names, timeline->row_name_room, timeline->row_name_count + 1) ||
        wp_intmap_put(&timeline->row_names_now, key_of(name), 1))
        return -ENOMEM;
    timeline->row_names[timeline->row_name_count++] = *name;
    return 0;
}

/* Whether the process has a row of that name in this hour; `is_known`: it came into the hour with it. */
static bool has_row(struct wp_timeline *timeline, const struct wp_process *process, uint32_t comm, bool is_known)
{
    const struct wp_process_name name = {
        timeline->now_ns, (uint32_t)(process - timeline->processes), comm, .is_counted = !is_known};
    uint32_t any;
    if (wp_intmap_get(&timeline->row_names_now, key_of(&name), &any))
        return true;
    if ((!is_known && is_full(timeline)) || note(timeline, &name))
        return false;
    timeline->rows_now.count += !is_known;
    return true;
}

static void set_grouped(struct wp_timeline *timeline, struct wp_process *process, bool is_grouped)
{
    process->was_grouped = process->is_grouped;
    process->is_grouped = is_grouped;
    process->looked_ns = timeline->now_ns;
}

/* --- processes --- */

static bool is_counted(const struct wp_timeline *timeline, const struct wp_process *process)
{
    return !process->start_ns || process->start_ns >= timeline->start_ns;
}

void wp_process_rows_add(struct wp_timeline *timeline, struct wp_process *process)
{
    if (!is_counted(timeline, process))
        return;
    turn_hour(timeline);
    set_grouped(timeline, process, is_full(timeline));
    timeline->rows_now.count += timeline->rows_now.count < UINT32_MAX;
}

void wp_process_rows_name(
    struct wp_timeline *timeline, struct wp_process *process, const struct wp_thread_entry *entry, uint32_t comm)
{
    if (!entry || entry->tid != entry->pid || process->comm == comm)
        return;
    turn_hour(timeline);
    if (!process->is_grouped)
        has_row(timeline, process, process->comm, true);
    set_grouped(timeline, process, !has_row(timeline, process, comm, false));
    process->comm = comm;
}

void wp_process_rows_look(struct wp_timeline *timeline, struct wp_process *process)
{
    if (process->looked_ns / HOUR_NS == timeline->now_ns / HOUR_NS)
        return;
    turn_hour(timeline);
    set_grouped(timeline, process, !has_row(timeline, process, process->comm, false));
}

/* --- sessions and restarts --- */

void wp_process_rows_continue(struct wp_timeline *timeline, const struct wp_timeline *before)
{
    timeline->rows_now = before->rows_now;
}

/* The events behind the horizon come again, and count again. */
static uint32_t count_until(const struct wp_timeline *timeline, uint64_t horizon_ns)
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
    for (uint32_t i = timeline->row_name_count; i-- > 0 && timeline->row_names[i].time_ns >= horizon_ns;)
        later += timeline->row_names[i].is_counted && timeline->row_names[i].time_ns / HOUR_NS == hour;
    return of && of->count > later ? of->count - later : 0;
}

int wp_process_rows_save(
    const struct wp_timeline *timeline, uint64_t horizon_ns, const uint32_t *rows, Wakepath__Resume__Checkpoint *out)
{
    out->process_rows = count_until(timeline, horizon_ns);
    out->row_names = calloc(timeline->row_name_count + 1, sizeof(*out->row_names));
    if (!out->row_names)
        return -ENOMEM;
    for (uint32_t i = 0; i < timeline->row_name_count && timeline->row_names[i].time_ns < horizon_ns; i++) {
        const struct wp_process_name *name = &timeline->row_names[i];
        if (name->time_ns / HOUR_NS != horizon_ns / HOUR_NS || !rows[name->process])
            continue;
        Wakepath__Resume__RowName *row = malloc(sizeof(*row));
        if (!row)
            return -ENOMEM;
        wakepath__resume__row_name__init(row);
        row->process = rows[name->process];
        row->comm = name->comm;
        out->row_names[out->n_row_names++] = row;
    }
    return 0;
}

int wp_process_rows_restore(struct wp_timeline *timeline, const Wakepath__Resume__Checkpoint *from)
{
    uint64_t hour = from->horizon_ns / HOUR_NS;
    timeline->rows_now = (struct wp_process_rows_count){.hour = hour, .count = from->process_rows};
    for (size_t i = 0; i < from->n_row_names; i++) {
        const Wakepath__Resume__RowName *row = from->row_names[i];
        if (row->process >= from->n_processes)
            return -EBADMSG;
        if (note(timeline, &(struct wp_process_name){hour * HOUR_NS, row->process, row->comm, .is_counted = false}))
            return -ENOMEM;
    }
    return 0;
}
