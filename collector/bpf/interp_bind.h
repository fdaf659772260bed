/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_BIND_H
#define WP_COLLECTOR_BPF_INTERP_BIND_H
/*
 * Which processes run an interpreter: one whose stack leads through code of a file that the reader has found to be one.
 * So a process that lives a moment is known as soon as its first stack is walked, and a child after its first.
 */
#include "emit.h"
#include "interp_row.h"
#include "unwind_row.h"

const volatile bool wp_interps = false; /* frames of interpreted languages are wanted */

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1024);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct wp_unwind_file);
    __type(value, struct wp_interp_file);
} interp_files SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, __u64); /* address of its mm_struct */
    __type(value, struct wp_interp_process);
} interp_processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct wp_interp_process);
} interp_bindings SEC(".maps");

/* Where asyncio keeps the tasks that run, in a process. */
struct running_tasks {
    __u64 address, start_code;
    __u32 tgid, exec_id;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u64); /* address of its mm_struct */
    __type(value, struct running_tasks);
} running_tasks SEC(".maps");

struct interp_record {
    struct wp_record head;
    struct wp_record_interp interp;
};

/* Before the first stack with such frames, and again when the reader has forgotten. False: there was no room. */
static __always_inline bool report_process(struct wp_interp_process *process, __u64 epoch)
{
    if (process->epoch == epoch)
        return true;
    struct interp_record *r = RESERVE(struct interp_record, WP_RECORD_INTERP);
    if (!r)
        return false;
    __builtin_memset(&r->head, 0, sizeof(r->head));
    r->head.time_ns = bpf_ktime_get_ns();
    r->head.kind = WP_RECORD_INTERP;
    r->head.pid = process->tgid;
    r->head.c = process->file.version;
    r->head.tail = sizeof(r->interp);
    r->interp.loop = process->file.loop;
    r->interp.loop_end = process->file.loop_end;
    r->interp.cold = process->file.cold;
    r->interp.cold_end = process->file.cold_end;
    r->interp.inner = process->file.inner;
    r->interp.inner_end = process->file.inner_end;
    submit(r);
    process->epoch = epoch;
    return true;
}

static __always_inline bool is_bound(
    const struct wp_interp_process *process, struct task_struct *task, __u64 start_code, __u64 runtime)
{
    return process && process->tgid == (__u32)task->tgid && process->exec_id == task->self_exec_id &&
        process->start_code == start_code && process->file.runtime == runtime;
}

/* In the running thread's process asyncio keeps its tasks there. Not static: what calls it has no room on its stack. */
__noinline int bind_tasks(__u64 address)
{
    struct task_struct *task = current_task();
    __u64 mm = address_of(&task->mm);
    struct running_tasks tasks = {address, BPF_CORE_READ(task, mm, start_code), (__u32)task->tgid, task->self_exec_id};
    bpf_map_update_elem(&running_tasks, &mm, &tasks, BPF_ANY);
    return 0;
}

/* Code of a file was met in the running thread; base: where offset 0 of the file would be. Other threads of the process
 * see all of it or nothing. */
static __always_inline void bind_interp(struct inode *inode, __u64 base, __u32 which)
{
    struct task_struct *task = current_task();
    struct wp_unwind_file key = {.inode = BPF_CORE_READ(inode, i_ino), .device = BPF_CORE_READ(inode, i_sb, s_dev)};
    struct wp_interp_file *file = bpf_map_lookup_elem(&interp_files, &key);
    if (!file)
        return;
    __u64 mm = address_of(&task->mm), start_code = BPF_CORE_READ(task, mm, start_code);
    if (file->version == WP_INTERP_ASYNCIO) {
        bind_tasks(base + file->runtime);
        return;
    }
    if (is_bound(bpf_map_lookup_elem(&interp_processes, &mm), task, start_code, base + file->runtime))
        return;
    struct wp_interp_process *process = bpf_map_lookup_elem(&interp_bindings, &which);
    if (!process)
        return;
    process->file = *file;
    process->file.runtime += base;
    process->file.code_type += base;
    process->file.loop += base;
    process->file.loop_end += base;
    process->file.cold += file->cold ? base : 0;
    process->file.cold_end += file->cold ? base : 0;
    process->file.inner += file->inner ? base : 0;
    process->file.inner_end += file->inner ? base : 0;
    process->start_code = start_code;
    process->epoch = process->since_ns = process->sent = 0;
    process->heap_count = 0;
    process->timers = process->timer_base = process->timer_slot = process->timer_tries = 0;
    __builtin_memset(process->heaps, 0, sizeof(process->heaps));
    __builtin_memset(process->classes, 0, sizeof(process->classes));
    process->tgid = task->tgid;
    process->exec_id = task->self_exec_id;
    bpf_map_update_elem(&interp_processes, &mm, process, BPF_ANY);
}

/* The interpreter that the running thread's process runs, NULL: none that is known. */
static __always_inline struct wp_interp_process *interp_here(struct task_struct *task)
{
    __u64 mm = address_of(&task->mm);
    struct wp_interp_process *process = bpf_map_lookup_elem(&interp_processes, &mm);
    return process && process->tgid == (__u32)task->tgid && process->exec_id == task->self_exec_id ? process : 0;
}

#endif
