/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_wait.h"

#include "aggregator/explain/explain_loop.h"
#include "aggregator/explain/explain_origin.h"
#include "aggregator/explain/explain_queue.h"
#include "aggregator/timeline/names.h"
#include "aggregator/timeline/slices.h"

#include <stdio.h>
#include <string.h>

static bool is_kernel_thread(const struct wp_explainer *x, uint32_t identity)
{
    const struct wp_thread_entry *entry =
        wp_dictionary_thread(x->timeline->dictionary, x->timeline->identities[identity].entry);
    return entry && entry->flags & WP_THREAD_KERNEL;
}

/* Who the thread was in that slice, which wp_thread_find found. */
static uint32_t identity_in(const struct wp_thread *thread, uint64_t ordinal)
{
    return ordinal == thread->slice_end ? thread->identity : wp_thread_slice(thread, ordinal)->identity;
}

static bool is_base(const struct wp_explainer *x, uint32_t identity)
{
    return x->timeline->identities[identity].aggregates & x->base_bit;
}

bool wp_explain_is_base(const struct wp_explainer *x, uint32_t index, uint64_t at_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    return index && is_base(x, identity_in(thread, wp_thread_find(thread, at_ns)));
}

void wp_wait_emit(struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, enum wp_category category,
    uint64_t from, uint64_t to, const char *reason)
{
    wp_explain_emit(x,
        &(struct wp_piece){.node = node,
            .thread = wait->thread,
            .category = category,
            .start_ns = from,
            .end_ns = to,
            .reason = reason,
            .is_uncertain = wait->slice->flags & WP_SLICE_UNCERTAIN || wait->slice->is_inferred});
}

void wp_wait_label(struct wp_explainer *x, const struct wp_wait *wait, enum wp_frame_style style, const char *label,
    enum wp_category category, uint64_t from, uint64_t to)
{
    if (from < to)
        wp_wait_emit(x, wait, wp_explain_label(x, wait->node, style, label), category, from, to, NULL);
}

/* "path:[comm]", whose work is waited for; on "for:[comm]", who set that work going. */
static uint32_t path_node(struct wp_explainer *x, uint32_t parent, const char *kind, uint32_t identity)
{
    uint64_t bit = *kind == 'p' ? (uint64_t)1 << 41 : (uint64_t)1 << 44;
    struct wp_intkey key = {parent, wp_explain_here(x, bit | identity)};
    uint32_t node;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    char name[WP_EXPLAIN_NAME + 5];
    size_t length = (size_t)snprintf(name, sizeof(name), "%s", kind);
    if (wp_is_recorder(x->timeline, identity))
        snprintf(name + length, sizeof(name) - length, "recording");
    else
        wp_explain_name_process(x, identity, name + length, sizeof(name) - length);
    node = wp_explain_label(x, parent, WP_STYLE_WAIT, name);
    wp_explain_remember(x, key, node);
    return node;
}

static void on_path_of(struct wp_explainer *x, uint32_t node, uint32_t waker, uint32_t identity, uint64_t from,
    uint64_t to, const struct wp_handover *by)
{
    if (by && by->thread && by->thread != waker) {
        const struct wp_thread *whose = &x->timeline->threads[by->thread];
        node = path_node(x, node, "for:", identity_in(whose, wp_thread_find(whose, to - 1)));
    }
    wp_explain_emit(x,
        &(struct wp_piece){.node = path_node(x, node, "path:", identity),
            .thread = waker,
            .category = WP_OTHER_PATH,
            .start_ns = from,
            .end_ns = to,
            .is_uncertain = by && by->origin == WP_ORIGIN_NOT_KNOWN});
    if (x->other_path && !wp_is_recorder(x->timeline, identity) && !(waker && is_base(x, identity)))
        x->other_path(x->context, &(struct wp_stretch){x->host, waker, from, to});
}

void wp_explain_on_path(struct wp_explainer *x, uint32_t node, uint32_t waker, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[waker];
    if (from < to)
        on_path_of(x, node, waker, identity_in(thread, wp_thread_find(thread, to - 1)), from, to, NULL);
}

/* It is of the sleeper's process, whose progress the aggregate shows: it is followed whatever set it going
 * (docs/engine.md, "What a total is"). */
static bool is_mate(const struct wp_explainer *x, uint32_t waker_identity)
{
    const struct wp_identity *waker = &x->timeline->identities[waker_identity];
    const struct wp_layer *sleeper = x->depth ? &x->layers[x->depth - 1] : NULL;
    return waker->mates & x->base_bit && sleeper && sleeper->host == x->host && sleeper->process == waker->process;
}

/* --- fit --- */

/* Where the waker's activity in that slice began: its run, with the runs before it that preemption alone parts. */
static const struct wp_slice *burst(const struct wp_thread *thread, uint64_t ordinal)
{
    if (ordinal == thread->slice_end)
        return NULL;
    for (; ordinal > thread->first_slice; ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        const struct wp_slice *before = wp_thread_slice(thread, ordinal - 1);
        if (!(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_RENAME)) || before->end_ns != slice->out_ns)
            break;
    }
    return wp_thread_slice(thread, ordinal);
}

/*
 * Whose work is what the waker did up to `at_ns`? The paper's rule comes first: what began no more than fit_ns before
 * the sleep's de facto start is the sleeper's. Of what began earlier the causes decide.
 */
static struct wp_handover origin_of(
    const struct wp_explainer *x, const struct wp_wait *wait, uint32_t waker, uint64_t ordinal, uint64_t at_ns)
{
    const struct wp_slice *first = burst(&x->timeline->threads[waker], ordinal);
    if (!first || first->in_ns + x->options.fit_ns + wait->bound_ns >= wait->start_ns)
        return (struct wp_handover){.origin = WP_ORIGIN_PATH};
    return wp_explain_origin(x, x->layers, x->depth, waker, at_ns);
}

/* [from, to) is the time of `waker` up to its doing at `to`, if that fits; else the wait is on another path. */
void wp_wait_on_thread(struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, uint32_t waker, uint64_t from,
    uint64_t to, bool on_behalf)
{
    if (from >= to)
        return;
    if (x->depth >= x->options.depth) {
        x->limit_count[WP_LIMIT_DEPTH]++;
        x->limit_ns[WP_LIMIT_DEPTH] += to - from;
        wp_explain_taken(x, waker, from, to);
        wp_wait_emit(x, wait, node, WP_UNACCOUNTED, from, to, "the explanation grew too deep");
        return;
    }
    const struct wp_thread *thread = &x->timeline->threads[waker];
    uint64_t ordinal = wp_thread_find(thread, to - 1);
    uint32_t identity = identity_in(thread, ordinal);
    struct wp_handover by = {.origin = WP_ORIGIN_PATH};
    if (waker && is_base(x, identity))
        by.origin = WP_ORIGIN_OTHER;
    else if ((wait->is_far || !is_mate(x, identity)) && !on_behalf && !wait->is_outstanding &&
        !wp_is_recorder(x->timeline, identity))
        by = origin_of(x, wait, waker, ordinal, to);
    if (by.origin == WP_ORIGIN_PATH && wp_explain_relays(x, waker, ordinal, to))
        return;
    if (by.origin == WP_ORIGIN_PATH)
        wp_explain_cover_from(x, node, waker, ordinal, from, to);
    else
        on_path_of(x, node, waker, identity, from, to, &by);
}

/* --- by cause --- */

/* The waker's time up to `to`; what it did for others before it turned to the sleeper is another path. */
static void on_waker(struct wp_explainer *x, const struct wp_wait *wait, uint32_t waker, uint64_t from, uint64_t to)
{
    struct wp_queue queue;
    const struct wp_thread *thread = &x->timeline->threads[waker];
    if (is_mate(x, identity_in(thread, wp_thread_find(thread, to - 1))) || !wp_explain_queue(x, wait, &queue)) {
        if (x->depth) /* all that is left of the sleep: it may be taken over by another layer (wp_explain_relays) */
            x->asleep[x->depth - 1].site =
                (uint64_t)wait->slice->stack << 32 | (uint64_t)wait->slice->wait << 16 | wait->slice->syscall;
        wp_wait_on_thread(x, wait, wait->node, waker, from, to, false);
        return;
    }
    uint64_t turned = queue.until_ns < from ? from : queue.until_ns < to ? queue.until_ns : to;
    wp_wait_on_thread(x, wait, wait->node, waker, turned, to, true);
    if (from < turned)
        on_path_of(x, wait->node, waker, identity_in(thread, wp_thread_find(thread, turned - 1)), from, turned,
            &(struct wp_handover){WP_ORIGIN_OTHER, queue.thread, turned});
}

static void by_task(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    uint32_t waker = wait->slice->waker;
    if (!waker || waker == wait->thread) {
        wp_wait_label(x, wait, WP_STYLE_WAIT, waker ? "kernel:self" : "kernel:idle", WP_KERNEL_BLOCK, from, to);
        return;
    }
    uint32_t identity = x->timeline->threads[waker].identity;
    if (is_kernel_thread(x, identity) && !strncmp(wp_timeline_comm(x->timeline, identity), "migration/", 10))
        wp_wait_label(x, wait, WP_STYLE_WAIT, "kernel:migration", WP_KERNEL_BLOCK, from, to);
    else
        on_waker(x, wait, waker, from, to);
}

#define SYSCALL_FUTEX 202

/* The call's timeout is what it wanted: nothing that it had asked for could have come earlier. A lock that has a name
 * is asked for, and so is what a read waits for. */
static bool is_deliberate(const struct wp_slice *slice)
{
    bool may_sleep = wp_wait_is_choosing(slice) || (slice->syscall == SYSCALL_FUTEX + 1 && !slice->wait);
    return slice->flags & WP_SLICE_DELIBERATE || (may_sleep && !slice->is_asking);
}

static void by_timer(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    if (wait->is_kernel)
        wp_wait_label(x, wait, WP_STYLE_WAIT, "kernel:timer", WP_KERNEL_BLOCK, from, to);
    else
        wp_wait_emit(
            x, wait, wait->node, is_deliberate(wait->slice) ? WP_DELIBERATE_SLEEP : WP_TIMEOUT, from, to, NULL);
}

/* "io:DEVICE KIND FILE" on the sleep's node. */
static uint32_t io_node(struct wp_explainer *x, uint32_t parent, const struct wp_blockop *op)
{
    const uint32_t kinds = WP_BLOCK_FLUSH | WP_BLOCK_DISCARD | WP_BLOCK_WRITE;
    uint32_t device = wp_dictionary_device_name(x->timeline->dictionary, op->device);
    uint64_t what = (uint64_t)(device ? 1 : 2) << 42 | (uint64_t)(op->flags & kinds) << 32 | op->file;
    struct wp_intkey key = {(uint64_t)(device ? device : op->device) << 32 | parent, wp_explain_here(x, what)};
    uint32_t node;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    char name[WP_STRING_BYTES + 32];
    wp_name_io(x->timeline->dictionary, op, name, sizeof(name));
    node = wp_explain_label(x, parent, WP_STYLE_IO, name);
    wp_explain_remember(x, key, node);
    return node;
}

/* At the device: of one whose requests a thread of this host serves, that thread's time since it was done with the
 * request before. */
static void at_device(
    struct wp_explainer *x, const struct wp_wait *wait, const struct wp_blockop *op, uint64_t from, uint64_t to)
{
    uint32_t node = io_node(x, wait->node, op);
    if (op->server && op->server != wait->thread && op->served_ns > from) {
        uint64_t end = op->served_ns < to ? op->served_ns : to, begin = op->taken_ns > from ? op->taken_ns : from;
        if (end < to)
            wp_wait_emit(x, wait, node, WP_BLOCKING_IO, end, to, NULL);
        if (begin < end)
            wp_wait_on_thread(x, wait, node, op->server, begin, end, true);
        to = begin < end ? begin : end;
        if (from < to)
            wp_wait_emit(x, wait, wp_explain_literal(x, node, WP_STYLE_IO, "io:queue"), WP_IO_QUEUE, from, to, NULL);
    } else {
        wp_wait_emit(x, wait, node, WP_BLOCKING_IO, from, to, NULL);
    }
}

static void by_block(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    const struct wp_timeline *timeline = x->timeline;
    const struct wp_blockop *op = wp_blockops_at(&timeline->blockops, wait->slice->cause_a);
    if (!op || !op->issue_ns || op->insert_ns >= to)
        op = wp_blockops_last_of(&timeline->blockops, wait->thread, wait->slice->wake_ns);
    if (!op) {
        wp_wait_label(x, wait, WP_STYLE_IO, "io:unknown", WP_BLOCKING_IO, from, to);
        return;
    }
    uint64_t issue = op->issue_ns > from ? op->issue_ns : from;
    if (issue < to) {
        at_device(x, wait, op, issue, to);
        to = issue;
    }
    uint64_t insert = op->insert_ns > from ? op->insert_ns : from;
    if (insert < to) {
        uint32_t node = wp_explain_literal(x, io_node(x, wait->node, op), WP_STYLE_IO, "io:queue");
        wp_wait_emit(x, wait, node, WP_IO_QUEUE, insert, to, NULL);
        to = insert;
    }
    if (op->thread && op->thread != wait->thread)
        wp_wait_on_thread(x, wait, wait->node, op->thread, from, to, true);
    else
        wp_wait_label(x, wait, WP_STYLE_WAIT, "kernel:before the request", WP_KERNEL_BLOCK, from, to);
}

static void by_softirq(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    enum {
        HI,
        TIMER,
        NET_TX,
        NET_RX,
        BLOCK,
        IRQ_POLL,
        TASKLET,
        SCHED,
        HRTIMER,
        RCU
    }; /* include/linux/interrupt.h, 6.1 */
    static const char *const names[] = {
        "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"};
    uint32_t vector = wait->slice->cause_d;
    char name[32];
    if (vector == TIMER || vector == HRTIMER) {
        by_timer(x, wait, from, to);
    } else if (vector == BLOCK) {
        by_block(x, wait, from, to);
    } else {
        bool is_kernel = vector == RCU || vector == SCHED;
        snprintf(name, sizeof(name), "%s:%s", is_kernel ? "kernel" : "softirq",
            vector < sizeof(names) / sizeof(names[0]) ? names[vector] : "unknown");
        wp_wait_label(x, wait, WP_STYLE_WAIT, name, is_kernel ? WP_KERNEL_BLOCK : WP_HARDWARE_WAIT, from, to);
    }
}

static void by_cause(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    char name[32];
    switch (wait->slice->cause) {
    case WP_CAUSE_TASK:
        by_task(x, wait, from, to);
        break;
    case WP_CAUSE_TIMER:
        by_timer(x, wait, from, to);
        break;
    case WP_CAUSE_MESSAGE:
        wp_wait_on_message(x, wait, from, to);
        break;
    case WP_CAUSE_BLOCK:
        by_block(x, wait, from, to);
        break;
    case WP_CAUSE_IRQ:
        snprintf(name, sizeof(name), "irq:%u", wait->slice->cause_d);
        wp_wait_label(x, wait, WP_STYLE_WAIT, name, WP_HARDWARE_WAIT, from, to);
        break;
    case WP_CAUSE_SOFTIRQ:
        by_softirq(x, wait, from, to);
        break;
    default:
        if (wait->is_kernel || wait->slice->state == WP_STATE_UNINTERRUPTIBLE)
            wp_wait_label(x, wait, WP_STYLE_WAIT, "kernel:block", WP_KERNEL_BLOCK, from, to);
        else
            wp_wait_emit(x, wait, wait->node, WP_UNACCOUNTED, from, to, "the cause of the waking is not known");
    }
}

/* --- a sleep --- */

static uint32_t sleep_node(struct wp_explainer *x, uint32_t node, const struct wp_slice *slice, bool is_kernel)
{
    uint32_t on = wp_explain_stack_node(x, node, slice->stack), found;
    uint64_t stop = slice->state == WP_STATE_STOPPED || slice->state == WP_STATE_TRACED ? slice->state : 0;
    struct wp_intkey key = {
        on, (uint64_t)1 << 40 | (uint64_t)is_kernel << 38 | (uint64_t)slice->wait << 20 | stop << 16 | slice->syscall};
    if (slice->wait) /* its number is the timeline's own */
        key.b = wp_explain_here(x, key.b);
    if (wp_intmap_get(&x->sites, key, &found))
        return found;
    char name[WP_EXPLAIN_NAME + 64];
    const char *wait = wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice));
    wp_name_sleep(slice, is_kernel, wait, name, sizeof(name));
    found = wp_explain_label(x, on, WP_STYLE_SLEEP, name);
    wp_explain_remember(x, key, found);
    return found;
}

static const char *why_unwoken(const struct wp_slice *slice)
{
    if (slice->is_cut)
        return "the recording paused before it ended";
    return slice->in_ns ? "its waking was not seen" : "the recording ended before it did";
}

void wp_explain_sleep(
    struct wp_explainer *x, uint32_t node, uint32_t index, uint64_t ordinal, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    struct wp_wait wait = {
        .thread = index, .slice = slice, .node = node, .is_kernel = is_kernel_thread(x, slice->identity)};
    if (slice->flags & WP_SLICE_PREEMPTED) {
        if (from < to)
            wp_wait_emit(x, &wait, wp_explain_literal(x, node, WP_STYLE_SCHED, "sched:preempted"), WP_INVOLUNTARY, from,
                to, NULL);
        return;
    }
    if (!(slice->flags & WP_SLICE_BORN))
        wait.node = sleep_node(x, node, slice, wait.is_kernel);
    uint64_t wake = slice->wake_ns > slice->out_ns ? slice->wake_ns : slice->out_ns;
    if (!slice->wake_ns) {
        bool is_deliberate = !slice->in_ns && slice->flags & WP_SLICE_DELIBERATE; /* whenever it would have ended */
        wp_explain_emit(x,
            &(struct wp_piece){.node = wait.node,
                .thread = index,
                .category = is_deliberate ? WP_DELIBERATE_SLEEP : WP_UNACCOUNTED,
                .start_ns = from,
                .end_ns = to,
                .reason = is_deliberate ? NULL : why_unwoken(slice),
                .is_uncertain = (slice->in_ns && !slice->is_cut) || slice->flags & WP_SLICE_UNCERTAIN});
        return;
    }
    uint64_t low = wake > from ? wake : from;
    if (low < to)
        wp_wait_emit(
            x, &wait, wp_explain_literal(x, wait.node, WP_STYLE_SCHED, "sched:runnable"), WP_SCHEDULER, low, to, NULL);
    to = low < to ? low : to;
    if (from >= to)
        return;
    wait.start_ns = wp_explain_defacto_start(x, thread, ordinal);
    uint64_t last = wp_explain_join_end(x, thread, ordinal);
    const struct wp_slice *end = wp_thread_slice(thread, last);
    bool is_other =
        end->cause != WP_CAUSE_TIMER || slice->cause != WP_CAUSE_TIMER; /* timeouts of a loop stand each for itself */
    if (last != ordinal && end->in_ns && end->in_ns <= wp_explain_horizon(x) && end->wake_ns && is_other) {
        wait.slice = end;
    }
    struct wp_loop_end loop;
    enum wp_loop looping = wp_explain_loop(x, index, ordinal, &loop);
    if (looping == WP_LOOP_OPEN && slice->is_asking && slice->cause == WP_CAUSE_TIMER) {
        x->limit_count[WP_LIMIT_LOOP]++;
        x->limit_ns[WP_LIMIT_LOOP] += to - from;
    }
    if (looping == WP_LOOP_ENDED) {
        wait.slice = slice;
        low = loop.slice.wake_ns > from ? loop.slice.wake_ns : from;
        if (low < to) /* the answer was there, and the thread slept on */
            by_cause(x, &wait, low, to);
        to = low < to ? low : to;
        last = loop.ordinal;
        wait.slice = &loop.slice;
        wait.is_outstanding = true;
    }
    if (from < to && last == ordinal && wp_explain_is_parted(x, thread, ordinal)) {
        x->limit_count[WP_LIMIT_JOIN]++;
        x->limit_ns[WP_LIMIT_JOIN] += to - from;
    }
    bool is_doubtful = slice->is_inferred || wait.slice->is_inferred;
    x->doubts += is_doubtful;
    by_cause(x, &wait, from, to);
    x->doubts -= is_doubtful;
}
