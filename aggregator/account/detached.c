/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/detached.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/sample_sums.h"
#include "aggregator/account/work_starts.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/taken.h"
#include "aggregator/timeline/timeline.h"
#include "common/array.h"
#include "storage/report/report_series.h"

#define BUDGET_SHARE 16u    /* of an epoch's: so much may be looked at for such work */
#define WORKS_ON_NS 100000u /* less than that after an answer is the answer's end */
#define ANSWERS 256u        /* so many are looked at for the last one of a run */

static bool is_of_interest(const struct wp_aggregate *aggregate, uint32_t identity)
{
    return aggregate->timeline->identities[identity].aggregates & aggregate->id.bit;
}

/* The work is distinguished from that (mates.h). */
static bool is_mate(const struct wp_aggregate *aggregate, uint32_t identity)
{
    return aggregate->timeline->identities[identity].mates & aggregate->id.bit;
}

/* Work of a base path is its own, and the recorder's is the cost of recording. */
static bool can_be_detached(const struct wp_aggregate *aggregate, const struct wp_slice *slice)
{
    return slice->in_ns && !is_of_interest(aggregate, slice->identity) && !is_mate(aggregate, slice->identity) &&
        !wp_is_recorder(aggregate->timeline, slice->identity);
}

/* Whoever the thread was, it was always the same. */
static bool may_be_detached(const struct wp_aggregate *aggregate, const struct wp_thread *thread)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    bool is_own = is_of_interest(aggregate, thread->identity) || is_mate(aggregate, thread->identity) ||
        wp_is_recorder(timeline, thread->identity);
    return thread->slice_end > thread->first_slice && (timeline->identities[thread->identity].before || !is_own);
}

/* A slice of a thread. */
struct place {
    uint32_t thread;
    uint64_t ordinal;
    const struct wp_slice *slice;
};

/* Where pieces of work go. */
struct work {
    struct wp_aggregate *aggregate;
    struct wp_report *report;
    uint32_t below; /* node of the report: who started it, and how */
};

/* A node of the aggregate's tree in the report of work, upon `below`. */
static uint32_t work_node(const struct work *work, uint32_t node)
{
    struct wp_intmap *nodes = &work->aggregate->detached.nodes;
    const struct wp_intkey key = {node, work->below};
    uint32_t found;
    if (!node || node == UINT32_MAX)
        return work->below;
    if (wp_intmap_get(nodes, key, &found))
        return found;
    const struct wp_pathtree *tree = &work->aggregate->tree;
    const struct wp_node *from = &tree->nodes[node];
    const struct wp_path_frame *info = &tree->frames[from->frame];
    found = wp_report_child(work->report, work_node(work, from->parent),
        wp_report_frame(work->report, info->style, wp_intern_text(tree->strings, info->name),
            wp_intern_text(tree->strings, info->object)));
    wp_intmap_put(nodes, key, found); /* without memory it is looked for again */
    return found;
}

static void count_process(struct work *work, const struct wp_layer *layer, uint64_t ns, bool is_run)
{
    struct wp_aggregate *aggregate = work->aggregate;
    const struct wp_intkey key = wp_layer_process_key(aggregate, layer);
    uint32_t row;
    if (!wp_intmap_get(&aggregate->detached.processes, key, &row)) {
        row = wp_layer_process(aggregate, work->report, layer);
        wp_intmap_put(&aggregate->detached.processes, key, row);
    }
    wp_report_process_add(work->report, row, ns, is_run ? ns : 0);
}

/* The process on top is the last one of the pseudo-stack, on whichever host. */
static void add_piece(void *context, const struct wp_piece *piece)
{
    struct work *work = context;
    uint64_t offset_ns = (uint64_t)work->aggregate->real_offset_ns, ns = piece->end_ns - piece->start_ns;
    uint32_t node = work_node(work, piece->node);
    (piece->is_part ? wp_report_add_part_at : wp_report_add_at)(
        work->report, node, piece->category, piece->start_ns + offset_ns, piece->end_ns + offset_ns);
    if (piece->layer_count)
        count_process(work, &piece->layers[piece->layer_count - 1], ns, piece->is_run);
    if (piece->reason)
        wp_report_unexplained_each(work->report, node, piece->reason, ns, 1, wp_piece_tid(work->aggregate, piece));
    wp_report_uncertain(work->report, wp_piece_uncertain_ns(work->aggregate, piece));
}

static void add_limit(void *context, enum wp_limit limit, uint64_t count, uint64_t ns)
{
    const struct work *work = context;
    wp_sink_limit(&work->aggregate->counted, limit, count, ns);
}

/* Without what it was spent on. */
static void add_bare(struct work *work, const struct place *at, const struct wp_interval *interval)
{
    const struct wp_aggregate *aggregate = work->aggregate;
    uint32_t process = aggregate->timeline->identities[at->slice->identity].process;
    const struct wp_layer layer = {aggregate->home, process, at->thread};
    add_piece(work,
        &(struct wp_piece){.host = aggregate->home,
            .thread = at->thread,
            .category = WP_UNACCOUNTED,
            .start_ns = interval->start_ns,
            .end_ns = interval->end_ns,
            .reason = "the host's epoch had too much detached work",
            .layers = &layer,
            .layer_count = 1});
    add_limit(work, WP_LIMIT_BUDGET, 1, interval->end_ns - interval->start_ns);
}

/* The pieces of that part of the slice, upon the node of the tree that says who started it. */
static void add_work(
    struct wp_aggregate *aggregate, const struct place *at, const struct wp_interval *interval, uint32_t start)
{
    struct work work = {.aggregate = aggregate, .report = wp_report_detached_add(aggregate->delta.report)};
    const struct wp_sink sink = {.piece = add_piece, .limit = add_limit, .context = &work};
    if (!work.report)
        return;
    work.below = work_node(&work, start);
    if (aggregate->fleet->visits >= aggregate->detached.until_visits)
        add_bare(&work, at, interval);
    else
        wp_explain_slice(aggregate->explainer, interval, at->ordinal, &sink);
}

/* The thread slept until then, and for that: its path is the base, or holds that sleep. */
static bool has_waited(const struct wp_aggregate *aggregate, const struct wp_woken_one *woken)
{
    const struct wp_thread *thread = &aggregate->timeline->threads[woken->thread];
    uint64_t ordinal = wp_thread_find(thread, woken->time_ns);
    if (ordinal == thread->slice_end)
        return false;
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    return slice->wake_ns == woken->time_ns &&
        (is_of_interest(aggregate, slice->identity) || slice->taken & wp_taken_mark(aggregate->id.bit));
}

/* When the thread last woke somebody in that part of its run who waited for it; 0: it did not. */
static uint64_t last_waking(const struct wp_aggregate *aggregate, const struct wp_interval *run)
{
    const struct wp_woken_list *list = wp_woken_by(&aggregate->timeline->woken, run->thread);
    if (!list)
        return 0;
    const struct wp_woken_one *woken = &list->last;
    uint64_t i = list->ring.end;
    for (unsigned look = 0; look < ANSWERS && woken->time_ns >= run->start_ns; look++) {
        if (woken->thread && woken->time_ns < run->end_ns && has_waited(aggregate, woken))
            return woken->time_ns;
        if (i == list->ring.first)
            break;
        woken = wp_woken_at(list, --i);
    }
    return 0;
}

/* When a reply was there: a path that waits for it holds the run until it wakes its reader. */
static uint64_t arrival_of(const struct wp_timeline *timeline, const struct wp_reply *reply)
{
    const struct wp_messages *messages = &timeline->messages;
    uint32_t peer = wp_messages_peer(messages, reply->socket);
    struct wp_send send;
    struct wp_receive read;
    if (!peer || !wp_messages_last_send(messages, reply->socket, reply->time_ns + 1, &send) ||
        !wp_messages_taken(messages, peer, (uint32_t)send.end, send.time_ns, &read) || !read.thread)
        return reply->time_ns;
    const struct wp_thread *reader = &timeline->threads[read.thread];
    uint64_t ordinal = wp_thread_find(reader, read.time_ns);
    uint64_t wake_ns = ordinal == reader->slice_end ? 0 : wp_thread_slice(reader, ordinal)->wake_ns;
    return wake_ns > reply->time_ns ? wake_ns : reply->time_ns;
}

/* When it last sent a reply there; 0: it did not. */
static uint64_t last_reply(const struct wp_aggregate *aggregate, const struct wp_interval *run)
{
    const struct wp_messages *messages = &aggregate->timeline->messages;
    const struct wp_reply *replies = messages->replies;
    uint32_t first = messages->reply_first, end = messages->reply_end,
             i = WP_LOWER_BOUND(middle, first, end, replies[middle].time_ns < run->end_ns);
    for (unsigned look = 0; i > first && look < ANSWERS && replies[i - 1].time_ns >= run->start_ns; i--, look++)
        if (replies[i - 1].thread == run->thread)
            return arrival_of(aggregate->timeline, &replies[i - 1]);
    return 0;
}

/* A wait for somebody is not work; what only parts it (wp_work_goes_on) is. */
static uint64_t work_since(const struct wp_slice *slice)
{
    return wp_work_goes_on(slice) || !slice->wake_ns ? slice->out_ns : slice->wake_ns;
}

/* Of a run that was waited for in part there is what comes behind its last answer; nothing where the wait ended
 * otherwise: then the work may be for an answer still. */
static void leave_answered(const struct wp_aggregate *aggregate, const struct place *at, struct wp_interval *work)
{
    const struct wp_interval run = {work->host, work->thread, at->slice->in_ns, work->end_ns};
    uint64_t waking_ns = last_waking(aggregate, &run), reply_ns = last_reply(aggregate, &run),
             answered_ns = waking_ns > reply_ns ? waking_ns : reply_ns;
    work->start_ns = answered_ns && answered_ns + WORKS_ON_NS <= work->end_ns ? answered_ns : work->end_ns;
}

static uint64_t of_slice(struct wp_aggregate *aggregate, const struct place *at, struct wp_work_look *look)
{
    uint16_t mark = wp_taken_mark(aggregate->id.bit);
    bool is_taken = at->slice->taken & mark,
         is_whole = wp_thread_slice_cpu(&aggregate->timeline->threads[at->thread], at->ordinal)->held & mark;
    if (!can_be_detached(aggregate, at->slice) || (is_taken && is_whole))
        return 0;
    struct wp_interval work = {aggregate->home, at->thread, work_since(at->slice), at->slice->end_ns};
    uint32_t start = wp_work_start(aggregate, &work, at->ordinal, look);
    if (start && is_taken)
        leave_answered(aggregate, at, &work);
    if (!start || work.start_ns >= work.end_ns || !wp_selector_cut(&aggregate->between, &work.start_ns, &work.end_ns))
        return 0;
    add_work(aggregate, at, &work, start);
    return work.end_ns - work.start_ns;
}

static uint64_t of_thread(
    struct wp_aggregate *aggregate, uint32_t index, uint64_t from_ns, uint64_t to_ns, struct wp_work_look *look)
{
    const struct wp_thread *thread = &aggregate->timeline->threads[index];
    uint64_t sum = 0, ordinal = wp_thread_find(thread, from_ns);
    if (ordinal == thread->slice_end)
        ordinal = thread->first_slice;
    for (; ordinal < thread->slice_end; ordinal++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        if (!slice->end_ns || slice->end_ns > to_ns)
            break;
        if (slice->end_ns > from_ns)
            sum += of_slice(aggregate, &(struct place){index, ordinal, slice}, look);
    }
    return sum;
}

uint64_t wp_detached_count(struct wp_aggregate *aggregate, uint64_t from_ns, uint64_t to_ns, uint64_t oldest_ns)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    struct wp_fleet *fleet = aggregate->fleet;
    struct wp_work_look look = {.oldest_ns = oldest_ns};
    uint64_t sum = 0, visits = fleet->visits;
    wp_work_starts_look(aggregate, to_ns, oldest_ns);
    aggregate->detached.until_visits = visits + wp_explainer_options(aggregate->explainer)->budget / BUDGET_SHARE;
    for (uint32_t i = 0; i < timeline->live_count && aggregate->base_count; i++) {
        const struct wp_thread *thread = &timeline->threads[timeline->live[i]];
        if (thread->slices && may_be_detached(aggregate, thread) && wp_work_may_start(aggregate, timeline->live[i]))
            sum += of_thread(aggregate, timeline->live[i], from_ns, to_ns, &look);
    }
    fleet->visits_before += fleet->visits - visits; /* it takes nothing from the budget of what is waited for */
    return sum;
}

void wp_detached_next_delta(struct wp_detached *detached)
{
    wp_intmap_clear(&detached->nodes);
    wp_intmap_clear(&detached->processes);
}

void wp_detached_fini(struct wp_detached *detached)
{
    wp_intmap_fini(&detached->nodes);
    wp_intmap_fini(&detached->processes);
    wp_work_starts_fini(&detached->starts);
}
