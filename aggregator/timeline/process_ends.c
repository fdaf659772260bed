/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/process_ends.h"

#include "aggregator/timeline/memory_shares.h"
#include "aggregator/timeline/slices.h"
#include "common/array.h"
#include "proto/dictionary.h"

#include <stdlib.h>

#define CALL_EXIT_GROUP 231
#define DYING_NS 50000000u /* from what a thread does as it dies to its last switch, on a busy machine */
#define KEPT_ROOM 1024u    /* that stays for what comes next */

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

void wp_process_ends_died(struct wp_timeline *timeline, const struct wp_thread *thread, const struct wp_event *event)
{
    const struct wp_identity *who = &timeline->identities[thread->identity];
    if ((event->d & WP_SLICE_SYSCALL) != CALL_EXIT_GROUP + 1)
        return;
    timeline->processes[who->process].ended_by = who->entry;
    timeline->processes[who->process].ended_ns = event->time_ns;
}

/* It dies in the run that holds that time, which may be interrupted; or has died by then. */
static bool is_dying(const struct wp_thread *thread, uint64_t at_ns, bool or_dead)
{
    if (!thread->is_dead || thread->slice_end == thread->first_slice)
        return thread->is_dead && or_dead;
    uint64_t ordinal = thread->slice_end - 1;
    const struct wp_slice *run = wp_thread_slice(thread, ordinal);
    uint64_t died_ns = run->end_ns;
    while (run->flags & WP_SLICE_PREEMPTED && ordinal > thread->first_slice)
        run = wp_thread_slice(thread, --ordinal);
    if (at_ns > died_ns)
        return or_dead;
    return at_ns >= run->in_ns && died_ns - at_ns < DYING_NS;
}

uint32_t wp_process_ender(const struct wp_timeline *timeline, uint32_t thread, uint64_t at_ns)
{
    const struct wp_process *process =
        &timeline->processes[timeline->identities[timeline->threads[thread].identity].process];
    uint32_t entry = process->ended_by;
    if (!entry || entry >= timeline->entry_room || !timeline->thread_of_entry[entry] ||
        !is_dying(&timeline->threads[thread], at_ns, false))
        return thread;
    uint32_t ender = timeline->thread_of_entry[entry] - 1;
    return is_dying(&timeline->threads[ender], at_ns, true) ? ender : thread;
}
