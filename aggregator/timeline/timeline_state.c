/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline_state.h"

#include "aggregator/net/connections.h"
#include "aggregator/net/message_datagrams.h"
#include "aggregator/timeline/cpu_runs_state.h"
#include "aggregator/timeline/gone_ids.h"
#include "aggregator/timeline/process_rows.h"
#include "aggregator/timeline/slices.h"
#include "common/array.h"
#include "common/clock.h"
#include "proto/batch.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SOCKET_SENDS 64u            /* of a socket, that a later read may ask for */
#define MEMORY_NS (2 * WP_NS_PER_S) /* what was said before of who has memory has been said again since */
#define DONE_NS WP_NS_PER_S         /* a request that was done so long before may still wake somebody */
#define RUNS 1024u                  /* of ids: room for so many more at once */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_FIN_WAIT1 4
#define TCP_CLOSE_WAIT 8
#define TCP_CLOSE 7

struct save {
    const struct wp_timeline *timeline;
    uint64_t horizon_ns;
    Wakepath__Resume__Checkpoint *out;
    uint32_t *rows;
    uint32_t *process_rows; /* process index -> its row, 0: it has none */
    uint32_t
        *names; /* thread index -> its identity at the horizon (a later one may stand in a sleep's slice already) */
    struct wp_event *facts;
    size_t fact_count, fact_room;
    uint32_t *runners; /* CPU -> row of who runs there at the horizon + 1 */
    uint32_t runner_room;
    uint64_t runnable_ns; /* since when a thread has been runnable at the horizon */
    bool has_failed;
};

static void *made(struct save *save, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    save->has_failed |= !memory;
    return memory;
}

/* --- threads --- */

/* The slice that holds the horizon as it was then; NULL: none did. */
static const struct wp_slice *slice_at(const struct save *save, const struct wp_thread *thread)
{
    if (save->horizon_ns == 0 || thread->first_slice == thread->slice_end)
        return NULL;
    uint64_t ordinal = wp_thread_find(thread, save->horizon_ns - 1);
    return ordinal == thread->slice_end ? NULL : wp_thread_slice(thread, ordinal);
}

/* What cause_a says of the call: when it times out, who holds the lock, the signal that ended it; or of the CPU. */
static uint64_t call_fact(const struct wp_slice *slice, bool is_woken)
{
    if (!slice->wake_ns || slice->flags & WP_SLICE_PREEMPTED || (slice->is_inferred && slice->cause == WP_CAUSE_TIMER))
        return slice->cause_a;
    if (slice->cause == WP_CAUSE_TIMER)
        return is_woken ? slice->cause_a : 0;
    if (slice->cause != WP_CAUSE_TASK)
        return 0;
    return is_woken ? slice->cause_a : slice->cause_a & ~0xffull;
}

/* When the quota was there again comes as the thread runs again; behind the horizon it comes again. */
static bool is_throttled(const struct save *save, const struct wp_slice *slice)
{
    return wp_slice_quota_end(slice) && !(slice->in_ns && slice->in_ns < save->horizon_ns);
}

static void save_slice(struct save *save, const struct wp_slice *slice, Wakepath__Resume__Thread *row)
{
    Wakepath__Resume__Slice *s = made(save, 1, sizeof(*s));
    if (!s)
        return;
    wakepath__resume__slice__init(s);
    s->out_ns = slice->out_ns;
    s->in_ns = slice->in_ns < save->horizon_ns ? slice->in_ns : 0;
    bool is_woken = slice->wake_ns && slice->wake_ns < save->horizon_ns &&
        (s->in_ns || !slice->is_inferred); /* inferred at its end */
    s->wake_ns = is_woken ? slice->wake_ns : 0;
    bool is_untold = is_throttled(save, slice);
    s->timeout_ns = is_untold ? WP_SLICE_THROTTLED : call_fact(slice, is_woken);
    s->is_inferred = is_woken && slice->is_inferred;
    s->stack = slice->stack;
    s->syscall = slice->syscall;
    s->wait = is_untold ? 0 : wp_timeline_wait(save->timeline, slice);
    s->state = slice->state;
    s->cause = s->wake_ns ? slice->cause : 0;
    s->flags = slice->flags;
    s->is_asking = slice->is_asking;
    row->slice = s;
}

/* Its last run was over at the horizon: what is left of it is nothing, unless the recording only paused. */
static bool is_over(const struct save *save, const struct wp_slice *slice)
{
    return slice->end_ns && slice->end_ns < save->horizon_ns;
}

/* Where it runs at the horizon, or ran last; and since when it has been runnable, if it is. */
static void save_cpu(struct save *save, uint32_t index, const struct wp_slice *slice, Wakepath__Resume__Thread *row)
{
    const struct wp_thread *thread = &save->timeline->threads[index];
    uint64_t ordinal = slice ? wp_thread_find(thread, save->horizon_ns - 1) : thread->first_slice;
    bool is_there = slice && slice->in_ns && slice->in_ns < save->horizon_ns;
    bool is_woken = slice && slice->wake_ns && slice->wake_ns < save->horizon_ns;
    struct wp_slice_cpu left = wp_thread_ran_before(thread, ordinal), on = left;
    if (is_there)
        on = *wp_thread_slice_cpu(thread, ordinal);
    else if (is_woken) /* who asked for it is known since then */
        on.occupant = wp_thread_slice_cpu(thread, ordinal)->occupant;
    row->cpu = on.cpu;
    row->occupant = on.occupant;
    row->left_cpu = slice && !is_over(save, slice) ? left.cpu : on.cpu;
    if (!slice || is_over(save, slice))
        return;
    if (is_there && !WP_ARRAY_FIT_ZERO(save->runners, save->runner_room, on.cpu + 1u))
        save->runners[on.cpu] = save->rows[index];
    uint64_t since_ns = slice->flags & WP_SLICE_PREEMPTED ? slice->out_ns : slice->wake_ns;
    if (!is_there && since_ns && since_ns < save->runnable_ns)
        save->runnable_ns = since_ns;
}

static void save_cpu_runs(struct save *save)
{
    struct wp_cpu_runs_save runs = {.runs = &save->timeline->cpu_runs,
        .horizon_ns = save->horizon_ns,
        .since_ns = save->runnable_ns,
        .process_rows = save->process_rows,
        .runners = save->runners,
        .runner_count = save->runner_room};
    if (!save->has_failed && wp_cpu_runs_save(&runs, save->out))
        save->has_failed = true;
}

static void save_sample(const struct save *save, const struct wp_thread *thread, Wakepath__Resume__Thread *row)
{
    uint64_t ordinal = wp_thread_find_sample(thread, save->horizon_ns);
    if (ordinal == thread->first_sample)
        return;
    const struct wp_sample *sample = &thread->samples[(ordinal - 1) & thread->sample_mask];
    row->sample_ns = sample->time_ns;
    row->sample_stack = sample->stack;
}

static bool is_gone(const struct save *save, const struct wp_slice *slice)
{
    return is_over(save, slice) && !slice->is_cut;
}

static void save_threads(struct save *save)
{
    const struct wp_timeline *timeline = save->timeline;
    uint32_t count = 0;
    save->rows = made(save, timeline->thread_count, sizeof(*save->rows));
    save->out->threads = made(save, timeline->thread_count, sizeof(*save->out->threads));
    save->names = made(save, timeline->thread_count, sizeof(*save->names));
    for (uint32_t i = 1; !save->has_failed && i < timeline->identity_count; i++)
        if (timeline->identities[i].made_ns < save->horizon_ns)
            save->names[timeline->identities[i].thread] = i;
    for (uint32_t i = 1; !save->has_failed && i < timeline->thread_count; i++) {
        const struct wp_slice *slice = slice_at(save, &timeline->threads[i]);
        if (save->names[i] && !(slice && is_gone(save, slice))) /* also one that was only spoken of */
            save->rows[i] = ++count;
    }
    for (uint32_t i = 1; !save->has_failed && i < timeline->thread_count; i++) {
        const struct wp_thread *thread = &timeline->threads[i];
        Wakepath__Resume__Thread *row = save->rows[i] ? made(save, 1, sizeof(*row)) : NULL;
        if (!row)
            continue;
        wakepath__resume__thread__init(row);
        save->out->threads[save->out->n_threads++] = row;
        const struct wp_slice *slice = slice_at(save, thread);
        const struct wp_identity *identity = &timeline->identities[save->names[i]];
        row->entry = identity->entry;
        row->comm = identity->comm;
        row->process_comm = identity->process_comm;
        row->process = save->process_rows[identity->process];
        row->creator = thread->creator ? save->rows[thread->creator] : 0;
        row->birth_ns = thread->birth_ns;
        save_cpu(save, i, slice, row);
        if (slice && !is_over(save, slice))
            save_slice(save, slice, row);
        save_sample(save, thread, row);
    }
}

/* Of each process, the runs that end behind the horizon: they come again. */
static uint64_t *made_later_runs(struct save *save)
{
    const struct wp_timeline *timeline = save->timeline;
    uint64_t *later_ns = made(save, timeline->process_count, sizeof(*later_ns));
    for (uint32_t i = 1; !save->has_failed && i < timeline->thread_count; i++) {
        const struct wp_thread *thread = &timeline->threads[i];
        for (uint64_t ordinal = thread->slice_end; ordinal-- > thread->first_slice;) {
            const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
            if (is_over(save, slice))
                break;
            if (slice->end_ns)
                later_ns[timeline->identities[slice->identity].process] += slice->end_ns - slice->in_ns;
        }
    }
    return later_ns;
}

static void save_recorder(struct save *save, const uint64_t *later_ns)
{
    const struct wp_timeline *timeline = save->timeline;
    save->out->recorder_ns = timeline->counts.recorder_ns;
    for (uint32_t i = 0; !save->has_failed && i < timeline->process_count; i++)
        save->out->recorder_ns -= timeline->processes[i].is_recorder ? later_ns[i] : 0;
}

static void save_processes(struct save *save, const uint64_t *later_ns)
{
    const struct wp_timeline *timeline = save->timeline;
    save->out->processes = made(save, timeline->process_count, sizeof(*save->out->processes));
    save->process_rows = made(save, timeline->process_count, sizeof(*save->process_rows));
    for (uint32_t i = 0; !save->has_failed && i < timeline->process_count; i++) { /* rows are indices */
        const struct wp_process *process = &timeline->processes[i];
        if (i && process->made_ns >= save->horizon_ns)
            break; /* this one and those behind it come up again */
        if (!wp_idtable_has(&timeline->processes_table, i))
            continue;
        Wakepath__Resume__Process *row = made(save, 1, sizeof(*row));
        if (!row)
            return;
        wakepath__resume__process__init(row);
        row->pid = process->pid;
        row->comm = process->comm;
        row->start_ns = process->start_ns;
        row->started_by = process->started_by;
        row->is_recorder = process->is_recorder;
        row->is_grouped = process->looked_ns >= save->horizon_ns ? process->was_grouped : process->is_grouped;
        row->running_ns = process->running_ns - later_ns[i];
        if (process->quota.told_ns < save->horizon_ns) {
            row->quota_cgroup = process->quota.cgroup;
            row->quota_period_ns = process->quota.period_ns;
        }
        row->ended_by = process->ended_ns < save->horizon_ns ? process->ended_by : 0;
        save->process_rows[i] = (uint32_t)save->out->n_processes;
        save->out->processes[save->out->n_processes++] = row;
    }
    for (uint32_t i = 1; !save->has_failed && i < timeline->identity_count; i++) { /* a later renaming comes again */
        const struct wp_identity *identity = &timeline->identities[i];
        const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, identity->entry);
        if (identity->made_ns < save->horizon_ns && save->process_rows[identity->process] && entry &&
            entry->tid == entry->pid)
            save->out->processes[save->process_rows[identity->process]]->comm = identity->comm;
    }
}

/* --- block and socket facts --- */

static void add_fact(struct save *save, const struct wp_event *event)
{
    if (!event->time_ns || event->time_ns >= save->horizon_ns || save->has_failed)
        return;
    if (WP_ARRAY_FIT(save->facts, save->fact_room, save->fact_count + 1))
        save->has_failed = true;
    else
        save->facts[save->fact_count++] = *event;
}

/* Who the thread was at the horizon; one that is gone is nobody. */
static uint32_t entry_of(const struct save *save, uint32_t thread)
{
    return thread && save->rows[thread] ? save->out->threads[save->rows[thread] - 1]->entry : 0;
}

static void save_block(struct save *save)
{
    const struct wp_blockops *ops = &save->timeline->blockops;
    for (uint64_t number = ops->first + 1; number <= ops->count; number++) {
        const struct wp_blockop *op = wp_blockops_at(ops, number);
        if (op->done_ns && op->done_ns + DONE_NS < save->horizon_ns)
            continue;
        struct wp_event event = {.time_ns = op->insert_ns,
            .kind = WP_EVENT_BLOCK_INSERT,
            .flags = op->flags,
            .thread = entry_of(save, op->thread),
            .a = op->sector,
            .b = op->key,
            .c = op->bytes,
            .d = op->device,
            .other = op->file};
        add_fact(save, &event);
        event.kind = WP_EVENT_BLOCK_ISSUE;
        event.time_ns = op->issue_ns;
        add_fact(save, &event);
        if (op->server) {
            struct wp_event served = event;
            served.time_ns = op->served_ns;
            served.flags |= WP_BLOCK_SERVED;
            served.thread = entry_of(save, op->server);
            add_fact(save, &served);
        }
        event.kind = WP_EVENT_BLOCK_COMPLETE;
        event.time_ns = op->done_ns;
        add_fact(save, &event);
    }
}

/* Older ones say nothing any more. */
static void save_memory(struct save *save)
{
    const struct wp_memory_shares *shares = &save->timeline->memory;
    for (uint32_t i = 0; i < shares->count; i++) {
        const struct wp_memory_share *row = &shares->rows[i];
        struct wp_event event = {.time_ns = row->time_ns,
            .kind = WP_EVENT_REASON,
            .c = WP_REASON_MEMORY,
            .thread = entry_of(save, row->thread),
            .a = row->bytes,
            .wait = row->cgroup};
        if (event.thread && row->time_ns + MEMORY_NS >= save->horizon_ns)
            add_fact(save, &event);
    }
}

/* What a thread did with a socket: `d` is the socket's id. */
static void add_socket_fact(struct save *save, uint32_t thread, struct wp_event event)
{
    event.thread = entry_of(save, thread);
    add_fact(save, &event);
}

static void save_arrival(struct save *save, uint32_t id, uint64_t time_ns, uint32_t end)
{
    if (time_ns && time_ns < save->horizon_ns)
        add_socket_fact(
            save, 0, (struct wp_event){.time_ns = time_ns, .kind = WP_EVENT_SOCK_ARRIVE, .a = end, .d = id});
}

static void save_transfers(struct save *save, uint32_t id, const struct wp_socket *socket)
{
    const struct wp_message_ring *ring = &socket->send_ring;
    uint64_t end = ring->end;
    while (end > ring->first && socket->sends[(end - 1) & ring->mask].time_ns >= save->horizon_ns)
        end--;
    for (uint64_t i = end - ring->first > SOCKET_SENDS ? end - SOCKET_SENDS : ring->first; i < end; i++) {
        const struct wp_send *send = &socket->sends[i & ring->mask];
        add_socket_fact(save, send->thread,
            (struct wp_event){
                .time_ns = send->time_ns, .kind = WP_EVENT_SOCK_SEND, .a = send->end, .c = send->bytes, .d = id});
    }
    ring = &socket->receive_ring;
    end = ring->end;
    while (end > ring->first && socket->receives[(end - 1) & ring->mask].time_ns >= save->horizon_ns)
        end--;
    for (uint64_t i = end - ring->first > SOCKET_SENDS ? end - SOCKET_SENDS : ring->first; i < end; i++) {
        const struct wp_receive *receive = &socket->receives[i & ring->mask];
        save_arrival(save, id, receive->arrived_ns, receive->end);
        add_socket_fact(save, receive->thread,
            (struct wp_event){
                .time_ns = receive->time_ns, .kind = WP_EVENT_SOCK_RECV, .a = receive->end, .c = 1, .d = id});
    }
    const struct wp_arrivals *arrivals = &socket->arrivals;
    for (uint32_t i = 0; i < arrivals->room && i < arrivals->count; i++)
        save_arrival(save, id, arrivals->rows[i].time_ns, arrivals->rows[i].end);
}

static void save_sockets(struct save *save)
{
    const struct wp_messages *messages = &save->timeline->messages;
    for (uint32_t id = 1; id < messages->table.room; id++) {
        const struct wp_socket *socket = wp_messages_socket(messages, id);
        if (!socket)
            continue;
        uint64_t isn = messages->connections ? wp_connections_sequence(messages->connections, messages->host, id) : 0;
        struct wp_event state = {.kind = WP_EVENT_SOCK_STATE, .time_ns = socket->connecting.time_ns, .d = id};
        state.b = TCP_CLOSE;
        state.c = TCP_SYN_SENT;
        add_socket_fact(save, socket->connecting.thread, state);
        if (isn && socket->opened_ns < save->horizon_ns) {
            struct wp_event opened = state;
            opened.time_ns = socket->opened_ns ? socket->opened_ns : 1;
            opened.a = isn;
            opened.b = socket->opener == WP_OPENER_HERE ? TCP_SYN_SENT
                : socket->opener == WP_OPENER_THERE     ? TCP_SYN_RECV
                                                        : 0;
            opened.c = TCP_ESTABLISHED;
            add_socket_fact(save, 0, opened);
        }
        save_transfers(save, id, socket);
        state.time_ns = socket->ended_ns;
        state.b = TCP_ESTABLISHED;
        state.c = TCP_CLOSE_WAIT;
        add_socket_fact(save, 0, state);
        state.time_ns = socket->closing.time_ns;
        state.b = TCP_ESTABLISHED;
        state.c = socket->over_ns == socket->closing.time_ns ? TCP_CLOSE : TCP_FIN_WAIT1;
        add_socket_fact(save, socket->closing.thread, state);
        if (socket->over_ns > socket->closing.time_ns) {
            state.time_ns = socket->over_ns;
            state.b = socket->closing.time_ns ? TCP_ESTABLISHED : TCP_SYN_SENT;
            state.c = TCP_CLOSE;
            add_socket_fact(save, 0, state);
        }
    }
}

static void save_window(struct save *save)
{
    const struct wp_timeline *timeline = save->timeline;
    save->out->past_pauses_ns = timeline->past_pauses_ns;
    save->out->paused_ns = timeline->paused_ns < save->horizon_ns ? timeline->paused_ns : 0;
    save->out->window_ns = timeline->window_ns < save->horizon_ns ? timeline->window_ns : 0;
    for (uint32_t i = 0; i < timeline->pauses.count && timeline->pauses.rows[i].from_ns < save->horizon_ns; i++) {
        const struct wp_drop_span *pause = &timeline->pauses.rows[i];
        if (pause->to_ns >= save->horizon_ns) { /* its end comes again */
            save->out->paused_ns = pause->from_ns;
            break;
        }
        save->out->past_pauses_ns += pause->to_ns - pause->from_ns;
        save->out->window_ns = pause->to_ns;
    }
}

static int compare_times(const void *left, const void *right)
{
    const struct wp_event *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind; /* insert, issue, complete */
}

static void save_facts(struct save *save)
{
    struct wp_buffer bytes = {0};
    save_block(save);
    save_memory(save);
    save_sockets(save);
    if (save->fact_count)
        qsort(save->facts, save->fact_count, sizeof(*save->facts), compare_times);
    struct wp_batch batch = {.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1};
    size_t done = 0;
    for (; !save->has_failed && done < save->fact_count;
         done += batch.event_count) { /* batches one behind the other, with sizes */
        size_t at = bytes.size;
        uint32_t size = 0;
        batch.events = save->facts + done;
        batch.event_count =
            (uint32_t)(save->fact_count - done < WP_BATCH_EVENTS ? save->fact_count - done : WP_BATCH_EVENTS);
        save->has_failed = wp_buffer_append(&bytes, &size, sizeof(size)) || wp_batch_encode(&batch, &bytes, NULL);
        size = (uint32_t)(bytes.size - at - sizeof(size));
        if (!save->has_failed)
            memcpy(bytes.data + at, &size, sizeof(size));
    }
    save->out->facts = (ProtobufCBinaryData){bytes.size, bytes.data};
}

int wp_timeline_save(
    const struct wp_timeline *timeline, uint64_t horizon_ns, Wakepath__Resume__Checkpoint *out, uint32_t **rows)
{
    struct save save = {.timeline = timeline, .horizon_ns = horizon_ns, .out = out, .runnable_ns = horizon_ns};
    out->start_ns = timeline->start_ns;
    uint64_t *later_ns = made_later_runs(&save);
    save_recorder(&save, later_ns);
    save_processes(&save, later_ns);
    save.has_failed |= save.process_rows && wp_process_rows_save(timeline, horizon_ns, save.process_rows, out);
    save_threads(&save);
    save_cpu_runs(&save);
    save_facts(&save);
    save_window(&save);
    save.has_failed |= wp_gone_ids_save(timeline->dictionary, out) != 0;
    free(later_ns);
    free(save.facts);
    free(save.names);
    free(save.runners);
    free(save.process_rows);
    if (save.has_failed) {
        free(save.rows);
        return -ENOMEM;
    }
    *rows = save.rows;
    return 0;
}

/* --- back --- */

/* In the order of time, as events come; thread and socket may be such as nobody has defined yet: those are passed over.
 */
static int restore_batch(
    struct wp_timeline *timeline, const struct wp_batch *batch, uint64_t horizon_ns, uint64_t *last_ns)
{
    for (uint32_t i = 0; i < batch->event_count; i++) {
        const struct wp_event *event = &batch->events[i];
        if (event->time_ns < *last_ns || event->time_ns >= horizon_ns)
            return -EBADMSG;
        *last_ns = event->time_ns;
        wp_timeline_fact(timeline, event);
    }
    return 0;
}

static int restore_facts(struct wp_timeline *timeline, const ProtobufCBinaryData *facts, uint64_t horizon_ns)
{
    struct wp_batch batch = {0};
    uint64_t last_ns = 0;
    int rc = 0;
    for (size_t at = 0; !rc && at < facts->len;) {
        uint32_t size;
        if (facts->len - at < sizeof(size)) {
            rc = -EBADMSG;
            break;
        }
        memcpy(&size, facts->data + at, sizeof(size));
        at += sizeof(size);
        rc = size > facts->len - at ? -EBADMSG : wp_batch_decode(&batch, facts->data + at, size, NULL);
        if (!rc)
            rc = restore_batch(timeline, &batch, horizon_ns, &last_ns);
        at += size;
    }
    wp_batch_fini(&batch);
    return rc;
}

int wp_timeline_set_processes(struct wp_timeline *timeline, Wakepath__Resume__Process *const *rows, size_t count)
{
    if (count > UINT32_MAX / 2 || (count && wp_idtable_reserve(&timeline->processes_table, (uint32_t)count - 1)))
        return -ENOMEM;
    timeline->processes = timeline->processes_table.items;
    timeline->process_room = timeline->processes_table.room;
    for (uint32_t i = 0; i < count; i++) {
        wp_idtable_use(&timeline->processes_table, i);
        timeline->processes[i] = (struct wp_process){.pid = rows[i]->pid,
            .comm = rows[i]->comm,
            .start_ns = rows[i]->start_ns,
            .started_by = rows[i]->started_by,
            .running_ns = rows[i]->running_ns,
            .is_recorder = rows[i]->is_recorder,
            .is_grouped = rows[i]->is_grouped,
            .quota = {.cgroup = rows[i]->quota_cgroup, .period_ns = rows[i]->quota_period_ns},
            .ended_by = rows[i]->ended_by};
        struct wp_intkey pid = {rows[i]->pid, 0};
        if (i && wp_intmap_put(&timeline->process_of_pid, pid, i)) /* the later one has the number */
            return -ENOMEM;
    }
    timeline->process_count = count ? (uint32_t)count : 1;
    return 0;
}

int wp_timeline_restore(struct wp_timeline *timeline, const Wakepath__Resume__Checkpoint *from, uint32_t **threads)
{
    uint32_t *made_threads = calloc(from->n_threads + 1, sizeof(*made_threads));
    int rc = made_threads ? wp_timeline_set_processes(timeline, from->processes, from->n_processes) : -ENOMEM;
    for (size_t i = 0; !rc && i < from->n_threads; i++) {
        const Wakepath__Resume__Thread *row = from->threads[i];
        if (row->process >= from->n_processes || !wp_dictionary_thread(timeline->dictionary, row->entry))
            rc = -EBADMSG;
        else
            made_threads[i] = wp_timeline_set_thread(timeline, row);
    }
    for (size_t i = 0; !rc && i < from->n_threads; i++) {
        uint32_t creator = from->threads[i]->creator;
        if (creator && creator <= from->n_threads && made_threads[i])
            wp_timeline_set_creator(timeline, made_threads[i], made_threads[creator - 1]);
    }
    if (!rc)
        rc = wp_cpu_runs_restore(timeline, from, made_threads);
    wp_gone_ids_restore(timeline->dictionary, from);
    wp_messages_keep_datagram_sockets(&timeline->messages);
    timeline->start_ns = from->start_ns;
    if (!rc)
        rc = wp_process_rows_restore(timeline, from);
    timeline->past_pauses_ns = from->past_pauses_ns;
    timeline->paused_ns = from->paused_ns;
    timeline->window_ns = from->window_ns;
    if (!rc)
        rc = restore_facts(timeline, &from->facts, from->horizon_ns);
    timeline->now_ns = from->horizon_ns ? from->horizon_ns - 1 : 0;
    if (!rc && timeline->failed)
        rc = -ENOMEM;
    if (rc) {
        free(made_threads);
        return rc;
    }
    *threads = made_threads;
    return 0;
}
