/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/aggregate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLLOW_ROUNDS 64
#define FOLLOWED_LIMIT 8192u

static const char *const limit_names[WP_LIMITS] = {"depth", "width", "history"};

/* --- a piece of an explanation --- */

static uint32_t report_node(struct wp_aggregate *aggregate, uint32_t node)
{
    if (!node || node == UINT32_MAX)
        return 0;
    if (node >= aggregate->report_node_room) {
        uint32_t room = aggregate->tree.node_room;
        uint32_t *nodes = realloc(aggregate->report_nodes, room * sizeof(*nodes));
        if (!nodes)
            return 0;
        memset(nodes + aggregate->report_node_room, 0, (room - aggregate->report_node_room) * sizeof(*nodes));
        aggregate->report_nodes = nodes;
        aggregate->report_node_room = room;
    }
    if (!aggregate->report_nodes[node]) {
        const struct wp_node *from = &aggregate->tree.nodes[node];
        const struct wp_frame_info *info = &aggregate->tree.frames[from->frame];
        const struct wp_intern *strings = aggregate->tree.strings;
        uint32_t frame = wp_report_frame(aggregate->report, info->style, wp_intern_text(strings, info->name),
            wp_intern_text(strings, info->object));
        aggregate->report_nodes[node] = wp_report_child(aggregate->report, report_node(aggregate, from->parent), frame);
    }
    return aggregate->report_nodes[node];
}

/* A process that takes another name gets another row: which delta it falls into must not matter. */
static uint32_t process_row(struct wp_aggregate *aggregate, uint32_t process)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    if (process >= aggregate->process_row_room) {
        uint32_t room = timeline->process_room;
        struct wp_process_row *rows = realloc(aggregate->process_rows, room * sizeof(*rows));
        if (!rows)
            return UINT32_MAX;
        memset(rows + aggregate->process_row_room, 0, (room - aggregate->process_row_room) * sizeof(*rows));
        aggregate->process_rows = rows;
        aggregate->process_row_room = room;
    }
    struct wp_process_row *row = &aggregate->process_rows[process];
    const struct wp_process *p = &timeline->processes[process];
    if (!row->row || row->comm != p->comm) {
        row->comm = p->comm;
        row->row = 1 + wp_report_process(aggregate->report, aggregate->hostname,
            wp_dictionary_string(timeline->dictionary, p->comm), p->pid,
            p->start_ns ? p->start_ns + (uint64_t)aggregate->real_offset_ns : 0);
    }
    return row->row - 1;
}

static void count_processes(struct wp_aggregate *aggregate, const struct wp_piece *piece, uint64_t ns)
{
    for (uint32_t i = 0; i < piece->process_count; i++) {
        uint32_t process = piece->processes[i], j = 0;
        while (j < i && piece->processes[j] != process)
            j++;
        if (j < i)
            continue; /* stands in the pseudo-stack twice, counts once */
        bool runs = piece->is_run && process == piece->processes[piece->process_count - 1];
        wp_report_process_add(aggregate->report, process_row(aggregate, process), ns, runs ? ns : 0);
    }
}

static void take_piece(void *context, const struct wp_piece *piece)
{
    struct wp_aggregate *aggregate = context;
    uint64_t ns = piece->end_ns - piece->start_ns;
    uint32_t node = report_node(aggregate, piece->node);
    aggregate->has_news = true;
    wp_report_add(aggregate->report, node, piece->category, ns, 1);
    count_processes(aggregate, piece, ns);
    if (piece->reason)
        wp_report_unexplained(aggregate->report, node, piece->reason, ns, 1);
    uint64_t uncertain = piece->is_uncertain ? ns : 0;
    if (!uncertain && aggregate->uncertain)
        uncertain = aggregate->uncertain(aggregate->uncertain_context, piece->start_ns, piece->end_ns);
    if (uncertain)
        wp_report_uncertain(aggregate->report, uncertain);
    wp_exemplar_piece(&aggregate->exemplar, aggregate->path_thread, piece);
}

/* --- other paths --- */

static void add_stretch(struct wp_stretches *stretches, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
    if (stretches->count == stretches->room) {
        uint32_t room = stretches->room ? stretches->room * 2 : 64;
        struct wp_stretch *rows = realloc(stretches->rows, room * sizeof(*rows));
        if (!rows)
            return;
        stretches->rows = rows;
        stretches->room = room;
    }
    stretches->rows[stretches->count++] = (struct wp_stretch){thread, start_ns, end_ns};
}

static void take_other_path(void *context, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
    struct wp_aggregate *aggregate = context;
    add_stretch(&aggregate->waiting, thread, start_ns, end_ns);
}

static int compare_stretches(const void *left, const void *right)
{
    const struct wp_stretch *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* Explains what of [start, end) was not followed before; the followed ones are sorted and disjoint up to `known`. */
static void follow(struct wp_aggregate *aggregate, const struct wp_stretch *stretch, uint32_t known)
{
    uint64_t start = stretch->start_ns;
    aggregate->path_thread = stretch->thread;
    for (uint32_t i = 0; i < known && start < stretch->end_ns; i++) {
        struct wp_stretch done = aggregate->followed.rows[i];
        if (done.thread != stretch->thread || done.end_ns <= start || done.start_ns >= stretch->end_ns)
            continue;
        if (start < done.start_ns) {
            wp_explain(&aggregate->explainer, stretch->thread, start, done.start_ns);
            add_stretch(&aggregate->followed, stretch->thread, start, done.start_ns);
        }
        start = done.end_ns;
    }
    if (start < stretch->end_ns) {
        wp_explain(&aggregate->explainer, stretch->thread, start, stretch->end_ns);
        add_stretch(&aggregate->followed, stretch->thread, start, stretch->end_ns);
    }
}

static void follow_all(struct wp_aggregate *aggregate)
{
    for (int round = 0; round < FOLLOW_ROUNDS && aggregate->waiting.count; round++) {
        struct wp_stretches waiting = aggregate->waiting;
        aggregate->waiting = (struct wp_stretches){0};
        qsort(waiting.rows, waiting.count, sizeof(*waiting.rows), compare_stretches);
        for (uint32_t i = 0; i < waiting.count;) {
            struct wp_stretch merged = waiting.rows[i++];
            while (i < waiting.count && waiting.rows[i].thread == merged.thread && waiting.rows[i].start_ns <= merged.end_ns) {
                if (waiting.rows[i].end_ns > merged.end_ns)
                    merged.end_ns = waiting.rows[i].end_ns;
                i++;
            }
            if (aggregate->followed.count)
                qsort(aggregate->followed.rows, aggregate->followed.count, sizeof(*aggregate->followed.rows),
                    compare_stretches);
            follow(aggregate, &merged, aggregate->followed.count);
        }
        free(waiting.rows);
    }
    aggregate->waiting.count = 0;
}

static void forget_followed(struct wp_aggregate *aggregate, uint64_t horizon_ns)
{
    struct wp_stretches *followed = &aggregate->followed;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < followed->count; i++)
        if (followed->rows[i].end_ns >= horizon_ns && kept < FOLLOWED_LIMIT)
            followed->rows[kept++] = followed->rows[i];
    followed->count = kept;
}

/* --- base threads --- */

static void account(struct wp_aggregate *aggregate, uint32_t thread, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    aggregate->path_thread = thread;
    wp_exemplar_begin(&aggregate->exemplar, from, aggregate->real_offset_ns);
    wp_explain(&aggregate->explainer, thread, from, to);
    wp_report_activity(aggregate->report, from + (uint64_t)aggregate->real_offset_ns, to + (uint64_t)aggregate->real_offset_ns);
}

/* True when the sleep of this slice can be accounted for. */
static bool sleep_is_ready(const struct wp_aggregate *aggregate, uint32_t thread, uint64_t ordinal, uint64_t until_ns,
    bool is_final)
{
    const struct wp_slice *slice = wp_thread_slice(&aggregate->timeline->threads[thread], ordinal);
    if (!slice->in_ns || slice->in_ns > until_ns)
        return false;
    return is_final || until_ns - slice->in_ns > aggregate->history_ns / 2 ||
        !wp_explain_pending(&aggregate->explainer, thread, ordinal);
}

/* Accounts for the thread from `from` on as far as it goes; returns how far. */
static uint64_t resolve_thread(struct wp_aggregate *aggregate, uint32_t index, uint64_t from, uint64_t until_ns, bool is_final)
{
    const struct wp_thread *thread = &aggregate->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, from);
    if (ordinal == thread->slice_end)
        ordinal = thread->first_slice;
    for (; ordinal < thread->slice_end; ordinal++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_base = aggregate->timeline->identities[slice->identity].aggregates & aggregate->bit;
        if (!sleep_is_ready(aggregate, index, ordinal, until_ns, is_final))
            break;
        uint64_t out = slice->out_ns > from ? slice->out_ns : from;
        if (is_base)
            account(aggregate, index, out, slice->in_ns);
        from = slice->in_ns > from ? slice->in_ns : from;
        bool is_over = slice->end_ns && slice->end_ns <= until_ns;
        uint64_t end = is_over ? slice->end_ns : until_ns;
        if (is_base)
            account(aggregate, index, from, end);
        from = end > from ? end : from;
        if (!is_over)
            break;
    }
    return from;
}

void wp_aggregate_resolve(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final)
{
    if (is_final && until_ns > aggregate->timeline->now_ns)
        until_ns = aggregate->timeline->now_ns;
    for (uint32_t i = 0; i < aggregate->base_count; i++)
        aggregate->base[i].until_ns =
            resolve_thread(aggregate, aggregate->base[i].thread, aggregate->base[i].until_ns, until_ns, is_final);
    aggregate->explainer.is_other_path = true;
    follow_all(aggregate);
    aggregate->explainer.is_other_path = false;
    wp_exemplar_extend(&aggregate->exemplar, until_ns);
    if (until_ns > aggregate->history_ns)
        forget_followed(aggregate, until_ns - aggregate->history_ns);
}

void wp_aggregate_add_base(struct wp_aggregate *aggregate, uint32_t thread)
{
    for (uint32_t i = aggregate->base_count; i > 0; i--)
        if (aggregate->base[i - 1].thread == thread)
            return;
    if (aggregate->base_count == aggregate->base_room) {
        uint32_t room = aggregate->base_room ? aggregate->base_room * 2 : 16;
        void *base = realloc(aggregate->base, room * sizeof(*aggregate->base));
        if (!base)
            return;
        aggregate->base = base;
        aggregate->base_room = room;
    }
    aggregate->base[aggregate->base_count].thread = thread;
    aggregate->base[aggregate->base_count++].until_ns = 0;
}

/* --- deltas --- */

void wp_aggregate_close_delta(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    wp_report_host(aggregate->report, aggregate->hostname);
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++) {
        uint64_t events = timeline->counts.events[kind] - aggregate->counted_events[kind];
        uint64_t dropped = drops[kind] - aggregate->counted_drops[kind];
        if (events || dropped)
            wp_report_events(aggregate->report, wp_event_kind_name(kind), events, dropped);
        aggregate->counted_events[kind] += events;
        aggregate->counted_drops[kind] += dropped;
    }
    if (!aggregate->window_until_ns)
        aggregate->window_until_ns = timeline->start_ns;
    if (until_ns > aggregate->window_until_ns) {
        uint64_t window = until_ns - aggregate->window_until_ns;
        wp_report_window(aggregate->report, window, window);
        aggregate->window_until_ns = until_ns;
    }
    for (unsigned i = 0; i < WP_LIMITS; i++) {
        uint64_t count = aggregate->explainer.limit_count[i] - aggregate->counted_limit[i];
        uint64_t ns = aggregate->explainer.limit_ns[i] - aggregate->counted_limit_ns[i];
        if (count)
            wp_report_limit(aggregate->report, limit_names[i], count, ns);
        aggregate->counted_limit[i] += count;
        aggregate->counted_limit_ns[i] += ns;
    }
}

void wp_aggregate_next_delta(struct wp_aggregate *aggregate)
{
    wp_report_clear(aggregate->report);
    aggregate->has_news = false;
    if (aggregate->report_nodes)
        memset(aggregate->report_nodes, 0, aggregate->report_node_room * sizeof(*aggregate->report_nodes));
    if (aggregate->process_rows)
        memset(aggregate->process_rows, 0, aggregate->process_row_room * sizeof(*aggregate->process_rows));
}

int wp_aggregate_init(struct wp_aggregate *aggregate, const char *name, uint64_t bit, struct wp_timeline *timeline,
    const char *hostname, int64_t real_offset_ns)
{
    *aggregate = (struct wp_aggregate){.bit = bit, .timeline = timeline, .real_offset_ns = real_offset_ns,
        .history_ns = 10000000000};
    snprintf(aggregate->name, sizeof(aggregate->name), "%s", name);
    aggregate->hostname = strdup(hostname);
    aggregate->report = wp_report_create();
    if (!aggregate->hostname || !aggregate->report || wp_pathtree_init(&aggregate->tree) ||
        wp_explainer_init(&aggregate->explainer, timeline, &aggregate->tree) ||
        wp_exemplar_init(&aggregate->exemplar, timeline, &aggregate->tree, hostname, bit)) {
        wp_aggregate_fini(aggregate);
        return -ENOMEM;
    }
    aggregate->explainer.base_bit = bit;
    aggregate->explainer.piece = take_piece;
    aggregate->explainer.other_path = take_other_path;
    aggregate->explainer.context = aggregate;
    return 0;
}

void wp_aggregate_fini(struct wp_aggregate *aggregate)
{
    wp_exemplar_fini(&aggregate->exemplar);
    wp_explainer_fini(&aggregate->explainer);
    wp_pathtree_fini(&aggregate->tree);
    wp_report_destroy(aggregate->report);
    free(aggregate->hostname);
    free(aggregate->report_nodes);
    free(aggregate->process_rows);
    free(aggregate->base);
    free(aggregate->waiting.rows);
    free(aggregate->followed.rows);
    *aggregate = (struct wp_aggregate){0};
}
