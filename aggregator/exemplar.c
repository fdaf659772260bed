/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/exemplar.h"

#include "aggregator/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wp_exemplar_init(struct wp_exemplar *exemplar, struct wp_timeline *timeline, const struct wp_pathtree *tree,
    const char *hostname, uint64_t bit)
{
    *exemplar = (struct wp_exemplar){.timeline = timeline, .tree = tree, .bit = bit};
    exemplar->trace = wp_trace_create();
    exemplar->hostname = strdup(hostname);
    if (exemplar->trace && exemplar->hostname)
        return 0;
    wp_exemplar_fini(exemplar);
    return -ENOMEM;
}

void wp_exemplar_fini(struct wp_exemplar *exemplar)
{
    wp_trace_destroy(exemplar->trace);
    free(exemplar->hostname);
    free(exemplar->nodes);
    free(exemplar->rows);
    *exemplar = (struct wp_exemplar){0};
}

void wp_exemplar_clear(struct wp_exemplar *exemplar)
{
    wp_trace_clear(exemplar->trace);
    exemplar->origin_ns = 0;
    if (exemplar->nodes)
        memset(exemplar->nodes, 0, exemplar->node_room * sizeof(*exemplar->nodes));
    if (exemplar->rows)
        memset(exemplar->rows, 0, exemplar->row_room * sizeof(*exemplar->rows));
}

static struct row *row_of(struct wp_exemplar *exemplar, uint32_t thread)
{
    if (thread >= exemplar->row_room) {
        uint32_t room = exemplar->timeline->thread_room;
        struct row *rows = realloc(exemplar->rows, room * sizeof(*rows));
        if (!rows)
            return NULL;
        memset(rows + exemplar->row_room, 0, (room - exemplar->row_room) * sizeof(*rows));
        exemplar->rows = rows;
        exemplar->row_room = room;
    }
    return &exemplar->rows[thread];
}

static uint32_t trace_node(struct wp_exemplar *exemplar, uint32_t node)
{
    if (!node || node == UINT32_MAX)
        return 0;
    if (node >= exemplar->node_room) {
        uint32_t room = exemplar->tree->node_room;
        uint32_t *nodes = realloc(exemplar->nodes, room * sizeof(*nodes));
        if (!nodes)
            return 0;
        memset(nodes + exemplar->node_room, 0, (room - exemplar->node_room) * sizeof(*nodes));
        exemplar->nodes = nodes;
        exemplar->node_room = room;
    }
    if (!exemplar->nodes[node]) {
        const struct wp_node *from = &exemplar->tree->nodes[node];
        const struct wp_frame_info *info = &exemplar->tree->frames[from->frame];
        const struct wp_intern *strings = exemplar->tree->strings;
        uint32_t frame = wp_trace_frame(exemplar->trace, info->style, wp_intern_text(strings, info->name),
            wp_intern_text(strings, info->object));
        exemplar->nodes[node] = wp_trace_child(exemplar->trace, trace_node(exemplar, from->parent), frame);
    }
    return exemplar->nodes[node];
}

static uint32_t comm_string(struct wp_exemplar *exemplar, uint32_t identity)
{
    return wp_trace_string(exemplar->trace, wp_timeline_comm(exemplar->timeline, identity));
}

/* The thread's row in the trace, made on first use; UINT32_MAX when it does not fit. */
static uint32_t trace_thread(struct wp_exemplar *exemplar, uint32_t thread)
{
    struct row *row = row_of(exemplar, thread);
    if (!row)
        return UINT32_MAX;
    if (!row->trace_thread) {
        struct wp_trace *trace = exemplar->trace;
        const struct wp_timeline *timeline = exemplar->timeline;
        const struct wp_identity *identity = &timeline->identities[timeline->threads[thread].identity];
        if (trace->thread_count >= WP_EXEMPLAR_ROWS ||
            wp_trace_add_thread(trace, &(struct wp_trace_thread){
                .host = wp_trace_string(trace, exemplar->hostname),
                .comm = comm_string(exemplar, timeline->threads[thread].identity),
                .pid = timeline->processes[identity->process].pid, .tid = timeline->threads[thread].tid,
                .is_base = (identity->aggregates & exemplar->bit) != 0}))
            return UINT32_MAX;
        row->trace_thread = trace->thread_count;
        row->until_ns = exemplar->origin_ns;
    }
    return row->trace_thread - 1;
}

static uint32_t path_of(struct wp_exemplar *exemplar, uint32_t base)
{
    uint32_t thread = trace_thread(exemplar, base);
    struct row *row = row_of(exemplar, base);
    if (thread == UINT32_MAX || !row)
        return UINT32_MAX;
    if (!row->path) {
        if (wp_trace_add_path(exemplar->trace, &(struct wp_trace_path){.thread = thread,
                .is_base = exemplar->trace->threads[thread].is_base}))
            return UINT32_MAX;
        row->path = exemplar->trace->path_count;
    }
    return row->path - 1;
}

void wp_exemplar_begin(struct wp_exemplar *exemplar, uint64_t origin_ns, int64_t real_offset_ns)
{
    if (exemplar->origin_ns)
        return;
    exemplar->origin_ns = origin_ns;
    exemplar->trace->start_ns = origin_ns + (uint64_t)real_offset_ns;
}

void wp_exemplar_piece(struct wp_exemplar *exemplar, uint32_t base, const struct wp_piece *piece)
{
    struct wp_trace *trace = exemplar->trace;
    if (trace->piece_count >= WP_EXEMPLAR_ROWS || piece->end_ns <= exemplar->origin_ns) {
        trace->omitted++;
        return;
    }
    uint32_t path = path_of(exemplar, base);
    if (path == UINT32_MAX) {
        trace->omitted++;
        return;
    }
    trace_thread(exemplar, piece->thread);
    uint64_t start = piece->start_ns > exemplar->origin_ns ? piece->start_ns : exemplar->origin_ns;
    wp_trace_add_piece(trace, &(struct wp_trace_piece){path, trace_node(exemplar, piece->node),
        start - exemplar->origin_ns, piece->end_ns - start, piece->category});
    uint64_t end = piece->end_ns - exemplar->origin_ns;
    if (end > trace->length_ns)
        trace->length_ns = end;
}

/* --- runs, sleeps, links --- */

/* The innermost user function of a stack (the blocking call as the programmer sees it), else the system call. */
static uint32_t sleep_label(struct wp_exemplar *exemplar, const struct wp_slice *slice)
{
    const struct wp_dictionary *dictionary = exemplar->timeline->dictionary;
    char name[WP_STRING_BYTES + 8];
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
    wp_name_sleep(slice, false, name, sizeof(name));
    return wp_trace_string(exemplar->trace, slice->flags & WP_SLICE_PREEMPTED ? "preempted" : name + 6);
}

static uint32_t sleep_category(const struct wp_slice *slice)
{
    static const uint8_t by_cause[WP_CAUSES] = {[WP_CAUSE_UNKNOWN] = WP_UNACCOUNTED, [WP_CAUSE_TASK] = WP_OTHER_PATH,
        [WP_CAUSE_TIMER] = WP_TIMEOUT, [WP_CAUSE_MESSAGE] = WP_MESSAGE_IN_FLIGHT, [WP_CAUSE_BLOCK] = WP_BLOCKING_IO,
        [WP_CAUSE_IRQ] = WP_HARDWARE_WAIT, [WP_CAUSE_SOFTIRQ] = WP_HARDWARE_WAIT};
    if (slice->flags & WP_SLICE_PREEMPTED)
        return WP_INVOLUNTARY;
    if (slice->cause == WP_CAUSE_TIMER && slice->flags & WP_SLICE_DELIBERATE)
        return WP_DELIBERATE_SLEEP;
    return slice->cause < WP_CAUSES ? by_cause[slice->cause] : WP_UNACCOUNTED;
}

static void add_link(struct wp_exemplar *exemplar, enum wp_link_kind kind, uint32_t from_thread, uint64_t from,
    uint32_t to_thread, uint64_t to)
{
    const struct row *row = from_thread < exemplar->row_room ? &exemplar->rows[from_thread] : NULL;
    struct wp_trace *trace = exemplar->trace;
    if (!row || !row->trace_thread || from < exemplar->origin_ns)
        return;
    if (trace->link_count >= WP_EXEMPLAR_ROWS) {
        trace->omitted++;
        return;
    }
    wp_trace_add_link(trace, &(struct wp_trace_link){kind, row->trace_thread - 1, to_thread, from - exemplar->origin_ns,
        to - exemplar->origin_ns});
}

static void links_to(struct wp_exemplar *exemplar, uint32_t index, uint32_t thread, const struct wp_slice *slice)
{
    const struct wp_timeline *timeline = exemplar->timeline;
    if (slice->flags & WP_SLICE_EXEC) {
        add_link(exemplar, WP_LINK_EXEC, index, slice->out_ns, thread, slice->in_ns);
    } else if (slice->flags & WP_SLICE_PREEMPTED) {
        add_link(exemplar, WP_LINK_HORIZONTAL, index, slice->out_ns, thread, slice->in_ns);
    } else if (slice->cause == WP_CAUSE_TASK && slice->waker && slice->wake_ns) {
        add_link(exemplar, slice->flags & WP_SLICE_BORN ? WP_LINK_FORK : WP_LINK_WAKING, slice->waker, slice->wake_ns, thread,
            slice->in_ns);
    } else if (slice->cause == WP_CAUSE_MESSAGE) {
        struct wp_send send;
        if (wp_messages_match(&timeline->messages, slice->cause_d, slice->cause_a, slice->wake_ns, &send) == WP_MATCH_FOUND &&
            send.thread)
            add_link(exemplar, WP_LINK_MESSAGE, send.thread, send.time_ns < slice->wake_ns ? send.time_ns : slice->wake_ns,
                thread, slice->in_ns);
    } else if (slice->cause == WP_CAUSE_BLOCK) {
        const struct wp_blockop *op = wp_blockops_at(&timeline->blockops, slice->cause_a);
        if (op && op->thread)
            add_link(exemplar, WP_LINK_IO, op->thread, op->insert_ns, thread, slice->in_ns);
    }
}

static void add_slice(struct wp_exemplar *exemplar, uint32_t index, uint32_t thread, const struct wp_slice *slice)
{
    struct wp_trace *trace = exemplar->trace;
    uint64_t origin = exemplar->origin_ns;
    if (slice->in_ns > slice->out_ns && slice->in_ns > origin) {
        uint64_t out = slice->out_ns > origin ? slice->out_ns : origin;
        if (trace->sleep_count < WP_EXEMPLAR_ROWS)
            wp_trace_add_sleep(trace, &(struct wp_trace_sleep){thread, sleep_label(exemplar, slice), sleep_category(slice),
                out - origin, slice->in_ns - out});
        else
            trace->omitted++;
    }
    if (slice->end_ns > origin) {
        uint64_t in = slice->in_ns > origin ? slice->in_ns : origin;
        if (trace->run_count < WP_EXEMPLAR_ROWS)
            wp_trace_add_run(trace, &(struct wp_trace_run){thread, comm_string(exemplar, slice->identity), in - origin,
                slice->end_ns - in});
        else
            trace->omitted++;
    }
    if (slice->in_ns >= origin)
        links_to(exemplar, index, thread, slice);
}

void wp_exemplar_extend(struct wp_exemplar *exemplar, uint64_t until_ns)
{
    const struct wp_timeline *timeline = exemplar->timeline;
    for (uint32_t index = 1; index < exemplar->row_room && index < timeline->thread_count; index++) {
        struct row *row = &exemplar->rows[index];
        const struct wp_thread *thread = &timeline->threads[index];
        if (!row->trace_thread)
            continue;
        uint64_t ordinal = wp_thread_find(thread, row->until_ns);
        if (ordinal == thread->slice_end)
            ordinal = thread->first_slice;
        for (; ordinal < thread->slice_end; ordinal++) {
            const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
            if (!slice->end_ns || slice->end_ns > until_ns)
                break;
            if (slice->end_ns <= row->until_ns)
                continue;
            add_slice(exemplar, index, row->trace_thread - 1, slice);
            row->until_ns = slice->end_ns;
        }
    }
}
