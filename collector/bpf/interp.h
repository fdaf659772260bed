/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_H
#define WP_COLLECTOR_BPF_INTERP_H
/*
 * The frames of the language that the running thread's interpreter has, read from the interpreter's own list of them. A
 * frame whose code is no code object ends the walk: with wrong offsets nothing is invented.
 */
#include "interp_bind.h"

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

struct interp_walk {
    __u64 frame, hash;
    __u64 interpreter, thread, self, first; /* of the search */
    __u32 count;
    __u32 end; /* enum wp_interp_end */
    __u64 bytes[WP_INTERP_FRAME_BYTES / 8];
    __u64 code[32];                /* of a code object, or of a thread's state */
    __u64 prints[WP_INTERP_DEPTH]; /* of the code objects: another one at the same address has another */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct interp_walk);
} interp_walks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct wp_interp_counts);
} interp_counts SEC(".maps");

struct interp_context {
    struct interp_walk *walk;
    struct wp_interp_process *process;
    __u64 *words;
};

static __always_inline __u64 word_in(const __u64 *words, __u32 offset, __u32 mask)
{
    offset = offset / 8 & mask;
    barrier_var(offset);
    return words[offset & mask];
}

#define FRAME_WORD(w, offset) word_in((w)->bytes, offset, WP_INTERP_FRAME_BYTES / 8 - 1)
#define CODE_WORD(w, offset) word_in((w)->code, offset, 31)

static __always_inline __u32 half_in(__u64 word, __u32 offset)
{
    return offset & 4 ? (__u32)(word >> 32) : (__u32)word;
}

static __always_inline bool read_user(void *to, __u64 size, __u64 address)
{
    return !bpf_probe_read_user(to, size, (void *)address);
}

/* The pthread_self() of the running thread. */
static __always_inline __u64 thread_pointer(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
    return task->thread.fsbase;
#else
    return 0;
#endif
}

static __always_inline __u64 mark_in(struct interp_walk *w, __u32 offset)
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
    return unit >= WP_INTERP_UNIT_MOST - 1 ? WP_INTERP_UNIT_MOST : (__u32)unit + 1;
}

static __always_inline __u64 print_of(struct interp_walk *w, const struct wp_interp_offsets *at)
{
    __u64 h = mix(CODE_WORD(w, at->code_lines), CODE_WORD(w, at->code_name));
    return mix(mix(h, CODE_WORD(w, at->code_file)), half_in(CODE_WORD(w, at->code_first_line), at->code_first_line));
}

static __always_inline void put_word(struct interp_walk *w, __u64 *words, __u64 word, __u64 print)
{
    __u32 at = w->count;
    if (at >= WP_INTERP_DEPTH)
        return;
    barrier_var(at);
    words[at & (WP_INTERP_DEPTH - 1)] = word;
    w->prints[at & (WP_INTERP_DEPTH - 1)] = print;
    w->hash = mix(mix(w->hash, word), print);
    w->count++;
}

/* The frames since the last one are of one call; when there are none, the call has none (any more). */
static __always_inline void end_call(struct interp_walk *w, __u64 *words)
{
    __u32 at = w->count - 1;
    barrier_var(at);
    at &= WP_INTERP_DEPTH - 1;
    if (!w->count || words[at] & WP_INTERP_ENTRY) {
        put_word(w, words, WP_INTERP_ENTRY, 0);
        return;
    }
    words[at] |= WP_INTERP_ENTRY;
    w->hash = mix(w->hash, 1);
}

static __always_inline long stop_walk(struct interp_walk *w, enum wp_interp_end end)
{
    w->end = end;
    return 1;
}

static long step_interp(__u32 index, void *argument)
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
    __u64 size = at->frame_bytes;
    barrier_var(size);
    if (size > sizeof(w->bytes) || !read_user(w->bytes, size, w->frame))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    w->frame = FRAME_WORD(w, at->frame_back);
    bool is_end = !at->has_marks || mark_in(w, at->frame_mark) == at->mark_end;
    if (is_end && at->has_marks && at->mark_is_own) {
        end_call(w, context->words);
        return 0;
    }
    __u64 code = FRAME_WORD(w, at->frame_code);
    if (!read_user(w->code, WP_INTERP_CODE_BYTES, code))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    if (w->code[1] != process->file.code_type || code & 7)
        return stop_walk(w, WP_INTERP_NOT_CODE);
    put_word(w, context->words, WP_INTERP_WORD(code, unit_of(w, at, code)), print_of(w, at));
    if (is_end)
        end_call(w, context->words);
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

static __always_inline bool begin_walk(struct interp_context *context, __u32 tid)
{
    struct interp_walk *w = context->walk;
    const struct wp_interp_offsets *at = &context->process->file.at;
    if (!w->self || !find_state(context, tid))
        return false;
    w->frame = CODE_WORD(w, at->frame);
    if (at->held_at && (!w->frame || !read_user(&w->frame, 8, w->frame + at->held_at - 1)))
        w->frame = 0;
    return true;
}

/* Fills words with the frames, innermost first; their number. Their hash is left in the walk: 0 when the process runs
 * no interpreter that is known. */
static __always_inline __u32 walk_interp(struct task_struct *task, __u64 *words, __u32 which)
{
    __u32 zero = 0;
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    if (!w)
        return 0;
    struct interp_context context = {.walk = w, .process = interp_here(task), .words = words};
    w->hash = 0;
    w->count = 0;
    if (!context.process)
        return 0;
    w->hash = 1;
    w->end = WP_INTERP_NO_THREAD;
    w->self = thread_pointer(task);
    if (begin_walk(&context, task->pid)) {
        w->end = WP_INTERP_TOO_DEEP;
        bpf_loop(2 * WP_INTERP_DEPTH, step_interp, &context, 0);
    }
    struct wp_interp_counts *counts = bpf_map_lookup_elem(&interp_counts, &zero);
    if (counts && w->end < WP_INTERP_ENDS)
        counts->ends[w->end]++;
    return w->count;
}

static __always_inline __u64 interp_hash(__u32 which)
{
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    return w ? w->hash : 0;
}

#endif
