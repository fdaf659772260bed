/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/gap_repair.h"

#include "aggregator/timeline/slices.h"

static uint64_t at_least(uint64_t time_ns, uint64_t least_ns)
{
    return time_ns > least_ns ? time_ns : least_ns;
}

void wp_gap_repair_in(struct wp_timeline *timeline, uint32_t index, uint64_t at_ns)
{
    struct wp_thread *thread = &timeline->threads[index];
    struct wp_slice *slice = wp_thread_last(thread);
    timeline->counts.repaired_in++;
    if (!slice || slice->in_ns) { /* never seen: begins here */
        slice = wp_timeline_push_slice(timeline, thread, at_ns);
        if (!slice)
            return;
        slice->flags |= WP_SLICE_FIRST;
    }
    slice->in_ns = at_least(at_ns, slice->wake_ns ? slice->wake_ns : slice->out_ns);
    slice->flags |= WP_SLICE_UNCERTAIN;
    wp_unseen_waking(timeline, index);
}

void wp_gap_repair_out(struct wp_timeline *timeline, uint32_t index, uint64_t at_ns)
{
    struct wp_thread *thread = &timeline->threads[index];
    struct wp_slice *slice = wp_thread_last(thread);
    timeline->counts.repaired_out++;
    slice->end_ns = at_least(at_ns, slice->in_ns);
    slice->flags |= WP_SLICE_UNCERTAIN;
    wp_timeline_add_running(timeline, slice->identity, slice->end_ns - slice->in_ns);
    struct wp_slice *next = wp_timeline_push_slice(timeline, thread, slice->end_ns);
    if (next) {
        next->flags |= WP_SLICE_UNCERTAIN;
        next->state = WP_STATE_INTERRUPTIBLE;
    }
}

/* --- wakings --- */

static void infer(struct wp_timeline *timeline, struct wp_slice *slice, enum wp_cause cause, uint64_t wake_ns)
{
    timeline->counts.inferred_wakings++;
    slice->wake_ns = wake_ns < slice->in_ns ? at_least(wake_ns, slice->out_ns) : slice->in_ns;
    slice->cause = cause & 7u;
    slice->waker = 0;
    slice->is_inferred = true;
}

/* The sleep before that of this ordinal, whoever else had the CPU in between; NULL: not known. */
static const struct wp_slice *sleep_before(const struct wp_thread *thread, uint64_t *ordinal)
{
    while (*ordinal > thread->first_slice) {
        const struct wp_slice *before = wp_thread_slice(thread, --*ordinal);
        if (!(before->flags & WP_SLICE_PREEMPTED))
            return before;
    }
    return NULL;
}

/* The shortest and the longest of the sleeps straight before this one at the same place that are known to have timed
 * out: the kernel's own timeouts end with one of its ticks, and differ by as much. Both are 0 where there is none. */
struct timeouts {
    uint64_t least_ns, most_ns;
};

static struct timeouts timeouts_before(const struct wp_thread *thread, const struct wp_slice *slice)
{
    struct timeouts are = {0, 0};
    uint64_t ordinal = thread->slice_end - 1;
    for (unsigned i = 0; i < WP_UNSEEN_LOOP_SLEEPS && slice->syscall; i++) {
        const struct wp_slice *before = sleep_before(thread, &ordinal);
        if (!before || before->cause != WP_CAUSE_TIMER || !before->wake_ns || before->syscall != slice->syscall ||
            before->stack != slice->stack)
            break;
        if (before->is_inferred)
            continue;
        uint64_t slept = before->wake_ns - before->out_ns;
        are.least_ns = !are.most_ns || slept < are.least_ns ? slept : are.least_ns;
        are.most_ns = at_least(slept, are.most_ns);
    }
    return are;
}

/* As long as they took, or longer: the timer was first, and the thread waited for a CPU. */
static bool is_as_before(const struct wp_thread *thread, const struct wp_slice *slice, uint64_t *wake_ns)
{
    uint64_t slept = slice->in_ns - slice->out_ns;
    struct timeouts are = slept < WP_UNSEEN_LOOP_NS ? timeouts_before(thread, slice) : (struct timeouts){0, 0};
    *wake_ns = slice->out_ns + (slept < are.most_ns + WP_UNSEEN_SLACK_NS ? slept : are.most_ns);
    return are.most_ns && slept + WP_UNSEEN_SLACK_NS >= are.least_ns;
}

/* One that ended in the sleep, or, where the disk's interrupt was not seen either, one that has not ended and was there
 * before it. */
static bool by_disk(struct wp_timeline *timeline, uint32_t index, struct wp_slice *slice)
{
    const struct wp_blockops *blockops = &timeline->blockops;
    const struct wp_blockop *op =
        slice->state == WP_STATE_UNINTERRUPTIBLE ? wp_blockops_last_of(blockops, index, slice->in_ns) : NULL;
    if (op && op->done_ns > slice->out_ns) {
        slice->cause_a = wp_blockops_number_of(blockops, op);
        infer(timeline, slice, WP_CAUSE_BLOCK, op->done_ns);
        return true;
    }
    op = slice->state == WP_STATE_UNINTERRUPTIBLE ? wp_blockops_last_begun(blockops, index) : NULL;
    if (!op || op->done_ns || !op->issue_ns || op->insert_ns > slice->out_ns)
        return false;
    slice->cause_a = wp_blockops_number_of(blockops, op);
    infer(timeline, slice, WP_CAUSE_BLOCK, slice->in_ns);
    return true;
}

void wp_unseen_waking(struct wp_timeline *timeline, uint32_t index)
{
    struct wp_thread *thread = &timeline->threads[index];
    struct wp_slice *slice = wp_thread_last(thread);
    if (slice->wake_ns || slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_FIRST))
        return;
    timeline->counts.unseen_wakings++;
    uint64_t timeout = slice->cause_a & WP_SLICE_HELD ? 0 : slice->cause_a, slept = slice->in_ns - slice->out_ns,
             wake_ns;
    if (timeout) {
        if (slept >= timeout || timeout - slept <= WP_UNSEEN_SLACK_NS)
            infer(timeline, slice, WP_CAUSE_TIMER, slept > timeout ? slice->out_ns + timeout : slice->in_ns);
    } else if (is_as_before(thread, slice, &wake_ns)) {
        infer(timeline, slice, WP_CAUSE_TIMER, wake_ns);
    } else {
        by_disk(timeline, index, slice);
    }
}

static bool is_reading(const struct wp_slice *slice)
{
    switch (slice->syscall - 1) { /* read, readv, recvfrom, recvmsg, recvmmsg */
    case 0:
    case 19:
    case 45:
    case 47:
    case 299:
        return true;
    default:
        return false;
    }
}

void wp_unseen_read(struct wp_timeline *timeline, uint32_t index, const struct wp_event *event)
{
    bool is_read = event->kind == WP_EVENT_SOCK_RECV;
    struct wp_slice *slice = index && is_read ? wp_thread_last(&timeline->threads[index]) : NULL;
    if (!slice || slice->wake_ns || !slice->in_ns || slice->end_ns ||
        slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_FIRST) || !is_reading(slice) ||
        event->time_ns - slice->in_ns > WP_UNSEEN_READ_NS)
        return;
    slice->cause_a = wp_messages_position(&timeline->messages, event->d, event->a);
    slice->cause_d = event->d;
    infer(timeline, slice, WP_CAUSE_MESSAGE, slice->in_ns);
}
