/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_PYTHON_TIMER_H
#define WP_COLLECTOR_BPF_PYTHON_TIMER_H
/*
 * asyncio: whose timer ends a sleep. A thread that runs a loop sleeps in epoll_wait, called by select of selectors.py,
 * called by _run_once of asyncio/base_events.py, until the first timer of the loop's heap is due (its _scheduled). A
 * timer of asyncio.sleep sets the result of a future, whose callback wakes the task that waits for it, and that one's
 * coroutine awaits another one or the future. These stand in a second stack of the sleep, as of Go (go_timer.h). A
 * timer is believed if it is due when the sleep times out, and a task if it says that it waits for the timer's future.
 */
#include "interp_python.h"

enum {
    PYTHON_TYPE = 8,       /* in an object; words: */
    PYTHON_TYPE_NAME = 24, /* in a type */
    PYTHON_TYPE_BASIC = 32,
    PYTHON_SIZE = 2, /* words: in a list or a tuple; where what is in a list is */
    PYTHON_ITEMS = 3,
    PYTHON_FLOAT = 16,
    HANDLE_ARGUMENTS = 16,
    FUTURE_CALLBACK = 24,
    LOOP_VALUES = 30, /* attributes that an object has without a dictionary: SHARED_KEYS_MAX_SIZE */
    TIMER_EARLY_NS = 2000000,
    TIMER_LATE_NS = 1000000000,
    AWAITED = 64
};

/* A name of up to 15 characters, as it is in memory. */
#define NAME_LIST 0x7473696cull
#define NAME_TIMER 0x6e614872656d6954ull /* TimerHandle */
#define NAME_TIMER_REST 0x656c64ull
#define NAME_COROUTINE 0x6e6974756f726f63ull
#define NAME_COROUTINE_REST 0x65ull

static __noinline bool has_type_name(struct interp_walk *w, __u64 type, __u64 first, __u64 rest)
{
    __u64 name;
    if (!w || !read_user(&name, 8, type + PYTHON_TYPE_NAME) || bpf_probe_read_user_str(w->bytes, 16, (void *)name) < 0)
        return false;
    __u64 is_long = first >> 56; /* what is behind the end of a shorter one is of another string */
    __u64 mask = is_long ? ~0ull : (1ull << 40) - 1, rest_mask = rest >> 8 ? (1ull << 32) - 1 : (1ull << 16) - 1;
    return (w->bytes[0] & mask) == first && (!is_long || (w->bytes[1] & rest_mask) == rest);
}

/* The list's first element, if that is a timer; 0: it is none, or there is none. */
static __noinline __u64 first_scheduled(struct interp_context *context, __u64 list)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 timer, type;
    if (!w || !process || !list || list & 7 || !read_user(w->code, 32, list) || !w->code[PYTHON_SIZE] ||
        w->code[PYTHON_ITEMS] & 7)
        return 0;
    __u64 list_type = w->code[1];
    if (!read_user(&timer, 8, w->code[PYTHON_ITEMS]) || timer & 7 || !read_user(&type, 8, timer + PYTHON_TYPE))
        return 0;
    if (process->timers)
        return type == process->timers ? timer : 0;
    if (!has_type_name(w, list_type, NAME_LIST, 0) || !has_type_name(w, type, NAME_TIMER, NAME_TIMER_REST))
        return 0;
    process->timers = type;
    return timer;
}

static long look_at_value(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    __u64 value;
    if (!w || !context->process || !read_user(&value, 8, w->sleeper.values + 8ull * index))
        return 1;
    if (!first_scheduled(context, value))
        return 0;
    context->process->timer_slot = index;
    return 1;
}

/* Where the object has the values of its attributes, as those of its class are numbered; 0: in a dictionary. */
static __noinline __u64 values_of(const struct wp_interp_offsets *at, __u64 object)
{
    __u64 word, type, size;
    if (!at || !object || object & 7)
        return 0;
    switch (at->values) {
    case WP_PYTHON_VALUES_BEFORE: /* _PyObject_ValuesPointer of 3.11 */
        return read_user(&word, 8, object - 32) && !(word & 7) ? word : 0;
    case WP_PYTHON_VALUES_MARKED: /* _PyDictOrValues_GetValues of 3.12 */
        return read_user(&word, 8, object - 24) && word & 1 ? word + 1 : 0;
    case WP_PYTHON_VALUES_INSIDE: /* _PyObject_InlineValues of 3.13: a byte says whether they are used */
        if (!read_user(&type, 8, object + PYTHON_TYPE) || !read_user(&size, 8, type + PYTHON_TYPE_BASIC) || size & 7 ||
            size > 4096 || !read_user(&word, 8, object + size))
            return 0;
        return word >> 24 & 255 ? object + size + 8 : 0;
    default:
        return 0;
    }
}

/* The first timer of the loop; 0: it is not known. */
static __noinline __u64 loop_timer(struct interp_context *context, __u64 loop)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 list;
    if (!w || !process)
        return 0;
    w->sleeper.values = values_of(&process->file.at, loop);
    if (!w->sleeper.values)
        return 0;
    if (!process->timers)
        bpf_loop(LOOP_VALUES, look_at_value, context, 0);
    if (!process->timers || !read_user(&list, 8, w->sleeper.values + 8ull * process->timer_slot))
        return 0;
    return first_scheduled(context, list);
}

/* A float of seconds from 1 up to 2^31, in nanoseconds; 0: it is none. */
static __always_inline __u64 float_ns(__u64 bits)
{
    __u64 power = bits >> 52, digits = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    if (power < 1023 || power > 1023 + 30)
        return 0;
    __u64 below = 1023 + 52 - power; /* bits of the fraction: 22 to 52 */
    __u64 fraction = digits & ((1ull << below) - 1);
    fraction = below >= 30 ? fraction >> (below - 30) : fraction << (30 - below);
    return (digits >> below) * 1000000000 + (fraction * 1000000000 >> 30);
}

/* The task that waits for what the timer sets; 0: it is not known. Left in the walk: its coroutine, which is the first
 * of `owners`, and its name. */
static __noinline __u64 timer_task(struct interp_context *context, __u64 timer)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 arguments, future, callback, task, type;
    if (!w || !process || !read_user(&arguments, 8, timer + HANDLE_ARGUMENTS) || arguments & 7 ||
        !read_user(w->code, 40, arguments) || !w->code[PYTHON_SIZE])
        return 0;
    future = CODE_WORD(w, process->file.at.tuple_first);
    if (!future || future & 7 || !read_user(&callback, 8, future + FUTURE_CALLBACK) || !callback || callback & 7 ||
        !read_user(&task, 8, callback + 8 * CALLBACK_SELF) || !task || task & 7 ||
        !read_user(w->code, 8 * TASK_WORDS, task))
        return 0;
    w->owners[0] = w->sleeper.name = 0;
#pragma unroll
    for (__u32 i = TASK_FIRST; i < TASK_WORDS - 2; i++)
        if (w->code[i] == future) { /* task_fut_waiter, task_coro, task_name */
            w->owners[0] = w->code[i + 1];
            w->sleeper.name = w->code[i + 2];
        }
    if (!w->owners[0] || w->owners[0] & 7 || !read_user(&type, 8, w->owners[0] + PYTHON_TYPE))
        return 0;
    if (!process->coroutine_type && has_type_name(w, type, NAME_COROUTINE, NAME_COROUTINE_REST))
        process->coroutine_type = type;
    return type == process->coroutine_type ? task : 0;
}

/* Reads the frame of a coroutine that does not run. */
static __always_inline bool read_coroutine(struct interp_walk *w, const struct wp_interp_offsets *at, __u64 coroutine)
{
    w->window_at = 0;
    w->frame = coroutine + at->coroutine;
    return read_frame(w, at) && byte_in(w, at->frame_owner) == PYTHON_OF_GENERATOR;
}

/* What the coroutine that was found last awaits, if that is another one. */
static long look_at_awaited(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 top, type, place = index;
    if (!w || !process)
        return 1;
    const struct wp_interp_offsets *at = &process->file.at;
    barrier_var(place);
    place &= AWAITED - 1;
    if (!read_coroutine(w, at, w->owners[place]))
        return 1;
    top = FRAME_WORD(w, at->frame_top);
    if (!at->top_is_address) { /* counted from the first local variable on */
        __u32 count = (__u32)top;
        if (!count || count > 4096)
            return 1;
        top = w->frame + at->frame_self + 8ull * count;
    }
    if (!read_user(&top, 8, top - 8))
        return 1;
    top = PYTHON_OBJECT(top);
    if (!top || top & 7 || !read_user(&type, 8, top + PYTHON_TYPE) || type != process->coroutine_type)
        return 1;
    w->owners[place + 1] = top;
    w->sleeper.awaited = (__u32)place + 1;
    return 0;
}

/* The words of the coroutines, the innermost first. */
static long put_awaited(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    if (!w || !process || !context->words || index > w->sleeper.awaited)
        return 1;
    const struct wp_interp_offsets *at = &process->file.at;
    __u64 place = w->sleeper.awaited - index;
    barrier_var(place);
    if (!read_coroutine(w, at, w->owners[place & (WP_INTERP_DEPTH - 1)]))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    __u64 code = PYTHON_OBJECT(FRAME_WORD(w, at->frame_code));
    if (code & 7 || !read_user(w->code, WP_INTERP_CODE_BYTES, code) || w->code[1] != process->file.code_type)
        return stop_walk(w, WP_INTERP_NOT_CODE);
    put_word(w, context->words, WP_INTERP_WORD(code, unit_of(w, at, code)), print_of(w, at));
    w->coroutine_code = code;
    return 0;
}

/* The words of the task that waits for the timer. Then the walk goes on in the frame of _run_once. */
static __noinline int put_sleeper(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    if (!w)
        return 0;
    w->end = WP_INTERP_COMPLETE;
    bpf_loop(AWAITED, put_awaited, context, 0);
    if (w->end == WP_INTERP_COMPLETE)
        put_task(context, w->sleeper.name);
    w->frame = w->sleeper.outer;
    w->window_at = w->coroutine = 0;
    return 0;
}

/* The frame of _run_once, of which the innermost one is called: read, with what is on. 0: there are no two frames. */
static __always_inline __u64 outer_frame(struct interp_walk *w, const struct wp_interp_offsets *at)
{
    if (!w->frame || !read_frame(w, at))
        return 0;
    w->frame = FRAME_WORD(w, at->frame_back);
    return w->frame && read_frame(w, at) ? w->frame : 0;
}

/* The task of asyncio that the running thread waits for, which falls asleep for at most timeout_ns: what tells its
 * stack apart; 0: it is not known. The walk that follows is for it. Not static: verified once. */
__noinline __u64 timer_sleeper(struct interp_words *words, __u64 timeout_ns)
{
    __u32 zero = 0;
    struct task_struct *task = current_task();
    struct interp_context context = {.walk = bpf_map_lookup_elem(&interp_walks, &zero), .process = interp_here(task)};
    struct interp_walk *w = context.walk;
    struct wp_interp_process *process = context.process;
    if (!wp_interps || !words || !w || !process || WP_INTERP_LANGUAGE(process->file.version) != WP_INTERP_PYTHON ||
        !process->file.at.values)
        return 0;
    __u32 tries = process->timers ? 0 : process->timer_tries++;
    if (tries & (tries - 1)) /* ever more rarely: there may be none as yet, or this is no asyncio */
        return 0;
    context.words = words->at;
    w->self = thread_pointer(task);
    if (!w->self || begin_python(&context, task->pid) != WP_INTERP_COMPLETE)
        return 0;
    __u64 outer = outer_frame(w, &process->file.at), due, until_ns = bpf_ktime_get_ns() + timeout_ns;
    __u64 loop = outer ? PYTHON_OBJECT(FRAME_WORD(w, process->file.at.frame_self)) : 0,
          timer = loop_timer(&context, loop);
    if (!timer || !read_user(&due, 8, timer + process->file.at.timer_when) || !read_user(&due, 8, due + PYTHON_FLOAT))
        return 0;
    due = float_ns(due);
    if (due > until_ns + TIMER_EARLY_NS || due + TIMER_LATE_NS < until_ns || !timer_task(&context, timer))
        return 0;
    w->sleeper.awaited = 0;
    bpf_loop(AWAITED - 1, look_at_awaited, &context, 0);
    w->sleeper.outer = outer;
    w->hash = NO_FRAMES;
    w->count = w->task_code = 0;
    put_sleeper(&context);
    w->sleeper.is_wanted = w->task_code != 0;
    return w->sleeper.is_wanted ? w->hash : 0;
}

#endif
