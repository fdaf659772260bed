/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_cover.h"

#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_path.h"
#include "aggregator/explain/explain_piece.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/explain/explain_wait.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/taken.h"

#include <string.h>

/* The run of a slice, on the node of its process. */
struct run {
    uint32_t parent, thread;
    const struct wp_slice *slice;
};

/* The cell of the grid, as far as the run fills it. */
struct cell {
    uint64_t start_ns, end_ns;
    uint64_t last; /* the first sample behind it */
};

/* Whether the kernel spins there for a lock that another CPU has: the functions of kernel/locking that do nothing else,
 * Linux 5.18 to 6.18. */
static bool is_spinning(const struct wp_dictionary *dictionary, uint32_t stack)
{
    static const char *const names[] = {"native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath",
        "queued_spin_lock_slowpath", "queued_read_lock_slowpath", "queued_write_lock_slowpath", "osq_lock",
        "mutex_spin_on_owner", "rwsem_spin_on_owner", "rtmutex_spin_on_owner"};
    const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, stack);
    const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(dictionary, entry->frame) : NULL;
    const char *name = frame && frame->is_kernel ? wp_dictionary_string(dictionary, frame->function) : "";
    size_t size = strcspn(name, "."); /* "osq_lock.part.0" */
    for (size_t i = 0; size && i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(names[i], name, size) && !names[i][size])
            return true;
    return false;
}

static uint32_t run_node(struct wp_explainer *x, uint32_t parent, uint32_t stack)
{
    uint32_t node = wp_explain_stack_node(x, parent, stack);
    bool spins = stack && is_spinning(x->timeline->dictionary, stack);
    return spins ? wp_explain_literal(x, node, WP_STYLE_WAIT, "kernel:spinning") : node;
}

/* `stack`: of its sample; 0: it has none. */
static void emit_run(struct wp_explainer *x, const struct run *run, uint64_t from, uint64_t to, uint32_t stack)
{
    wp_explain_emit(x,
        &(struct wp_piece){.node = run_node(x, run->parent, stack),
            .thread = run->thread,
            .category = stack ? WP_UNDERSTOOD_FUNCTIONS : WP_RUNNING_NOT_SAMPLED,
            .start_ns = from,
            .end_ns = to,
            .is_run = true,
            .is_uncertain = run->slice->flags & WP_SLICE_UNCERTAIN});
}

/* length * part / count, whatever the product. */
static uint64_t share_of(uint64_t length, uint64_t part, uint64_t count)
{
    uint64_t product;
    if (__builtin_mul_overflow(length, part, &product))
        return (uint64_t)((unsigned __int128)length * part / count);
    return product / count;
}

/* A cell with samples: its time is divided equally among them. Of many samples only those are gone through whose part
 * is asked for. */
static __attribute__((noinline)) void cover_cell(
    struct wp_explainer *x, const struct run *run, const struct cell *cell, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[run->thread];
    uint64_t start = cell->start_ns, length = cell->end_ns - start;
    uint64_t first = wp_thread_find_sample(thread, start), count = cell->last - first;
    uint64_t behind = share_of(to - start, count, length) + 1, i = behind < count ? behind : count;
    for (uint64_t a, b = start + share_of(length, i, count); i-- > 0; b = a) {
        a = start + share_of(length, i, count);
        if (a >= to)
            continue;
        if (b <= from)
            break;
        const struct wp_sample *sample = &thread->samples[(first + i) & thread->sample_mask];
        emit_run(x, run, a > from ? a : from, b < to ? b : to, sample->stack);
    }
}

/* The start of the cell of the grid that holds the instant. Most are in the one that was asked for last. */
static uint64_t cell_of(struct wp_explainer *x, uint64_t at_ns)
{
    if (at_ns - x->cell_ns >= x->options.chunk_ns)
        x->cell_ns = at_ns / x->options.chunk_ns * x->options.chunk_ns;
    return x->cell_ns;
}

/* There is no sample of the thread in [from, to): seen where those are that were looked up last, else it is not known.
 */
static bool is_unsampled(const struct wp_thread *thread, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t first = thread->first_sample, end = thread->sample_end, near = thread->found_sample;
    const struct wp_sample *samples = thread->samples;
    return near >= first && near <= end &&
        (near == first || samples[(near - 1) & thread->sample_mask].time_ns < from_ns) &&
        (near == end || samples[near & thread->sample_mask].time_ns >= to_ns);
}

static void cover_run(struct wp_explainer *x, const struct run *run, uint64_t from, uint64_t to)
{
    const struct wp_slice *slice = run->slice;
    const struct wp_thread *thread = &x->timeline->threads[run->thread];
    uint64_t grid = x->options.chunk_ns, horizon = wp_explain_horizon(x);
    if (slice->has_late_sample) {
        wp_explain_limit(x, WP_LIMIT_LATE_SAMPLE, 1, to - from);
    }
    uint64_t run_end = slice->end_ns && slice->end_ns <= horizon ? slice->end_ns : horizon + 1;
    if (to > from && cell_of(x, to - 1) <= slice->in_ns &&
        is_unsampled(thread, slice->in_ns, run_end > to ? run_end : to)) { /* one piece, as most are */
        emit_run(x, run, from, to, 0);
        return;
    }
    while (to > from) {
        uint64_t cell = cell_of(x, to - 1);
        uint64_t end = cell + grid < run_end ? cell + grid : run_end;
        if (end < to)
            end = to;
        uint64_t last = wp_thread_find_sample(thread, end);
        uint64_t sampled = last == thread->first_sample ? 0 : thread->samples[(last - 1) & thread->sample_mask].time_ns;
        if (sampled < cell) /* none in this cell: as far back as there is none, but for no more than is asked for */
            cell = !sampled ? 0 : sampled + grid > from ? cell_of(x, sampled) + grid : sampled + 1;
        uint64_t start = cell > slice->in_ns ? cell : slice->in_ns;
        uint64_t low = start > from ? start : from;
        if (last == thread->first_sample || sampled < start)
            emit_run(x, run, low, to, 0);
        else
            cover_cell(x, run, &(struct cell){start, end, last}, low, to);
        to = low;
    }
}

/* The time before the first slice: the creator's, back from the birth; or unknown. True when it took [from, to). */
static __attribute__((noinline)) void cover_before(
    struct wp_explainer *x, uint32_t parent, uint32_t index, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint32_t creator = thread->creator;
    if (wp_is_recorder(x->timeline, thread->identity) && x->depth) {
        wp_explain_on_path(x, parent, index, from, to);
        return;
    }
    /* Whoever creates was born before: facts that say otherwise must not lead in a circle. */
    bool is_born_before = creator && x->timeline->threads[creator].birth_ns < thread->birth_ns;
    if (thread->birth_ns >= to && is_born_before && x->depth < x->options.depth) {
        if (wp_explain_is_base(x, creator, to))
            wp_explain_on_path(x, parent, creator, from, to);
        else
            wp_explain_cover(x, parent, creator, from, to);
        return;
    }
    bool is_beginning = thread->first_slice == thread->slice_end
        ? !thread->slice_end
        : wp_thread_slice(thread, thread->first_slice)->flags & (WP_SLICE_FIRST | WP_SLICE_BORN);
    wp_explain_emit(x,
        &(struct wp_piece){.node = wp_explain_process_node(x, parent, thread->identity),
            .thread = index,
            .category = WP_UNACCOUNTED,
            .start_ns = from,
            .end_ns = to,
            .reason = is_beginning ? "before the thread was first seen" : "before what is remembered of the thread"});
    if (is_beginning)
        return;
    wp_explain_limit(x, WP_LIMIT_HISTORY, 1, to - from);
}

static void take_relay(struct wp_explainer *x, struct wp_shared_use *walk)
{
    x->relay.is_on = false;
    walk->thread = x->relay.thread;
    walk->ordinal = x->relay.slice;
    walk->to_ns = x->relay.to_ns;
}

/* Time in which a thread was of interest (it may have become another by exec or rename) is a base path's own; the
 * recorder's is the cost of recording. */
static bool is_of_interest(const struct wp_explainer *x, const struct wp_slice *slice)
{
    return x->timeline->identities[slice->identity].aggregates & x->base_bit ||
        wp_is_recorder(x->timeline, slice->identity);
}

void wp_explain_cover(struct wp_explainer *x, uint32_t parent, uint32_t index, uint64_t from, uint64_t to)
{
    if (to > from)
        wp_explain_cover_from(x, parent, index, wp_thread_find(&x->timeline->threads[index], to - 1), from, to);
}

/* What is left is not looked at: a bound bites. */
static __attribute__((noinline)) void cut_short(
    struct wp_explainer *x, const struct wp_shared_use *walk, enum wp_limit limit)
{
    uint64_t from = walk->from_ns, to = walk->to_ns;
    wp_explain_limit(x, limit, 1, to - from);
    wp_explain_taken(x, walk->thread, from, to);
    wp_explain_emit(x,
        &(struct wp_piece){.node = walk->parent,
            .thread = walk->thread,
            .category = WP_UNACCOUNTED,
            .start_ns = from,
            .end_ns = to,
            .reason = limit == WP_LIMIT_BUDGET ? "the host's epoch took too much explaining"
                                               : "the explanation grew too wide"});
}

/* The slice of the last instant of what is left; false: that was all. */
static bool cover_slice(struct wp_explainer *x, struct wp_shared_use *walk)
{
    uint32_t parent = walk->parent, index = walk->thread;
    uint64_t ordinal = walk->ordinal, from = walk->from_ns, to = walk->to_ns;
    const struct wp_thread *thread = &x->timeline->threads[index];
    if (ordinal == thread->slice_end || ordinal < thread->first_slice) {
        cover_before(x, parent, index, from, to);
        return false;
    }
    /* A path's own slices are as many as its events: only what they wait for of others is cut by the width and the
     * budget. */
    struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    bool is_own = x->timeline->identities[slice->identity].mates & x->base_bit;
    bool is_spent = ++x->fleet->visits - x->fleet->visits_before > x->options.budget && x->depth && !is_own;
    x->visited += !is_own;
    if (x->visited > x->options.width || is_spent) {
        cut_short(x, walk, is_spent ? WP_LIMIT_BUDGET : WP_LIMIT_WIDTH);
        return false;
    }
    walk->ordinal = ordinal == thread->first_slice ? thread->slice_end : ordinal - 1;
    if (x->host == x->home &&
        x->sink->marks) /* what other hosts' paths hold is theirs, and known only when they have got that far */
        wp_slice_taken(thread, ordinal, to, x->base_bit);
    if (is_of_interest(x, slice) && (x->depth || x->is_other_path) && slice->out_ns < to) {
        uint64_t low = slice->out_ns > from ? slice->out_ns : from;
        if (x->depth)
            wp_explain_on_path(x, parent, index, low, to);
        walk->to_ns = low;
        return true;
    }
    uint32_t node = wp_explain_process_node(x, parent, slice->identity);
    wp_explain_push(x, slice->identity, index);
    if (slice->in_ns && slice->in_ns < to) {
        if (slice->end_ns && slice->end_ns < to) { /* after its last run: it was dead */
            uint64_t low = slice->end_ns > from ? slice->end_ns : from;
            wp_explain_emit(x,
                &(struct wp_piece){.node = node,
                    .thread = index,
                    .category = WP_UNACCOUNTED,
                    .start_ns = low,
                    .end_ns = to,
                    .reason = slice->is_cut ? "that host's recording paused" : "the thread had ended",
                    .is_uncertain = !slice->is_cut});
            to = low;
        }
        uint64_t low = slice->in_ns > from ? slice->in_ns : from;
        cover_run(x, &(struct run){node, index, slice}, low, to);
        to = low;
    }
    if (to > from && slice->out_ns < to) {
        uint64_t low = slice->out_ns > from ? slice->out_ns : from;
        if (x->host == x->home && x->sink->marks)
            wp_slice_slept(slice, low, to, x->base_bit);
        wp_explain_sleep(x, node, index, ordinal, low, to);
        to = low;
    }
    x->depth--;
    walk->to_ns = to;
    return true;
}

void wp_explain_cover_from(
    struct wp_explainer *x, uint32_t parent, uint32_t index, uint64_t ordinal, uint64_t from, uint64_t to)
{
    struct wp_shared_use walk = {.parent = parent, .thread = index, .ordinal = ordinal, .from_ns = from, .to_ns = to};
    bool goes_on = true, is_shared = wp_shared_may(x, &walk) && wp_shared_begin(x, &walk);
    while (goes_on && walk.to_ns > from) {
        if (is_shared && wp_shared_repeat(x, &walk))
            continue;
        ordinal = walk.ordinal;
        bool is_recorded = is_shared && wp_shared_record(x, &walk);
        goes_on = cover_slice(x, &walk);
        if (is_recorded)
            wp_shared_recorded(x, &walk, ordinal);
        if (!x->relay.is_on)
            continue;
        if (x->relay.depth < x->depth) /* what is left is another layer's */
            return;
        take_relay(x, &walk);
        is_shared = false;
        goes_on = true;
    }
}
