/* SPDX-License-Identifier: Apache-2.0 */
/* What a timeline holds of memory, and how threads that are gone for long leave it. */
#include "aggregator/timeline/timeline_gone.h"

#include "aggregator/timeline/process_rows.h"

#include <stdlib.h>

static void leave_process(struct wp_timeline *timeline, uint32_t index)
{
    struct wp_process *process = &timeline->processes[index];
    const struct wp_intkey key = {process->pid, 0};
    uint32_t other;
    if (!index || --process->identities)
        return;
    if (wp_intmap_get(&timeline->process_of_pid, key, &other) && other == index)
        wp_intmap_remove(&timeline->process_of_pid, key);
    wp_idtable_drop(&timeline->processes_table, index);
}

static void leave_identity(struct wp_timeline *timeline, uint32_t index)
{
    const struct wp_identity identity = timeline->identities[index];
    if (timeline->thread_of_entry[identity.entry] == identity.thread + 1) {
        wp_idtable_drop(&timeline->thread_of_entry_table, identity.entry);
        wp_idtable_drop(&timeline->identity_of_entry_table, identity.entry);
        wp_leaders_forget(&timeline->leaders, timeline->processes[identity.process].pid, identity.entry);
        wp_dictionary_forget_thread(timeline->dictionary, identity.entry);
    }
    leave_process(timeline, identity.process);
    wp_idtable_drop(&timeline->identities_table, index);
}

static bool is_told(const struct wp_timeline *timeline, const struct wp_thread *thread, uint32_t known_entry)
{
    for (uint32_t id = thread->identity; id; id = timeline->identities[id].before)
        if (timeline->identities[id].entry > known_entry)
            return false;
    return true;
}

static void bury(struct wp_timeline *timeline, uint32_t index)
{
    for (uint32_t id = timeline->threads[index].identity, before; id; id = before) {
        before = timeline->identities[id].before;
        leave_identity(timeline, id);
    }
    wp_messages_forget_thread(&timeline->messages, index);
    wp_queue_quotas_forget(&timeline->queue_quotas, index);
    wp_blockops_forget_thread(&timeline->blockops, index);
    wp_woken_forget(&timeline->woken, index);
    wp_clients_forget(&timeline->clients, index);
    wp_idtable_drop(&timeline->threads_table, index);
}

void wp_timeline_bury(struct wp_timeline *timeline, uint64_t before_ns, uint32_t known_entry)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->live_count; i++) {
        uint32_t index = timeline->live[i];
        const struct wp_thread *thread = &timeline->threads[index];
        bool is_gone = thread->is_dead && !thread->slices && thread->gone_ns && thread->gone_ns < before_ns;
        if (is_gone && is_told(timeline, thread, known_entry))
            bury(timeline, index);
        else
            timeline->live[kept++] = index;
    }
    timeline->live_count = kept;
}

size_t wp_timeline_bytes(const struct wp_timeline *timeline)
{
    return timeline->ring_bytes + wp_idtable_bytes(&timeline->threads_table) +
        wp_idtable_bytes(&timeline->identities_table) + wp_idtable_bytes(&timeline->processes_table) +
        wp_idtable_bytes(&timeline->thread_of_entry_table) + wp_idtable_bytes(&timeline->identity_of_entry_table) +
        timeline->live_room * sizeof(*timeline->live) +
        timeline->cpu_room * (sizeof(*timeline->cpu_thread) + sizeof(*timeline->cpu_time)) +
        wp_intmap_bytes(&timeline->process_of_pid) + wp_intmap_bytes(&timeline->leaders.of_pid) +
        wp_intmap_bytes(&timeline->wait_of_string) + wp_messages_bytes(&timeline->messages) +
        wp_queue_quotas_bytes(&timeline->queue_quotas) + wp_blockops_bytes(&timeline->blockops) +
        wp_cpu_runs_bytes(&timeline->cpu_runs) + wp_process_rows_bytes(timeline) + wp_woken_bytes(&timeline->woken) +
        wp_clients_bytes(&timeline->clients) + timeline->end_room * sizeof(*timeline->ends);
}
