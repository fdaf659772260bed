/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_PROMISE_H
#define WP_COLLECTOR_BPF_INTERP_PROMISE_H
/*
 * Who awaits what a microtask of V8 runs: the frames that Error.stack calls async (CaptureAsyncStackTrace in
 * src/execution/isolate.cc). An async function has a promise, that has one reaction, and that leads to the function
 * which awaits it. The outermost one is the task that all frames further in belong to. What is not as V8 has it ends
 * the chain.
 */
#include "interp_v8_object.h"

enum {
    V8_AWAITERS = 16, /* that are told */
    V8_HOPS = 64,     /* promises on the way to the outermost one */
    V8_LOAD_WORDS = 12,
    /* Words of objects. */
    V8_CONTEXT_LENGTH = 1,
    V8_CONTEXT_WORDS = 5,
    V8_CONTEXT_GENERATOR = 4, /* its extension */
    V8_CLOSURE_WORDS = 7,     /* the context of a closure of V8 that resolves a promise: three slots ... */
    V8_CLOSURE_SLOTS = 5,
    V8_CLOSURE_PROMISE = 4,    /* ... of which the first has it */
    V8_CLOSURE_CAPABILITY = 5, /* or of Promise.all: the second has what leads to it */
    V8_GENERATOR_WORDS = 11,
    V8_GENERATOR_FUNCTION = 3,
    V8_GENERATOR_POSITION = 6, /* while it waits */
    V8_GENERATOR_CONTINUATION = 8,
    V8_GENERATOR_PROMISE = 10, /* or an asynchronous generator's first request */
    V8_PROMISE_WORDS = 5,
    V8_PROMISE_REACTIONS = 3,
    V8_PROMISE_FLAGS = 4,
    V8_REACTION_WORDS = 6,
    V8_REACTION_HANDLER = 2, /* from the next reaction on */
    V8_REACTION_PROMISE = 3,
    V8_FUNCTION_WORDS = 6,
    V8_SHARED_WORDS = 6,
    V8_NAME_WORDS = 3,
    V8_NAME_TEXT = 2,
    V8_REQUEST_PROMISE = 32, /* bytes */
    V8_CAPABILITY_PROMISE = 8,
    V8_SCRIPT_NAME_WORD = 2
};
#define V8_EXECUTING 0xfffffffeull /* of a generator; one that has ended: -1 */
#define V8_STATUS 3u               /* of a promise's flags; 0: pending */
#define V8_ENTRY_MARK 2u           /* C++ has called it */
#define V8_SCHEME 0x3a65646f6eull  /* "node:" begins the names of Node's own scripts */

#define V8_LOADED(w, word) ((w)->code[word])

/* Reads the first words of an object; its type, V8_NO_TYPE: it is none. */
static __noinline __u32 v8_load(struct interp_walk *w, __u64 object, __u32 words)
{
    __u64 bytes = 8ull * words;
    __u16 type;
    barrier_var(bytes);
    if (!w || (object & V8_TAGS) != V8_TAG || bytes > 8 * V8_LOAD_WORDS || !read_user(w->code, bytes, object - V8_TAG))
        return V8_NO_TYPE;
    __u64 map = w->code[0];
    return (map & V8_TAGS) == V8_TAG && read_user(&type, 2, map - V8_TAG + V8_MAP_TYPE) ? type : V8_NO_TYPE;
}

/* Of what was loaded. */
static __always_inline bool is_v8_function(const struct wp_v8_offsets *at, __u32 type)
{
    return type >= at->function_first && type <= at->function_last;
}

static __always_inline bool is_v8_generator(const struct wp_v8_offsets *at, __u32 type)
{
    return type == at->async_function || type == at->async_function + 1u;
}

/* Whether a script is one of Node's own. */
static __always_inline bool is_node_script(struct interp_walk *w, const struct wp_v8_offsets *at, __u64 script)
{
    if (v8_load(w, script, V8_NAME_WORDS) != at->script)
        return false;
    __u32 type = v8_load(w, V8_LOADED(w, V8_SCRIPT_NAME_WORD), V8_NAME_WORDS);
    return type < V8_STRINGS && (type & (V8_ONE_BYTE | V8_FORM)) == V8_ONE_BYTE &&
        (V8_LOADED(w, V8_NAME_TEXT) & 0xffffffffffull) == V8_SCHEME;
}

/* The promise of the generator that was loaded; 0: there is none. */
static __always_inline __u64 v8_generator_promise(struct interp_walk *w, const struct wp_v8_offsets *at, __u32 type)
{
    __u64 promise = V8_LOADED(w, V8_GENERATOR_PROMISE);
    if (type == at->async_function)
        return promise;
    return v8_type(promise) == at->request ? v8_word(promise, V8_REQUEST_PROMISE) : 0;
}

/* The function of a generator is one of the chain. `position`: V8_UNKNOWN: it is a frame already. */
static __noinline bool put_awaiter(struct interp_context *context, __u64 function, __u64 position)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process || !context->words)
        return false;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    if (!is_v8_function(at, v8_load(w, function, V8_FUNCTION_WORDS)))
        return false;
    __u64 shared = CODE_WORD(w, at->function_shared);
    if (v8_load(w, shared, V8_SHARED_WORDS) != at->shared)
        return false;
    __u64 script = CODE_WORD(w, at->shared_script);
    __u64 print = mix(mix(WP_V8_SHARED, CODE_WORD(w, at->shared_name)), script);
    if (position != V8_UNKNOWN && w->promises.put++ < V8_AWAITERS) {
        __u64 unit = v8_unit(position - (at->bytecode_at - V8_TAG));
        put_word(w, context->words, WP_INTERP_WORD(shared - V8_TAG, unit), print);
    }
    if (is_node_script(w, at, script))
        return true;
    w->promises.task = shared;
    w->promises.print = print;
    return true;
}

/* Whether a function that shares this is one of V8's own. */
static __always_inline bool is_v8_builtin(const struct wp_v8_offsets *at, __u64 shared)
{
    return v8_type(shared) == at->shared && v8_number(v8_word(shared, V8_SHARED_DATA)) != V8_UNKNOWN &&
        v8_number(v8_word(shared, at->shared_builtin)) != V8_UNKNOWN;
}

/* The promise that is settled with the reaction's whose words are these; 0: that is not known. */
static __noinline __u64 v8_derived(struct interp_context *context, __u64 handler, __u64 promise)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process)
        return 0;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    __u32 type = v8_load(w, handler, V8_FUNCTION_WORDS);
    if (is_v8_function(at, type)) {
        __u64 closure = CODE_WORD(w, at->function_context), shared = CODE_WORD(w, at->function_shared);
        if (is_v8_builtin(at, shared) && v8_load(w, closure, V8_CLOSURE_WORDS) - at->await_context <= V8_CONTEXTS &&
            v8_number(V8_LOADED(w, V8_CONTEXT_LENGTH)) == V8_CLOSURE_SLOTS) {
            __u64 first = V8_LOADED(w, V8_CLOSURE_PROMISE), second = V8_LOADED(w, V8_CLOSURE_CAPABILITY);
            if (v8_type(first) == at->promise)
                return first;
            if (v8_type(second) == at->capability)
                return v8_word(second, V8_CAPABILITY_PROMISE);
        }
    }
    return v8_type(promise) == at->capability ? v8_word(promise, V8_CAPABILITY_PROMISE) : promise;
}

/* One promise further. False: it is the last one. */
static __always_inline bool next_awaiter(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process)
        return false;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    __u64 promise = w->promises.at;
    if (v8_load(w, promise, V8_PROMISE_WORDS) != at->promise ||
        v8_number(V8_LOADED(w, V8_PROMISE_FLAGS)) == V8_UNKNOWN ||
        v8_number(V8_LOADED(w, V8_PROMISE_FLAGS)) & V8_STATUS ||
        v8_load(w, V8_LOADED(w, V8_PROMISE_REACTIONS), V8_REACTION_WORDS) != at->reaction)
        return false;
    __u32 first = at->reaction_next;
    __u64 next = CODE_WORD(w, first), handler = CODE_WORD(w, first + 8 * V8_REACTION_HANDLER);
    promise = CODE_WORD(w, first + 8 * V8_REACTION_PROMISE);
    if (next) /* there are several: one of them is not the one that waits */
        return false;
    __u32 type = v8_load(w, handler, V8_FUNCTION_WORDS);
    if (!is_v8_function(at, type) ||
        v8_load(w, CODE_WORD(w, at->function_context), V8_CONTEXT_WORDS) != at->await_context) {
        w->promises.at = v8_derived(context, handler, promise);
        return w->promises.at;
    }
    type = v8_load(w, V8_LOADED(w, V8_CONTEXT_GENERATOR), V8_GENERATOR_WORDS);
    __u64 position = v8_number(V8_LOADED(w, V8_GENERATOR_POSITION));
    if (!is_v8_generator(at, type) || position == V8_UNKNOWN ||
        v8_number(V8_LOADED(w, V8_GENERATOR_CONTINUATION)) >= V8_EXECUTING)
        return false;
    __u64 function = V8_LOADED(w, V8_GENERATOR_FUNCTION);
    w->promises.at = v8_generator_promise(w, at, type);
    return put_awaiter(context, function, position) && w->promises.at;
}

/* The step of a walk that is at a promise. Behind the last one comes the task, and V8's own frame ends there. */
static __noinline long step_promise(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->words)
        return 1;
    if (w->promises.hops++ < V8_HOPS) {
        if (next_awaiter(context))
            return 0;
    } else {
        w->promises.task = 0; /* it is not the outermost one */
    }
    w->promises.at = 0;
    __u64 task = w->promises.task;
    put_word(w, context->words,
        task ? WP_INTERP_WORD(task - V8_TAG, WP_INTERP_UNIT_TASK) | WP_INTERP_ENTRY : WP_INTERP_ENTRY,
        task ? w->promises.print : 0);
    return 0;
}

/* Whether a frame of V8's own, whose words were read, has called what goes on behind an `await`: the promise of that.
 * 0: it has not. */
static __always_inline __u64 awaited_here(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    if (v8_load(w, w->bytes[V8_FRAME_CONTEXT], V8_CONTEXT_WORDS) != at->await_context)
        return 0;
    __u32 type = v8_load(w, V8_LOADED(w, V8_CONTEXT_GENERATOR), V8_GENERATOR_WORDS);
    if (!is_v8_generator(at, type) || v8_number(V8_LOADED(w, V8_GENERATOR_CONTINUATION)) != V8_EXECUTING)
        return 0;
    __u64 promise = v8_generator_promise(w, at, type), function = V8_LOADED(w, V8_GENERATOR_FUNCTION);
    return put_awaiter(context, function, V8_UNKNOWN) ? promise : 0;
}

/* Or has called what was passed to a promise's then(): the job of a reaction has the promise that then() has made at
 * its bp - 16, and was called by RunMicrotasks, which alone of such functions C++ calls itself. */
static __always_inline __u64 derived_here(struct interp_context *context, __u64 frame)
{
    struct interp_walk *w = context->walk;
    const struct wp_v8_offsets *at = &context->process->file.v8;
    __u64 mark, bp;
    if (w->bytes[V8_FRAME_CONTEXT] != at->stub_mark || v8_type(w->bytes[V8_FRAME_HEAD_FUNCTION]) != at->promise ||
        !read_user(&bp, 8, frame) || bp <= frame || !read_user(w->code, 16, bp - 8) || w->code[0] != at->stub_mark ||
        w->code[1] <= bp || !read_user(&mark, 8, w->code[1] - 8) || mark != V8_ENTRY_MARK)
        return 0;
    return w->bytes[V8_FRAME_HEAD_FUNCTION];
}

/* Whether a chain of promises begins at a frame of V8's own: the next steps are at it. A stack has one at most. Which
 * functions wait may change without a word of the stack. */
static __noinline bool begin_promises(struct interp_context *context, __u64 frame)
{
    struct interp_walk *w = context->walk;
    if (!w || !context->process || !context->native || !context->process->file.v8.promise || w->promises.hops)
        return false;
    __u64 promise = w->bytes[V8_FRAME_CONTEXT] & V8_TAG ? awaited_here(context) : derived_here(context, frame);
    if (!promise)
        return false;
    w->promises.at = promise;
    w->promises.hops = 1;
    context->native->word_count = WALK_WORDS + 1;
    return true;
}

#endif
