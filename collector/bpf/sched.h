/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_SCHED_H
#define WP_COLLECTOR_BPF_SCHED_H
/* Threads: switches, wakings, births and deaths, and what exists at the start. */
#include "acknowledge.h"
#include "call.h"
#include "cause.h"
#include "go_timer.h"
#include "holder.h"
#include "kernel_lock.h"
#include "memory.h"
#include "quota.h"
#include "seize.h"
#include "signal.h"
#include "stack_cache.h"
#include "virtual_timer.h"
#include "wait.h"

enum { /* as enum wp_event_kind of proto/event.h */
    KIND_SWITCH = 1,
    KIND_WAKING,
    KIND_FORK,
    KIND_EXEC,
    KIND_EXIT,
    KIND_RENAME,
    KIND_STATE,
    KIND_BLOCK_INSERT,
    KIND_BLOCK_ISSUE,
    KIND_BLOCK_COMPLETE,
    KIND_SOCK_SEND,
    KIND_SOCK_ARRIVE,
    KIND_SOCK_RECV,
    KIND_SOCK_STATE,
    KIND_SOCK_RETRANSMIT,
    KIND_SAMPLE,
    KIND_SOCK_LEAVE,
    KIND_LOCAL = 19
};

enum {
    STATE_RUNNING,
    STATE_INTERRUPTIBLE,
    STATE_UNINTERRUPTIBLE,
    STATE_STOPPED,
    STATE_TRACED,
    STATE_DEAD,
    STATE_IDLE,
    STATE_PARKED
};

struct wp_task_with {
    struct wp_record head;
    struct wp_record_task task;
};

struct exec_record {
    struct wp_record head;
    struct wp_record_exec exec;
};

/* include/linux/sched.h: TASK_*; __state before it became a pair of fields is not supported. */
static __always_inline __u32 state_of(__u32 state)
{
    if (state & 0xb0) /* EXIT_ZOMBIE | EXIT_DEAD | TASK_DEAD */
        return STATE_DEAD;
    if (state & 0x40)
        return STATE_PARKED;
    if (state & 8)
        return STATE_TRACED;
    if (state & 4)
        return STATE_STOPPED;
    if (state & 2)
        return state & 0x400 ? STATE_IDLE : STATE_UNINTERRUPTIBLE; /* TASK_NOLOAD */
    if (state & 0x9000) /* TASK_FROZEN (Linux 6.1, alone; a cgroup of version 1, a suspended host), TASK_RTLOCK_WAIT */
        return STATE_UNINTERRUPTIBLE;
    return state & 1 ? STATE_INTERRUPTIBLE : STATE_RUNNING;
}

/* The current task has read on another stream than before, or written on one and woken nobody. */
static __always_inline void send_local(__u64 time_ns, __u32 connection, __u64 written_ns)
{
    struct wp_record r;
    fill_head(&r, KIND_LOCAL, current_task());
    r.time_ns = time_ns;
    r.d = connection;
    r.c = !written_ns;
    r.a = written_ns && written_ns < time_ns ? time_ns - written_ns : 0;
    send_quick(&r);
}

/* The stream that the current task wrote to last since it came to this CPU, if nobody was woken by that; 0: none. */
static __always_inline __u32 unheard_of(const struct mark *m)
{
    bool is_unheard = m->cause == CAUSE_TASK && !m->is_heard && m->tid == (__u32)current_task()->pid;
    return is_unheard ? (__u32)m->d : 0;
}

/* Of the current task, without the sleep that it falls into (kernel/sched/core.c, __schedule: counted before the
 * tracepoint). */
static __always_inline __u64 sleeps_before(bool is_asleep)
{
    return current_task()->nvcsw - is_asleep;
}

/* It leaves the CPU; preemption does not change what it wrote. Global, as the next one: verified once. A program that
 * can be preempted may find that the mark is gone. */
__noinline int keep_unheard(__u32 unheard, __u64 written_ns, bool is_asleep)
{
    struct thread *thread = written_ns ? bpf_task_storage_get(&threads, current_task(), 0, 0) : 0;
    if (!thread)
        return 0;
    thread->unheard = unheard;
    thread->written_ns = written_ns;
    thread->written_sleeps = sleeps_before(is_asleep);
    return 0;
}

/* It falls asleep, or reads on another stream: the write is told, unless it waits as long as it takes, or has slept
 * since without that anybody looked: between windows, or while little is recorded of it. */
__noinline int tell_unheard(__u64 time_ns, bool is_wanted, bool is_asleep)
{
    struct thread *thread = bpf_task_storage_get(&threads, current_task(), 0, 0);
    if (!thread)
        return 0;
    if (is_wanted && thread->unheard && thread->written_sleeps == sleeps_before(is_asleep))
        send_local(time_ns, thread->unheard, thread->written_ns);
    thread->unheard = 0;
    return 0;
}

/* Where a host is a network namespace, threads of others are idle time, and the switch that ends it says that there
 * were some. False: the switch is between such threads, or the idle task and them. */
static __always_inline bool is_switch_here(
    struct cpu_context *context, struct wp_record *r, struct task_struct *prev, struct task_struct *next)
{
    if (prev->pid && !r->tid)
        context->elsewhere = 1;
    if (!r->tid && !r->other_tid && (prev->pid || next->pid))
        return false;
    if (context->elsewhere && !r->tid)
        r->flags |= 128; /* WP_SWITCH_ELSEWHERE */
    context->elsewhere = 0;
    return true;
}

#define ELSEWHERE_RUN 32u /* as many sleeps are worth a walk */

/* A thread falls asleep: what its stack is found by. */
struct asleep {
    void *ctx; /* of the switch */
    struct stack_record *record;
    struct task_struct *task;
    struct thread *thread; /* NULL: nothing can be remembered of it */
    __u64 frame;           /* where ctx is */
};

/* Its switch, which is told for the first time in all but the record's stack. */
static __always_inline void send_asleep(const struct asleep *a, struct pt_regs *regs)
{
    struct stack_record *r = a->record;
    struct thread *thread = a->thread;
    struct stack_cache *cache = thread && wp_unwinds ? &thread->stack_cache : 0;
    bool is_elsewhere = cache && regs && cache->key && (cache->ip != REGS_IP(regs) || cache->sp != regs->sp);
    __u64 key = 0;
    if (is_elsewhere) {
        key = recall(a->frame, 0);
        if (unlikely(++thread->elsewhere_run == ELSEWHERE_RUN))
            cache->key = 0; /* where it sleeps now is remembered in its place */
    } else if (cache && regs && is_as_remembered(a->frame, cache, a->task, regs)) {
        key = cache->key;
        r->interp = cache->interp;
        r->native = cache->native;
    }
    if (thread && !is_elsewhere)
        thread->elsewhere_run = 0;
    if (key && (key = key_now(key, r, &thread->chains))) {
        r->head.stack_key = key;
        send_quick(&r->head);
        return;
    }
    if (!is_walk_wanted()) {
        send_quick(&r->head);
        return;
    }
    take_stacks(a->ctx, r, a->task, regs, 0);
    r->kernel_ips = r->head.kernel_ips; /* the record is sent without them when the stack is known */
    bool is_known = send_with_stack(r, true);
    r->head.kernel_ips = r->kernel_ips;
    if (is_known && is_elsewhere)
        remember_elsewhere(a->frame, 0);
    else if (is_known && cache && regs)
        remember(a->frame, cache, r, a->task, regs);
}

/* Whether a call may be one in which a runtime waits for its program's timers. */
static __always_inline bool may_be_timer(struct task_struct *task, __u32 number)
{
    return is_epoll(number) || may_have_timers(task, number);
}

/* Whether a timer of Node.js may end the sleep of the running thread, which falls asleep for at most timeout_ns: the
 * walk that follows is for it. Not static: verified once. */
__noinline bool find_timer(__u64 timeout_ns)
{
    __u32 zero = 0;
    struct task_struct *task = current_task();
    struct interp_context context = {.walk = bpf_map_lookup_elem(&interp_walks, &zero), .process = interp_here(task)};
    struct interp_walk *w = context.walk;
    if (!wp_interps || !w || !context.process || task->pid != task->tgid ||
        WP_INTERP_LANGUAGE(context.process->file.version) != WP_INTERP_V8)
        return false;
    w->promises.timer = first_timer(&context);
    w->hash = NO_FRAMES;
    w->count = 0;
    if (w->promises.timer && !is_due(context.process, bpf_ktime_get_ns() + timeout_ns, w->promises.due))
        w->promises.timer = 0;
    return w->promises.timer;
}

/* What tells the timer apart that find_timer has found; 0: nobody is known to wait for it. */
static __always_inline __u64 node_timer(struct stack_record *r)
{
    __u32 zero = 0, count = walk_timer((struct interp_words *)r->ips);
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &zero);
    if (!w)
        return 0;
    if (count > 2 || (count == 2 && WP_INTERP_CODE_OF(r->ips[1])))
        return w->hash | 1;
    w->promises.timer = 0;
    return 0;
}

/* What tells the sleep of asyncio's task apart that a timer ends: all of its frames; 0: it is none. */
static __always_inline __u64 asyncio_timer(struct stack_record *r, __u64 timeout_ns)
{
    __u64 sleeper = timer_sleeper((struct interp_words *)r->ips, timeout_ns);
    return sleeper ? mix(sleeper, interp_chain(0)) | 1 : 0;
}

static __always_inline void end_timer_walk(struct walk *w)
{
    __u32 zero = 0;
    struct interp_walk *interp = bpf_map_lookup_elem(&interp_walks, &zero);
    w->goroutine = w->parked = 0;
    if (interp)
        interp->promises.timer = interp->sleeper.is_wanted = 0;
}

/* Whether the thread, whose switch is told, is one of Go, Node.js, asyncio or HotSpot whose sleep a timer may end, of
 * which it is not remembered where it stands: a walk finds that. Not static: verified once. */
__noinline bool wants_timer_stack(__u64 frame)
{
    __u32 zero = 0;
    struct thread *thread = bpf_task_storage_get(&threads, current_task(), 0, 0);
    struct walk *w = bpf_map_lookup_elem(&walks, &zero);
    struct stack_record *r = stack_scratch(0);
    if (!thread || !w)
        return false;
    thread->timer_stack = 0;
    thread->frame = frame;
    if (!wp_unwinds || !thread->timeout_ns)
        return false;
    w->goroutine = timer_goroutine(thread->timeout_ns);
    if (!w->goroutine && r && find_timer(thread->timeout_ns))
        w->goroutine = node_timer(r);
    if (!w->goroutine && r)
        w->goroutine = asyncio_timer(r, thread->timeout_ns);
    if (!w->goroutine && timer_virtual(thread->timeout_ns)) {
        if (is_walk_wanted())
            return true;
        end_timer_walk(w);
    }
    if (!w->goroutine)
        return false;
    thread->timer_stack = recall(frame, w->goroutine);
    if (!thread->timer_stack && is_walk_wanted())
        return true;
    end_timer_walk(w);
    return false;
}

/* Of a virtual thread, whose frames are in the record. */
static __always_inline bool is_wait_whole(struct stack_record *r, __u64 thread)
{
    __u64 at = (__u64)r->head.kernel_ips + r->head.user_ips;
    barrier_var(at);
    return at <= MAX_IPS && is_only_timed((struct interp_words *)&r->ips[at]) && is_parked_yet(thread);
}

/* The walk is done: its stack is in the scratch of switches. Not static, as that. */
__noinline int keep_timer_stack(void)
{
    __u32 zero = 0;
    struct thread *thread = bpf_task_storage_get(&threads, current_task(), 0, 0);
    struct walk *w = bpf_map_lookup_elem(&walks, &zero);
    struct stack_record *r = stack_scratch(0);
    if (!thread || !w || !r)
        return 0;
    r->kernel_ips = r->head.kernel_ips;
    if (w->end == WP_UNWIND_COMPLETE && (!w->parked || is_wait_whole(r, w->parked)) && send_stack(r)) {
        thread->timer_stack = r->head.stack_key;
        r->head.kernel_ips = r->kernel_ips;
        if (!w->parked)
            remember_elsewhere(thread->frame, w->goroutine);
    }
    end_timer_walk(w);
    return 0;
}

SEC("tp_btf/sched_switch")
int WORK_PROG(wp_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
    struct cpu_context *context = cpu_context();
    if (!context)
        return 0;
    begin_window(context);
    __u32 unheard = unheard_of(&context->marks[LEVEL_TASK]);
    if (unheard)
        keep_unheard(unheard, context->marks[LEVEL_TASK].time_ns, !preempt && state_of(prev_state) != STATE_RUNNING);
    clear_mark(context, LEVEL_TASK);
    end_seized(context, prev);
    if (is_between_windows())
        return 0;
    bool is_quota_told = wp_throttled && tell_quota(next);
    struct stack_record *r = stack_scratch(0);
    if (!r)
        return 0;
    fill_head(&r->head, KIND_SWITCH, prev);
    if ((r->head.b = ran_unseen_ns(context, prev, next, r->head.time_ns)))
        r->head.flags |= 8; /* WP_SWITCH_RAN */
    if (!is_quota_told)
        look_at_queue(next, r->head.time_ns, context->clock_offset_ns);
    if (is_here(next)) {
        r->head.other_tid = next->pid;
        r->head.other_pid = next->tgid;
    }
    if (wp_netns_inum && !is_switch_here(context, &r->head, prev, next))
        return 0;
    struct call call = {};
    struct pt_regs *regs = user_regs(prev);
    if (prev->pid)
        call = call_of(prev, regs);
    r->head.d = call.number;
    r->head.c = preempt ? STATE_RUNNING : state_of(prev_state);
    if (r->head.c == STATE_RUNNING && prev->pid && is_throttled(prev)) {
        r->head.flags |= 32; /* WP_SWITCH_THROTTLED */
        keep_quota(r->head.time_ns, context->clock_offset_ns);
    }
    if (r->head.c == STATE_RUNNING && prev->pid && !call.is_yield)
        r->head.flags |= 1; /* WP_SWITCH_PREEMPTED */
    else if (call.is_deliberate)
        r->head.flags |= 2; /* WP_SWITCH_DELIBERATE */
    if (r->head.c == STATE_INTERRUPTIBLE && (r->head.a = timeout_of(regs, call.number)))
        r->head.flags |= 4; /* WP_SWITCH_TIMED */
    if (!r->head.tid || r->head.c == STATE_RUNNING || r->head.c == STATE_DEAD || !is_chosen(r->head.pid)) {
        send_quick(&r->head);
        return 0;
    }
    if (!wp_walk_one_in) {
        is_walk_wanted();
        send_quick(&r->head);
        return 0;
    }
    /* Without user mode or memory there is nothing to remember. */
    struct thread *thread = regs ? bpf_task_storage_get(&threads, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) : 0;
    if (thread && thread->unheard)
        tell_unheard(r->head.time_ns, r->head.flags & 4, true); /* WP_SWITCH_TIMED */
    __u64 memory = thread && thread->memory.key | thread->memory.again ? memory_wait(r->head.time_ns, !call.number) : 0;
    if (memory) {
        r->head.d |= memory << 16;
    } else if (thread && thread->kernel_lock.address) {
        fill_kernel_lock(&r->head, &thread->kernel_lock);
    } else {
        if (thread && call.number)
            r->head.d |= wait_of(&thread->waits, prev, regs, call.number - 1) << 16;
        if (!(r->head.flags & 4) && (r->head.a = holder_of(regs, call.number)))
            r->head.flags |= 16; /* WP_SWITCH_HELD */
    }
    if (thread)
        thread->timeout_ns = wp_interps && r->head.flags & 4 && may_be_timer(prev, call.number - 1) ? r->head.a : 0;
    struct asleep asleep = {
        .ctx = ctx, .record = r, .task = prev, .thread = thread, .frame = number_of(&context->places[0], ctx)};
    send_asleep(&asleep, regs);
    if (unlikely(thread && (thread->timeout_ns || thread->timer_stack)) && wants_timer_stack(asleep.frame)) {
        take_stacks(ctx, r, prev, regs, 0);
        tell_codes(r);
        keep_timer_stack();
    }
    return 0;
}

/* Of a thread that a timer wakes; 0: as its switch said. */
static __always_inline __u64 timer_stack_of(struct task_struct *woken)
{
    struct pt_regs *regs = user_regs(woken);
    if (!wp_interps || !regs || !may_be_timer(woken, (__u32)REGS_CALL(regs)))
        return 0;
    struct thread *thread = bpf_task_storage_get(&threads, woken, 0, 0);
    return thread ? thread->timer_stack : 0;
}

SEC("tp_btf/sched_waking")
int WORK_PROG(wp_waking, struct task_struct *woken)
{
    struct cpu_context *context = cpu_context();
    if (!context || is_between_windows() || !is_here(woken))
        return 0;
    begin_window(context);
    struct task_struct *waker = current_task();
    struct wp_record r;
    fill_head(&r, KIND_WAKING, waker);
    r.other_tid = woken->pid;
    r.other_pid = woken->tgid;
    fill_cause(ctx, &r, context, waker);
    fill_acknowledged(&r, woken);
    fill_signal(&r, woken);
    r.stack_key = is_chosen(woken->tgid) ? ready_of(woken, &r, context) : 0;
    if (r.c == CAUSE_TIMER) /* before it has left the CPU it has the stack of the sleep before */
        r.a = woken->pid == waker->pid ? 0 : timer_stack_of(woken);
    send_quick(&r);
    return 0;
}

static __always_inline bool is_vfork(struct task_struct *parent)
{
#if defined(__TARGET_ARCH_x86)
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(parent);
    if (!regs)
        return false;
    long number = (long)BPF_CORE_READ(regs, orig_ax);
    return number == 58 || (number == 56 && BPF_CORE_READ(regs, di) & 0x4000); /* vfork; clone with CLONE_VFORK */
#else
    return false;
#endif
}

SEC("tp_btf/sched_process_fork")
int WORK_PROG(wp_fork, struct task_struct *parent, struct task_struct *child)
{
    __u32 parent_pid = parent->tgid, child_pid = child->tgid;
    if (wp_is_chosen_only && parent_pid != child_pid && bpf_map_lookup_elem(&chosen, &parent_pid)) {
        __u8 one = 1;
        bpf_map_update_elem(&chosen, &child_pid, &one, BPF_ANY);
    }
    if (is_unwatched() || !is_here(child))
        return 0;
    struct wp_task_with *r = RESERVE(struct wp_task_with, KIND_FORK);
    if (!r)
        return 0;
    fill_head(&r->head, KIND_FORK, parent);
    r->head.other_tid = child->pid;
    r->head.other_pid = child_pid;
    r->head.flags = (parent_pid == child_pid ? 1 : 0) | (is_vfork(parent) ? 2 : 0); /* WP_FORK_* */
    r->head.tail = sizeof(r->task);
    fill_task(&r->task, child);
    submit(r);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int WORK_PROG(wp_exec, struct task_struct *task, int old_tid, struct linux_binprm *program)
{
    if (!is_here(task))
        return 0;
    if (wp_unwinds && program->file && is_chosen(task->tgid))
        file_number(program->file, task->tgid, 0); /* its rows may be known before it first sleeps */
    if (is_unwatched())
        return 0;
    struct exec_record *r = RESERVE(struct exec_record, KIND_EXEC);
    if (!r)
        return 0;
    fill_head(&r->head, KIND_EXEC, task);
    r->head.other_tid = old_tid; /* the thread that called exec, before it took over the leader's number */
    r->head.tail = sizeof(r->exec);
    fill_task(&r->exec.task, task);
    if (bpf_probe_read_kernel_str(r->exec.path, sizeof(r->exec.path), program->filename) < 0)
        r->exec.path[0] = 0;
    r->exec.cmdline_size = 0;
    if (wp_wants_cmdline && task->mm) {
        unsigned long start = BPF_CORE_READ(task, mm, arg_start), size = BPF_CORE_READ(task, mm, arg_end) - start;
        if (size > WP_RECORD_CMDLINE)
            size = WP_RECORD_CMDLINE;
        if (size && !bpf_probe_read_user(r->exec.cmdline, size, (void *)start))
            r->exec.cmdline_size = (__u32)size;
    }
    submit_now(r);
    return 0;
}

/* As wait(2) has it, in a byte: a signal, WP_EXIT_OOM, or an exit status from 65 (WP_EXIT_STATUS) on. */
static __always_inline __u8 ending_of(struct task_struct *task)
{
    __u32 code = (__u32)task->exit_code, signal = code & 0x7f, status = code >> 8 & 0xff;
    if (signal == 9 && bpf_core_field_exists(task->signal->oom_mm) && BPF_CORE_READ(task, signal, oom_mm))
        return 254;
    if (signal)
        return signal <= 64 ? (__u8)signal : 0;
    return status > 253 - 65 ? 255 : (__u8)(65 + status);
}

SEC("tp_btf/sched_process_exit")
int WORK_PROG(wp_exit, struct task_struct *task)
{
    __u32 pid = task->tgid;
    if (wp_is_chosen_only && task->pid == task->tgid)
        bpf_map_delete_elem(&chosen, &pid);
    if (is_unwatched() || !is_here(task))
        return 0;
    struct wp_record *r = RESERVE(struct wp_record, KIND_EXIT);
    if (!r)
        return 0;
    fill_head(r, KIND_EXIT, task);
    r->flags = ending_of(task);
    submit(r);
    return 0;
}

SEC("tp_btf/task_rename")
int WORK_PROG(wp_rename, struct task_struct *task, const char *comm)
{
    if (is_unwatched() || !is_here(task))
        return 0;
    struct wp_task_with *r = RESERVE(struct wp_task_with, KIND_RENAME);
    if (!r)
        return 0;
    fill_head(&r->head, KIND_RENAME, task);
    r->head.flags = task == current_task();
    r->head.tail = sizeof(r->task);
    fill_task(&r->task, task);
    bpf_probe_read_kernel_str(r->task.comm, sizeof(r->task.comm), comm);
    submit(r);
    return 0;
}

/* What it has slept for since before the recording, behind its STATE. */
static __always_inline void tell_old_sleep(struct task_struct *task)
{
    struct wp_record r;
    __u64 key = socket_from_before(task);
    if (!key)
        return;
    fill_head(&r, KIND_REASON, task);
    r.c = REASON_SLEEP;
    r.stack_key = key;
    send_head(&r);
}

volatile __u32 wp_introduces SEC(".data") = 0; /* the list is of who is there, before the first event */

SEC("iter/task")
int wp_tasks(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    if (!task || !is_here(task) || task->exit_state)
        return 0;
    struct wp_task_with *r = RESERVE(struct wp_task_with, KIND_STATE);
    if (!r)
        return 0;
    fill_head(&r->head, KIND_STATE, task);
    r->head.c = state_of(task->__state);
    r->head.d = call_of(task, user_regs(task)).number;
    r->head.cpu = 0;
    bool is_asleep = !task->on_cpu && r->head.d && r->head.c == STATE_INTERRUPTIBLE;
    if (task->on_cpu) {
        r->head.c = STATE_RUNNING;
        r->head.flags = 1; /* WP_STATE_ON_CPU */
        if (bpf_core_field_exists(((struct task_struct___cpu *)0)->thread_info.cpu))
            r->head.cpu = (__u16)BPF_CORE_READ((struct task_struct___cpu *)task, thread_info.cpu);
    }
    r->head.tail = sizeof(r->task);
    fill_task(&r->task, task);
    if (wp_introduces)
        r->head.flags = WP_RECORD_INTRODUCES;
    submit(r);
    if (is_asleep && !wp_introduces)
        tell_old_sleep(task);
    return 0;
}

static __always_inline void sample(void *ctx)
{
    struct task_struct *task = current_task();
    struct stack_record *r = stack_scratch(1);
    if (is_between_windows() || !r || !task->pid || !is_here(task) || !is_chosen(task->tgid))
        return;
    fill_head(&r->head, KIND_SAMPLE, task);
    take_stacks(ctx, r, task, user_regs(task), 1);
    send_with_stack(r, false);
}

SEC("perf_event")
int wp_sample(void *ctx)
{
    __u64 began_ns = begin_work();
    sample(ctx);
    end_work(began_ns);
    return 0;
}

#endif
