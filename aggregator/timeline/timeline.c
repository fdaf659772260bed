/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline.h"

#include "aggregator/net/connections.h"
#include "aggregator/timeline/askers.h"
#include "aggregator/timeline/gap_repair.h"
#include "aggregator/timeline/process_ends.h"
#include "aggregator/timeline/process_rows.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/timeline_block.h"
#include "aggregator/timeline/timeline_cpus.h"
#include "aggregator/timeline/timeline_process.h"
#include "aggregator/timeline/timeline_reason.h"
#include "aggregator/timeline/timeline_wait.h"
#include "aggregator/timeline/timeline_window.h"
#include "proto/resume.pb-c.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_NANOSLEEP = 35, CALL_CLOCK_NANOSLEEP = 230 };

#define TRY_GROW(timeline, array, room, index)                                                                         \
    (grow((void **)&(timeline)->array, &(timeline)->room, (index), sizeof(*(timeline)->array)) ||                      \
        ((timeline)->failed = true, false))

static bool grow(void **array, uint32_t *room, uint32_t index, size_t size)
{
    uint32_t before = *room;
    while (*room <= index)
        if (wp_rows_grow(array, room, *room, size))
            return false;
    memset(*(char **)array + before * size, 0, (*room - before) * size);
    return true;
}

/* The array's item `index` is in use. */
#define TRY_MAKE(timeline, array, count, index)                                                                        \
    (make_row(&(timeline)->array##_table, (index)) ? ((timeline)->array = (timeline)->array##_table.items,             \
                                                         (timeline)->count = (timeline)->array##_table.room, true)     \
                                                   : ((timeline)->failed = true, false))

static bool make_row(struct wp_idtable *table, uint32_t index)
{
    if (wp_idtable_reserve(table, index))
        return false;
    wp_idtable_use(table, index);
    return true;
}

int wp_timeline_init(struct wp_timeline *timeline, struct wp_dictionary *dictionary)
{
    *timeline = (struct wp_timeline){.dictionary = dictionary,
        .late_sample_ns = WP_LATE_SAMPLE_NS,
        .thread_count = 1,
        .identity_count = 1,
        .process_count = 1};
    wp_idtable_init(&timeline->threads_table, sizeof(*timeline->threads));
    wp_idtable_init(&timeline->identities_table, sizeof(*timeline->identities));
    wp_idtable_init(&timeline->processes_table, sizeof(*timeline->processes));
    wp_idtable_init(&timeline->thread_of_entry_table, sizeof(*timeline->thread_of_entry));
    wp_idtable_init(&timeline->identity_of_entry_table, sizeof(*timeline->identity_of_entry));
    wp_woken_init(&timeline->woken);
    wp_queue_quotas_init(&timeline->queue_quotas);
    wp_clients_init(&timeline->clients);
    if (!TRY_MAKE(timeline, threads, thread_room, 0) || !TRY_MAKE(timeline, identities, identity_room, 0) ||
        !TRY_MAKE(timeline, processes, process_room, 0) || wp_blockops_init(&timeline->blockops) ||
        wp_messages_init(&timeline->messages, dictionary)) {
        wp_timeline_fini(timeline);
        return -ENOMEM;
    }
    return 0;
}

void wp_timeline_fini(struct wp_timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->thread_count && timeline->threads; i++)
        wp_thread_fini(&timeline->threads[i]);
    wp_idtable_fini(&timeline->threads_table);
    wp_idtable_fini(&timeline->identities_table);
    wp_idtable_fini(&timeline->processes_table);
    wp_idtable_fini(&timeline->thread_of_entry_table);
    wp_idtable_fini(&timeline->identity_of_entry_table);
    free(timeline->live);
    free(timeline->cpu_thread);
    free(timeline->cpu_time);
    wp_cpu_runs_fini(&timeline->cpu_runs);
    wp_intmap_fini(&timeline->process_of_pid);
    wp_leaders_fini(&timeline->leaders);
    wp_process_rows_fini(timeline);
    wp_process_ends_fini(timeline);
    wp_timeline_wait_fini(timeline);
    wp_blockops_fini(&timeline->blockops);
    wp_messages_fini(&timeline->messages);
    wp_woken_fini(&timeline->woken);
    wp_clients_fini(&timeline->clients);
    wp_drop_spans_fini(&timeline->pauses);
    *timeline = (struct wp_timeline){0};
}

const char *wp_timeline_comm(const struct wp_timeline *timeline, uint32_t identity)
{
    return wp_dictionary_string(timeline->dictionary, timeline->identities[identity].comm);
}

/* --- who is who --- */

/* Its process' name, if that is not the thread's. */
static uint32_t other_comm(const struct wp_timeline *timeline, uint32_t entry_id, uint32_t comm, uint32_t process)
{
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, entry_id);
    return entry && entry->tid != entry->pid && timeline->processes[process].comm != comm
        ? timeline->processes[process].comm
        : 0;
}

static uint32_t make_identity(struct wp_timeline *timeline, uint32_t entry_id, uint32_t comm, uint32_t process,
    uint32_t thread, uint32_t process_comm)
{
    uint32_t identity = timeline->identity_count;
    if (!TRY_MAKE(timeline, identities, identity_room, identity))
        return 0;
    timeline->identity_count++;
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, entry_id);
    timeline->identities[identity] = (struct wp_identity){entry_id, comm, process, thread, 0, 0, timeline->now_ns,
        timeline->threads[thread].identity, process_comm, entry && entry->flags & WP_THREAD_KERNEL};
    timeline->processes[process].identities++;
    if (entry && entry->tid == entry->pid)
        timeline->processes[process].main_thread = thread;
    if (timeline->identity_made)
        timeline->identity_made(timeline->context, timeline, identity);
    return identity;
}

static bool room_for_entry(struct wp_timeline *timeline, uint32_t entry_id)
{
    return TRY_MAKE(timeline, identity_of_entry, entry_identity_room, entry_id) &&
        TRY_MAKE(timeline, thread_of_entry, entry_room, entry_id);
}

static bool bind_entry(struct wp_timeline *timeline, uint32_t entry_id, uint32_t thread, bool is_new_process)
{
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, entry_id);
    if (!entry || !room_for_entry(timeline, entry_id))
        return false;
    uint32_t process = wp_timeline_process(timeline, entry_id, is_new_process);
    uint32_t identity = make_identity(
        timeline, entry_id, entry->comm, process, thread, other_comm(timeline, entry_id, entry->comm, process));
    timeline->thread_of_entry[entry_id] = thread + 1;
    timeline->identity_of_entry[entry_id] = identity;
    wp_thread_be(&timeline->threads[thread], identity);
    timeline->threads[thread].tid = entry->tid;
    return true;
}

/* The next thread, zeros. 0: out of memory. */
static uint32_t make_thread(struct wp_timeline *timeline)
{
    uint32_t thread = timeline->thread_count;
    if (!TRY_MAKE(timeline, threads, thread_room, thread) || !TRY_GROW(timeline, live, live_room, timeline->live_count))
        return 0;
    timeline->live[timeline->live_count++] = thread;
    timeline->thread_count++;
    return thread;
}

static __attribute__((noinline)) uint32_t new_thread(struct wp_timeline *timeline, uint32_t entry_id)
{
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, entry_id);
    if (!entry || entry->flags & WP_THREAD_IDLE)
        return 0;
    uint32_t thread = wp_timeline_thread_of_number(timeline, entry);
    if (thread) /* its exec is told after this, or was lost */
        return bind_entry(timeline, entry_id, thread, true) ? thread : 0;
    thread = make_thread(timeline);
    if (!thread)
        return 0;
    bool is_new = entry->tid == entry->pid && !wp_timeline_is_led_by(timeline, entry);
    return bind_entry(timeline, entry_id, thread, is_new) ? thread : 0;
}

/* The thread behind a dictionary id; made when it was never seen. 0: idle, or out of memory. */
static inline uint32_t thread_of(struct wp_timeline *timeline, uint32_t entry_id)
{
    if (!entry_id)
        return 0;
    if (entry_id < timeline->entry_room && timeline->thread_of_entry[entry_id])
        return timeline->thread_of_entry[entry_id] - 1;
    return new_thread(timeline, entry_id);
}

static inline bool is_running(const struct wp_thread *thread)
{
    const struct wp_slice *slice = wp_thread_last(thread);
    return slice && slice->in_ns && !slice->end_ns;
}

/* --- events --- */

/* `run`: the thread's last slice. */
static void sleep_begins(
    struct wp_timeline *timeline, struct wp_thread *thread, struct wp_slice *run, const struct wp_event *event)
{
    run->end_ns = event->time_ns;
    wp_timeline_add_running(timeline, run->identity, run->end_ns - run->in_ns);
    wp_process_rows_run(timeline, run->identity);
    thread->is_dead = event->c == WP_STATE_DEAD;
    if (thread->is_dead)
        wp_process_ends_died(timeline, thread, event);
    struct wp_slice *slice = thread->is_dead ? NULL : wp_timeline_push_slice(timeline, thread, event->time_ns);
    if (!slice)
        return;
    slice->stack = event->stack;
    slice->syscall = event->d & WP_SLICE_SYSCALL;
    slice->wait = event->wait ? wp_timeline_set_wait(timeline, event->wait) : 0;
    slice->state = event->c & 7;
    if (event->flags & WP_SWITCH_PREEMPTED || event->c == WP_STATE_RUNNING)
        slice->flags |= WP_SLICE_PREEMPTED;
    else if (thread->early.time_ns && event->time_ns - thread->early.time_ns <= WP_EARLY_WAKING_NS) {
        wp_timeline_wake(timeline, thread, slice, &thread->early);
        slice->wake_ns = event->time_ns;
    }
    if (event->flags & WP_SWITCH_DELIBERATE)
        slice->flags |= WP_SLICE_DELIBERATE;
    slice->is_asking =
        wp_asked_is_waiting(&timeline->messages.asked, (uint32_t)(thread - timeline->threads), event->time_ns);
    if (slice->flags & WP_SLICE_PREEMPTED)
        slice->cause_a = event->flags & WP_SWITCH_THROTTLED ? WP_SLICE_THROTTLED : 0;
    else if (event->flags & WP_SWITCH_TIMED && !slice->wake_ns)
        slice->cause_a = event->a & ~WP_SLICE_HELD;
    else if (event->flags & WP_SWITCH_HELD && !slice->wake_ns && event->a <= UINT32_MAX)
        slice->cause_a = WP_HELD_BY(event->a) | (event->flags & WP_SWITCH_HELD_ANYWHERE ? WP_SLICE_HELD_ANYWHERE : 0);
    thread->early.time_ns = 0;
}

static void on_switch_out(struct wp_timeline *timeline, uint32_t index, const struct wp_event *event, uint64_t came_ns)
{
    struct wp_thread *thread = &timeline->threads[index];
    if (!is_running(thread)) {
        wp_gap_repair_in(timeline, index, came_ns);
        if (!is_running(thread))
            return;
        wp_timeline_cpu_enter(timeline, index, event->cpu);
    }
    sleep_begins(timeline, thread, wp_thread_last(thread), event);
}

static void on_switch_in(struct wp_timeline *timeline, uint32_t index, const struct wp_event *event)
{
    struct wp_thread *thread = &timeline->threads[index];
    if (is_running(thread)) {
        bool is_met = thread->cpu < timeline->cpu_room; /* a checkpoint may name one of which nothing was told since */
        if (is_met && timeline->cpu_thread[thread->cpu] == index + 1)
            wp_timeline_cpu_lose(timeline, thread->cpu);
        uint64_t left = is_met ? timeline->cpu_time[thread->cpu] : 0;
        wp_gap_repair_out(timeline, index, left > wp_thread_last(thread)->in_ns ? left : event->time_ns);
    }
    struct wp_slice *slice = wp_thread_last(thread);
    if (!slice || slice->in_ns) { /* first seen here: nothing is said about the time before */
        slice = wp_timeline_push_slice(timeline, thread, event->time_ns);
        if (!slice)
            return;
        slice->wake_ns = event->time_ns;
        slice->flags |= WP_SLICE_FIRST;
    }
    slice->in_ns = event->time_ns;
    slice->identity = thread->identity;
    if (!slice->wake_ns && !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_FIRST)))
        wp_unseen_waking(timeline, index);
    wp_timeline_cpu_enter(timeline, index, event->cpu);
    thread->is_dead = false;
}

static void on_switch(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t cpu = event->cpu;
    if (cpu >= timeline->cpu_room && !wp_timeline_cpu_fit(timeline, cpu))
        return;
    uint32_t prev = thread_of(timeline, event->thread), next = thread_of(timeline, event->other);
    uint32_t was = timeline->cpu_thread[cpu];
    bool is_break = was && was != prev + 1;
    bool is_whole = !is_break && (!prev || is_running(&timeline->threads[prev]));
    uint64_t came_ns = is_whole ? 0 : wp_timeline_cpu_came(timeline, prev, event, is_break);
    if (is_break) {
        timeline->counts.chain_breaks++;
        if (was != 1 && is_running(&timeline->threads[was - 1]) && timeline->threads[was - 1].cpu == cpu)
            wp_gap_repair_out(timeline, was - 1, came_ns > timeline->cpu_time[cpu] ? came_ns : event->time_ns);
    }
    if (prev)
        on_switch_out(timeline, prev, event, came_ns);
    if (!was || is_break)
        wp_timeline_cpu_leave(timeline, event, prev, is_break);
    if (event->flags & WP_SWITCH_ELSEWHERE && !prev)
        wp_timeline_cpu_elsewhere(timeline, cpu);
    if (next)
        on_switch_in(timeline, next, event);
    wp_timeline_cpu_begin(timeline, cpu, event->time_ns, next);
}

static void on_waking(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t waker = thread_of(timeline, event->thread), target = thread_of(timeline, event->other);
    if (!target)
        return;
    struct wp_thread *thread = &timeline->threads[target];
    struct wp_slice *slice = wp_thread_last(thread);
    struct wp_waking waking = wp_timeline_waking(timeline, event, waker, target);
    if (!slice) { /* its first fact */
        slice = wp_timeline_push_slice(timeline, thread, event->time_ns);
        if (!slice)
            return;
        slice->flags |= WP_SLICE_FIRST;
        slice->state = WP_STATE_INTERRUPTIBLE;
    }
    if (thread->is_dead) {
        timeline->counts.wakings_of_dead++;
    } else if (slice->in_ns) {
        timeline->counts.wakings_of_running++;
        thread->early = waking;
    } else if (!slice->wake_ns || slice->wake_ns == slice->out_ns) {
        wp_timeline_wake(timeline, thread, slice, &waking);
    }
}

static void on_fork(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t parent = thread_of(timeline, event->thread), child = thread_of(timeline, event->other);
    if (!child)
        return;
    struct wp_thread *thread = &timeline->threads[child];
    if (thread->slice_end || timeline->paused_ns)
        return; /* a fact about it came first: leave what is known */
    thread->creator = parent;
    thread->birth_ns = timeline->threads[parent].forked_ns = event->time_ns;
    struct wp_slice *slice = wp_timeline_push_slice(timeline, thread, event->time_ns);
    if (!slice)
        return;
    slice->wake_ns = event->time_ns;
    slice->waker = parent;
    slice->cause = WP_CAUSE_TASK;
    slice->flags |= WP_SLICE_BORN;
    wp_timeline_cpu_wake(timeline, thread, slice);
}

/* The thread goes on as another identity, without a sleep. If no switch to it was seen, its sleep is the old one's. */
static void split_run(struct wp_timeline *timeline, uint32_t index, uint64_t at_ns, uint8_t flag, bool is_running)
{
    struct wp_thread *thread = &timeline->threads[index];
    struct wp_slice *slice = wp_thread_last(thread);
    if (!slice)
        return;
    if (!slice->in_ns && (is_running || slice->wake_ns)) /* who was woken most likely took the name itself */
        wp_gap_repair_in(timeline, index, at_ns);
    if (!slice->in_ns || slice->end_ns) { /* renamed in its sleep: it wakes as the new one */
        slice->identity = thread->identity;
        return;
    }
    slice->end_ns = at_ns;
    wp_timeline_add_running(timeline, slice->identity, slice->end_ns - slice->in_ns);
    slice = wp_timeline_push_slice(timeline, thread, at_ns);
    if (!slice)
        return;
    slice->wake_ns = slice->in_ns = at_ns;
    slice->waker = 0;
    slice->cause = WP_CAUSE_TASK;
    slice->flags = flag;
    wp_timeline_cpu_enter(timeline, index, thread->cpu);
    if (thread->cpu < timeline->cpu_room && timeline->cpu_thread[thread->cpu] == index + 1)
        wp_timeline_cpu_begin(timeline, thread->cpu, at_ns, index);
}

static void on_exec(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t index = thread_of(timeline, event->thread);
    wp_process_ends_event(timeline, event);
    if (!index || !event->other || event->other == event->thread)
        return;
    bool is_bound = event->other < timeline->entry_room && timeline->thread_of_entry[event->other] == index + 1;
    if (is_bound || bind_entry(timeline, event->other, index, true))
        split_run(timeline, index, event->time_ns, WP_SLICE_EXEC, true);
}

static void on_rename(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t index = thread_of(timeline, event->thread);
    if (!index)
        return;
    struct wp_thread *thread = &timeline->threads[index];
    struct wp_identity old = timeline->identities[thread->identity];
    if (old.comm == event->c)
        return;
    uint32_t of = other_comm(timeline, old.entry, event->c, old.process);
    wp_thread_be(thread, make_identity(timeline, old.entry, event->c, old.process, index, of));
    timeline->identity_of_entry[event->thread] = thread->identity;
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, event->thread);
    wp_process_rows_name(timeline, &timeline->processes[old.process], entry, event->c);
    split_run(timeline, index, event->time_ns, WP_SLICE_RENAME, event->flags & WP_RENAME_OWN);
}

/* A sleep that is there as the recording goes on in this session began in the one before. */
static uint64_t asleep_since(const struct wp_timeline *timeline, const struct wp_event *event)
{
    uint64_t start_ns = wp_timeline_window_start(timeline);
    bool is_older =
        timeline->continues && !timeline->window_ns && event->c != WP_STATE_RUNNING && event->a && event->a < start_ns;
    return is_older ? event->a : start_ns;
}

static void on_state(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t index = thread_of(timeline, event->thread);
    struct wp_thread *thread = &timeline->threads[index];
    if (!index || wp_thread_last(thread))
        return; /* what the tracepoints said is newer than the snapshot */
    thread->is_dead = false;
    uint64_t start_ns = wp_timeline_window_start(timeline);
    struct wp_slice *slice = wp_timeline_push_slice(timeline, thread, asleep_since(timeline, event));
    if (!slice)
        return;
    slice->flags = WP_SLICE_FIRST;
    slice->state = event->c & 7;
    slice->syscall = event->d & WP_SLICE_SYSCALL;
    slice->stack = event->stack;
    if (slice->syscall == CALL_NANOSLEEP + 1 || slice->syscall == CALL_CLOCK_NANOSLEEP + 1)
        slice->flags |= WP_SLICE_DELIBERATE;
    if (event->flags & WP_STATE_ON_CPU) {
        slice->in_ns = start_ns;
        slice->wake_ns = start_ns;
        wp_timeline_cpu_enter(timeline, index, event->cpu);
        if (wp_timeline_cpu_fit(timeline, event->cpu) && !timeline->cpu_thread[event->cpu])
            wp_timeline_cpu_begin(
                timeline, event->cpu, start_ns, index); /* should its first switch be lost, the next one tells */
    } else if (event->c == WP_STATE_RUNNING) {
        slice->wake_ns = start_ns;
        slice->flags |= WP_SLICE_PREEMPTED;
    }
}

/* `last` is the sleep after its run, or, where it is dead, the run itself. */
static void note_late_sample(struct wp_thread *thread, struct wp_slice *last)
{
    if (last->end_ns)
        last->has_late_sample = true;
    else if (thread->slice_end - thread->first_slice > 1)
        wp_thread_slice(thread, thread->slice_end - 2)->has_late_sample = true;
}

static void on_sample(struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t index = thread_of(timeline, event->thread);
    struct wp_thread *thread = &timeline->threads[index];
    struct wp_slice *slice = index ? wp_thread_last(thread) : NULL;
    uint64_t time_ns = event->time_ns;
    if (!slice) {
        timeline->counts.lost_samples++;
        return;
    }
    if (!is_running(thread)) {
        uint64_t out = slice->end_ns ? slice->end_ns : slice->out_ns;
        if (time_ns - out > timeline->late_sample_ns || !out) {
            timeline->counts.lost_samples++;
            if (time_ns - out <= 10 * timeline->late_sample_ns)
                note_late_sample(thread, slice);
            return;
        }
        timeline->counts.late_samples++;
        time_ns = out - 1;
    }
    wp_timeline_push_sample(timeline, thread, time_ns, event->stack);
}

void wp_timeline_event(struct wp_timeline *timeline, const struct wp_event *original)
{
    struct wp_event copy;
    const struct wp_event *event = original;
    if (event->kind < WP_EVENT_KINDS && !wp_event_is_retold(event))
        timeline->counts.events[event->kind]++;
    if (!timeline->start_ns)
        timeline->start_ns = event->time_ns;
    if (event->time_ns < timeline->now_ns) {
        timeline->counts.out_of_order++;
        copy = *original;
        copy.time_ns = timeline->now_ns;
        event = &copy;
    }
    timeline->now_ns = event->time_ns;
    bool is_taken = timeline->paused_ns && !wp_event_is_told_always(event); /* as the pause began */
    switch (is_taken ? 0 : event->kind) {
    case WP_EVENT_SWITCH:
        on_switch(timeline, event);
        break;
    case WP_EVENT_WAKING:
        on_waking(timeline, event);
        break;
    case WP_EVENT_FORK:
        on_fork(timeline, event);
        break;
    case WP_EVENT_EXEC:
        on_exec(timeline, event);
        break;
    case WP_EVENT_RENAME:
        on_rename(timeline, event);
        break;
    case WP_EVENT_STATE:
        on_state(timeline, event);
        break;
    case WP_EVENT_WINDOW:
        wp_timeline_window(timeline, event);
        break;
    case WP_EVENT_SAMPLE:
        on_sample(timeline, event);
        break;
    case WP_EVENT_REASON:
        wp_timeline_reason(timeline, event, thread_of(timeline, event->thread));
        break;
    case WP_EVENT_BLOCK_INSERT:
    case WP_EVENT_BLOCK_ISSUE:
    case WP_EVENT_BLOCK_COMPLETE:
        wp_timeline_block(timeline, event, thread_of(timeline, event->thread));
        break;
    case WP_EVENT_SOCK_SEND:
    case WP_EVENT_SOCK_ARRIVE:
    case WP_EVENT_SOCK_STATE:
    case WP_EVENT_SOCK_LEAVE:
    case WP_EVENT_LOCAL:
    case WP_EVENT_SOCK_RECV:
        wp_askers_message(timeline, event, thread_of(timeline, event->thread));
        wp_unseen_read(timeline, thread_of(timeline, event->thread), event);
        break;
    case WP_EVENT_SOCK_RETRANSMIT: /* nothing waits on it here: it is counted */
        if (timeline->messages.connections)
            wp_connections_event(timeline->messages.connections, timeline->messages.host, event);
        break;
    case WP_EVENT_EXIT: /* else the last switch ends it */
        wp_process_ends_event(timeline, event);
        timeline->threads[thread_of(timeline, event->thread)].is_dead |= timeline->paused_ns != 0;
        break;
    default:
        break;
    }
}

uint32_t wp_timeline_set_thread(struct wp_timeline *timeline, const Wakepath__Resume__Thread *row)
{
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, row->entry);
    uint32_t index = room_for_entry(timeline, row->entry) ? make_thread(timeline) : 0;
    if (!index)
        return 0;
    struct wp_thread *thread = &timeline->threads[index];
    *thread = (struct wp_thread){.tid = entry->tid,
        .cpu = row->cpu,
        .ran_before = {(uint16_t)row->left_cpu, (uint16_t)row->occupant, 0},
        .birth_ns = row->birth_ns};
    thread->identity = make_identity(timeline, row->entry, row->comm, row->process, index, row->process_comm);
    timeline->thread_of_entry[row->entry] = index + 1;
    timeline->identity_of_entry[row->entry] = thread->identity;
    if (row->sample_ns)
        wp_timeline_push_sample(timeline, thread, row->sample_ns, row->sample_stack);
    struct wp_slice *slice = row->slice ? wp_timeline_push_slice(timeline, thread, row->slice->out_ns) : NULL;
    if (slice) {
        slice->wake_ns = row->slice->wake_ns;
        slice->in_ns = row->slice->in_ns;
        slice->stack = row->slice->stack;
        slice->syscall = row->slice->syscall & WP_SLICE_SYSCALL;
        slice->wait = wp_timeline_set_wait(timeline, row->slice->wait);
        slice->state = row->slice->state & 7;
        slice->cause = row->slice->cause & 7;
        slice->cause_a = row->slice->timeout_ns;
        slice->flags = (uint8_t)row->slice->flags;
        slice->is_inferred = row->slice->is_inferred;
        slice->is_asking = row->slice->is_asking;
        *wp_thread_slice_cpu(thread, thread->slice_end - 1) =
            (struct wp_slice_cpu){(uint16_t)row->cpu, (uint16_t)row->occupant, 0};
    }
    return index;
}

void wp_timeline_fact(struct wp_timeline *timeline, const struct wp_event *event)
{
    if (event->kind >= WP_EVENT_BLOCK_INSERT && event->kind <= WP_EVENT_BLOCK_COMPLETE)
        wp_blockops_event(&timeline->blockops, event, thread_of(timeline, event->thread));
    else if (event->kind >= WP_EVENT_SOCK_SEND && event->kind <= WP_EVENT_SOCK_STATE)
        wp_askers_message(timeline, event, thread_of(timeline, event->thread));
    else if (event->kind == WP_EVENT_REASON)
        wp_timeline_reason(timeline, event, thread_of(timeline, event->thread));
}
