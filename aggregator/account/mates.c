/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/mates.h"

#include "aggregator/explain/explain_origin.h"
#include "aggregator/timeline/slices.h"
#include "common/lock_call.h"

#include <stdio.h>
#include <string.h>

#define LOCK_FRAMES 12u /* of a sleep's stack, the innermost ones: whether one takes a lock */

/* --- waiting for work --- */

/* "pthread_mutex_lock", "ObjectMonitor::enter", "queue_lock"; neither "unlock", "block" nor "clock". */
static bool names_lock(const char *name)
{
    static const char java[] = "java.util.concurrent.locks."; /* where conditions and queues live, too */
    if (wp_lock_is_gil(name) || wp_lock_call_language(name))
        return true;
    if (!strncmp(name, java, sizeof(java) - 1))
        return false;
    for (const char *at = strcasestr(name, "lock"); at; at = strcasestr(at + 1, "lock"))
        if (at == name || !strchr("bBcCnN", at[-1]))
            return true;
    return strcasestr(name, "mutex") && !strcasestr(name, "unlock");
}

static bool waits_for_lock(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    const struct wp_dictionary *dictionary = timeline->dictionary;
    if (names_lock(wp_dictionary_string(dictionary, wp_timeline_wait(timeline, slice))))
        return true;
    enum wp_lock_call call = WP_LOCK_CALL_UNKNOWN;
    uint32_t at = slice->stack;
    for (unsigned i = 0; at && i < LOCK_FRAMES; i++) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, at);
        const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(dictionary, entry->frame) : NULL;
        const char *function = frame ? wp_dictionary_string(dictionary, frame->function) : "";
        if (frame && !frame->is_kernel && names_lock(function))
            return true;
        if (frame && !frame->is_kernel && call != WP_LOCK_CALL_TURN)
            wp_lock_call_add(&call, function);
        if (call == WP_LOCK_CALL_TURN)
            return true;
        at = entry ? entry->parent : 0;
    }
    return false;
}

/* Who ended that sleep is a base thread, too, and of the same process. */
static bool is_by_own(const struct wp_mates *mates, const struct wp_slice *slice)
{
    const struct wp_timeline *timeline = mates->timeline;
    const struct wp_thread *waker = &timeline->threads[slice->waker];
    uint64_t ordinal = waker->slices ? wp_thread_find(waker, slice->wake_ns) : waker->slice_end;
    uint32_t identity = ordinal == waker->slice_end ? waker->identity : wp_thread_slice(waker, ordinal)->identity;
    return timeline->identities[identity].aggregates & mates->bit &&
        timeline->processes[timeline->identities[identity].process].pid ==
        timeline->processes[timeline->identities[slice->identity].process].pid;
}

bool wp_mates_is_idle(
    const struct wp_mates *mates, struct wp_explainer *x, uint32_t thread, const struct wp_slice *slice)
{
    const uint8_t others = WP_SLICE_BORN | WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_PREEMPTED | WP_SLICE_DELIBERATE;
    if (slice->cause != WP_CAUSE_TASK || !slice->wake_ns || !slice->waker || slice->waker == thread ||
        !slice->syscall || slice->is_inferred || slice->state != WP_STATE_INTERRUPTIBLE || slice->flags & others ||
        !is_by_own(mates, slice) || waits_for_lock(mates->timeline, slice))
        return false;
    uint64_t oldest_ns;
    enum wp_origin origin = wp_explain_waking(x, thread, slice, &oldest_ns);
    if (origin == WP_ORIGIN_NOT_KNOWN) /* what it asked for before that is forgotten */
        return slice->out_ns > oldest_ns;
    return origin == WP_ORIGIN_OTHER;
}

/* --- beside the total --- */

/* The threads of a pool have numbers, and are one row. */
static void put_thread(char *out, size_t room, const char *name)
{
    size_t size = strlen(out);
    for (; *name && size + 1 < room; name++) {
        bool is_digit = *name >= '0' && *name <= '9';
        if (!is_digit || out[size - 1] != '*')
            out[size++] = is_digit ? '*' : *name;
    }
    out[size] = 0;
}

/* How much of [from_ns, to_ns) is in the reported interval. */
static uint64_t reported(const struct wp_mates *mates, uint64_t from_ns, uint64_t to_ns)
{
    return wp_selector_cut(&mates->between, &from_ns, &to_ns);
}

/* "KIND[process] > [thread]" */
static bool put_mate(const struct wp_mates *mates, const char *kind, uint32_t identity, uint64_t ns)
{
    const struct wp_timeline *timeline = mates->timeline;
    const struct wp_identity *who = &timeline->identities[identity];
    const char *thread = wp_dictionary_string(timeline->dictionary, who->comm);
    const char *process = who->process_comm ? wp_dictionary_string(timeline->dictionary, who->process_comm) : thread;
    char name[2 * WP_STRING_BYTES + 32];
    if (!ns)
        return false;
    snprintf(name, sizeof(name), "%s%s%s", kind, process, strcmp(process, thread) ? " > " : "");
    if (strcmp(process, thread))
        put_thread(name, sizeof(name), thread);
    wp_report_limit(mates->report, name, 1, ns);
    if (mates->is_progress)
        wp_report_limit(mates->report, WP_REPORT_PROGRESS, 1, 0);
    return true;
}

bool wp_mates_tell_idle(const struct wp_mates *mates, uint32_t identity, uint64_t from_ns, uint64_t to_ns)
{
    return put_mate(mates, WP_REPORT_IDLE, identity, reported(mates, from_ns, to_ns));
}

static bool tell_slice(const struct wp_mates *mates, const struct wp_slice *slice, uint64_t end_ns)
{
    bool has_told = false;
    uint64_t in_ns = slice->in_ns ? slice->in_ns : end_ns,
             wake_ns = slice->wake_ns > slice->out_ns ? slice->wake_ns : in_ns;
    bool goes_on = slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_BORN) ||
        slice->cause == WP_CAUSE_BLOCK;
    if (!goes_on && wake_ns > slice->out_ns && !(slice->taken & mates->slept))
        has_told |= put_mate(mates, WP_REPORT_IDLE, slice->identity, reported(mates, slice->out_ns, wake_ns));
    uint64_t own_ns = slice->cause == WP_CAUSE_BLOCK ? reported(mates, slice->out_ns, wake_ns)
                                                     : 0; /* its own I/O; a CPU that is busy is no work */
    if (slice->in_ns && end_ns > slice->in_ns && !(slice->taken & mates->taken))
        has_told |=
            put_mate(mates, WP_REPORT_UNWAITED, slice->identity, reported(mates, slice->in_ns, end_ns) + own_ns);
    return has_told;
}

static bool tell_thread(
    const struct wp_mates *mates, const struct wp_thread *thread, uint64_t from_ns, uint64_t to_ns, bool is_final)
{
    bool has_told = false;
    uint64_t ordinal = wp_thread_find(thread, from_ns);
    if (ordinal == thread->slice_end)
        ordinal = thread->first_slice;
    for (; ordinal < thread->slice_end; ordinal++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_over = slice->end_ns && slice->end_ns <= to_ns;
        if (!(mates->timeline->identities[slice->identity].mates & mates->bit) || (is_over && slice->end_ns <= from_ns))
            continue;
        if (!is_over && (!is_final || slice->is_cut))
            break;
        if (is_over || slice->out_ns < to_ns)
            has_told |= tell_slice(mates, slice, is_over ? slice->end_ns : to_ns);
    }
    return has_told;
}

bool wp_mates_tell(const struct wp_mates *mates, uint64_t from_ns, uint64_t to_ns, bool is_final)
{
    const struct wp_timeline *timeline = mates->timeline;
    bool has_told = false;
    for (uint32_t i = 0; i < timeline->live_count && mates->is_progress; i++) {
        const struct wp_thread *thread = &timeline->threads[timeline->live[i]];
        if (thread->slices && thread->slice_end > thread->first_slice)
            has_told |= tell_thread(mates, thread, from_ns, to_ns, is_final);
    }
    return has_told;
}
