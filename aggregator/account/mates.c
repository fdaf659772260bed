/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/mates.h"

#include "aggregator/timeline/slices.h"

#include <stdio.h>
#include <string.h>

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
