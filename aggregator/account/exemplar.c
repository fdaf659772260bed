/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/exemplar.h"

#include "aggregator/timeline/names.h"
#include "aggregator/timeline/slices.h"
#include "common/array.h"
#include "storage/report/trace_coarsen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNNABLE_NS 100000u /* a shorter wait for a CPU is shown with the sleep before it */

int wp_exemplar_init(
    struct wp_exemplar *exemplar, struct wp_fleet *fleet, uint32_t home, const struct wp_pathtree *tree, uint64_t bit)
{
    *exemplar =
        (struct wp_exemplar){.fleet = fleet, .home = home, .tree = tree, .bit = bit, .row_limit = WP_EXEMPLAR_ROWS};
    exemplar->trace = wp_trace_create();
    return exemplar->trace ? 0 : -ENOMEM;
}

static void forget_host(struct wp_exemplar_host *host)
{
    wp_idtable_fini(&host->rows);
    wp_intmap_fini(&host->labels);
}

static void forget_hosts(struct wp_exemplar *exemplar)
{
    for (uint32_t i = 0; i < exemplar->host_room; i++)
        forget_host(&exemplar->hosts[i]);
    free(exemplar->hosts);
    exemplar->hosts = NULL;
    exemplar->host_room = 0;
}

void wp_exemplar_fini(struct wp_exemplar *exemplar)
{
    wp_trace_destroy(exemplar->trace);
    wp_top_k_fini(&exemplar->runs);
    wp_top_k_fini(&exemplar->sleeps);
    free(exemplar->nodes);
    free(exemplar->programs);
    forget_hosts(exemplar);
    *exemplar = (struct wp_exemplar){0};
}

size_t wp_exemplar_bytes(const struct wp_exemplar *exemplar)
{
    size_t bytes = (exemplar->trace ? wp_trace_bytes(exemplar->trace) : 0) +
        exemplar->node_room * sizeof(*exemplar->nodes) + exemplar->host_room * sizeof(*exemplar->hosts) +
        exemplar->program_room * sizeof(*exemplar->programs) +
        ((size_t)exemplar->runs.room + exemplar->sleeps.room) * sizeof(*exemplar->runs.lengths);
    for (uint32_t i = 0; i < exemplar->host_room; i++)
        bytes += wp_idtable_bytes(&exemplar->hosts[i].rows) + wp_intmap_bytes(&exemplar->hosts[i].labels);
    return bytes;
}

void wp_exemplar_clear(struct wp_exemplar *exemplar)
{
    wp_trace_clear(exemplar->trace);
    exemplar->origin_ns = 0;
    exemplar->last_base = (struct wp_exemplar_base){0};
    if (exemplar->nodes)
        memset(exemplar->nodes, 0, exemplar->node_room * sizeof(*exemplar->nodes));
    forget_hosts(exemplar);
}

static const struct wp_timeline *timeline_of(const struct wp_exemplar *exemplar, uint32_t host)
{
    return exemplar->fleet->hosts[host].timeline;
}

/* NULL: out of memory, or its clock has not been compared with home's. */
static struct wp_exemplar_host *host_of(struct wp_exemplar *exemplar, uint32_t host)
{
    if (WP_ARRAY_FIT_ZERO(exemplar->hosts, exemplar->host_room, host + 1))
        return NULL;
    struct wp_exemplar_host *row = &exemplar->hosts[host];
    uint32_t generation = exemplar->fleet->hosts[host].generation;
    if (row->has_shift && row->generation == generation)
        return row;
    struct wp_offset offset;
    if (!wp_fleet_offset(exemplar->fleet, exemplar->home, exemplar->now_ns, host, &offset))
        return NULL;
    forget_host(row);
    *row = (struct wp_exemplar_host){.generation = generation, .shift_ns = -offset.offset_ns, .has_shift = true};
    wp_idtable_init(&row->rows, sizeof(struct wp_exemplar_row));
    return row;
}

/* Zeros, for reading only, while the thread is not in the trace; NULL as host_of, or there is no room for the row. */
static struct wp_exemplar_row *row_of(struct wp_exemplar *exemplar, uint32_t host, uint32_t thread)
{
    struct wp_exemplar_host *on = host_of(exemplar, host);
    return on && !wp_idtable_reserve(&on->rows, thread) ? (struct wp_exemplar_row *)on->rows.items + thread : NULL;
}

static uint32_t trace_node(struct wp_exemplar *exemplar, uint32_t node)
{
    if (!node || node == UINT32_MAX)
        return 0;
    if (WP_ARRAY_FIT_ZERO(exemplar->nodes, exemplar->node_room, node + 1))
        return 0;
    if (!exemplar->nodes[node]) {
        const struct wp_node *from = &exemplar->tree->nodes[node];
        const struct wp_path_frame *info = &exemplar->tree->frames[from->frame];
        const struct wp_intern *strings = exemplar->tree->strings;
        uint32_t frame = wp_trace_frame(
            exemplar->trace, info->style, wp_intern_text(strings, info->name), wp_intern_text(strings, info->object));
        exemplar->nodes[node] = wp_trace_child(exemplar->trace, trace_node(exemplar, from->parent), frame);
    }
    return exemplar->nodes[node];
}

/* An identity has one name as long as it lasts. */
static uint32_t comm_string(struct wp_exemplar *exemplar, uint32_t host, uint32_t identity)
{
    struct wp_intkey key = {1, identity};
    uint32_t string;
    if (wp_intmap_get(&exemplar->hosts[host].labels, key, &string))
        return string;
    string = wp_trace_string(exemplar->trace, wp_timeline_comm(timeline_of(exemplar, host), identity));
    if (string != UINT32_MAX)
        wp_intmap_put(&exemplar->hosts[host].labels, key, string);
    return string;
}

/* Whose thread it was at the window's end; what it has become since does not matter, or later looks would see another
 * window. */
static uint32_t identity_of(const struct wp_exemplar *exemplar, uint32_t host, uint32_t index)
{
    const struct wp_thread *thread = &timeline_of(exemplar, host)->threads[index];
    if (!exemplar->end_ns || !thread->slices)
        return thread->identity;
    uint64_t ordinal = wp_thread_find(thread, exemplar->end_ns - 1 - (uint64_t)exemplar->hosts[host].shift_ns);
    return ordinal == thread->slice_end ? thread->identity : wp_thread_slice(thread, ordinal)->identity;
}

/* A new row of the trace for a thread as who it then was. */
static int add_thread(struct wp_exemplar *exemplar, uint32_t host, uint32_t thread, uint32_t whose)
{
    struct wp_trace *trace = exemplar->trace;
    const struct wp_timeline *timeline = timeline_of(exemplar, host);
    const struct wp_identity *identity = &timeline->identities[whose];
    if (trace->thread_count >= exemplar->row_limit)
        return -ENOBUFS;
    return wp_trace_add_thread(trace,
        &(struct wp_trace_thread){.host = wp_trace_string(trace, exemplar->fleet->hosts[host].hostname),
            .comm = comm_string(exemplar, host, whose),
            .pid = timeline->processes[identity->process].pid,
            .tid = timeline->threads[thread].tid,
            .is_base = (identity->aggregates & exemplar->bit) != 0});
}

/* The thread's row in the trace, made on first use; UINT32_MAX when it does not fit. */
static uint32_t trace_thread(struct wp_exemplar *exemplar, uint32_t host, uint32_t thread)
{
    struct wp_exemplar_row *row = row_of(exemplar, host, thread);
    if (!row)
        return UINT32_MAX;
    if (!row->trace_thread) {
        if (add_thread(exemplar, host, thread, identity_of(exemplar, host, thread)))
            return UINT32_MAX;
        wp_idtable_use(&exemplar->hosts[host].rows, thread);
        row->trace_thread = exemplar->trace->thread_count;
        row->until_ns = exemplar->origin_ns - (uint64_t)exemplar->hosts[host].shift_ns;
    }
    return row->trace_thread - 1;
}

uint32_t wp_exemplar_program(
    struct wp_exemplar *exemplar, uint32_t host, uint32_t thread, uint32_t identity, uint64_t since_ns)
{
    struct wp_exemplar_row *row = row_of(exemplar, host, thread);
    uint32_t next = exemplar->trace->thread_count;
    if (!row || WP_ARRAY_FIT_ZERO(exemplar->programs, exemplar->program_room, next + 1) ||
        add_thread(exemplar, host, thread, identity))
        return UINT32_MAX;
    if (!row->trace_thread) {
        wp_idtable_use(&exemplar->hosts[host].rows, thread);
        row->until_ns = exemplar->origin_ns - (uint64_t)exemplar->hosts[host].shift_ns;
    }
    exemplar->programs[next] = (struct wp_exemplar_program){row->trace_thread, since_ns};
    row->trace_thread = next + 1;
    return next;
}

/* The row of what the thread in that row was then. */
static inline uint32_t program_at(const struct wp_exemplar *exemplar, uint32_t at, uint64_t at_ns)
{
    while (at < exemplar->program_room && exemplar->programs[at].before && at_ns < exemplar->programs[at].since_ns)
        at = exemplar->programs[at].before - 1;
    return at;
}

uint32_t wp_exemplar_thread_at(const struct wp_exemplar *exemplar, uint32_t host, uint32_t thread, uint64_t at_ns)
{
    const struct wp_exemplar_host *on = host < exemplar->host_room ? &exemplar->hosts[host] : NULL;
    if (!on || !wp_idtable_has(&on->rows, thread))
        return UINT32_MAX;
    return program_at(exemplar, ((const struct wp_exemplar_row *)on->rows.items + thread)->trace_thread - 1, at_ns);
}

static uint32_t path_of(struct wp_exemplar *exemplar, uint32_t host, uint32_t base)
{
    uint32_t thread = trace_thread(exemplar, host, base);
    struct wp_exemplar_row *row = row_of(exemplar, host, base);
    if (thread == UINT32_MAX || !row)
        return UINT32_MAX;
    if (!row->path) {
        if (wp_trace_add_path(exemplar->trace,
                &(struct wp_trace_path){.thread = thread, .is_base = exemplar->trace->threads[thread].is_base}))
            return UINT32_MAX;
        row->path = exemplar->trace->path_count;
    }
    return row->path - 1;
}

static uint32_t path_of_piece(struct wp_exemplar *exemplar, uint32_t host, uint32_t base)
{
    struct wp_exemplar_base *last = &exemplar->last_base;
    uint32_t generation = exemplar->fleet->hosts[host].generation;
    if (last->path && last->host == host && last->thread == base && last->generation == generation)
        return last->path - 1;
    uint32_t path = path_of(exemplar, host, base);
    *last = (struct wp_exemplar_base){host, base, generation, path + 1}; /* 0 of none */
    return path;
}

void wp_exemplar_path(struct wp_exemplar *exemplar, uint32_t host, uint32_t thread)
{
    path_of(exemplar, host, thread);
}

void wp_exemplar_begin(struct wp_exemplar *exemplar, uint64_t origin_ns, int64_t real_offset_ns)
{
    if (exemplar->origin_ns)
        return;
    exemplar->origin_ns = exemplar->now_ns = origin_ns;
    exemplar->trace->start_ns = origin_ns + (uint64_t)real_offset_ns;
}

void wp_exemplar_keep_piece(
    struct wp_exemplar *exemplar, uint32_t base_host, uint32_t base, const struct wp_piece_row *piece)
{
    struct wp_trace *trace = exemplar->trace;
    exemplar->now_ns = piece->end_ns;
    uint32_t path = path_of_piece(exemplar, base_host, base);
    if (path == UINT32_MAX) {
        trace->omitted++;
        return;
    }
    trace_thread(exemplar, piece->host, piece->thread);
    uint64_t start = piece->start_ns > exemplar->origin_ns ? piece->start_ns : exemplar->origin_ns;
    wp_trace_add_piece(trace,
        &(struct wp_trace_piece){path, trace_node(exemplar, piece->node), start - exemplar->origin_ns,
            piece->end_ns - start, piece->category});
    uint64_t end = piece->end_ns - exemplar->origin_ns;
    if (end > trace->length_ns)
        trace->length_ns = end;
}

/* --- runs, sleeps, links --- */

static bool is_kernel_thread(const struct wp_exemplar *exemplar, uint32_t host, const struct wp_slice *slice)
{
    return wp_is_kernel_thread(timeline_of(exemplar, host), slice->identity);
}

/* The innermost user function of a stack (the blocking call as the programmer sees it), else the system call. */
static uint32_t new_label(struct wp_exemplar *exemplar, uint32_t host, const struct wp_slice *slice)
{
    const struct wp_dictionary *dictionary = timeline_of(exemplar, host)->dictionary;
    char name[WP_STRING_BYTES + 64];
    const char *object;
    for (uint32_t at = slice->stack, guard = 0; at && guard < 512; guard++) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, at);
        const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(dictionary, entry->frame) : NULL;
        if (!entry)
            break;
        if (frame && !frame->is_kernel && frame->function) {
            uint32_t innermost = entry->frame;
            for (uint32_t levels = 0, id; levels < 64 && (id = wp_dictionary_inlined(dictionary, innermost)); levels++)
                innermost = id;
            wp_name_frame(dictionary, innermost, name, sizeof(name), &object);
            return wp_trace_string(exemplar->trace, name);
        }
        at = entry->parent;
    }
    wp_name_sleep(slice, is_kernel_thread(exemplar, host, slice),
        wp_dictionary_string(dictionary, wp_timeline_wait(timeline_of(exemplar, host), slice)), name, sizeof(name));
    return wp_trace_string(exemplar->trace, slice->flags & WP_SLICE_PREEMPTED ? "preempted" : name + 6);
}

/* Thousands of sleeps are called alike. */
static uint32_t sleep_label(struct wp_exemplar *exemplar, uint32_t host, const struct wp_slice *slice)
{
    struct wp_intmap *labels = &exemplar->hosts[host].labels;
    uint64_t how = (uint64_t)is_kernel_thread(exemplar, host, slice) << 48 | (uint64_t)slice->wait << 32 |
        (uint64_t)slice->syscall << 16 | (uint64_t)slice->state << 8 | slice->flags;
    struct wp_intkey key = {(uint64_t)slice->stack << 1, how};
    uint32_t label;
    if (wp_intmap_get(labels, key, &label))
        return label;
    label = new_label(exemplar, host, slice);
    if (label != UINT32_MAX)
        wp_intmap_put(labels, key, label);
    return label;
}

static uint32_t sleep_category(const struct wp_slice *slice)
{
    static const uint8_t by_cause[WP_CAUSES] = {[WP_CAUSE_UNKNOWN] = WP_UNACCOUNTED,
        [WP_CAUSE_TASK] = WP_OTHER_PATH,
        [WP_CAUSE_TIMER] = WP_TIMEOUT,
        [WP_CAUSE_MESSAGE] = WP_MESSAGE_IN_FLIGHT,
        [WP_CAUSE_BLOCK] = WP_BLOCKING_IO,
        [WP_CAUSE_IRQ] = WP_HARDWARE_WAIT,
        [WP_CAUSE_SOFTIRQ] = WP_HARDWARE_WAIT};
    if (slice->flags & WP_SLICE_PREEMPTED)
        return WP_INVOLUNTARY;
    if (slice->cause == WP_CAUSE_TIMER && slice->flags & WP_SLICE_DELIBERATE)
        return WP_DELIBERATE_SLEEP;
    return slice->cause < WP_CAUSES ? by_cause[slice->cause] : WP_UNACCOUNTED;
}

/* Where a link begins; its time is home's. */
struct link_start {
    uint32_t host, thread;
    uint64_t time_ns;
};

/* `to_ns` is home's time. */
static void add_link(struct wp_exemplar *exemplar, enum wp_link_kind kind, const struct link_start *start,
    uint32_t to_thread, uint64_t to_ns)
{
    uint32_t from = wp_exemplar_thread_at(exemplar, start->host, start->thread, start->time_ns);
    struct wp_trace *trace = exemplar->trace;
    if (from == UINT32_MAX || start->time_ns < exemplar->origin_ns)
        return;
    if (exemplar->is_system && trace->link_count >= exemplar->row_limit) {
        wp_trace_thin_links(trace);
        exemplar->link_step = exemplar->link_step ? 2 * exemplar->link_step : 2;
    }
    bool is_left_out = exemplar->link_step && exemplar->link_turn++ % exemplar->link_step;
    if (is_left_out || trace->link_count >= exemplar->row_limit) {
        trace->omitted++;
        return;
    }
    wp_trace_add_link(trace,
        &(struct wp_trace_link){kind, from, to_thread, start->time_ns - exemplar->origin_ns,
            (to_ns > start->time_ns ? to_ns : start->time_ns) - exemplar->origin_ns});
}

/* A slice of a thread that is in the trace. */
struct kept_slice {
    uint32_t host, index, thread; /* thread: in the trace */
    const struct wp_slice *slice;
    uint64_t end_ns;   /* of the run, as far as it is kept; its host's time */
    uint64_t shift_ns; /* its time + shift = home's, modulo 2^64 */
    uint32_t cpu;      /* of the run: number + 1; 0: not to be noted */
};

static void message_link(struct wp_exemplar *exemplar, const struct kept_slice *kept)
{
    const struct wp_slice *slice = kept->slice;
    if (slice->cause_a & WP_POSITION_ACKNOWLEDGES) /* nothing that was sent came with it */
        return;
    const struct wp_timeline *timeline = timeline_of(exemplar, kept->host);
    struct wp_send send;
    struct wp_far_end far;
    uint64_t wake = slice->wake_ns + kept->shift_ns, to = slice->in_ns + kept->shift_ns;
    if (wp_messages_match(&timeline->messages, slice->cause_d, slice->cause_a, slice->wake_ns, &send) ==
        WP_MATCH_FOUND) {
        uint64_t sent = send.time_ns + kept->shift_ns;
        if (send.thread)
            add_link(exemplar, WP_LINK_MESSAGE,
                &(struct link_start){kept->host, send.thread, sent < wake ? sent : wake}, kept->thread, to);
    } else if (wp_connections_peer(exemplar->fleet->connections, kept->host, slice->cause_d, &far) == WP_PAIR_FOUND &&
        far.host < exemplar->host_room && exemplar->hosts[far.host].has_shift) {
        uint64_t shift = (uint64_t)exemplar->hosts[far.host].shift_ns;
        if (!wp_messages_sent(&timeline_of(exemplar, far.host)->messages, far.socket, (uint32_t)slice->cause_a,
                wake - shift, &send) ||
            !send.thread)
            return;
        uint64_t sent = send.time_ns + shift;
        add_link(exemplar, WP_LINK_MESSAGE, &(struct link_start){far.host, send.thread, sent < wake ? sent : wake},
            kept->thread, to);
    }
}

static void links_to(struct wp_exemplar *exemplar, const struct kept_slice *kept)
{
    const struct wp_timeline *timeline = timeline_of(exemplar, kept->host);
    const struct wp_slice *slice = kept->slice;
    uint64_t out = slice->out_ns + kept->shift_ns, wake = slice->wake_ns + kept->shift_ns,
             in = slice->in_ns + kept->shift_ns;
    if (slice->flags & WP_SLICE_EXEC) { /* from what ran before, which may have a row of its own */
        uint64_t before = exemplar->is_system && out ? out - 1 : out;
        add_link(exemplar, WP_LINK_EXEC, &(struct link_start){kept->host, kept->index, before}, kept->thread, in);
    } else if (slice->flags & WP_SLICE_PREEMPTED) {
        if (!exemplar->is_system) /* its sleep says it */
            add_link(
                exemplar, WP_LINK_HORIZONTAL, &(struct link_start){kept->host, kept->index, out}, kept->thread, in);
    } else if (slice->cause == WP_CAUSE_TASK && slice->waker && slice->wake_ns) {
        add_link(exemplar, slice->flags & WP_SLICE_BORN ? WP_LINK_FORK : WP_LINK_WAKING,
            &(struct link_start){kept->host, slice->waker, wake}, kept->thread, in);
    } else if (slice->cause == WP_CAUSE_MESSAGE) {
        message_link(exemplar, kept);
    } else if (slice->cause == WP_CAUSE_BLOCK) {
        const struct wp_blockop *op = wp_blockops_at(&timeline->blockops, slice->cause_a);
        if (op && op->thread)
            add_link(exemplar, WP_LINK_IO, &(struct link_start){kept->host, op->thread, op->insert_ns + kept->shift_ns},
                kept->thread, in);
    }
}

/* Whether a row of that length, of which there are `count`, has its place; counted if not. `grain_ns`: of its kind. */
static inline bool has_place(
    struct wp_exemplar *exemplar, struct wp_top_k *top, uint32_t count, const uint64_t *grain_ns, uint64_t ns)
{
    if (exemplar->is_measuring) {
        wp_top_k_add(top, ns);
        return false;
    }
    bool is_full = count >= exemplar->row_limit;
    if (is_full && exemplar->is_system && ns >= *grain_ns)
        is_full = wp_trace_coarsen(exemplar->trace, exemplar->row_limit / 2);
    bool is_kept = !is_full && ns >= *grain_ns && (!exemplar->pieces || wp_top_k_has(top, ns));
    exemplar->trace->omitted += !is_kept;
    return is_kept;
}

static bool has_sleep_place(struct wp_exemplar *exemplar, uint64_t ns)
{
    struct wp_trace *trace = exemplar->trace;
    return has_place(exemplar, &exemplar->sleeps, trace->sleep_count, &trace->sleep_grain_ns, ns);
}

/* [from, to) of a slice off the CPU: asleep, and when it had to wait for a CPU for long, runnable from its waking on.
 */
static bool add_sleeps(struct wp_exemplar *exemplar, const struct kept_slice *kept, uint64_t from, uint64_t to)
{
    const struct wp_slice *slice = kept->slice;
    uint64_t origin = exemplar->origin_ns, wake = slice->wake_ns ? slice->wake_ns + kept->shift_ns : to;
    bool is_parted = wake >= from && wake < to && to - wake >= RUNNABLE_NS, is_shown = false;
    uint64_t end = is_parted ? wake : to;
    if (end > from && has_sleep_place(exemplar, end - from)) { /* what has no place needs no name */
        wp_trace_add_sleep(exemplar->trace,
            &(struct wp_trace_sleep){kept->thread, sleep_label(exemplar, kept->host, slice), sleep_category(slice),
                from - origin, end - from});
        is_shown = true;
    }
    if (is_parted && has_sleep_place(exemplar, to - wake)) {
        wp_trace_add_sleep(exemplar->trace,
            &(struct wp_trace_sleep){
                kept->thread, wp_trace_string(exemplar->trace, "runnable"), WP_SCHEDULER, wake - origin, to - wake});
        is_shown = true;
    }
    return is_shown;
}

static void add_slice(struct wp_exemplar *exemplar, const struct kept_slice *kept)
{
    struct wp_trace *trace = exemplar->trace;
    const struct wp_slice *slice = kept->slice;
    uint64_t origin = exemplar->origin_ns, in = slice->in_ns + kept->shift_ns, out = slice->out_ns + kept->shift_ns;
    uint64_t end = kept->end_ns + kept->shift_ns, from = out > origin ? out : origin;
    /* A link leads from a sleep's end to a run: to one of them that is there. */
    bool is_shown = !exemplar->pieces && !exemplar->trace->grain_ns;
    if (in > out && in > origin)
        is_shown |= add_sleeps(exemplar, kept, from, in);
    from = in > origin ? in : origin;
    if (end > from && has_place(exemplar, &exemplar->runs, trace->run_count, &trace->run_grain_ns, end - from)) {
        wp_trace_add_run(trace,
            &(struct wp_trace_run){kept->thread, comm_string(exemplar, kept->host, slice->identity), from - origin,
                end - from, kept->cpu});
        is_shown = true;
    }
    if (in >= origin && is_shown)
        links_to(exemplar, kept);
}

/* Nothing of a slice has a place any more: what follows is only counted. */
static bool is_full(const struct wp_exemplar *exemplar)
{
    const struct wp_trace *trace = exemplar->trace;
    uint32_t limit = exemplar->row_limit;
    return !exemplar->is_system && !exemplar->is_measuring && !exemplar->pieces && trace->run_count >= limit &&
        trace->sleep_count >= limit && trace->link_count >= limit;
}

/* How many links to that slice are left out then, but for those that links_to counts. */
static inline uint64_t omitted_links(struct wp_exemplar *exemplar, const struct kept_slice *kept)
{
    const struct wp_slice *slice = kept->slice;
    if (slice->flags & (WP_SLICE_EXEC | WP_SLICE_PREEMPTED))
        return slice->out_ns + kept->shift_ns >= exemplar->origin_ns;
    if (slice->cause == WP_CAUSE_TASK && slice->waker && slice->wake_ns)
        return slice->wake_ns + kept->shift_ns >= exemplar->origin_ns &&
            wp_idtable_has(&exemplar->hosts[kept->host].rows, slice->waker);
    if (slice->cause == WP_CAUSE_MESSAGE || slice->cause == WP_CAUSE_BLOCK) {
        struct kept_slice copy = *kept;
        links_to(exemplar, &copy);
    }
    return 0;
}

/* What add_slice comes to then. */
static inline void omit_slice(struct wp_exemplar *exemplar, const struct kept_slice *kept)
{
    const struct wp_slice *slice = kept->slice;
    uint64_t origin = exemplar->origin_ns, in = slice->in_ns + kept->shift_ns, out = slice->out_ns + kept->shift_ns;
    uint64_t end = kept->end_ns + kept->shift_ns, from = out > origin ? out : origin, omitted = 0;
    if (in > out && in > origin) {
        uint64_t wake = slice->wake_ns ? slice->wake_ns + kept->shift_ns : in;
        bool is_parted = wake >= from && wake < in && in - wake >= RUNNABLE_NS;
        omitted += ((is_parted ? wake : in) > from) + is_parted;
    }
    omitted += end > (in > origin ? in : origin);
    if (in >= origin)
        omitted += omitted_links(exemplar, kept);
    exemplar->trace->omitted += omitted;
}

static void extend_thread(struct wp_exemplar *exemplar, uint32_t host, uint32_t index, uint64_t until_ns)
{
    struct wp_exemplar_host *on = &exemplar->hosts[host];
    struct wp_exemplar_row *row = (struct wp_exemplar_row *)on->rows.items + index;
    const struct wp_thread *thread = &timeline_of(exemplar, host)->threads[index];
    uint64_t ordinal = wp_thread_find(thread, row->until_ns), before_ns = row->until_ns;
    bool is_counted = false;
    if (ordinal == thread->slice_end)
        ordinal = thread->first_slice;
    for (; ordinal < thread->slice_end; ordinal++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_open = !slice->end_ns || slice->end_ns > until_ns;
        if (is_open &&
            (!exemplar->end_ns || !slice->in_ns ||
                slice->in_ns > until_ns)) /* what begins at the end ended the window's sleep */
            break;
        uint64_t end_ns = is_open ? until_ns : slice->end_ns, shift_ns = (uint64_t)on->shift_ns;
        if (end_ns <= row->until_ns)
            continue;
        struct kept_slice kept = {host, index, 0, slice, end_ns, shift_ns, 0};
        is_counted = is_counted || is_full(exemplar);
        if (is_counted) {
            omit_slice(exemplar, &kept);
        } else {
            kept.thread = program_at(exemplar, row->trace_thread - 1, slice->in_ns + shift_ns);
            kept.cpu = exemplar->is_system ? wp_thread_slice_cpu(thread, ordinal)->cpu + 1u : 0;
            add_slice(exemplar, &kept);
        }
        row->until_ns = end_ns;
    }
    if (exemplar->is_measuring)
        row->until_ns = before_ns;
}

static void extend(struct wp_exemplar *exemplar, uint64_t until_ns)
{
    for (uint32_t host = 0; host < exemplar->host_room; host++) {
        const struct wp_exemplar_host *on = &exemplar->hosts[host];
        if (!on->has_shift || on->generation != exemplar->fleet->hosts[host].generation)
            continue;
        const struct wp_timeline *timeline = timeline_of(exemplar, host);
        for (uint32_t index = 1; timeline && index < on->rows.room && index < timeline->thread_count; index++)
            if (wp_idtable_has(&on->rows, index))
                extend_thread(exemplar, host, index, until_ns - (uint64_t)on->shift_ns);
    }
}

void wp_exemplar_extend(struct wp_exemplar *exemplar, uint64_t until_ns)
{
    if (exemplar->pieces) {
        exemplar->is_measuring = true;
        extend(exemplar, until_ns);
        exemplar->is_measuring = false;
        wp_top_k_choose(&exemplar->runs, exemplar->row_limit);
        wp_top_k_choose(&exemplar->sleeps, exemplar->row_limit);
    }
    extend(exemplar, until_ns);
}
