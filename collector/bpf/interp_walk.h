/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_WALK_H
#define WP_COLLECTOR_BPF_INTERP_WALK_H
/*
 * A walk through the frames of a language, as far as it is the same for all of them: what was read, the words that
 * stand for frames, and how it ended.
 */
#include "interp_bind.h"
#include "unwind_walk.h"

#define INTERP_WINDOW 128u /* words that are read of a stack of frames at once */
#define INTERP_NEAR 16384u /* bytes; see _PyThreadState_PushFrame: a piece of such a stack */

struct interp_walk {
    __u64 frame, hash;
    __u64 limit;                      /* of a language whose frames are a stack: where that ends */
    __u64 self;                       /* pthread_self() of the running thread */
    __u64 interpreter, thread, first; /* of a search */
    __u64 stack, place;               /* of a language with several stacks of frames: this one; where it stands */
    __u64 coroutine, coroutine_code;  /* of CPython: that the last frame belongs to; 0: to none */
    __u64 task_code;                  /* of asyncio's task: its coroutine's; 0: none was met */
    __u64 task_name[WP_INTERP_TASK_NAME / 8];
    __u64 chain;                   /* of CPython: hash of what the frames say of themselves; see step_chain */
    __u64 window_at;               /* where `window` was read; 0: nothing was */
    __u32 window_bytes, in_window; /* in_window: where the frame is there, in bytes */
    __u32 count;
    __u32 end;       /* enum wp_interp_end */
    __u32 is_native; /* frames of the language are native ones, of the walk that found those */
    struct java_search {
        __u64 method;                  /* compiled code is of that one */
        __u64 places, scopes, methods; /* its tables */
        __u32 low, high;               /* of places */
        __u32 place, scope;            /* what is looked for, and what stands for it */
    } java;
    struct promise_search {
        __u64 at;                 /* V8's promise whose awaiter is looked for next; 0: none */
        __u64 task, print;        /* the outermost function that was met, if it is not one of Node's own; 0: none */
        __u32 hops, put;          /* promises and functions so far */
        __u64 scope;              /* of one of the functions: its context; 0: none was met */
        __u64 realm, handle, due; /* of node_timer.h */
        __u32 slot, repeats;
        __u64 timer; /* no frames are walked, but who waits for this function of a timer; 0: not so */
    } promises;
    struct task_sleeper {
        __u64 outer, values, name; /* of python_timer.h: the loop's frame, its attributes; the task's name */
        __u32 awaited;             /* coroutines of the task in `owners`, without the first */
        __u32 is_wanted;           /* the walk is for the task that sleeps */
    } sleeper;
    __u64 window[INTERP_WINDOW];
    __u64 bytes[WP_INTERP_FRAME_BYTES / 8];
    __u64 code[32];                /* what was read last: of a code object, or of a thread's state */
    __u64 owners[WP_INTERP_DEPTH]; /* of V8's code: the function; coroutines of a task */
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

/* Room for the words that stand for a stack's frames. */
struct interp_words {
    __u64 at[WP_INTERP_DEPTH];
};

#define NO_FRAMES 1 /* the hash of none */

struct interp_context {
    struct interp_walk *walk;
    struct wp_interp_process *process;
    __u64 *words;
    struct walk *native;
};

#define FRAME_WORD(w, offset) word_in((w)->window, (w)->in_window + (offset), INTERP_WINDOW - 1)
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

#endif
