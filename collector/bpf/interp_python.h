/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_PYTHON_H
#define WP_COLLECTOR_BPF_INTERP_PYTHON_H
/*
 * CPython: a thread's state is found in the interpreter's list by the thread's pthread_self(), and leads to the
 * innermost frame. A frame whose code is no code object ends the walk: with wrong offsets nothing is invented.
 */
#include "interp_task.h"

#define INTERP_THREADS 1024u /* of a process, that are looked through */
/* Until a thread is looked for again, which may be on its way to be one of the interpreter's, or to have another state:
 * at least so long, and so long for each step of the search. */
#define INTERP_PAUSE_NS 50000ull
#define INTERP_STEP_PAUSE_NS 2000ull
#define INTERP_PAUSE_MOST_NS 50000000ull

struct interp_thread {
    __u64 state; /* 0: none was found */
    __u64 until_ns, pause_ns;
};

/* By thread: where the interpreter keeps what it knows of it. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, struct interp_thread);
} interp_threads SEC(".maps");

/* Reads the frame, for FRAME_WORD. Frames of functions lie one above the other since 3.11, outer ones below: those that
 * are near the last one are read together. */
static __always_inline bool read_frame(struct interp_walk *w, const struct wp_interp_offsets *at)
{
    __u64 size = at->frame_bytes, below = w->window_at - w->frame;
    if (w->frame & 7)
        return false;
    if (!w->window_at || w->frame - w->window_at > w->window_bytes - size) {
        __u64 end = w->frame + size, begin = w->frame;
        if (at->has_marks && (!w->window_at || below < INTERP_NEAR)) {
            begin = end - sizeof(w->window);
            if (begin < (w->frame & -4096ull)) /* below may be nothing */
                begin = w->frame & -4096ull;
            size = end - begin;
        }
        barrier_var(size);
        if (size > sizeof(w->window) || !read_user(w->window, size, begin))
            return false;
        w->window_at = begin;
        w->window_bytes = (__u32)size;
    }
    w->in_window = (__u32)(w->frame - w->window_at);
    return true;
}

static __always_inline __u64 byte_in(struct interp_walk *w, __u32 offset)
{
    return FRAME_WORD(w, offset) >> (offset & 7) * 8 & 0xff;
}

/* 1 + the instruction that the frame is at, 0: it has not begun. */
static __always_inline __u32 unit_of(struct interp_walk *w, const struct wp_interp_offsets *at, __u64 code)
{
    __s64 unit;
    if (at->code_bytes)
        unit = (__s64)(FRAME_WORD(w, at->frame_at) - code - at->code_bytes) >> 1;
    else
        unit = (__s32)half_in(FRAME_WORD(w, at->frame_at), at->frame_at) >> (1 - (at->unit_bits & 1));
    if (unit < 0)
        return 0;
    return unit + 1 >= WP_INTERP_UNIT_TASK ? WP_INTERP_UNIT_MOST : (__u32)unit + 1;
}

static long step_python(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    if (!w || !process || !context->words)
        return 1;
    const struct wp_interp_offsets *at = &process->file.at;
    if (!w->frame)
        return stop_walk(w, WP_INTERP_COMPLETE);
    if (w->count >= WP_INTERP_DEPTH)
        return stop_walk(w, WP_INTERP_TOO_DEEP);
    if (!read_frame(w, at))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    __u64 frame = w->frame;
    w->frame = FRAME_WORD(w, at->frame_back);
    bool is_end = !at->has_marks || byte_in(w, at->frame_mark) == at->mark_end;
    if (is_end && at->has_marks && at->mark_is_own) {
        end_call(w, context->words);
        return 0;
    }
    bool is_coroutine = at->coroutine && byte_in(w, at->frame_owner) == PYTHON_OF_GENERATOR; /* or a generator */
    if (w->coroutine && !is_coroutine && !w->task_code) {
        __u64 name = handled_name(context);
        put_task(context, name ? name : running_name(context));
    }
    __u64 code = PYTHON_OBJECT(FRAME_WORD(w, at->frame_code));
    if (!read_user(w->code, WP_INTERP_CODE_BYTES, code))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    if (w->code[1] != process->file.code_type || code & 7)
        return stop_walk(w, WP_INTERP_NOT_CODE);
    put_word(w, context->words, WP_INTERP_WORD(code, unit_of(w, at, code)), print_of(w, at));
    w->coroutine = is_coroutine ? frame - at->coroutine : 0;
    w->coroutine_code = code;
    if (is_end)
        end_call(w, context->words);
    return 0;
}

/* A frame, without its code object: where it is, its first words (the function, the globals or the code), its code and
 * the place in that. Generators' frames end it: what task they belong to says another object. */
static long step_chain(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    if (!w || !process)
        return 1;
    const struct wp_interp_offsets *at = &process->file.at;
    if (!w->frame)
        return stop_walk(w, WP_INTERP_COMPLETE);
    if (!read_frame(w, at) || (at->coroutine && byte_in(w, at->frame_owner) == PYTHON_OF_GENERATOR))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    w->chain = mix(mix(w->chain, w->frame ^ FRAME_WORD(w, at->frame_code)), FRAME_WORD(w, at->frame_at));
    w->chain = mix(mix(w->chain, FRAME_WORD(w, 0) ^ FRAME_WORD(w, at->frame_mark)), FRAME_WORD(w, 8));
    w->frame = FRAME_WORD(w, at->frame_back);
    return 0;
}

/* One thread of an interpreter, or the next interpreter. */
static long step_search(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 id;
    if (!w || !process)
        return 1;
    const struct wp_interp_offsets *at = &process->file.at;
    if (!w->thread) {
        if (!w->interpreter || !read_user(&w->thread, 8, w->interpreter + at->threads) ||
            !read_user(&w->interpreter, 8, w->interpreter + at->next_interpreter))
            return 1;
        return 0;
    }
    if (!read_user(&id, 8, w->thread + at->thread_id))
        return 1;
    if (id == w->self) { /* of several interpreters' threads the one that runs something */
        __u64 frame = 0;
        read_user(&frame, 8, w->thread + at->frame);
        w->first = frame || !w->first ? w->thread : w->first;
        if (frame)
            return 1;
    }
    return !read_user(&w->thread, 8, w->thread + at->next_thread);
}

/* The state of the running thread is read into w->code; false: it is none of the interpreter's. */
static __always_inline bool read_state(struct interp_walk *w, const struct wp_interp_offsets *at, __u64 state)
{
    return state && read_user(w->code, WP_INTERP_STATE_BYTES, state) && CODE_WORD(w, at->thread_id) == w->self;
}

static __always_inline bool find_state(struct interp_context *context, __u32 tid)
{
    struct interp_walk *w = context->walk;
    const struct wp_interp_offsets *at = &context->process->file.at;
    struct interp_thread *known = bpf_map_lookup_elem(&interp_threads, &tid);
    if (known && known->state && read_state(w, at, known->state))
        return true;
    __u64 now_ns = bpf_ktime_get_ns();
    if (known && now_ns < known->until_ns)
        return false;
    w->thread = w->first = w->interpreter = 0;
    read_user(&w->interpreter, 8, context->process->file.runtime + at->interpreters);
    long steps = bpf_loop(INTERP_THREADS, step_search, context, 0);
    struct interp_thread found = {.state = w->first, .pause_ns = INTERP_PAUSE_NS};
    if (known && !known->state && !w->first)
        found.pause_ns = known->pause_ns < INTERP_PAUSE_MOST_NS ? 2 * known->pause_ns : INTERP_PAUSE_MOST_NS;
    if (steps > 0 && found.pause_ns < (__u64)steps * INTERP_STEP_PAUSE_NS)
        found.pause_ns = (__u64)steps * INTERP_STEP_PAUSE_NS;
    found.until_ns = now_ns + found.pause_ns;
    bpf_map_update_elem(&interp_threads, &tid, &found, BPF_ANY);
    return w->first && read_state(w, at, w->first);
}

static __always_inline enum wp_interp_end begin_python(struct interp_context *context, __u32 tid)
{
    struct interp_walk *w = context->walk;
    const struct wp_interp_offsets *at = &context->process->file.at;
    w->window_at = w->window_bytes = 0;
    if (!find_state(context, tid))
        return WP_INTERP_NO_THREAD;
    w->frame = CODE_WORD(w, at->frame);
    if (at->held_at && (!w->frame || !read_user(&w->frame, 8, w->frame + at->held_at - 1)))
        w->frame = 0;
    return WP_INTERP_COMPLETE;
}

/* PyUnicodeObject: 16 length, 32 state (interned:2, kind:3, compact:1, ascii:1). */
static __always_inline struct interp_text read_python_text(
    struct interp_sending *s, const struct wp_interp_offsets *at, __u64 text, __u8 *to, __u32 room)
{
    struct interp_text got = {};
    if (!read_user(s->words, 40, text))
        return got;
    __u32 state = (__u32)s->words[4], unit = state >> 2 & 7;
    __u64 size = s->words[2] * unit;
    if (!(state & 32) || (unit != 1 && unit != 2 && unit != 4) || s->words[2] > (1u << 24))
        return got;
    got.is_cut = size > room;
    if (size > room)
        size = room;
    barrier_var(size);
    if (size > room || !read_user(to, size, text + at->text_data + (state & 64 ? 0 : at->text_apart)))
        return got;
    got.size = (__u32)size;
    got.unit = (__u8)unit;
    return got;
}

/* PyBytesObject: 16 length, 32 its bytes. */
static __always_inline void read_python_lines(struct interp_sending *s, __u64 table)
{
    struct wp_record_code *code = &s->record.code;
    code->lines_size = code->lines_kept = 0;
    if (!read_user(s->words, 32, table) || s->words[2] > (1u << 30))
        return;
    __u64 size = s->words[2];
    code->lines_size = (__u32)size;
    if (size > WP_INTERP_LINES)
        size = WP_INTERP_LINES;
    barrier_var(size);
    if (size <= WP_INTERP_LINES && read_user(s->record.lines, size, table + 32))
        code->lines_kept = (__u32)size;
}

__noinline bool fill_python(
    struct interp_sending *s, struct interp_walk *w, const struct wp_interp_file *file, __u64 address)
{
    if (!s || !w || !file)
        return false;
    const struct wp_interp_offsets *at = &file->at;
    struct wp_record_code *code = &s->record.code;
    if (!read_user(w->code, WP_INTERP_CODE_BYTES, address))
        return false;
    code->first_line = half_in(CODE_WORD(w, at->code_first_line), at->code_first_line);
    struct interp_text name = read_python_text(s, at, CODE_WORD(w, at->code_name), code->name, WP_INTERP_NAME);
    struct interp_text path = read_python_text(s, at, CODE_WORD(w, at->code_file), code->file, WP_INTERP_FILE);
    keep_texts(s, name, path);
    read_python_lines(s, CODE_WORD(w, at->code_lines));
    s->is_whole = name.unit && path.unit && code->lines_kept;
    return true;
}

/* Of the walk's task: the name that the program gave to it, or else its coroutine's, and where that begins. */
__noinline bool fill_python_task(struct interp_sending *s, struct interp_walk *w, const struct wp_interp_offsets *at)
{
    if (!s || !w || !at)
        return false;
    struct wp_record_code *code = &s->record.code;
    if (!read_user(w->code, WP_INTERP_CODE_BYTES, w->task_code))
        return false;
    code->first_line = half_in(CODE_WORD(w, at->code_first_line), at->code_first_line);
    struct interp_text path = read_python_text(s, at, CODE_WORD(w, at->code_file), code->file, WP_INTERP_FILE);
    struct interp_text name = {.size = sizeof(w->task_name), .unit = WP_INTERP_UTF8};
    if (w->task_name[0])
        __builtin_memcpy(code->name, w->task_name, sizeof(w->task_name));
    else
        name = read_python_text(s, at, CODE_WORD(w, at->code_name), code->name, WP_INTERP_NAME);
    keep_texts(s, name, path);
    code->lines_size = code->lines_kept = 0;
    s->is_whole = name.unit && path.unit;
    return true;
}

#endif
