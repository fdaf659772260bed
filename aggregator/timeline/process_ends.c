/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/process_ends.h"

#include "aggregator/timeline/memory_shares.h"
#include "common/array.h"
#include "proto/dictionary.h"

#include <stdlib.h>

#define KEPT_ROOM 1024u /* that stays for what comes next */

void wp_process_ends_fini(struct wp_timeline *timeline)
{
    free(timeline->ends);
    timeline->ends = NULL;
    timeline->end_count = timeline->end_room = 0;
}

/* The holder is of the time before the kill, which sets memory free. */
static struct wp_oom oom_of(const struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t process = wp_memory_shares_most(&timeline->memory, event->wait, event->time_ns);
    return (struct wp_oom){
        .cgroup = event->wait, .holder = process ? timeline->processes[process].comm : 0, .bytes = event->a};
}

void wp_process_ends_event(struct wp_timeline *timeline, const struct wp_event *event)
{
    bool is_exec = event->kind == WP_EVENT_EXEC, is_exit = event->kind == WP_EVENT_EXIT;
    uint32_t id = is_exec ? event->other : event->thread;
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, id);
    if (!entry || entry->tid != entry->pid || entry->flags & WP_THREAD_KERNEL)
        return;
    if (timeline->end_count >= WP_PROCESS_ENDS ||
        WP_ARRAY_FIT(timeline->ends, timeline->end_room, timeline->end_count + 1)) {
        timeline->counts.lost_ends++;
        return;
    }
    timeline->ends[timeline->end_count++] = (struct wp_process_end){.entry = id,
        .exec_ns = is_exec ? event->time_ns : 0,
        .end_ns = is_exit ? event->time_ns : 0,
        .ending = is_exit ? event->flags : 0,
        .oom = event->kind == WP_EVENT_REASON ? oom_of(timeline, event) : (struct wp_oom){0}};
}

void wp_process_ends_forget(struct wp_timeline *timeline)
{
    if (timeline->end_room > KEPT_ROOM)
        wp_process_ends_fini(timeline);
    timeline->end_count = 0;
}
