/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline_process.h"

#include "aggregator/timeline/askers.h"
#include "aggregator/timeline/process_rows.h"

/* The next process, zeros. 0: out of memory. */
static uint32_t make_process(struct wp_timeline *timeline)
{
    uint32_t index = timeline->process_count;
    if (wp_idtable_reserve(&timeline->processes_table, index)) {
        timeline->failed = true;
        return 0;
    }
    wp_idtable_use(&timeline->processes_table, index);
    timeline->processes = timeline->processes_table.items;
    timeline->process_room = timeline->processes_table.room;
    timeline->process_count++;
    return index;
}

uint32_t wp_timeline_process(struct wp_timeline *timeline, uint32_t entry_id, bool is_new)
{
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, entry_id);
    uint32_t process;
    if (!is_new && wp_intmap_get(&timeline->process_of_pid, (struct wp_intkey){entry->pid, 0}, &process)) {
        wp_process_rows_name(timeline, &timeline->processes[process], entry, entry->comm);
        return process;
    }
    process = make_process(timeline);
    if (!process)
        return 0;
    const struct wp_thread_entry *leader =
        entry->tid == entry->pid ? NULL : wp_leaders_find(&timeline->leaders, timeline->dictionary, entry_id);
    timeline->processes[process] = (struct wp_process){.pid = entry->pid,
        .comm = leader ? leader->comm : entry->comm,
        .start_ns = leader ? leader->start_ns : entry->start_ns,
        .made_ns = timeline->now_ns,
        .started_by = wp_askers_starter(timeline, leader ? leader : entry),
        .is_recorder = entry->flags & WP_THREAD_SELF};
    wp_process_rows_add(timeline, &timeline->processes[process]);
    wp_intmap_put(&timeline->process_of_pid, (struct wp_intkey){entry->pid, 0}, process);
    return process;
}

bool wp_timeline_is_led_by(struct wp_timeline *timeline, const struct wp_thread_entry *entry)
{
    uint32_t index;
    if (!entry->start_ns || !wp_intmap_get(&timeline->process_of_pid, (struct wp_intkey){entry->pid, 0}, &index))
        return false;
    struct wp_process *process = &timeline->processes[index];
    if (process->start_ns < entry->start_ns)
        return false;
    process->start_ns = entry->start_ns;
    return true;
}

uint32_t wp_timeline_thread_of_number(const struct wp_timeline *timeline, const struct wp_thread_entry *entry)
{
    uint32_t process;
    if (entry->tid != entry->pid || !entry->start_ns ||
        !wp_intmap_get(&timeline->process_of_pid, (struct wp_intkey){entry->pid, 0}, &process) ||
        timeline->processes[process].start_ns != entry->start_ns)
        return 0;
    uint32_t index = timeline->processes[process].main_thread;
    const struct wp_thread *thread = &timeline->threads[index];
    bool is_it = index && thread->tid == entry->tid && !thread->is_dead &&
        timeline->identities[thread->identity].process == process;
    return is_it ? index : 0;
}
