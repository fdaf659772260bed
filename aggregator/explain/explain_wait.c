/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_wait.h"

#include "aggregator/explain/explain_asleep.h"
#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_lock.h"
#include "aggregator/explain/explain_loop.h"
#include "aggregator/explain/explain_message.h"
#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_owed.h"
#include "aggregator/explain/explain_path.h"
#include "aggregator/explain/explain_piece.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_queue.h"
#include "aggregator/explain/explain_runnable.h"
#include "aggregator/explain/explain_spurious.h"
#include "aggregator/explain/explain_thread.h"
#include "aggregator/explain/explain_turn.h"
#include "aggregator/explain/explain_unheard.h"
#include "aggregator/net/message_roles.h"
#include "aggregator/timeline/holders.h"
#include "aggregator/timeline/memory_shares.h"
#include "aggregator/timeline/names.h"
#include "aggregator/timeline/process_ends.h"
#include "aggregator/timeline/slices.h"
#include "common/cgroup_path.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The waker's time up to `to`; what it did for others before it turned to the sleeper is another path. */
static void on_waker(struct wp_explainer *x, const struct wp_wait *wait, uint32_t waker, uint64_t from, uint64_t to)
{
    bool may_turn = wait->slice->cause_d || wp_timeline_wait_is(x->timeline, wait->slice, WP_WAIT_STREAM);
    if (wp_wait_on_lock(x, wait, waker, from, to) || (may_turn && wp_wait_in_turn(x, wait, waker, from, to)) ||
        wp_wait_in_queue(x, wait, wait->node, waker, from, to))
        return;
    if (x->depth) /* all that is left of the sleep: it may be taken over by another layer (wp_explain_relays) */
        x->asleep[x->depth - 1].site = wp_wait_site(wait->slice);
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){wait->node, waker, from, to, false});
}

/* --- what nothing that it waited for ended --- */

/* "memory:held by [hog]" on a sleep for a cgroup's memory: who has most of it, as far as that was told by its end. */
static __attribute__((noinline)) uint32_t memory_node(
    struct wp_explainer *x, uint32_t parent, const struct wp_slice *slice)
{
    uint64_t end_ns = slice->wake_ns ? slice->wake_ns : slice->out_ns;
    uint32_t process = wp_memory_shares_most(&x->timeline->memory, wp_timeline_wait(x->timeline, slice), end_ns);
    uint32_t comm = x->timeline->processes[process].comm, own = x->timeline->identities[slice->identity].process, node;
    struct wp_intkey key = {(uint64_t)comm << 32 | parent, wp_explain_here(x, (uint64_t)5 << 44 | (process == own))};
    bool is_home = x->host == x->home && !x->names_home;
    char name[WP_EXPLAIN_NAME];
    if (!process || !comm)
        return parent;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    if (process == own)
        snprintf(name, sizeof(name), "memory:held by own process");
    else
        snprintf(name, sizeof(name), "memory:held by [%s]%s%s", wp_dictionary_string(x->timeline->dictionary, comm),
            is_home ? "" : "@", is_home ? "" : x->fleet->hosts[x->host].hostname);
    node = wp_explain_label(x, parent, WP_STYLE_WAIT, name);
    wp_explain_remember(x, key, node);
    return node;
}

/* "signal:SIGINT from [bash]": a kernel thread's signal is a key of the terminal, nobody's a timer's; the recorder
 * passes on another's. */
static uint32_t signal_node(struct wp_explainer *x, uint32_t parent, const struct wp_slice *slice)
{
    const char *known = wp_slice_signal(slice) ? sigabbrev_np((int)wp_slice_signal(slice)) : NULL;
    uint32_t sender = x->timeline->threads[slice->waker].identity;
    char name[WP_EXPLAIN_NAME + 64], from[WP_EXPLAIN_NAME] = "";
    if (!slice->wake_ns)
        return parent;
    if (!slice->waker)
        snprintf(from, sizeof(from), " from a timer");
    else if (wp_is_kernel_thread(x->timeline, sender))
        snprintf(from, sizeof(from), " from the terminal");
    else if (!wp_is_recorder(x->timeline, sender)) {
        memcpy(from, " from ", 7);
        wp_explain_name_process(x, sender, from + 6, sizeof(from) - 6);
    }
    if (known)
        snprintf(name, sizeof(name), "signal:SIG%s%s", known, from);
    else
        snprintf(name, sizeof(name), "signal:%u%s", wp_slice_signal(slice), from);
    return wp_explain_label(x, parent, WP_STYLE_WAIT, name);
}

/* Threads that wait for each other's locks: the others as layers on this one's sleep, then "deadlock:2 threads". */
static void on_ring(
    struct wp_explainer *x, const struct wp_wait *wait, const struct wp_holder_ring *ring, uint64_t from, uint64_t to)
{
    uint32_t node = wait->node;
    char name[32];
    for (uint32_t i = 1; i < ring->count; i++) {
        node = wp_explain_process_node(x, node, ring->slices[i]->identity);
        node = wp_explain_sleep_node(x, node, ring->slices[i], false);
        wp_explain_taken(x, ring->threads[i], from, to);
    }
    snprintf(name, sizeof(name), "deadlock:%u threads", ring->count);
    node = wp_explain_label(x, node, WP_STYLE_WAIT, name);
    wp_wait_emit(x, wait, signal_node(x, node, wait->slice), WP_OTHER_PATH, from, to);
}

/* False: it is not known whom it waited for. */
static __attribute__((noinline)) bool on_holder(
    struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    struct wp_holder_ring ring;
    uint32_t holder = wp_holder_of(x->timeline, wait->thread, wait->slice);
    if (!holder)
        holder = wp_holder_child(x->timeline, wait->thread, wait->slice, to - 1, wp_explain_horizon(x));
    if (!holder)
        return false;
    wp_holder_ring(x->timeline, wait->thread, wait->slice, to - 1, &ring);
    if (ring.count && ring.since_ns < to) {
        uint64_t low = ring.since_ns > from ? ring.since_ns : from;
        on_ring(x, wait, &ring, low, to);
        to = low;
    }
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){wait->node, holder, from, to, true});
    return true;
}

/* The recording ends before the answer to what it asked over TCP on this host: who read that has been busy with it
 * since, as far as is known. False: nobody has. */
static __attribute__((noinline)) bool on_asked(
    struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    const struct wp_messages *messages = &x->timeline->messages;
    uint32_t due = wait->slice->is_asking ? wp_asked_last(&messages->asked, wait->thread, wait->slice->out_ns) : 0;
    uint32_t peer = due ? wp_messages_peer(messages, due - 1) : 0;
    struct wp_receive read;
    struct wp_send sent;
    if (!peer || !wp_messages_last_send(messages, due - 1, to, &sent) ||
        !wp_messages_taken(messages, peer, (uint32_t)sent.end, sent.time_ns, &read) || read.time_ns >= to ||
        read.thread == wait->thread)
        return false;
    char name[160] = "";
    wp_name_socket(wp_dictionary_socket(x->timeline->dictionary, due - 1), wp_messages_opener(messages, due - 1), name,
        sizeof(name));
    uint32_t node = wp_explain_label(x, wait->node, WP_STYLE_NET, name);
    uint64_t low = read.time_ns > from ? read.time_ns : from;
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){node, read.thread, low, to, true});
    if (from < low)
        wp_wait_emit(x, wait, node, WP_MESSAGE_IN_FLIGHT, from, low);
    return true;
}

/* A signal ended it: what its sender did before is not what the sleeper waited for. */
static __attribute__((noinline)) void by_signal(
    struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    if (wait->slice->flags & WP_SLICE_DELIBERATE)
        wp_wait_emit(x, wait, signal_node(x, wait->node, wait->slice), WP_DELIBERATE_SLEEP, from, to);
    else if (!on_holder(x, wait, from, to))
        wp_wait_unaccounted(x, wait, signal_node(x, wait->node, wait->slice), from, to,
            "a signal ended it before what it waited for came");
}

/* "udp 10.0.0.2:53": an answer from there, as resolvers wait for one. "udp :53" is the end that is asked. */
static bool is_for_datagram(const struct wp_explainer *x, const struct wp_slice *slice)
{
    const char *name =
        slice->wait ? wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice)) : "";
    return !strncmp(name, "udp ", 4) && name[4] != ':';
}

/* Only another thread of the process ends it, which has not: an answer on a socket does not, asked for or not. */
static bool is_for_threads(const struct wp_explainer *x, const struct wp_slice *slice)
{
    const char *name =
        slice->wait ? wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice)) : "";
    return !strcmp(name, "eventfd");
}

/* The call's timeout is what it wanted: nothing that it had asked for could have come earlier. A lock that has a name
 * is asked for, and so is what a read waits for. */
static bool is_deliberate(const struct wp_explainer *x, const struct wp_slice *slice)
{
    bool may_sleep = wp_wait_is_choosing(slice) || (slice->syscall == WP_CALL_FUTEX + 1 && !slice->wait);
    return slice->flags & WP_SLICE_DELIBERATE ||
        (may_sleep && (!slice->is_asking || is_for_threads(x, slice)) && !is_for_datagram(x, slice));
}

/* The kernel makes it wait, for memory or for room among the pages to be written: nothing that it had asked for. */
static bool is_throttled(const struct wp_explainer *x, const struct wp_slice *slice)
{
    return slice->state == WP_STATE_UNINTERRUPTIBLE &&
        (wp_explain_memory_group(x, slice) || *wp_name_memory(x->timeline->dictionary, slice));
}

/* Where the answer was due whose absence a timer ended, socket + 1: where the call does not say itself what for. */
static uint32_t silent_socket(const struct wp_explainer *x, const struct wp_wait *wait)
{
    const struct wp_slice *slice = wait->slice;
    bool is_due = slice->is_asking && slice->cause == WP_CAUSE_TIMER && !slice->is_inferred && !slice->wait &&
        !is_deliberate(x, slice);
    return is_due ? (uint32_t)slice->cause_a : 0;
}

/* The answer came all the same, to another thread of a pool, and nobody had asked again: the timer was for something
 * else. */
static bool is_answered(const struct wp_explainer *x, const struct wp_wait *wait)
{
    return silent_socket(x, wait) &&
        wp_messages_answered(
            &x->timeline->messages, silent_socket(x, wait) - 1, wait->slice->wake_ns, wp_explain_horizon(x));
}

static void by_timer(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    if (wait->is_kernel)
        wp_wait_labelled(x, wait, &(struct wp_wait_label){WP_STYLE_WAIT, "kernel:timer", WP_KERNEL_BLOCK}, from, to);
    else if (silent_socket(x, wait) && !is_throttled(x, wait->slice) && !is_answered(x, wait))
        wp_wait_on_silence(x, wait, silent_socket(x, wait) - 1, from, to);
    else
        wp_wait_emit(x, wait, wait->node,
            is_throttled(x, wait->slice)                                ? WP_KERNEL_BLOCK
                : is_deliberate(x, wait->slice) || is_answered(x, wait) ? WP_DELIBERATE_SLEEP
                                                                        : WP_TIMEOUT,
            from, to);
}

/* Who ended the process that the waker died with; from that one's death on it is the waker's time. */
static void on_ender(struct wp_explainer *x, const struct wp_wait *wait, uint32_t waker, uint64_t from, uint64_t to)
{
    uint32_t ender = wp_process_ender(x->timeline, waker, wait->slice->wake_ns);
    const struct wp_slice *last = ender == waker ? NULL : wp_thread_last(&x->timeline->threads[ender]);
    uint64_t until = last && last->end_ns > from && last->end_ns < to ? last->end_ns : to;
    if (until < to)
        wp_wait_on_thread(x, wait, &(struct wp_wait_part){wait->node, waker, until, to, false});
    if (last && ender != wait->thread)
        wp_wait_on_thread(x, wait, &(struct wp_wait_part){wait->node, ender, from, until, false});
    else
        on_waker(x, wait, waker, from, until);
}

/* A signal that says nothing of a child ended a wait for one. */
static bool is_for_child(const struct wp_explainer *x, const struct wp_wait *wait, uint64_t to)
{
    unsigned number = wp_slice_signal(wait->slice);
    return number && number != SIGCHLD &&
        wp_holder_child(x->timeline, wait->thread, wait->slice, to - 1, wp_explain_horizon(x));
}

static void by_task(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    uint32_t waker = wait->slice->waker;
    if (wp_slice_is_interrupted(x->timeline, wait->slice)) {
        by_signal(x, wait, from, to);
        return;
    }
    if (is_for_child(x, wait, to) && on_holder(x, wait, from, to))
        return;
    if (!waker && wp_slice_signal(wait->slice)) { /* a timer's, for which it waited */
        by_timer(x, wait, from, to);
        return;
    }
    if (!waker || waker == wait->thread) {
        wp_wait_labelled(x, wait,
            &(struct wp_wait_label){WP_STYLE_WAIT, waker ? "kernel:self" : "kernel:idle", WP_KERNEL_BLOCK}, from, to);
        return;
    }
    uint32_t identity = x->timeline->threads[waker].identity;
    if (wp_is_kernel_thread(x->timeline, identity) &&
        !strncmp(wp_timeline_comm(x->timeline, identity), "migration/", 10))
        wp_wait_labelled(
            x, wait, &(struct wp_wait_label){WP_STYLE_WAIT, "kernel:migration", WP_KERNEL_BLOCK}, from, to);
    else
        on_ender(x, wait, waker, from, to);
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
            wp_wait_emit(x, wait, node, WP_BLOCKING_IO, end, to);
        if (begin < end)
            wp_wait_on_thread(x, wait, &(struct wp_wait_part){node, op->server, begin, end, true});
        to = begin < end ? begin : end;
        if (from < to)
            wp_wait_emit(x, wait, wp_explain_literal(x, node, WP_STYLE_IO, "io:queue"), WP_IO_QUEUE, from, to);
    } else {
        wp_wait_emit(x, wait, node, WP_BLOCKING_IO, from, to);
    }
}

static __attribute__((noinline)) void by_block(
    struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    const struct wp_timeline *timeline = x->timeline;
    const struct wp_blockop *op = wp_blockops_at(&timeline->blockops, wait->slice->cause_a);
    if (!op || !op->issue_ns || op->insert_ns >= to)
        op = wp_blockops_last_of(&timeline->blockops, wait->thread, wait->slice->wake_ns);
    if (!op) {
        wp_wait_labelled(x, wait, &(struct wp_wait_label){WP_STYLE_IO, "io:unknown", WP_BLOCKING_IO}, from, to);
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
        wp_wait_emit(x, wait, node, WP_IO_QUEUE, insert, to);
        to = insert;
    }
    if (op->thread && op->thread != wait->thread)
        wp_wait_on_thread(x, wait, &(struct wp_wait_part){wait->node, op->thread, from, to, true});
    else
        wp_wait_labelled(
            x, wait, &(struct wp_wait_label){WP_STYLE_WAIT, "kernel:before the request", WP_KERNEL_BLOCK}, from, to);
}

/* The peer that the sleep's socket is connected to, "udp 10.0.0.2:53", as a label: what came from the network without
 * being a segment or a datagram for it, is the report of an error (ICMP). False: it has none that is known. */
static bool unreachable(const struct wp_explainer *x, const struct wp_slice *slice, char *label, size_t room)
{
    const char *name =
        slice->wait ? wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice)) : "";
    bool is_inet = !strncmp(name, "udp ", 4) || !strncmp(name, "tcp ", 4);
    if (!is_inet || name[4] == ':')
        return false;
    snprintf(label, room, "%.3s:%.100s (unreachable)", name, name + 4);
    return true;
}

static __attribute__((noinline)) void by_softirq(
    struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
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
    char name[128];
    if (vector == TIMER || vector == HRTIMER) {
        by_timer(x, wait, from, to);
    } else if (vector == BLOCK) {
        by_block(x, wait, from, to);
    } else if (vector == NET_RX && wp_wait_is_sending(wait->slice)) { /* an acknowledgement made room */
        wp_wait_labelled(x, wait,
            &(struct wp_wait_label){WP_STYLE_NET, "room to send (reader not known)", WP_REMOTE_NOT_TRACED}, from, to);
    } else if (vector == NET_RX && unreachable(x, wait->slice, name, sizeof(name))) {
        wp_wait_labelled(x, wait, &(struct wp_wait_label){WP_STYLE_NET, name, WP_REMOTE_NOT_TRACED}, from, to);
    } else {
        bool is_kernel = vector == RCU || vector == SCHED;
        snprintf(name, sizeof(name), "%s:%s", is_kernel ? "kernel" : "softirq",
            vector < sizeof(names) / sizeof(names[0]) ? names[vector] : "unknown");
        wp_wait_labelled(x, wait,
            &(struct wp_wait_label){WP_STYLE_WAIT, name, is_kernel ? WP_KERNEL_BLOCK : WP_HARDWARE_WAIT}, from, to);
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
        wp_wait_labelled(x, wait, &(struct wp_wait_label){WP_STYLE_WAIT, name, WP_HARDWARE_WAIT}, from, to);
        break;
    case WP_CAUSE_SOFTIRQ:
        by_softirq(x, wait, from, to);
        break;
    default:
        if (wait->is_kernel || wait->slice->state == WP_STATE_UNINTERRUPTIBLE)
            wp_wait_labelled(
                x, wait, &(struct wp_wait_label){WP_STYLE_WAIT, "kernel:block", WP_KERNEL_BLOCK}, from, to);
        else
            wp_wait_unaccounted(x, wait, wait->node, from, to, "the cause of the waking is not known");
    }
}

static const char *why_unwoken(const struct wp_slice *slice)
{
    if (slice->is_cut)
        return "the recording paused before it ended";
    return slice->in_ns ? "its waking was not seen" : "the recording ended before it did";
}

/* A sleep up to its waking. */
struct asleep {
    uint64_t ordinal, from_ns, to_ns;
    struct wp_loop_end *loop; /* filled where it is one of a loop that has ended */
    uint32_t node;            /* that it stands on */
};

/* Where the sleep began, with those before it that are joined with it; mostly the one before it cannot be. */
static uint64_t start_of(struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal)
{
    const struct wp_slice *before = ordinal > thread->first_slice ? wp_thread_slice(thread, ordinal - 1) : NULL;
    bool may_join = before && (before->flags & WP_SLICE_PREEMPTED || wp_explain_may_go_on(before));
    return may_join ? wp_explain_defacto_start(x, thread, ordinal) : wp_thread_slice(thread, ordinal)->out_ns;
}

/* Of a sleep of a loop, without what ended the loop: what came after all was not what its timer was for. */
static enum wp_category alone(const struct wp_explainer *x, const struct wp_wait *wait, const struct wp_slice *slice)
{
    if (slice->cause != WP_CAUSE_TIMER)
        return WP_UNACCOUNTED;
    if (wait->is_kernel)
        return WP_KERNEL_BLOCK;
    bool has_come = wait->is_joined && wp_wait_is_choosing(slice);
    return is_deliberate(x, slice) || has_come ? WP_DELIBERATE_SLEEP : WP_TIMEOUT;
}

/* What a sleep that may be one of a loop waited for, into wait->slice; what came before its end is explained here.
 * True: it is not known yet. */
static __attribute__((noinline)) bool join_loop(struct wp_explainer *x, struct wp_wait *wait, struct asleep *part)
{
    const struct wp_thread *thread = &x->timeline->threads[wait->thread];
    const struct wp_slice *slice = wait->slice;
    uint64_t last = wp_explain_join_end(x, thread, part->ordinal), from = part->from_ns;
    const struct wp_slice *end = wp_thread_slice(thread, last);
    bool is_other =
        end->cause != WP_CAUSE_TIMER || slice->cause != WP_CAUSE_TIMER; /* timeouts of a loop stand each for itself */
    if (last != part->ordinal && end->in_ns && end->in_ns <= wp_explain_horizon(x) && end->wake_ns && is_other)
        wait->slice = end;
    enum wp_loop looping = wp_explain_loop(x, wait->thread, part->ordinal, part->loop);
    bool is_too_long = looping == WP_LOOP_OPEN && slice->is_asking && slice->cause == WP_CAUSE_TIMER;
    if (is_too_long)
        wp_explain_limit(x, WP_LIMIT_LOOP, 1, part->to_ns - from);
    if (looping == WP_LOOP_ENDED) {
        wait->slice = slice;
        uint64_t low = part->loop->slice.wake_ns > from ? part->loop->slice.wake_ns : from;
        if (low < part->to_ns) /* the answer was there, and the thread slept on */
            by_cause(x, wait, low, part->to_ns);
        part->to_ns = low < part->to_ns ? low : part->to_ns;
        last = part->loop->ordinal;
        wait->slice = &part->loop->slice;
        wait->is_outstanding = !part->loop->is_guess;
    }
    wait->is_joined = wait->slice != slice;
    wait->alone = alone(x, wait, slice);
    if (from < part->to_ns && last == part->ordinal && wp_explain_is_parted(x, thread, part->ordinal))
        wp_explain_limit(x, WP_LIMIT_JOIN, 1, part->to_ns - from);
    bool is_unknown = looping != WP_LOOP_ENDED && wait->slice == slice && slice->cause == WP_CAUSE_TIMER &&
        wp_explain_may_be_owed(x, wait->thread, slice);
    return is_too_long || is_unknown;
}

/* Something ended the sleep for nothing: what it waited for, into wait->slice. False: nothing is known to have. */
static __attribute__((noinline)) bool in_vain(struct wp_explainer *x, struct wp_wait *wait, const struct asleep *part)
{
    if (wp_explain_spurious(x, wait->thread, part->ordinal, part->loop) != WP_LOOP_ENDED)
        return false;
    wait->slice = &part->loop->slice;
    wait->is_outstanding = wait->is_joined = true;
    wait->alone = WP_UNACCOUNTED;
    return true;
}

/* An answer was owed, and a new request of another client ended the sleep: that one's time explains nothing. */
static __attribute__((noinline)) void on_owed(
    struct wp_explainer *x, struct wp_wait *wait, const struct wp_owing_end *owing, uint64_t from, uint64_t to)
{
    if (!owing->slice.wake_ns) {
        wp_wait_unaccounted(x, wait, wait->node, from, to,
            owing->sent_ns ? "what the owed answer waited for is not known" : "the owed answer was not sent yet");
        return;
    }
    wait->slice = &owing->slice;
    wait->is_joined = true;
    by_cause(x, wait, from, to);
}

/* A sleep that may go on with others, of a loop or since it was ended for nothing; `owing`: with an answer owed. */
static __attribute__((noinline)) void on_row(
    struct wp_explainer *x, struct wp_wait *wait, struct asleep *part, const struct wp_owing_end *owing, bool may_go_on)
{
    const struct wp_slice *slice = wait->slice;
    uint64_t parted_ns = x->parted_ns;
    bool is_in_vain = wp_explain_may_be_spurious(slice) && in_vain(x, wait, part);
    bool is_unknown = !is_in_vain && may_go_on && join_loop(x, wait, part);
    bool is_doubtful = slice->is_inferred || wait->slice->is_inferred || is_unknown;
    bool is_later = owing && owing->sent_ns && wait->slice->in_ns > owing->sent_ns; /* what else was outstanding */
    if (wait->is_joined)
        x->parted_ns = part->to_ns + (uint64_t)x->shift_ns;
    if (wait->is_joined && slice->cause == WP_CAUSE_TIMER && wait->slice->stack && wait->slice->stack != slice->stack &&
        wait->slice->syscall == slice->syscall) /* whose timer that was is not who waits */
        wait->node = wp_explain_sleep_node(x, part->node, wait->slice, wait->is_kernel);
    x->doubts += is_doubtful;
    if (owing && (wait->slice == slice || is_later))
        on_owed(x, wait, owing, part->from_ns, part->to_ns);
    else
        by_cause(x, wait, part->from_ns, part->to_ns);
    x->doubts -= is_doubtful;
    x->parted_ns = parted_ns;
}

void wp_explain_sleep(
    struct wp_explainer *x, uint32_t node, uint32_t index, uint64_t ordinal, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    struct wp_wait wait = {
        .thread = index, .slice = slice, .node = node, .is_kernel = wp_is_kernel_thread(x->timeline, slice->identity)};
    if (slice->flags & WP_SLICE_PREEMPTED) {
        if (from < to)
            wp_explain_runnable(x, &(struct wp_runnable){&wait, ordinal, node, true, 0}, from, to);
        return;
    }
    if (!(slice->flags & WP_SLICE_BORN))
        wait.node = wp_explain_sleep_node(x, node, slice, wait.is_kernel);
    if (wp_timeline_wait_is(x->timeline, slice, WP_WAIT_MEMORY) && wp_explain_memory_group(x, slice))
        wait.node = memory_node(x, wait.node, slice);
    uint64_t wake = slice->wake_ns > slice->out_ns ? slice->wake_ns : slice->out_ns;
    if (!slice->wake_ns) {
        bool is_deliberate = !slice->in_ns && slice->flags & WP_SLICE_DELIBERATE; /* whenever it would have ended */
        bool is_unended = !slice->in_ns && !is_deliberate && from < to;
        if (is_unended && (on_holder(x, &wait, from, to) || on_asked(x, &wait, from, to)))
            return;
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
    if (low < to) {
        wp_explain_runnable(x, &(struct wp_runnable){&wait, ordinal, wait.node, false, 0}, low, to);
        to = low;
    }
    if (from >= to)
        return;
    wait.start_ns = start_of(x, thread, ordinal);
    struct wp_loop_end loop;
    struct asleep part = {ordinal, from, to, &loop, node};
    struct wp_owing_end owing;
    bool is_owing = wp_explain_owing(x, index, slice, &owing) != WP_OWING_NOTHING;
    bool may_go_on = wp_explain_may_go_on(slice) || is_owing || (x->depth > 1 && wp_wait_is_for_others(x, &wait));
    if (may_go_on || wp_explain_may_be_spurious(slice)) {
        on_row(x, &wait, &part, is_owing ? &owing : NULL, may_go_on);
        return;
    }
    x->doubts += slice->is_inferred;
    by_cause(x, &wait, from, to);
    x->doubts -= slice->is_inferred;
}
