/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain_wait.h"

#include "aggregator/names.h"

#include <stdio.h>
#include <string.h>

/* One sleep while it is being explained; [from, to) is what is left of it, to shrinking towards from. */
struct wait {
    uint32_t thread;        /* who sleeps */
    uint64_t ordinal;       /* the slice whose waking explains it (the last of joined sleeps) */
    const struct wp_slice *slice;
    uint32_t node;          /* "sleep:..." */
    uint64_t start_ns;      /* de facto start */
    bool is_kernel;
};

static bool is_kernel_thread(const struct wp_explainer *x, uint32_t identity)
{
    const struct wp_thread_entry *entry =
        wp_dictionary_thread(x->timeline->dictionary, x->timeline->identities[identity].entry);
    return entry && entry->flags & WP_THREAD_KERNEL;
}

static uint32_t identity_at(const struct wp_explainer *x, uint32_t thread, uint64_t at_ns)
{
    const struct wp_thread *t = &x->timeline->threads[thread];
    uint64_t ordinal = wp_thread_find(t, at_ns);
    return ordinal == t->slice_end ? t->identity : wp_thread_slice(t, ordinal)->identity;
}

bool wp_explain_is_base(const struct wp_explainer *x, uint32_t thread, uint64_t at_ns)
{
    return thread && x->timeline->identities[identity_at(x, thread, at_ns)].aggregates & x->base_bit;
}

static void emit(struct wp_explainer *x, const struct wait *wait, uint32_t node, enum wp_category category,
    uint64_t from, uint64_t to, const char *reason)
{
    wp_explain_emit(x, &(struct wp_piece){.node = node, .thread = wait->thread, .category = category, .start_ns = from,
        .end_ns = to, .reason = reason, .is_uncertain = wait->slice->flags & WP_SLICE_UNCERTAIN});
}

static void emit_label(struct wp_explainer *x, const struct wait *wait, enum wp_frame_style style, const char *label,
    enum wp_category category, uint64_t from, uint64_t to)
{
    if (from < to)
        emit(x, wait, wp_explain_label(x, wait->node, style, label), category, from, to, NULL);
}

static uint32_t path_node(struct wp_explainer *x, uint32_t parent, uint32_t identity)
{
    struct wp_intkey key = {parent, (uint64_t)1 << 41 | identity};
    uint32_t node;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    char name[WP_STRING_BYTES + 16] = "path:";
    wp_name_process(x->timeline, identity, name + 5, sizeof(name) - 5);
    node = wp_explain_label(x, parent, WP_STYLE_WAIT, name);
    wp_explain_remember(x, key, node);
    return node;
}

void wp_explain_on_path(struct wp_explainer *x, uint32_t node, uint32_t waker, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    wp_explain_emit(x, &(struct wp_piece){.node = path_node(x, node, identity_at(x, waker, to - 1)), .thread = waker,
        .category = WP_OTHER_PATH, .start_ns = from, .end_ns = to});
    if (x->other_path && !wp_explain_is_base(x, waker, to - 1))
        x->other_path(x->context, waker, from, to);
}

/* --- fit --- */

/* Where the waker's activity that holds `at` began: its run, with the runs before it that preemption alone parts. */
static const struct wp_slice *burst(const struct wp_thread *thread, uint64_t at_ns)
{
    uint64_t ordinal = wp_thread_find(thread, at_ns);
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
 * The waker's activity is a child of the sleep if it begins no more than fit_ns before the sleep's de facto start. What the
 * sleeper itself set going (by fork or waking) may begin earlier by a tenth of the sleep: it then still is one path.
 */
static bool fits(const struct wp_explainer *x, const struct wait *wait, uint32_t waker, uint64_t at_ns)
{
    const struct wp_slice *first = burst(&x->timeline->threads[waker], at_ns);
    if (!first)
        return true;
    uint64_t slack = x->options.fit_ns;
    if (first->waker == wait->thread && first->cause == WP_CAUSE_TASK) {
        uint64_t tenth = (at_ns > wait->start_ns ? at_ns - wait->start_ns : 0) / 10;
        slack = tenth > slack ? tenth : slack;
    }
    return first->in_ns + slack >= wait->start_ns;
}

/* [from, to) is the time of `waker` up to its doing at `to`, if that fits; else the wait is on another path. */
static void on_thread(struct wp_explainer *x, const struct wait *wait, uint32_t node, uint32_t waker, uint64_t from,
    uint64_t to, bool on_behalf)
{
    if (from >= to)
        return;
    if (x->depth >= x->options.depth) {
        x->limit_count[WP_LIMIT_DEPTH]++;
        x->limit_ns[WP_LIMIT_DEPTH] += to - from;
        emit(x, wait, node, WP_UNACCOUNTED, from, to, "the explanation grew too deep");
    } else if (wp_explain_is_base(x, waker, to - 1) || !(on_behalf || fits(x, wait, waker, to - 1))) {
        wp_explain_on_path(x, node, waker, from, to);
    } else {
        wp_explain_cover(x, node, waker, from, to);
    }
}

/* --- by cause --- */

static void by_task(struct wp_explainer *x, const struct wait *wait, uint64_t from, uint64_t to)
{
    uint32_t waker = wait->slice->waker;
    if (!waker || waker == wait->thread) {
        emit_label(x, wait, WP_STYLE_WAIT, waker ? "kernel:self" : "kernel:idle", WP_KERNEL_BLOCK, from, to);
        return;
    }
    uint32_t identity = x->timeline->threads[waker].identity;
    if (is_kernel_thread(x, identity) && !strncmp(wp_timeline_comm(x->timeline, identity), "migration/", 10))
        emit_label(x, wait, WP_STYLE_WAIT, "kernel:migration", WP_KERNEL_BLOCK, from, to);
    else
        on_thread(x, wait, wait->node, waker, from, to, false);
}

static void by_timer(struct wp_explainer *x, const struct wait *wait, uint64_t from, uint64_t to)
{
    if (wait->is_kernel)
        emit_label(x, wait, WP_STYLE_WAIT, "kernel:timer", WP_KERNEL_BLOCK, from, to);
    else if (wait->slice->flags & WP_SLICE_DELIBERATE)
        emit(x, wait, wait->node, WP_DELIBERATE_SLEEP, from, to, NULL);
    else
        emit(x, wait, wait->node, WP_TIMEOUT, from, to, NULL);
}

static void by_block(struct wp_explainer *x, const struct wait *wait, uint64_t from, uint64_t to)
{
    const struct wp_timeline *timeline = x->timeline;
    const struct wp_blockop *op = wp_blockops_at(&timeline->blockops, wait->slice->cause_a);
    if (!op || !op->issue_ns || op->insert_ns >= to)
        op = wp_blockops_last_of(&timeline->blockops, wait->thread, wait->slice->wake_ns);
    if (!op) {
        emit_label(x, wait, WP_STYLE_IO, "io:unknown", WP_BLOCKING_IO, from, to);
        return;
    }
    char name[WP_STRING_BYTES + 32];
    wp_name_io(timeline->dictionary, op, name, sizeof(name));
    uint64_t issue = op->issue_ns > from ? op->issue_ns : from;
    emit_label(x, wait, WP_STYLE_IO, name, WP_BLOCKING_IO, issue < to ? issue : to, to);
    to = issue < to ? issue : to;
    uint64_t insert = op->insert_ns > from ? op->insert_ns : from;
    if (insert < to) {
        uint32_t node = wp_explain_label(x, wp_explain_label(x, wait->node, WP_STYLE_IO, name), WP_STYLE_IO, "io:queue");
        emit(x, wait, node, WP_IO_QUEUE, insert, to, NULL);
        to = insert;
    }
    if (op->thread && op->thread != wait->thread)
        on_thread(x, wait, wait->node, op->thread, from, to, true);
    else
        emit_label(x, wait, WP_STYLE_WAIT, "kernel:before the request", WP_KERNEL_BLOCK, from, to);
}

static bool is_sending(const struct wp_slice *slice)
{
    switch (slice->syscall - 1) { /* write, writev, sendfile, sendto, sendmsg, splice, sendmmsg */
    case 1: case 20: case 40: case 44: case 46: case 275: case 307:
        return true;
    default:
        return false;
    }
}

/*
 * The request was sent and not yet read: up to what its reader last did on another connection it was busy with others,
 * however many sleeps part that from this; since then it was on its way to the request.
 */
static void in_queue(struct wp_explainer *x, const struct wait *wait, uint32_t node, const struct wp_receive *read,
    uint64_t from, uint64_t to)
{
    uint64_t others = read->others_ns < to ? read->others_ns : to;
    if (read->thread && others > from) {
        if (others < to)
            on_thread(x, wait, node, read->thread, others, to, true);
        wp_explain_on_path(x, node, read->thread, from, others);
    } else if (read->thread && from < to) {
        on_thread(x, wait, node, read->thread, from, to, false);
    } else if (from < to) {
        emit(x, wait, node, WP_MESSAGE_IN_FLIGHT, from, to, NULL);
    }
}

/* The sender's time back to the request that it answers (read there at some time), or back to `from`. */
static void by_sender(struct wp_explainer *x, const struct wait *wait, uint32_t node, uint32_t socket,
    uint32_t sender, uint64_t from, uint64_t to)
{
    struct wp_send request;
    struct wp_receive read;
    if (from >= to)
        return;
    if (!sender) {
        emit(x, wait, node, WP_UNACCOUNTED, from, to, "the sender is not known");
        return;
    }
    bool is_answer = wp_messages_request(&x->timeline->messages, socket, wait->start_ns + x->options.fit_ns, &request, &read) &&
        read.time_ns < to;
    if (!is_answer) {
        on_thread(x, wait, node, sender, from, to, false);
        return;
    }
    uint64_t taken = read.time_ns > from ? read.time_ns : from;
    on_thread(x, wait, node, sender, taken, to, true);
    in_queue(x, wait, node, &read, from, taken);
}

static void by_message(struct wp_explainer *x, const struct wait *wait, uint64_t from, uint64_t to)
{
    const struct wp_timeline *timeline = x->timeline;
    uint32_t socket = wait->slice->cause_d;
    uint64_t arrival = wait->slice->wake_ns;
    char name[128];
    wp_name_socket(wp_dictionary_socket(timeline->dictionary, socket), name, sizeof(name));
    struct wp_send send = {0};
    enum wp_match match;
    if (is_sending(wait->slice))
        match = wp_messages_drain(&timeline->messages, socket, arrival, &send);
    else
        match = wp_messages_match(&timeline->messages, socket, wait->slice->cause_a, arrival, &send);
    if (match == WP_MATCH_NO_PEER) {
        strncat(name, " (not traced)", sizeof(name) - strlen(name) - 1);
        emit_label(x, wait, WP_STYLE_NET, name, WP_REMOTE_NOT_TRACED, from, to);
        return;
    }
    uint32_t node = wp_explain_label(x, wait->node, WP_STYLE_NET, name);
    if (match == WP_MATCH_NO_SEND) {
        emit(x, wait, node, WP_UNACCOUNTED, from, to, "nothing sent matches what arrived");
        return;
    }
    uint64_t sent = send.time_ns < arrival ? send.time_ns : arrival; /* the call may return after the data arrived */
    const struct wp_thread *sender = &timeline->threads[send.thread];
    uint64_t ordinal = send.thread && sent ? wp_thread_find(sender, sent - 1) : sender->slice_end;
    if (send.thread && ordinal != sender->slice_end) {
        const struct wp_slice *slice = wp_thread_slice(sender, ordinal);
        if (!slice->in_ns || slice->in_ns >= sent) /* still in the call, asleep: it sent before that */
            sent = slice->out_ns;
    }
    if (sent < to) {
        uint64_t low = sent > from ? sent : from;
        emit(x, wait, node, WP_MESSAGE_IN_FLIGHT, low, to, NULL);
        to = low;
    }
    by_sender(x, wait, node, socket, send.thread, from, to);
}

static void by_softirq(struct wp_explainer *x, const struct wait *wait, uint64_t from, uint64_t to)
{
    enum { HI, TIMER, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET, SCHED, HRTIMER, RCU }; /* include/linux/interrupt.h, 6.1 */
    static const char *const names[] = {"hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched",
        "hrtimer", "rcu"};
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
        emit_label(x, wait, WP_STYLE_WAIT, name, is_kernel ? WP_KERNEL_BLOCK : WP_HARDWARE_WAIT, from, to);
    }
}

static void by_cause(struct wp_explainer *x, const struct wait *wait, uint64_t from, uint64_t to)
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
        by_message(x, wait, from, to);
        break;
    case WP_CAUSE_BLOCK:
        by_block(x, wait, from, to);
        break;
    case WP_CAUSE_IRQ:
        snprintf(name, sizeof(name), "irq:%u", wait->slice->cause_d);
        emit_label(x, wait, WP_STYLE_WAIT, name, WP_HARDWARE_WAIT, from, to);
        break;
    case WP_CAUSE_SOFTIRQ:
        by_softirq(x, wait, from, to);
        break;
    default:
        if (wait->is_kernel || wait->slice->state == WP_STATE_UNINTERRUPTIBLE)
            emit_label(x, wait, WP_STYLE_WAIT, "kernel:block", WP_KERNEL_BLOCK, from, to);
        else
            emit(x, wait, wait->node, WP_UNACCOUNTED, from, to, "the cause of the waking is not known");
    }
}

/* --- a sleep --- */

static uint32_t sleep_node(struct wp_explainer *x, uint32_t node, const struct wp_slice *slice, bool is_kernel)
{
    uint32_t on = wp_explain_stack_node(x, node, slice->stack), found;
    uint64_t stop = slice->state == WP_STATE_STOPPED || slice->state == WP_STATE_TRACED ? slice->state : 0;
    struct wp_intkey key = {on, (uint64_t)1 << 40 | (uint64_t)is_kernel << 32 | stop << 16 | slice->syscall};
    if (wp_intmap_get(&x->sites, key, &found))
        return found;
    char name[64];
    wp_name_sleep(slice, is_kernel, name, sizeof(name));
    found = wp_explain_label(x, on, WP_STYLE_SLEEP, name);
    wp_explain_remember(x, key, found);
    return found;
}

void wp_explain_sleep(struct wp_explainer *x, uint32_t node, uint32_t index, uint64_t ordinal, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    struct wait wait = {.thread = index, .ordinal = ordinal, .slice = slice, .node = node,
        .is_kernel = is_kernel_thread(x, slice->identity)};
    if (slice->flags & WP_SLICE_PREEMPTED) {
        if (from < to)
            emit(x, &wait, wp_explain_literal(x, node, WP_STYLE_SCHED, "sched:preempted"), WP_INVOLUNTARY, from, to, NULL);
        return;
    }
    if (!(slice->flags & WP_SLICE_BORN))
        wait.node = sleep_node(x, node, slice, wait.is_kernel);
    uint64_t wake = slice->wake_ns > slice->out_ns ? slice->wake_ns : slice->out_ns;
    if (!slice->wake_ns) {
        wp_explain_emit(x, &(struct wp_piece){.node = wait.node, .thread = index, .category = WP_UNACCOUNTED,
            .start_ns = from, .end_ns = to, .reason = slice->in_ns ? "its waking was not seen" : "it did not end",
            .is_uncertain = slice->in_ns || slice->flags & WP_SLICE_UNCERTAIN});
        return;
    }
    uint64_t low = wake > from ? wake : from;
    if (low < to)
        emit(x, &wait, wp_explain_literal(x, wait.node, WP_STYLE_SCHED, "sched:runnable"), WP_SCHEDULER, low, to, NULL);
    to = low < to ? low : to;
    if (from >= to)
        return;
    wait.start_ns = wp_explain_defacto_start(x, thread, ordinal);
    uint64_t last = wp_explain_join_end(x, thread, ordinal);
    const struct wp_slice *end = wp_thread_slice(thread, last);
    if (last != ordinal && end->in_ns && end->wake_ns && end->cause != WP_CAUSE_TIMER) {
        wait.ordinal = last;
        wait.slice = end;
    }
    by_cause(x, &wait, from, to);
}
