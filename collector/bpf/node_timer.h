/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_NODE_TIMER_H
#define WP_COLLECTOR_BPF_NODE_TIMER_H
/*
 * Node.js: whose timer ends a sleep. Its first thread sleeps in epoll_pwait until the earliest timer of JavaScript is
 * due (lib/internal/timers.js): lists of timers in the heap of a PriorityQueue. What that calls, or who awaits the
 * promise that it resolves, is a second stack of the sleep, as of Go (go_timer.h), which holds if it was the timer that
 * ended it. The heap is found once a process: the context of its functions leads to node::Realm, which has handles of
 * functions that see it. A timer is believed if it is due when the sleep times out, by the same clock as before.
 */
#include "interp_v8.h"

enum {
    NODE_REALM = 38, /* ContextEmbedderIndex::kRealm */
    NODE_REALM_WORDS = 160,
    NODE_SLOTS = 80,
    NODE_SLOT_FIRST = 2,   /* behind a context's description and the one around it */
    NODE_NATIVE_DATA = 48, /* bytes: of a native context, EMBEDDER_DATA_INDEX */
    NODE_ARRAY_DATA = 16,
    NODE_MAP_CONTEXT = 32,
    NODE_QUEUE_WORDS = 7,
    NODE_QUEUE_COMPARE = 3,
    NODE_QUEUE_HEAP = 4,
    NODE_QUEUE_SET = 5,
    NODE_QUEUE_SIZE = 6,
    NODE_HEAP_WORDS = 4,
    NODE_HEAP_ELEMENTS = 2,
    NODE_HEAP_FIRST = 3,
    NODE_LIST_WORDS = 8,
    NODE_LIST_PREVIOUS = 4,
    NODE_LIST_EXPIRY = 5,
    NODE_LIST_MS = 7,
    NODE_TIMER_START = 6,
    NODE_TIMER_CALLBACK = 7,
    NODE_TIMER_REPEAT = 9,
    NODE_TIMER_WORDS = 10,
    NODE_EARLY_MS = 4,
    NODE_LATE_MS = 1000,
    NODE_STARTS_MS = 4000
};
#define V8_HEAP_NUMBER 130u
#define V8_HEAP_NUMBER_AT 8
#define V8_CONTEXT_SLOTS 16 /* bytes */
#define V8_CONTEXT_PREVIOUS 24
#define V8_FUNCTION_CONTEXT 5u /* types, from that of an `await` on */
#define V8_NATIVE_CONTEXT 7u

static __noinline bool is_timer_queue(struct interp_context *context, __u64 object)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process)
        return false;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    if (v8_load(w, object, NODE_QUEUE_WORDS) != at->object || v8_number(V8_LOADED(w, NODE_QUEUE_SIZE)) == V8_UNKNOWN)
        return false;
    __u64 heap = V8_LOADED(w, NODE_QUEUE_HEAP), set = V8_LOADED(w, NODE_QUEUE_SET);
    return is_v8_function(at, v8_type(V8_LOADED(w, NODE_QUEUE_COMPARE))) && v8_type(heap) == at->array &&
        is_v8_function(at, v8_type(set));
}

static long look_at_slot(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    __u32 slot = index + NODE_SLOT_FIRST;
    if (!w || !is_timer_queue(context, v8_word(w->promises.scope, V8_CONTEXT_SLOTS + 8 * slot)))
        return 0;
    w->promises.slot = slot;
    return 1;
}

/* The context around the one of a function; 0: there is none. */
static __noinline __u64 outer_scope(struct interp_context *context, __u64 function)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process)
        return 0;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    if (!is_v8_function(at, v8_load(w, function, V8_FUNCTION_WORDS)))
        return 0;
    __u64 scope = CODE_WORD(w, at->function_context);
    if (v8_type(scope) != at->await_context + V8_FUNCTION_CONTEXT)
        return 0;
    scope = v8_word(scope, V8_CONTEXT_PREVIOUS);
    return v8_type(scope) == at->await_context + V8_FUNCTION_CONTEXT ? scope : 0;
}

static long look_at_handle(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    __u64 handle, function;
    if (!w || !read_user(&handle, 8, w->promises.realm + 8ull * index))
        return 1;
    if (!handle || handle & 7 || !read_user(&function, 8, handle))
        return 0;
    w->promises.scope = outer_scope(context, function);
    __u64 slots = w->promises.scope ? v8_number(v8_word(w->promises.scope, 8 * V8_CONTEXT_LENGTH)) : 0;
    if (slots <= NODE_SLOT_FIRST || slots > NODE_SLOTS)
        return 0;
    w->promises.handle = handle;
    bpf_loop((__u32)slots - NODE_SLOT_FIRST, look_at_slot, context, 0);
    return w->promises.slot != 0;
}

/* Where the process has its timers, if that is not known. `scope`: the context of one of its functions. Not static, as
 * the next ones: verified once. */
__noinline int find_node_timers(__u64 scope, __u32 which)
{
    struct task_struct *task = current_task();
    struct interp_context context = {.walk = bpf_map_lookup_elem(&interp_walks, &which), .process = interp_here(task)};
    struct interp_walk *w = context.walk;
    struct wp_interp_process *process = context.process;
    if (!process || !w || !scope || process->timers || !process->file.v8.promise || task->pid != task->tgid)
        return 0;
    __u32 tries = process->timer_tries++;
    if (tries & (tries - 1)) /* ever more rarely: there may be none as yet, or this is no Node.js */
        return 0;
    scope = v8_word(v8_word(scope, 0), NODE_MAP_CONTEXT);
    if (v8_type(scope) != process->file.v8.await_context + V8_NATIVE_CONTEXT)
        return 0;
    w->promises.realm = v8_word(v8_word(scope, NODE_NATIVE_DATA), NODE_ARRAY_DATA + 8 * NODE_REALM);
    w->promises.slot = 0;
    if (!w->promises.realm || w->promises.realm & 7)
        return 0;
    bpf_loop(NODE_REALM_WORDS, look_at_handle, &context, 0);
    if (w->promises.slot) {
        process->timer_slot = w->promises.slot;
        process->timers = w->promises.handle;
    }
    return 0;
}

/* The value of a whole number from 1 on, which may be one with a fraction's room (a HeapNumber); V8_UNKNOWN: it is
 * none. */
static __noinline __u64 v8_whole(__u64 word)
{
    if (!(word & V8_TAG))
        return v8_number(word);
    __u64 bits = v8_type(word) == V8_HEAP_NUMBER ? v8_word(word, V8_HEAP_NUMBER_AT) : 0, power = bits >> 52;
    if (power < 1023 || power > 1023 + 52)
        return V8_UNKNOWN;
    return ((bits & ((1ull << 52) - 1)) | 1ull << 52) >> (1023 + 52 - power);
}

/* What the first timer of a list calls; 0: it is not known. Left in the walk: when it is due, in milliseconds of its
 * clock, and whether it comes again and again (setInterval). */
static __noinline __u64 timer_of(struct interp_context *context, __u64 list)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process)
        return 0;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    if (v8_load(w, list, NODE_LIST_WORDS) != at->object)
        return 0;
    __u64 due = v8_whole(V8_LOADED(w, NODE_LIST_EXPIRY)), ms = v8_whole(V8_LOADED(w, NODE_LIST_MS));
    if (due == V8_UNKNOWN || ms == V8_UNKNOWN ||
        v8_load(w, V8_LOADED(w, NODE_LIST_PREVIOUS), NODE_TIMER_WORDS) != at->object)
        return 0;
    __u64 start = v8_whole(V8_LOADED(w, NODE_TIMER_START)), callback = V8_LOADED(w, NODE_TIMER_CALLBACK);
    if (start == V8_UNKNOWN || start + ms != due) /* it was put off: at that time nothing is called */
        return 0;
    w->promises.due = due;
    w->promises.repeats = v8_whole(V8_LOADED(w, NODE_TIMER_REPEAT)) != V8_UNKNOWN;
    return callback;
}

/* What the earliest timer calls; 0: it is not known. When it is due is left in the walk. One that comes again and again
 * is nothing that a program waits for, if it has others: the earliest of those that stand next in the heap. */
static __noinline __u64 first_timer(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 function, others[2], found = 0, found_due = 0;
    if (!w || !process || !process->timers || !read_user(&function, 8, process->timers))
        return 0;
    const struct wp_v8_offsets *at = &process->file.v8;
    __u64 scope = outer_scope(context, function);
    __u32 slot = process->timer_slot;
    if (!is_timer_queue(context, v8_word(scope, V8_CONTEXT_SLOTS + 8 * slot)))
        return 0;
    __u64 size = v8_number(V8_LOADED(w, NODE_QUEUE_SIZE));
    if (!size || v8_load(w, V8_LOADED(w, NODE_QUEUE_HEAP), NODE_HEAP_WORDS) != at->array ||
        v8_load(w, V8_LOADED(w, NODE_HEAP_ELEMENTS), NODE_HEAP_FIRST + 3) == V8_NO_TYPE)
        return 0;
    others[0] = V8_LOADED(w, NODE_HEAP_FIRST + 1);
    others[1] = V8_LOADED(w, NODE_HEAP_FIRST + 2);
    __u64 first = timer_of(context, V8_LOADED(w, NODE_HEAP_FIRST)), due = w->promises.due;
    if (!first || !w->promises.repeats)
        return first;
#pragma unroll
    for (__u32 i = 0; i < 2; i++) {
        __u64 other = size > i + 1 ? timer_of(context, others[i]) : 0;
        if (other && !w->promises.repeats && (!found || w->promises.due < found_due)) {
            found = other;
            found_due = w->promises.due;
        }
    }
    w->promises.due = due;
    return found ? found : first;
}

/* Whether a sleep that times out then does so for the timer: by what its clock began with when others were. Time that
 * the thread has run since it looked at its own clock makes it later. The clock begins as the program starts. */
static __always_inline bool is_due(struct wp_interp_process *process, __u64 until_ns, __u64 expiry)
{
    __u64 base = until_ns / 1000000 - expiry;
    __u64 late = base + NODE_EARLY_MS - process->timer_base; /* a little less than none is none, too */
    bool is_known = process->timer_base && late <= NODE_LATE_MS;
    if (!process->timer_base && base - current_task()->start_time / 1000000 <= NODE_STARTS_MS) {
        process->timer_base = base;
        return true;
    }
    if (!is_known)
        process->timer_base = base;
    else if (late > NODE_EARLY_MS)
        process->timer_base += (late - NODE_EARLY_MS) / 16;
    return is_known;
}

static long look_at_promise(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    if (!context->walk || !context->words || !context->walk->promises.at)
        return 1;
    return step_promise(context);
}

/* Who waits for the timer of the walk: the function that it calls, or those who await the promise that it resolves. */
__noinline __u32 walk_timer(struct interp_words *words)
{
    __u32 zero = 0;
    struct interp_walk *w = bpf_map_lookup_elem(&interp_walks, &zero);
    struct interp_context context = {.walk = w, .process = interp_here(current_task())};
    if (!words || !w || !context.process)
        return 0;
    context.words = words->at;
    const struct wp_v8_offsets *at = &context.process->file.v8;
    w->end = WP_INTERP_COMPLETE;
    w->promises.at = w->promises.hops = w->promises.put = w->promises.task = 0;
    if (!is_v8_function(at, v8_load(w, w->promises.timer, V8_FUNCTION_WORDS)))
        return 0;
    __u64 closure = CODE_WORD(w, at->function_context), shared = CODE_WORD(w, at->function_shared);
    put_word(w, context.words, WP_INTERP_FROM(1), 0); /* it sleeps in the function that has called the kernel */
    if (!is_v8_builtin(at, shared)) {
        if (v8_type(shared) == at->shared)
            put_word(
                w, context.words, WP_INTERP_WORD(shared - V8_TAG, 1) | WP_INTERP_ENTRY, v8_print_shared(at, shared));
        return w->count;
    }
    if (v8_load(w, closure, V8_CLOSURE_WORDS) != at->await_context + V8_FUNCTION_CONTEXT ||
        v8_number(V8_LOADED(w, V8_CONTEXT_LENGTH)) != V8_CLOSURE_SLOTS)
        return w->count;
    w->promises.at = V8_LOADED(w, V8_CLOSURE_PROMISE);
    bpf_loop(V8_HOPS + 2, look_at_promise, &context, 0);
    return w->count;
}

#endif
