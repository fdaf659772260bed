/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_VIRTUAL_TIMER_H
#define WP_COLLECTOR_BPF_VIRTUAL_TIMER_H
/*
 * HotSpot 21 and 25: whose timer ends a sleep. A virtual thread that waits for a time has no kernel thread; one thread
 * sleeps for all of them until the earliest timer is due. In 21 it has them in a queue
 * (java/util/concurrent/ScheduledThreadPoolExecutor.java), in 25 in an array that a variable of a running method has
 * alone (DelayScheduler.java): either is looked for in what the sleeping thread has on its stack. The first timer leads
 * to the virtual thread, and its frames are a second stack of the sleep, as of Go (go_timer.h), which holds if it was
 * the timer that ended it. A timer is believed if it is due when the sleep times out and its thread waits: with wrong
 * offsets nothing is invented.
 */
#include "interp_java.h"
#include "wait.h"

enum {
    JAVA_SEARCHED = 512, /* words of the stack */
    JAVA_QUEUE = 16,     /* in a DelayedWorkQueue */
    JAVA_ARRAY = 16,
    JAVA_TASK_STATE = 12, /* in a timer, FutureTask or ForkJoinTask; below 0, or in 21 above: it is done */
    JAVA_TASK_BYTES = 72,
    JAVA_TASK_REPEATS = 8, /* behind when it is due: its period */
    JAVA_ADAPTED = 12,     /* in Executors.RunnableAdapter */
    JAVA_CAPTURED = 12,    /* in a lambda's object: what it has of the method that made it; ... */
    JAVA_CAPTURED_MORE = 4 /* ... behind a smaller value */
};
#define JAVA_TEXT_SLEEP 0x6e614e7065656c73ull /* "sleepNan" */
#define JAVA_TEXT_NANOS 0x736full             /* "os" */
enum { JAVA_SIZE_SLEEP = 10, JAVA_SLEEP_FRAMES = 6 };
#define JAVA_EARLY_NS 100000u
#define JAVA_LATE_NS 10000000u      /* between the computation of a timeout and the sleep */
#define JAVA_TIME_BASE (1ull << 63) /* DelayScheduler.nanoTimeOffset */
/* States of a virtual thread. In 25 its timer is set when its frames have left the stack, before it is said to wait. */
enum { JAVA_TIMED_PARKING = 6, JAVA_TIMED_PARKED = 7, JAVA_TIMED_WAITING = 17, JAVA_TIMED_WAIT = 18 };
/* The names of threads that may sleep so begin with these: "VirtualThread-unparker", "ForkJoinPool-1-delayScheduler".
 */
#define JAVA_UNPARKER 0x546c617574726956ull
#define JAVA_DELAY_SCHEDULER 0x6e696f4a6b726f46ull

/* Whether a thread may wait in the call for timers of virtual threads. */
static __always_inline bool may_have_timers(struct task_struct *task, __u32 number)
{
#if defined(__TARGET_ARCH_x86)
    __u64 name = *(__u64 *)task->comm;
    return number == CALL_FUTEX && (name == JAVA_UNPARKER || name == JAVA_DELAY_SCHEDULER);
#else
    return false;
#endif
}

/* Whether a virtual thread waits until its timer is due, with all of its frames in the heap. */
static __always_inline bool is_parked(const struct wp_java_layout *layout, __u64 thread)
{
    __u32 state;
    if (!read_user(&state, 4, thread + layout->thread_state))
        return false;
    return state == JAVA_TIMED_PARKED ||
        (layout->has_local_timers &&
            (state == JAVA_TIMED_PARKING || state == JAVA_TIMED_WAITING || state == JAVA_TIMED_WAIT));
}

/* The virtual thread that an object made of a lambda is about; 0: none. */
static __noinline __u64 captured_thread(struct interp_context *context, __u64 lambda)
{
    if (!lambda)
        return 0;
    __u64 thread = java_object(context, lambda + JAVA_CAPTURED);
    if (is_of_class(context, thread, WP_JAVA_VIRTUAL_THREAD))
        return thread;
    thread = java_object(context, lambda + JAVA_CAPTURED + JAVA_CAPTURED_MORE);
    return is_of_class(context, thread, WP_JAVA_VIRTUAL_THREAD) ? thread : 0;
}

/* The virtual thread whose timer is the first, if the sleep is until that; 0: it is not. */
static __noinline __u64 first_thread(struct interp_context *context, __u64 task)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process || !task || !read_user(w->code, JAVA_TASK_BYTES, task))
        return 0;
    const struct wp_java_layout *layout = &context->process->file.java;
    __s32 state = (__s32)half_in(CODE_WORD(w, JAVA_TASK_STATE), JAVA_TASK_STATE);
    __u64 due = CODE_WORD(w, layout->timer_due) ^ (layout->has_local_timers ? JAVA_TIME_BASE : 0);
    if (state < 0 || (state && !layout->has_local_timers) ||
        half_in(CODE_WORD(w, layout->timer_index), layout->timer_index) ||
        CODE_WORD(w, layout->timer_due + JAVA_TASK_REPEATS) ||
        w->timer.until + JAVA_EARLY_NS - due > JAVA_EARLY_NS + JAVA_LATE_NS)
        return 0;
    __u64 runs = java_object(context, task + layout->timer_runs);
    if (runs && !layout->has_local_timers)
        runs = java_object(context, runs + JAVA_ADAPTED);
    return captured_thread(context, runs);
}

/* A word of the sleeping thread's stack: 1: it leads to the timers, of which the first is the one. */
static __noinline long look_at_timers(struct interp_context *context, __u64 object)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    if (!w || !process || !object || object & 7 || object >> 47 ||
        object - process->file.loop < process->file.loop_end - process->file.loop ||
        !is_of_class(context, object, WP_JAVA_TIMERS))
        return 0;
    w->timer.is_met = 1;
    if (!process->file.java.has_local_timers)
        object = java_object(context, object + JAVA_QUEUE);
    if (object)
        w->timer.thread = first_thread(context, java_object(context, object + JAVA_ARRAY));
    return w->timer.thread != 0;
}

static long look_for_timers(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    if (!w || index >= JAVA_SEARCHED)
        return 1;
    __u32 in_window = index;
    barrier_var(in_window);
    in_window &= INTERP_WINDOW - 1;
    if (!in_window && !read_user(w->window, sizeof(w->window), w->timer.sp + 8ull * index))
        return 1;
    w->timer.at = index;
    return look_at_timers(context, w->window[in_window]);
}

/* Where they were found last is looked at first; a thread that has none is looked through ever more rarely. */
static __always_inline void find_timers(struct interp_context *context, struct thread *thread)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 object;
    w->timer.thread = 0;
    w->timer.is_met = 0;
    if (process->timer_slot && read_user(&object, 8, w->timer.sp + 8ull * process->timer_slot) &&
        look_at_timers(context, object))
        return;
    if (thread->searches & (thread->searches - 1)) {
        thread->searches++;
        return;
    }
    bpf_loop(JAVA_SEARCHED, look_for_timers, context, 0);
    thread->searches = w->timer.is_met ? 0 : thread->searches + 1;
    if (w->timer.thread)
        process->timer_slot = w->timer.at;
}

/* The walk that follows is through the frames that the virtual thread has in the heap. False: it is not as it says. */
static __always_inline bool enter_parked(struct interp_context *context, __u64 thread)
{
    struct wp_interp_process *process = context->process;
    struct walk *w = context->native;
    const struct wp_java_layout *layout = &process->file.java;
    __u64 table = process->file.code_type;
    __u64 continuation = java_object(context, thread + layout->thread_continuation);
    if (!continuation || !is_parked(layout, thread))
        return false;
    __u64 runs = java_object(context, continuation + JAVA_CONTINUATION_RUNS);
    if (!runs || java_object(context, runs + JAVA_WRAPPER_THREAD) != thread ||
        !read_user(&w->chunk, 4, continuation + JAVA_CONTINUATION_TAIL) ||
        !read_user(&w->heap_base, 8, table + (__s32)layout->heap_base) ||
        !read_user(&w->heap_shift, 4, table + (__s32)layout->heap_shift))
        return false;
    w->continuation = continuation;
    w->cache = process->file.loop;
    w->cache_bytes = process->file.loop_end - process->file.loop;
    w->parked = thread;
    return true;
}

/* The virtual thread whose timer the running thread waits for, which falls asleep for at most timeout_ns; 0: it is not
 * known. Not static: the verifier walks it once. */
__noinline __u64 timer_virtual(__u64 timeout_ns)
{
    __u32 zero = 0;
    struct task_struct *task = current_task();
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    struct interp_context context = {.walk = bpf_map_lookup_elem(&interp_walks, &zero),
        .process = interp_here(task),
        .native = bpf_map_lookup_elem(&walks, &zero)};
    struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
    if (!wp_interps || !regs || !thread || !context.walk || !context.process || !context.native ||
        WP_INTERP_LANGUAGE(context.process->file.version) != WP_INTERP_JAVA || !context.process->heap_count ||
        !context.process->file.java.thread_name)
        return 0;
    context.walk->timer.sp = regs->sp;
    context.walk->timer.until = bpf_ktime_get_ns() + timeout_ns;
    find_timers(&context, thread);
    __u64 found = context.walk->timer.thread;
    return found && enter_parked(&context, found) ? found : 0;
}

/* Whether a method is VirtualThread.sleepNanos, by its name, once for a process. */
static __always_inline bool is_sleeper(struct interp_walk *w, struct wp_interp_process *process, __u64 method)
{
    const struct wp_java_layout *layout = &process->file.java;
    __u64 fixed, name[2] = {};
    if (process->sleeper || !read_user(&fixed, 8, method + layout->at[WP_JAVA_METHOD_CONST]) ||
        !read_const(w, layout, fixed) || !read_class_name(w, layout, JAVA_POOL(w, layout, WP_JAVA_POOL_CLASS)) ||
        !has_name(w, WP_JAVA_VIRTUAL_THREAD))
        return process->sleeper == method;
    __u64 constants = JAVA_CONST(w, layout, WP_JAVA_CONST_POOL) + layout->pool_bytes;
    struct interp_bytes text = java_bytes(layout, constants + 8 * (JAVA_CONST(w, layout, WP_JAVA_CONST_NAME) & 0xffff));
    if (text.size != JAVA_SIZE_SLEEP || !read_user(name, JAVA_SIZE_SLEEP, text.from) || name[0] != JAVA_TEXT_SLEEP ||
        name[1] != JAVA_TEXT_NANOS)
        return false;
    process->sleeper = method;
    return true;
}

/* Whether the frames of the walk are those of a wait that nothing but its time ends. In 25 a timer that is given up
 * ends the sleep; in 21 it does not, and of waits for something else it is not known if they are given up. Not static:
 * as that. */
__noinline bool is_only_timed(struct interp_words *words)
{
    __u32 zero = 0;
    struct wp_interp_process *process = interp_here(current_task());
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &zero);
    if (!words || !w || !process || WP_INTERP_LANGUAGE(process->file.version) != WP_INTERP_JAVA)
        return false;
    if (process->file.java.has_local_timers)
        return true;
    for (__u32 i = 0; i < JAVA_SLEEP_FRAMES; i++)
        if (i < w->count && is_sleeper(w, process, WP_INTERP_CODE_OF(words->at[i])))
            return true;
    return false;
}

/* Whether the virtual thread of the walk has waited all the while. Not static: as that. */
__noinline bool is_parked_yet(__u64 thread)
{
    struct wp_interp_process *process = interp_here(current_task());
    return process && WP_INTERP_LANGUAGE(process->file.version) == WP_INTERP_JAVA &&
        is_parked(&process->file.java, thread);
}

#endif
