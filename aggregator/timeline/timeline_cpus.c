/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline_cpus.h"

#include "common/array.h"

#include <stdlib.h>

bool wp_timeline_cpu_fit(struct wp_timeline *timeline, uint32_t cpu)
{
    uint32_t room = timeline->cpu_room;
    if (cpu < room)
        return true;
    if (!WP_ARRAY_FIT_ZERO(timeline->cpu_time, room, cpu + (size_t)1) &&
        !WP_ARRAY_FIT_ZERO(timeline->cpu_thread, timeline->cpu_room, cpu + (size_t)1))
        return true;
    timeline->failed = true;
    return false;
}

/* When `prev` came to the event's CPU, if the collector says so; else 0. */
static uint64_t told_came(const struct wp_event *event)
{
    return event->flags & WP_SWITCH_RAN && event->b && event->b < event->time_ns ? event->time_ns - event->b : 0;
}

uint64_t wp_timeline_cpu_came(
    const struct wp_timeline *timeline, uint32_t prev, const struct wp_event *event, bool is_break)
{
    uint64_t told = told_came(event);
    if (told)
        return told;
    const struct wp_slice *slice = wp_thread_last(&timeline->threads[prev]);
    if (is_break && slice && !slice->in_ns && !slice->wake_ns &&
        !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_FIRST)))
        return event->time_ns;
    uint64_t since = timeline->cpu_time[event->cpu];
    return since ? since : wp_timeline_window_start(timeline);
}

/* --- as what a thread runs --- */

static uint32_t process_name(const struct wp_identity *identity)
{
    return identity->process_comm ? identity->process_comm : identity->comm;
}

/* The name of the process of which a task woke or created the thread before that slice's run; 0: not known, or none
 * that it works for. */
static uint32_t asked_by(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    if (slice->cause != WP_CAUSE_TASK || slice->flags & WP_SLICE_IN_IRQ || slice->is_inferred || !slice->waker)
        return 0;
    const struct wp_identity *waker = &timeline->identities[timeline->threads[slice->waker].identity];
    const struct wp_process *process = &timeline->processes[waker->process];
    if (waker->process == timeline->identities[slice->identity].process || process->is_recorder)
        return 0;
    return waker->is_kernel ? 0 : process_name(waker);
}

/* As what the thread of that slice runs, `for_comm` being who asked for it. */
static void set_occupant(
    struct wp_timeline *timeline, const struct wp_slice *slice, struct wp_slice_cpu *on, uint32_t for_comm)
{
    struct wp_cpu_runs *runs = &timeline->cpu_runs;
    const struct wp_identity *identity = &timeline->identities[slice->identity];
    struct wp_occupant is = {.comm = process_name(identity), .for_comm = for_comm};
    if (on->occupant >= WP_OCCUPANT_FIRST && runs->occupants[on->occupant].comm == is.comm &&
        runs->occupants[on->occupant].for_comm == for_comm)
        return;
    is.is_kernel = identity->is_kernel;
    on->occupant = wp_cpu_runs_occupant(runs, &is);
}

void wp_timeline_cpu_wake(struct wp_timeline *timeline, const struct wp_thread *thread, const struct wp_slice *slice)
{
    set_occupant(timeline, slice, &thread->slice_cpus[wp_thread_last_place(thread)], asked_by(timeline, slice));
}

void wp_timeline_cpu_enter(struct wp_timeline *timeline, uint32_t index, uint32_t cpu)
{
    struct wp_thread *thread = &timeline->threads[index];
    if (thread->slice_end == thread->first_slice)
        return;
    struct wp_slice_cpu *on = &thread->slice_cpus[wp_thread_last_place(thread)];
    const struct wp_slice *slice = &thread->slices[on - thread->slice_cpus]; /* the two have one place */
    on->cpu = (uint16_t)cpu;
    thread->cpu = cpu;
    bool is_known = on->occupant >= WP_OCCUPANT_FIRST, is_woken = slice->wake_ns && !slice->is_inferred;
    if (slice->flags & (WP_SLICE_EXEC | WP_SLICE_RENAME))
        set_occupant(timeline, slice, on, is_known ? timeline->cpu_runs.occupants[on->occupant].for_comm : 0);
    else if (!is_known || !(is_woken || slice->flags & WP_SLICE_PREEMPTED))
        set_occupant(timeline, slice, on, 0);
}

void wp_timeline_cpu_reuse(struct wp_timeline *timeline)
{
    uint64_t bits[WP_OCCUPANT_BITS] = {0};
    if (!wp_cpu_runs_is_crowded(&timeline->cpu_runs))
        return;
    for (uint32_t i = 0; i < timeline->live_count; i++) {
        const struct wp_thread *thread = &timeline->threads[timeline->live[i]];
        uint16_t before = thread->ran_before.occupant;
        bits[before / 64] |= (uint64_t)1 << before % 64;
        for (uint64_t ordinal = thread->first_slice; ordinal < thread->slice_end; ordinal++) {
            uint16_t occupant = wp_thread_slice_cpu(thread, ordinal)->occupant;
            bits[occupant / 64] |= (uint64_t)1 << occupant % 64;
        }
    }
    wp_cpu_runs_reuse(&timeline->cpu_runs, bits);
}

/* --- runs --- */

static struct wp_cpu_run run_of(const struct wp_timeline *timeline, uint32_t index, uint64_t at_ns)
{
    const struct wp_thread *thread = &timeline->threads[index];
    if (!index)
        return (struct wp_cpu_run){.start_ns = at_ns, .occupant = WP_OCCUPANT_IDLE};
    bool is_known = thread->slice_end > thread->first_slice;
    return (struct wp_cpu_run){.start_ns = at_ns,
        .process = timeline->identities[thread->identity].process,
        .occupant = is_known ? thread->slice_cpus[wp_thread_last_place(thread)].occupant : WP_OCCUPANT_OTHER};
}

static void begin_run(struct wp_timeline *timeline, uint32_t cpu, const struct wp_cpu_run *run)
{
    if (!wp_cpu_runs_begin(&timeline->cpu_runs, cpu, run))
        timeline->failed = true;
}

/* Who had that CPU since the last switch is not known: what was taken from the thread meanwhile parts its stay into
 * several runs. */
static void lose_stay(struct wp_timeline *timeline, uint32_t cpu)
{
    wp_cpu_runs_cut(&timeline->cpu_runs, cpu, timeline->cpu_time[cpu]);
    wp_cpu_runs_correct(&timeline->cpu_runs, cpu, 0, WP_OCCUPANT_LOST);
}

void wp_timeline_cpu_leave(struct wp_timeline *timeline, const struct wp_event *event, uint32_t prev, bool is_break)
{
    struct wp_cpu_run last = {.occupant = WP_OCCUPANT_UNSEEN};
    bool is_known = wp_cpu_runs_last(&timeline->cpu_runs, event->cpu, &last);
    if (is_known && !is_break && last.occupant > WP_OCCUPANT_UNSEEN)
        return;
    struct wp_cpu_run run = run_of(timeline, prev, wp_timeline_window_start(timeline));
    if (is_break || last.occupant == WP_OCCUPANT_LOST) {
        lose_stay(timeline, event->cpu);
        run.start_ns = told_came(event);
        if (run.start_ns > timeline->cpu_time[event->cpu])
            begin_run(timeline, event->cpu, &run);
    } else if (is_known) {
        wp_cpu_runs_correct(&timeline->cpu_runs, event->cpu, run.process, run.occupant);
    } else if (run.start_ns < event->time_ns) {
        begin_run(timeline, event->cpu, &run);
    }
}

void wp_timeline_cpu_elsewhere(struct wp_timeline *timeline, uint32_t cpu)
{
    struct wp_cpu_run last;
    wp_cpu_runs_cut(&timeline->cpu_runs, cpu, timeline->cpu_time[cpu]);
    if (!wp_cpu_runs_last(&timeline->cpu_runs, cpu, &last) || last.occupant != WP_OCCUPANT_IDLE)
        return;
    struct wp_occupant is = {.for_comm = WP_OCCUPANT_ELSEWHERE};
    wp_cpu_runs_correct(&timeline->cpu_runs, cpu, 0, wp_cpu_runs_occupant(&timeline->cpu_runs, &is));
}

void wp_timeline_cpu_begin(struct wp_timeline *timeline, uint32_t cpu, uint64_t at_ns, uint32_t thread)
{
    struct wp_cpu_run run = run_of(timeline, thread, at_ns);
    timeline->cpu_thread[cpu] = thread + 1;
    timeline->cpu_time[cpu] = at_ns;
    begin_run(timeline, cpu, &run);
}

void wp_timeline_cpu_lose(struct wp_timeline *timeline, uint32_t cpu)
{
    timeline->cpu_thread[cpu] = 0;
    lose_stay(timeline, cpu);
}

void wp_timeline_cpu_seize(
    struct wp_timeline *timeline, uint32_t cpu, uint64_t at_ns, uint64_t ns, const struct wp_occupant *by)
{
    struct wp_cpu_run last;
    if (cpu >= timeline->cpu_room || !timeline->cpu_thread[cpu] || !wp_cpu_runs_last(&timeline->cpu_runs, cpu, &last) ||
        last.occupant <= WP_OCCUPANT_UNSEEN || at_ns <= last.start_ns || !ns)
        return;
    struct wp_cpu_run run = {.start_ns = at_ns - last.start_ns > ns ? at_ns - ns : last.start_ns,
        .occupant = wp_cpu_runs_occupant(&timeline->cpu_runs, by)};
    struct wp_cpu_run rest = run_of(timeline, timeline->cpu_thread[cpu] - 1, at_ns);
    begin_run(timeline, cpu, &run);
    begin_run(timeline, cpu, &rest);
}

void wp_timeline_cpu_unsee(struct wp_timeline *timeline, uint64_t at_ns)
{
    for (uint32_t cpu = 0; cpu < timeline->cpu_room; cpu++) {
        timeline->cpu_thread[cpu] = 0;
        timeline->cpu_time[cpu] = at_ns;
        begin_run(timeline, cpu, &(struct wp_cpu_run){.start_ns = at_ns, .occupant = WP_OCCUPANT_UNSEEN});
    }
}
