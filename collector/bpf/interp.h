/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_H
#define WP_COLLECTOR_BPF_INTERP_H
/* The frames of the language that the running thread's interpreter has, read from the interpreter's own list of them.
 */
#include "interp_java.h"
#include "interp_perl.h"
#include "interp_php.h"
#include "interp_ruby.h"
#include "node_timer.h"
#include "python_timer.h"

/* Finds the thread's innermost frame. Another end than complete: there is no walk. */
static __always_inline enum wp_interp_end begin_walk(
    struct interp_context *context, struct task_struct *task, __u32 language)
{
    if (!context->walk->self)
        return WP_INTERP_NO_THREAD;
    switch (language) {
    case WP_INTERP_PYTHON:
        return begin_python(context, task->pid);
    case WP_INTERP_RUBY:
        return begin_ruby(context->walk, context->process);
    case WP_INTERP_PHP:
        return begin_php(context->walk, context->process, task);
    case WP_INTERP_PERL:
        return begin_perl(context->walk, context->process);
    default:
        return WP_INTERP_NO_THREAD;
    }
}

static __always_inline void count_walk(const struct interp_walk *w, __u32 language)
{
    __u32 zero = 0;
    struct wp_interp_counts *counts = bpf_map_lookup_elem(&interp_counts, &zero);
    __u64 at = (__u64)language * WP_INTERP_ENDS + w->end;
    barrier_var(at); /* else its parts are compared, of which the verifier learns nothing */
    if (counts && at < WP_INTERP_LANGUAGES * WP_INTERP_ENDS)
        counts->ends[0][at]++;
}

static __always_inline void walk_frames(struct interp_context *context, __u32 language)
{
    if (language == WP_INTERP_PYTHON)
        bpf_loop(2 * WP_INTERP_DEPTH, step_python, context, 0);
    else if (language == WP_INTERP_RUBY)
        bpf_loop(4 * WP_INTERP_DEPTH, step_ruby, context, 0);
    else if (language == WP_INTERP_PHP)
        bpf_loop(4 * WP_INTERP_DEPTH, step_php, context, 0);
    else if (language == WP_INTERP_PERL)
        bpf_loop(4 * WP_INTERP_DEPTH, step_perl, context, 0);
}

/* Fills words with the frames of the running thread, innermost first; their number. Their hash is left in the walk: 0
 * when the process runs no interpreter that is known. Not static: the verifier walks it once, not once for each state
 * of each caller. */
__noinline __u32 walk_interp(struct interp_words *words, __u32 which)
{
    if (!wp_interps || !words)
        return 0;
    struct task_struct *task = current_task();
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    if (!w)
        return 0;
    struct interp_context context = {.walk = w, .process = interp_here(task), .words = words->at};
    w->hash = 0;
    w->count = w->is_native = 0;
    w->coroutine = w->task_code = 0;
    if (!context.process)
        return 0;
    __u32 language = WP_INTERP_LANGUAGE(context.process->file.version);
    if (language == WP_INTERP_GO) /* its frames are native ones, of the walk that found those */
        return 0;
    w->hash = NO_FRAMES;
    w->self = thread_pointer(task);
    if (language == WP_INTERP_JAVA || language == WP_INTERP_V8) {
        w->is_native = 1; /* walk_jit */
        return 0;
    }
    w->end = begin_walk(&context, task, language);
    if (w->end == WP_INTERP_COMPLETE) {
        if (w->sleeper.is_wanted)
            put_sleeper(&context);
        w->end = WP_INTERP_TOO_DEEP;
        walk_frames(&context, language);
    }
    count_walk(w, language);
    return w->count;
}

/* What CPython's frames of the running thread say of themselves; 0: nothing that tells them from others. Not static: as
 * that. */
__noinline __u64 interp_chain(__u32 which)
{
    struct task_struct *task = current_task();
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    struct interp_context context = {.walk = w, .process = interp_here(task)};
    if (!w || !context.process || WP_INTERP_LANGUAGE(context.process->file.version) != WP_INTERP_PYTHON)
        return 0;
    w->self = thread_pointer(task);
    w->chain = 1;
    w->end = WP_INTERP_TOO_DEEP;
    if (w->self && begin_python(&context, task->pid) == WP_INTERP_COMPLETE)
        bpf_loop(2 * WP_INTERP_DEPTH, step_chain, &context, 0);
    return w->end == WP_INTERP_COMPLETE ? w->chain : 0;
}

/* Functions of the frames of HotSpot or V8 that the walk of the native ones has met: fills words as walk_interp.
 * Not static: as that. */
__noinline __u32 walk_jit(struct interp_words *words, __u32 which)
{
    if (!wp_interps || !words)
        return 0;
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    struct interp_context context = {.walk = w,
        .process = interp_here(current_task()),
        .words = words->at,
        .native = bpf_map_lookup_elem(&walks, &which)};
    if (!w || !context.process || !context.native)
        return 0;
    bool is_java = WP_INTERP_LANGUAGE(context.process->file.version) == WP_INTERP_JAVA;
    w->end = is_java ? begin_java(&context) : begin_v8(&context);
    if (w->end == WP_INTERP_COMPLETE) {
        w->end = WP_INTERP_TOO_DEEP;
        if (is_java)
            bpf_loop(JAVA_STEPS, step_methods, &context, 0);
        else
            bpf_loop(WP_INTERP_DEPTH + V8_HOPS + 2, step_v8, &context, 0);
    }
    count_walk(w, is_java ? WP_INTERP_JAVA : WP_INTERP_V8);
    return w->count;
}

/* Of frames that may change without a word of the stack: 0 when there are none such. */
static __always_inline __u64 apart_hash(__u32 which)
{
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    return w && !w->is_native ? w->hash : 0;
}

/* Where walk_interp has left the frames to walk_jit: the number of these; else `count`. */
static __always_inline __u32 walk_left(struct interp_words *words, __u32 count, __u32 which)
{
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    if (!w || !w->is_native)
        return count;
    if (w->promises.timer)
        return walk_timer(words);
    w->promises.scope = 0;
    count = walk_jit(words, which);
    if (w->promises.scope)
        find_node_timers(w->promises.scope, which);
    return count;
}

static __always_inline __u64 interp_hash(__u32 which)
{
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &which);
    return w ? w->hash : 0;
}

#endif
