/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_V8_H
#define WP_COLLECTOR_BPF_INTERP_V8_H
/*
 * Functions of V8. A frame has its function, which has its code. An interpreted frame says which bytecode runs; of
 * compiled code the place in it is sent, and with the code what says what that is.
 */
#include "interp_promise.h"

/* Where a place is in code that was compiled; ~0: not in it, or it is not compiled. */
static __always_inline __u64 v8_place(const struct wp_v8_offsets *at, __u64 code, __u64 place)
{
    __u32 size = 0, flags = 0;
    __u64 start = code - V8_TAG + at->code_start;
    if (v8_type(code) != at->code || !read_user(&size, 4, code - V8_TAG + at->code_size) ||
        !read_user(&flags, 4, code - V8_TAG + at->code_flags) || (flags & V8_CODE_KIND) < at->baseline)
        return ~0ull;
    if (at->is_apart)
        start = v8_word(code, at->code_start);
    return place - start < size ? place - start : ~0ull;
}

/* V8's own functions that have no name are none of the language. */
static __always_inline __u64 v8_own_word(const struct wp_v8_offsets *at, __u64 shared)
{
    __u64 name = v8_word(shared, at->shared_name);
    __u32 size = 0;
    if ((name & V8_TAGS) == V8_TAG)
        read_user(&size, 4, name - V8_TAG + V8_STRING_SIZE);
    return size ? WP_INTERP_WORD(shared - V8_TAG, 0) : 0;
}

/* Which function of the language a frame runs: the word that stands for it. 0: none; V8_UNKNOWN: it is no frame. */
static __always_inline __u64 v8_frame_word(struct interp_walk *w, const struct wp_interp_process *process, __u64 place)
{
    const struct wp_v8_offsets *at = &process->file.v8;
    __u64 function = w->bytes[V8_FRAME_HEAD_FUNCTION];
    __u32 type = v8_type(function);
    if (!(w->bytes[V8_FRAME_CONTEXT] & V8_TAG))
        return w->bytes[V8_FRAME_CONTEXT] < V8_MARKS ? 0 : V8_UNKNOWN;
    if (type < at->function_first || type > at->function_last)
        return V8_UNKNOWN;
    __u64 shared = v8_word(function, at->function_shared), code = v8_code_of(process, function);
    if (v8_type(shared) != at->shared)
        return V8_UNKNOWN;
    w->interpreter = shared;
    w->first = mix(v8_print_code(at, code), shared);
    __u64 unit = v8_place(at, code, place), bytecode = v8_number(w->bytes[V8_FRAME_AT]);
    if (unit != ~0ull)
        return WP_INTERP_WORD(code - V8_TAG, v8_unit(unit));
    w->first = v8_print_shared(at, shared);
    if (bytecode >= at->bytecode_at - V8_TAG && bytecode != ~0ull &&
        v8_type(w->bytes[V8_FRAME_BYTECODE]) == at->bytecode)
        return WP_INTERP_WORD(shared - V8_TAG, v8_unit(bytecode - (at->bytecode_at - V8_TAG)));
    code = v8_word(shared, V8_SHARED_DATA);
    if (v8_number(code) != ~0ull)
        return v8_own_word(at, shared);
    unit = v8_place(at, code, place); /* there is faster code by now, and this runs in what was before */
    if (unit == ~0ull) {
        w->limit = WP_INTERP_NOT_CODE; /* another one was put in its place meanwhile */
        return WP_INTERP_WORD(shared - V8_TAG, WP_INTERP_UNIT_MOST);
    }
    w->first = mix(v8_print_code(at, code), shared);
    return WP_INTERP_WORD(code - V8_TAG, v8_unit(unit));
}

static long step_v8(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    if (!w || !context->process || !context->words || !context->native)
        return 1;
    if (w->count + 1 >= WP_INTERP_DEPTH)
        return stop_walk(w, WP_INTERP_TOO_DEEP);
    if (w->promises.at)
        return step_promise(context);
    if (w->frame >= context->native->jit_count)
        return stop_walk(w, (enum wp_interp_end)w->limit);
    __u64 at = w->frame++;
    barrier_var(at);
    const struct jit_frame *frame = &context->native->jit[at & (WP_INTERP_DEPTH - 1)];
    if (!read_user(w->bytes, 8 * V8_FRAME_WORDS, frame->what - V8_FRAME_READ))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    __u64 word = v8_frame_word(w, context->process, frame->place);
    if (word && word != V8_UNKNOWN)
        w->promises.scope = w->bytes[V8_FRAME_CONTEXT];
    if (word == V8_UNKNOWN)
        return 0; /* it stays a native frame */
    if (w->place != frame->index)
        put_word(w, context->words, WP_INTERP_FROM(frame->index), 0);
    w->place = frame->index + 1;
    if (!word && begin_promises(context, frame->what))
        return 0;
    __u32 place = w->count;
    barrier_var(place);
    w->owners[place & (WP_INTERP_DEPTH - 1)] = w->interpreter;
    put_word(w, context->words, word | WP_INTERP_ENTRY, word ? w->first : 0);
    return 0;
}

static __always_inline enum wp_interp_end begin_v8(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    if (!context->native->jit_count)
        return WP_INTERP_NO_THREAD;
    w->promises.scope = 0;
    w->frame = w->promises.at = w->promises.hops = w->promises.put = w->promises.task = 0;
    w->place = ~0ull;
    w->limit = WP_INTERP_COMPLETE;
    return WP_INTERP_COMPLETE;
}

#endif
