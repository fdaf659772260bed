/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_V8_H
#define WP_COLLECTOR_BPF_INTERP_V8_H
/*
 * Functions of V8 10.2, 11.3, 12.4 and 13.6 on x86-64 (src/objects; without compressed pointers, as Node.js has
 * it). A frame has its function, which has its code. An interpreted frame says which bytecode runs; of compiled code
 * the place in it is sent, and with the code what says what that is. The collector moves objects: they are read while
 * the thread that owns them stands still, and each is checked by the type that its map says.
 */
#include "interp_sending.h"

/* Of a frame, what is read of it, in words from bp - 40 on. */
enum { V8_FRAME_AT, V8_FRAME_BYTECODE, V8_FRAME_HEAD_FUNCTION = 3, V8_FRAME_CONTEXT, V8_FRAME_WORDS };
#define V8_FRAME_READ 40
#define V8_MARKS 256u /* the context of a frame without a function: what kind it is */
#define V8_TAG 1u     /* of an object's address; a number has 0, and its value in the high half */
#define V8_TAGS 3u
#define V8_MAP_TYPE 12
#define V8_NO_TYPE ~0u
#define V8_UNKNOWN ~0ull
#define V8_SHARED_DATA 8 /* in a function, however often it is made */
#define V8_CODE_KIND 15u
#define V8_TABLE_NUMBER 8 /* bits of a number in the table that are none of it */
#define V8_TABLE_ENTRY 16
#define V8_TABLE_CODE                                                                                                  \
    8 /* in an entry: the object's address in the high bits, the lowest of which is the collector's                    \
       */
#define V8_TABLE_SHIFT 16
#define V8_STRING_SIZE 12
#define V8_ARRAY_SIZE 8
#define V8_ARRAY_DATA 16

/* A number's value; ~0: it is none. */
static __always_inline __u64 v8_number(__u64 word)
{
    return (__u32)word ? ~0ull : word >> 32;
}

static __always_inline __u64 v8_read_word(__u64 object, __u32 offset)
{
    __u64 word = 0;
    if ((object & V8_TAGS) == V8_TAG)
        read_user(&word, 8, object - V8_TAG + offset);
    return word;
}

/* Not static: as walk_interp, for these two are most of what is done to objects. The second does not call the first,
 * for the kernel counts calls within calls. */
__noinline __u64 v8_word(__u64 object, __u32 offset)
{
    return v8_read_word(object, offset);
}

/* What its map says; V8_NO_TYPE: it is no object. */
__noinline __u32 v8_type(__u64 object)
{
    __u64 map = v8_read_word(object, 0);
    __u16 type;
    return (map & V8_TAGS) == V8_TAG && read_user(&type, 2, map - V8_TAG + V8_MAP_TYPE) ? type : V8_NO_TYPE;
}

/* The code of a function. */
static __always_inline __u64 v8_code_of(const struct wp_interp_process *process, __u64 function)
{
    const struct wp_v8_offsets *at = &process->file.v8;
    __u64 code = v8_word(function, at->function_code), group, table, entry;
    if (!at->table)
        return code;
    if (!read_user(&group, 8, process->file.runtime) || !read_user(&table, 8, group + at->table) ||
        !read_user(&entry, 8, table + ((__u32)code >> V8_TABLE_NUMBER) * (__u64)V8_TABLE_ENTRY + V8_TABLE_CODE))
        return 0;
    return entry >> V8_TABLE_SHIFT | V8_TAG;
}

static __always_inline __u64 v8_print_shared(const struct wp_v8_offsets *at, __u64 shared)
{
    return mix(mix(WP_V8_SHARED, v8_word(shared, at->shared_name)), v8_word(shared, at->shared_script));
}

static __always_inline __u64 v8_print_code(const struct wp_v8_offsets *at, __u64 code)
{
    return mix(mix(WP_V8_OPTIMISED, v8_word(code, at->code_start)),
        mix(v8_word(code, at->code_positions), v8_word(code, at->code_deopt)));
}

static __always_inline __u64 v8_unit(__u64 place)
{
    return place >= WP_INTERP_UNIT_MOST - 1 ? WP_INTERP_UNIT_MOST : place + 1;
}

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
    if (w->frame >= context->native->jit_count)
        return stop_walk(w, (enum wp_interp_end)w->limit);
    if (w->count + 1 >= WP_INTERP_DEPTH)
        return stop_walk(w, WP_INTERP_TOO_DEEP);
    __u64 at = w->frame++;
    barrier_var(at);
    const struct jit_frame *frame = &context->native->jit[at & (WP_INTERP_DEPTH - 1)];
    if (!read_user(w->bytes, 8 * V8_FRAME_WORDS, frame->what - V8_FRAME_READ))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    __u64 word = v8_frame_word(w, context->process, frame->place);
    if (word == V8_UNKNOWN)
        return 0; /* it stays a native frame */
    if (w->place != frame->index)
        put_word(w, context->words, WP_INTERP_FROM(frame->index), 0);
    __u32 place = w->count;
    barrier_var(place);
    w->owners[place & (WP_INTERP_DEPTH - 1)] = w->interpreter;
    put_word(w, context->words, word | WP_INTERP_ENTRY, word ? w->first : 0);
    w->place = frame->index + 1;
    return 0;
}

static __always_inline enum wp_interp_end begin_v8(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    if (!context->native->jit_count)
        return WP_INTERP_NO_THREAD;
    w->frame = 0;
    w->place = ~0ull;
    w->limit = WP_INTERP_COMPLETE;
    return WP_INTERP_COMPLETE;
}

#endif
