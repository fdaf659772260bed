/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_JAVA_H
#define WP_COLLECTOR_BPF_INTERP_JAVA_H
/*
 * Methods of HotSpot 17, 21 and 25 (share/oops/method.hpp, constMethod.hpp; code/nmethod.hpp, pcDesc.hpp,
 * debugInfo.hpp). The walk of the native frames has found an interpreted one's method. Compiled code has a table of
 * places, sorted, which leads to what was inlined there: method, bytecode, and who called that, in a chain. Each native
 * frame of the code cache is a call of its own.
 */
#include "interp_virtual.h"

#define JAVA_STEPS 4096u /* of all searches of a stack */
#define JAVA_HEAP_LIST 8 /* in CodeCache::_heaps, a GrowableArray */
/* Of a VirtualSpace; behind where it begins stands to where it may grow. */
#define JAVA_SPACE_BEGIN 0
#define JAVA_SPACE_FIRST 16
#define JAVA_PLACE_BYTES 16u
#define JAVA_PLACES 65536u
#define JAVA_HAS_LINES 1u

/* Members of compiled code, of the constant part of a method, of a pool, behind each of which comes what it is of. */
#define JAVA_CODE(w, layout, member) member_in((w)->window, (layout)->at[member], INTERP_WINDOW - 1)
#define JAVA_CONST(w, layout, member) member_in((w)->code, (layout)->at[member], 31)

/* So many bytes are read of the struct. */
static __always_inline __u32 java_bytes_of(__u32 member)
{
    if (member >= WP_JAVA_BLOB_NAME && member <= WP_JAVA_CODE_DEOPT)
        return WP_JAVA_BLOB_BYTES;
    if (member >= WP_JAVA_CONST_POOL && member <= WP_JAVA_CONST_NAME)
        return WP_JAVA_CONST_BYTES;
    return member >= WP_JAVA_POOL_CLASS && member <= WP_JAVA_POOL_LENGTH ? WP_JAVA_POOL_BYTES : WP_JAVA_CODE_BYTES;
}

/* One offset from the table of the process; another CPU may do the same. */
static long read_offset(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct wp_interp_process *process = context->process;
    __u64 offset;
    if (!process || !context->walk || index >= WP_JAVA_MEMBERS)
        return 1;
    __u32 member = index;
    barrier_var(member);
    member &= WP_JAVA_ROOM - 1;
    __u32 entry = process->file.java.at[member];
    if (!(entry & WP_JAVA_ENTRY))
        return 0;
    __u64 at = process->file.code_type + (entry & (WP_JAVA_ENTRY - 1)) * (__u64)WP_JAVA_ENTRY_BYTES;
    if (!read_user(&offset, 8, at + WP_JAVA_ENTRY_OFFSET) || offset + 2 > java_bytes_of(index)) {
        context->walk->limit = WP_INTERP_UNREADABLE;
        return 1;
    }
    process->file.java.at[member] = (__u16)offset;
    return 0;
}

static __always_inline bool read_heap(struct wp_interp_process *process, __u64 list, __u32 i)
{
    struct wp_java_heap *heap = &process->heaps[i];
    const struct wp_java_layout *layout = &process->file.java;
    __u64 from;
    __u32 bits;
    if (!read_user(&from, 8, list + 8 * i) ||
        !read_user(heap, 16, from + layout->at[WP_JAVA_HEAP_MEMORY] + JAVA_SPACE_BEGIN) ||
        !read_user(&heap->segments, 8, from + layout->at[WP_JAVA_HEAP_SEGMENTS] + JAVA_SPACE_FIRST) ||
        !read_user(&bits, 4, from + layout->at[WP_JAVA_HEAP_SEGMENT_BITS]) || heap->end <= heap->begin ||
        !heap->segments || bits > 16)
        return false;
    process->segment_bits = bits;
    if (!i || heap->begin < process->file.loop)
        process->file.loop = heap->begin;
    if (!i || heap->end > process->file.loop_end)
        process->file.loop_end = heap->end;
    return true;
}

/* The code cache is made when the process begins; the next stack is walked through it. False: this one was walked
 * without. */
static __always_inline bool read_heaps(struct interp_context *context)
{
    struct wp_interp_process *process = context->process;
    __u64 heaps, list;
    __u32 count;
    if (!read_user(&heaps, 8, process->file.runtime) || !read_user(&count, 4, heaps) ||
        !read_user(&list, 8, heaps + JAVA_HEAP_LIST))
        return false;
    if (count && !process->heap_count) { /* before there are heaps its table may not be there, either */
        context->walk->limit = WP_INTERP_COMPLETE;
        bpf_loop(WP_JAVA_MEMBERS, read_offset, context, 0);
        if (context->walk->limit != WP_INTERP_COMPLETE)
            return false;
    }
    if (count == process->heap_count || count > WP_JAVA_HEAPS)
        return true;
#pragma unroll
    for (__u32 i = 0; i < WP_JAVA_HEAPS; i++)
        if (i < count && !read_heap(process, list, i))
            return false;
    process->heap_count = count;
    process->epoch = 0;
    return false;
}

static __always_inline enum wp_interp_end begin_java(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    if (!read_heaps(context))
        context->native->word_count = WALK_WORDS + 1; /* nor is it remembered */
    if (!context->native->jit_count)
        return WP_INTERP_NO_THREAD;
    w->frame = 0;
    w->place = JAVA_NEXT;
    w->limit = WP_INTERP_COMPLETE;
    w->task_name[0] = 0;
    return WP_INTERP_COMPLETE;
}

/* unit: see WP_INTERP_UNIT_OF. A frame that cannot be read stays a call without frames. */
static __always_inline void put_method(struct interp_context *context, __u64 method, __u64 unit)
{
    struct interp_walk *w = context->walk;
    if (!method || method & 7 ||
        !read_user(w->bytes, 8, method + context->process->file.java.at[WP_JAVA_METHOD_CONST])) {
        w->limit = WP_INTERP_UNREADABLE;
        return;
    }
    put_word(w, context->words, WP_INTERP_WORD(method, unit > 65536 ? 0 : unit), w->bytes[0]);
}

/* The frames of this native one are put. */
static __always_inline long end_java(struct interp_context *context)
{
    end_call(context->walk, context->words);
    context->walk->place = JAVA_NEXT;
    return 0;
}

/* The method that was compiled is put, without a line. */
static __always_inline long end_compiled(struct interp_context *context)
{
    put_method(context, context->walk->java.method, 0);
    return end_java(context);
}

static __always_inline long begin_compiled(struct interp_context *context, __u64 code, __u64 place, bool is_native)
{
    struct interp_walk *w = context->walk;
    struct java_search *s = &w->java;
    const struct wp_java_layout *layout = &context->process->file.java;
    if (!read_user(w->window, WP_JAVA_CODE_BYTES, code)) {
        w->limit = WP_INTERP_UNREADABLE;
        return end_java(context);
    }
    s->method = JAVA_CODE(w, layout, WP_JAVA_CODE_METHOD);
    if (is_native || !place)
        return end_compiled(context);
    __u64 immutable = layout->has_offsets ? JAVA_CODE(w, layout, WP_JAVA_CODE_IMMUTABLE) : code;
    __u32 from = JAVA_CODE(w, layout, WP_JAVA_CODE_PLACES), to = JAVA_CODE(w, layout, WP_JAVA_CODE_PLACES_END);
    s->methods = layout->has_offsets
        ? JAVA_CODE(w, layout, WP_JAVA_CODE_METHODS) + (__u32)JAVA_CODE(w, layout, WP_JAVA_CODE_RELOCATIONS)
        : code + (__u32)JAVA_CODE(w, layout, WP_JAVA_CODE_METHODS);
    s->scopes = java_address(layout, immutable, JAVA_CODE(w, layout, WP_JAVA_CODE_SCOPES));
    s->places = immutable + from;
    s->low = 0;
    s->high = to - from < JAVA_PLACES * JAVA_PLACE_BYTES ? (to - from) / JAVA_PLACE_BYTES : 0;
    s->place = (__u32)(place - java_address(layout, code, JAVA_CODE(w, layout, WP_JAVA_BLOB_CODE)));
    w->place = JAVA_SEARCH;
    return 0;
}

static __noinline long begin_frame(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    __u64 at = w->frame++;
    barrier_var(at);
    const struct jit_frame *frame = &context->native->jit[at & (WP_INTERP_DEPTH - 1)];
    const struct wp_java_layout *layout = &context->process->file.java;
    __u64 what = frame->what & ~7ull, base;
    switch (frame->what & 7) {
    case JAVA_INTERPRETED:
        base = ~0ull;
        if (read_user(w->bytes, 8, what + layout->at[WP_JAVA_METHOD_CONST]))
            base = frame->place - w->bytes[0] - layout->const_bytes;
        put_method(context, what, base < 65536 ? base + 1 : 0);
        return end_java(context);
    case JAVA_COMPILED:
    case JAVA_NATIVE:
        return begin_compiled(context, what, frame->place, (frame->what & 7) == JAVA_NATIVE);
    case JAVA_TASK:
        w->stack = frame->place;
        w->place = JAVA_VIRTUAL;
        return 0;
    default:
        return end_java(context);
    }
}

/* A place stands for what is before it, from the one before on. */
static __always_inline long search_place(struct interp_context *context)
{
    struct java_search *s = &context->walk->java;
    __u32 middle = (s->low + s->high) / 2;
    __s32 *place = (__s32 *)context->walk->code;
    if (s->low < s->high) {
        if (!read_user(place, 4, s->places + (__u64)middle * JAVA_PLACE_BYTES))
            return end_compiled(context);
        if (*place < (__s32)s->place)
            s->low = middle + 1;
        else
            s->high = middle;
        return 0;
    }
    if (!read_user(&s->scope, 4, s->places + (__u64)s->low * JAVA_PLACE_BYTES + 4) || !s->scope)
        return end_compiled(context);
    context->walk->place = JAVA_CHAIN;
    return 0;
}

/* The next number of a stream of such (compressedStream.hpp, UNSIGNED5): six bits from each of up to five bytes, but
 * for the first: all of it, and since 20 they begin at 1. Without a branch, which the verifier would walk both ways. */
static __always_inline __u32 next_number(__u64 *bytes, __u32 least)
{
    __u32 number = 0, go_on = ~0u;
#pragma unroll
    for (__u32 i = 0; i < 5; i++) {
        __u32 byte = bytes[0] & 0xff;
        number += (byte - least) << 6 * i & go_on;
        __u64 shift = go_on & 8, top = bytes[1] << 56;
        barrier_var(shift);
        bytes[0] = bytes[0] >> shift | (top & 0 - (shift >> 3));
        bytes[1] >>= shift;
        go_on &= mask_less(191, byte);
    }
    return number;
}

/* One method of the chain: who called it, which it is, 1 + the bytecode. */
static __noinline long put_scope(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    struct java_search *s = &w->java;
    __u64 *bytes = w->code, *method = &w->code[2];
    __u32 least = context->process->file.java.number_least;
    if (!read_user(bytes, 16, s->scopes + s->scope)) {
        w->limit = WP_INTERP_UNREADABLE;
        return end_java(context);
    }
    __u32 caller = next_number(bytes, least), index = next_number(bytes, least), bytecode = next_number(bytes, least);
    if (!index || index >= JAVA_PLACES || !read_user(method, 8, s->methods + 8ull * (index - 1)))
        *method = 0;
    put_method(context, *method, bytecode);
    if (!caller || caller >= s->scope)
        return end_java(context);
    s->scope = caller;
    return 0;
}

static long step_methods(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    if (!w || !context->process || !context->words || !context->native)
        return 1;
    if (w->count >= WP_INTERP_DEPTH)
        return stop_walk(w, WP_INTERP_TOO_DEEP);
    if (w->place == JAVA_SEARCH)
        return search_place(context);
    if (w->place == JAVA_CHAIN)
        return put_scope(context);
    if (w->place == JAVA_VIRTUAL)
        return begin_virtual(context);
    if (w->place == JAVA_STARTED)
        return search_started(context);
    if (w->frame >= context->native->jit_count)
        return stop_walk(w, (enum wp_interp_end)w->limit);
    return begin_frame(context);
}

/* Text of a symbol; a size of 0: there is none. */
static __always_inline struct interp_bytes java_bytes(const struct wp_java_layout *layout, __u64 at)
{
    struct interp_bytes bytes = {};
    __u64 symbol;
    __u16 size;
    if (!read_user(&symbol, 8, at) || !symbol || symbol & 7 ||
        !read_user(&size, 2, symbol + layout->at[WP_JAVA_SYMBOL_SIZE]))
        return bytes;
    bytes.from = symbol + layout->at[WP_JAVA_SYMBOL_TEXT];
    bytes.size = size;
    return bytes;
}

/* Package/Class.method; without the class when its name is too long. */
static __always_inline struct interp_text read_java_name(
    struct interp_bytes class, struct interp_bytes method, __u8 *to)
{
    struct interp_text first = class.size <= INTERP_OWNER_MOST
        ? read_bytes(class.from, class.size, to, INTERP_OWNER_MOST)
        : (struct interp_text){};
    __u32 size = first.size;
    barrier_var(size);
    if (!size || size > INTERP_OWNER_MOST)
        return read_bytes(method.from, method.size, to, WP_INTERP_NAME);
    to[size] = '.';
    struct interp_text last =
        read_bytes(method.from, method.size, to + size + 1, WP_INTERP_NAME - INTERP_OWNER_MOST - 1);
    last.size += last.unit ? size + 1 : 0;
    return last;
}

/* The table of lines is between the bytecode and the end of the constant part, and ends before that. */
static __always_inline void read_java_lines(
    struct interp_sending *s, const struct interp_walk *w, const struct wp_java_layout *layout, __u64 fixed)
{
    struct wp_record_code *code = &s->record.code;
    __u64 all = (__u32)JAVA_CONST(w, layout, WP_JAVA_CONST_SIZE) * 8ull,
          before = layout->const_bytes + (JAVA_CONST(w, layout, WP_JAVA_CONST_CODE_SIZE) & 0xffff);
    code->lines_size = code->lines_kept = 0;
    if (!(JAVA_CONST(w, layout, WP_JAVA_CONST_FLAGS) & JAVA_HAS_LINES) || all <= before || all > 1u << 24)
        return;
    __u64 size = all - before;
    code->lines_size = (__u32)size;
    if (size > WP_INTERP_LINES)
        size = WP_INTERP_LINES;
    barrier_var(size);
    if (size > WP_INTERP_LINES || !read_user(s->record.lines, size, fixed + before))
        return;
    code->lines_kept = (__u32)size;
}

/* The constant part of a method, and its pool of constants, are in `code`. False: they cannot be read. */
static __always_inline bool read_const(struct interp_walk *w, const struct wp_java_layout *layout, __u64 fixed)
{
    __u32 size = layout->const_bytes;
    barrier_var(size);
    if (size > WP_JAVA_CONST_BYTES || !read_user(w->code, size, fixed))
        return false;
    size = layout->pool_bytes;
    barrier_var(size);
    return size <= WP_JAVA_POOL_BYTES &&
        read_user(&w->code[JAVA_POOL_AT], size, JAVA_CONST(w, layout, WP_JAVA_CONST_POOL));
}

__noinline bool fill_java(
    struct interp_sending *s, struct interp_walk *w, const struct wp_interp_file *interp, __u64 method)
{
    if (!s || !w || !interp)
        return false;
    const struct wp_java_layout *layout = &interp->java;
    __u64 fixed;
    if (!read_user(&fixed, 8, method + layout->at[WP_JAVA_METHOD_CONST]) || !read_const(w, layout, fixed))
        return false;
    __u64 constants = JAVA_CONST(w, layout, WP_JAVA_CONST_POOL) + layout->pool_bytes;
    __u32 length = JAVA_POOL(w, layout, WP_JAVA_POOL_LENGTH);
    __u32 name_at = JAVA_CONST(w, layout, WP_JAVA_CONST_NAME) & 0xffff;
    __u32 file_at = JAVA_POOL(w, layout, WP_JAVA_POOL_FILE) & 0xffff;
    if (name_at >= length || file_at >= length || length > 65536)
        return false;
    s->record.code.first_line = 0;
    __u64 class_at = JAVA_POOL(w, layout, WP_JAVA_POOL_CLASS);
    struct interp_bytes class = java_bytes(layout, class_at + layout->at[WP_JAVA_CLASS_NAME]);
    struct interp_text name =
        read_java_name(class, java_bytes(layout, constants + 8 * (__u64)name_at), s->record.code.name);
    struct interp_text file = {.unit = WP_INTERP_UTF8}; /* code that was made at run time has none */
    if (file_at) {
        struct interp_bytes source = java_bytes(layout, constants + 8 * (__u64)file_at);
        file = read_bytes(source.from, source.size, s->record.code.file, WP_INTERP_FILE);
    }
    keep_texts(s, name, file);
    read_java_lines(s, w, layout, fixed);
    s->is_whole = name.unit && file.unit && class.size && (!s->record.code.lines_size || s->record.code.lines_kept);
    return true;
}

/* Of the walk's virtual thread: the name that it was given, or else the method that it was started with. */
__noinline bool fill_virtual(struct interp_sending *s, struct interp_walk *w, const struct wp_interp_file *interp)
{
    if (!s || !w || !interp)
        return false;
    struct wp_record_code *code = &s->record.code;
    if (!w->task_name[0] && w->task_code) {
        bool is_filled = fill_java(s, w, interp, w->task_code);
        code->lines_size = code->lines_kept = 0;
        s->is_whole = code->name_unit && code->file_unit;
        return is_filled;
    }
    struct interp_text name = {.unit = 1}, file = {.unit = WP_INTERP_UTF8};
    if (w->task_name[0]) {
        __builtin_memcpy(code->name, w->task_name, sizeof(w->task_name));
        name.size = sizeof(w->task_name);
    }
    keep_texts(s, name, file);
    code->lines_size = code->lines_kept = 0;
    return true;
}

#endif
