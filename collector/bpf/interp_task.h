/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_TASK_H
#define WP_COLLECTOR_BPF_INTERP_TASK_H
/*
 * asyncio: the task that a coroutine belongs to. An event loop runs a task's step from Handle._run, whose `self` leads
 * to the callback and that to the task. Of a loop without such a frame (uvloop) it is among the tasks that run, of
 * which asyncio has one for each loop. It is the coroutine's only if it says so itself: nothing is guessed.
 */
#include "interp_sending.h"

enum {
    PYTHON_OF_GENERATOR = 1, /* FRAME_OWNED_BY_GENERATOR */
    HANDLE_CALLBACK = 24,    /* in a Handle: of its slots, which are sorted, _args comes before _callback */
    CALLBACK_STEP = 2,       /* words in a callback: sw_task of a TaskStepMethWrapper, ... */
    CALLBACK_SELF = 3,       /* ... m_self of the method that wakes a task */
    TASK_WORDS = 24,         /* of a task are looked through */
    TASK_FIRST = 8,
    DICT_KEYS = 32, /* in a dictionary ... */
    DICT_HEAD =
        32, /* ... and bytes before the indices of its keys, which entries come behind, of a hash, key and value */
    DICT_ENTRY = 24,
    LOOPS = 128 /* entries that are looked through */
};

/* What a frame refers to: since 3.14 the lowest bits tell how (_PyStackRef). */
#define PYTHON_OBJECT(word) ((word) & ~3ull)

/* The string behind the coroutine in a task (task_coro, task_name); 0: it is no task of this coroutine. */
static __always_inline __u64 task_name_at(struct interp_walk *w, __u64 task)
{
    if (!task || task & 7 || !read_user(w->code, 8 * TASK_WORDS, task))
        return 0;
#pragma unroll
    for (__u32 i = TASK_FIRST; i < TASK_WORDS - 1; i++)
        if (w->code[i] == w->coroutine)
            return w->code[i + 1];
    return 0;
}

struct task_search {
    struct interp_walk *walk;
    __u64 entries, name;
};

static long look_at_running(__u32 index, void *argument)
{
    struct task_search *s = argument;
    __u64 task;
    if (!s->walk || !read_user(&task, 8, s->entries + index * (__u64)DICT_ENTRY + 16))
        return 1;
    s->name = task_name_at(s->walk, task); /* an entry that was taken out has none */
    return s->name != 0;
}

/* As task_name_at, of the tasks that run (Objects/dictobject.c, pycore_dict.h of CPython 3.11). */
static __noinline __u64 running_name(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    struct task_struct *task = current_task();
    __u64 mm = address_of(&task->mm), dict, keys, head[4];
    struct running_tasks *tasks = bpf_map_lookup_elem(&running_tasks, &mm);
    struct task_search search = {.walk = w};
    if (!w || !tasks || tasks->tgid != (__u32)task->tgid || tasks->exec_id != task->self_exec_id ||
        tasks->start_code != BPF_CORE_READ(task, mm, start_code) || !read_user(&dict, 8, tasks->address) || !dict ||
        dict & 7 || !read_user(&keys, 8, dict + DICT_KEYS) || !keys || keys & 7 || !read_user(head, sizeof(head), keys))
        return 0;
    /* dk_log2_size, dk_log2_index_bytes, dk_kind: DICT_KEYS_GENERAL; dk_nentries */
    __u32 index_bits = head[1] >> 8 & 255, kind = head[1] >> 16 & 255;
    if (kind || index_bits > 16)
        return 0;
    search.entries = keys + DICT_HEAD + (1ull << index_bits);
    bpf_loop(head[3] < LOOPS ? (__u32)head[3] : LOOPS, look_at_running, &search, 0);
    return search.name;
}

/* Each digit of eight characters becomes WP_INTERP_TASK_DIGIT: tasks that are numbered are of one kind, and a process
 * that numbers its connections has no kinds without end. */
static __always_inline __u64 without_digits(__u64 text)
{
    __u64 from_zero = text ^ 0x3030303030303030ull;
    __u64 others = ((from_zero & 0x7f7f7f7f7f7f7f7full) + 0x7676767676767676ull) | from_zero;
    __u64 digits = (~others & 0x8080808080808080ull) >> 7;
    return (text & ~(digits * 0xff)) | digits * WP_INTERP_TASK_DIGIT;
}

/* Task-1, as asyncio calls tasks by itself; without digits. */
static __always_inline bool is_given_by_asyncio(const __u64 *name)
{
    return (name[0] & 0xffffffffffffull) == (0x2d6b736154ull | (__u64)WP_INTERP_TASK_DIGIT << 40);
}

/* Of a code object. */
static __always_inline __u64 print_of(struct interp_walk *w, const struct wp_interp_offsets *at)
{
    __u64 h = mix(CODE_WORD(w, at->code_lines), CODE_WORD(w, at->code_name));
    return mix(mix(h, CODE_WORD(w, at->code_file)), half_in(CODE_WORD(w, at->code_first_line), at->code_first_line));
}

/* The name that the program gave to the task; nothing where it gave none. type: of a string. */
static __always_inline void read_task_name(
    struct interp_walk *w, const struct wp_interp_offsets *at, __u64 name, __u64 type)
{
    __u64 head[5], size;
    __builtin_memset(w->task_name, 0, sizeof(w->task_name));
    if (!read_user(head, sizeof(head), name) || head[1] != type || ((__u32)head[4] & 0x7c) != 0x64) /* compact ASCII */
        return;
    size = head[2] < sizeof(w->task_name) ? head[2] : sizeof(w->task_name);
    barrier_var(size);
    if (size > sizeof(w->task_name) || !read_user(w->task_name, size, name + at->text_data)) {
        w->task_name[0] = 0;
        return;
    }
#pragma unroll
    for (__u32 i = 0; i < WP_INTERP_TASK_NAME / 8; i++)
        w->task_name[i] = without_digits(w->task_name[i]);
    if (is_given_by_asyncio(w->task_name))
        w->task_name[0] = 0;
}

static __always_inline __u64 task_hash(const struct interp_walk *w)
{
    __u64 h = w->task_code;
#pragma unroll
    for (__u32 i = 0; i < WP_INTERP_TASK_NAME / 8; i++)
        h = mix(h, w->task_name[0] ? w->task_name[i] : 0);
    return h | 8; /* never 0 as the address of a code object */
}

/* As task_name_at, of the task whose step runs from the frame that was read last. */
static __noinline __u64 handled_name(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 callback, called[4];
    if (!w || !process ||
        !read_user(&callback, 8, PYTHON_OBJECT(FRAME_WORD(w, process->file.at.frame_self)) + HANDLE_CALLBACK) ||
        !read_user(called, sizeof(called), callback))
        return 0;
    __u64 name = task_name_at(w, called[CALLBACK_SELF]);
    return name ? name : task_name_at(w, called[CALLBACK_STEP]);
}

/* The innermost task's word, between the coroutine that was met last and the frame that was read last; `name`: as
 * task_name_at, 0: it is not known. */
static __noinline int put_task(struct interp_context *context, __u64 name)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 type;
    if (!w || !process || !context->words || !name)
        return 0;
    const struct wp_interp_offsets *at = &process->file.at;
    if (!read_user(w->code, WP_INTERP_CODE_BYTES, w->coroutine_code) ||
        !read_user(&type, 8, CODE_WORD(w, at->code_name) + 8))
        return 0;
    w->task_code = w->coroutine_code;
    read_task_name(w, at, name, type);
    put_word(w, context->words, WP_INTERP_WORD(task_hash(w), WP_INTERP_UNIT_TASK), print_of(w, at));
    return 0;
}

#endif
