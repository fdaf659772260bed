/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_VIRTUAL_H
#define WP_COLLECTOR_BPF_INTERP_VIRTUAL_H
/*
 * Virtual threads of HotSpot 21 and 25 (share/runtime/continuationEntry.hpp, java/lang/VirtualThread.java): which one a
 * carrier's frames belong to. The continuation's entry on the stack leads to the continuation, that to what it runs,
 * and that to the virtual thread and its name. Offsets in objects are not told by HotSpot: what is found must be of the
 * class that it should be, by name. Where pointers are not compressed (ZGC), or heads of objects are, nothing is.
 */
#include "interp_task.h"
#include "unwind_java.h"

enum {
    JAVA_ENTRY_IS_VIRTUAL = 2, /* words in an entry from JAVA_ENTRY_CONTINUATION on */
    JAVA_OBJECT_CLASS = 8,     /* in an object; compressed, as all that follows */
    JAVA_CONTINUATION_RUNS = 16,
    JAVA_WRAPPER_THREAD = 12, /* in VirtualThread.VThreadContinuation's Runnable */
    JAVA_STRING_CODER = 16,   /* a byte; 0: Latin-1 */
    JAVA_STRING_BYTES = 20,
    JAVA_BYTES_SIZE = 12,
    JAVA_BYTES = 16,
    JAVA_STARTED_MOST = 32, /* frames that are looked through */
    JAVA_POOL_AT = 8        /* words of `code` before those of a pool of constants */
};

#define JAVA_POOL(w, layout, member) member_in((w)->code, 8 * JAVA_POOL_AT + (layout)->at[member], 31)

/* In which state the next step finds the walk: at a native frame, in the table of places, in the chain; where the entry
 * of a continuation may end (`stack`), at a frame that may be what a virtual thread was started with. */
enum { JAVA_NEXT, JAVA_SEARCH, JAVA_CHAIN, JAVA_VIRTUAL, JAVA_STARTED };

/* The beginnings of names. */
#define JAVA_TEXT_LANG 0x6e616c2f6176616aull    /* "java/lan" */
#define JAVA_TEXT_VIRTUAL 0x6175747269562f67ull /* "g/Virtua" */
#define JAVA_TEXT_THREAD 0x6461657268546cull    /* "lThread" */
#define JAVA_TEXT_STRING 0x676e697274532f67ull  /* "g/String" */
#define JAVA_TEXT_BYTES 0x425bull               /* "[B" */
#define JAVA_TEXT_JAVA 0x2f6176616aull          /* "java/" */
#define JAVA_TEXT_JDK 0x2f6b646aull             /* "jdk/" */
#define JAVA_TEXT_SUN 0x2f6e7573ull             /* "sun/" */
enum { JAVA_SIZE_THREAD = 23, JAVA_SIZE_STRING = 16, JAVA_SIZE_BYTES = 2 };

/* What a compressed pointer means; where the base and the shift are kept is told from the table on. */
static __always_inline __u64 decompress(const struct wp_interp_file *file, __u32 base_at, __u32 shift_at, __u32 pointer)
{
    __u64 base = 0;
    __u32 shift = 0;
    if (!pointer || !read_user(&base, 8, file->code_type + (__s32)base_at) ||
        !read_user(&shift, 4, file->code_type + (__s32)shift_at))
        return 0;
    return base + ((__u64)pointer << (shift & 31));
}

/* What a pointer in the heap leads to; 0: nothing. */
static __noinline __u64 java_object(struct interp_context *context, __u64 at)
{
    struct wp_interp_process *process = context->process;
    __u32 pointer = 0;
    if (!process || !read_user(&pointer, 4, at))
        return 0;
    return decompress(&process->file, process->file.java.heap_base, process->file.java.heap_shift, pointer);
}

/* Name of a class, in `bytes`: its first 24 bytes, and its size. False: it cannot be read. */
static __always_inline bool read_class_name(struct interp_walk *w, const struct wp_java_layout *layout, __u64 class)
{
    __u64 symbol;
    __u16 size;
    w->bytes[0] = w->bytes[1] = w->bytes[2] = 0;
    if (!read_user(&symbol, 8, class + layout->at[WP_JAVA_CLASS_NAME]) || !symbol || symbol & 7 ||
        !read_user(&size, 2, symbol + layout->at[WP_JAVA_SYMBOL_SIZE]))
        return false;
    w->bytes[3] = size;
    __u64 most = size < 24 ? size : 24;
    barrier_var(most);
    return most <= 24 && read_user(w->bytes, most, symbol + layout->at[WP_JAVA_SYMBOL_TEXT]);
}

static __always_inline bool has_name(const struct interp_walk *w, enum wp_java_class which)
{
    const __u64 *name = w->bytes;
    switch (which) {
    case WP_JAVA_VIRTUAL_THREAD:
        return name[0] == JAVA_TEXT_LANG && name[1] == JAVA_TEXT_VIRTUAL && name[2] == JAVA_TEXT_THREAD &&
            name[3] == JAVA_SIZE_THREAD;
    case WP_JAVA_STRING:
        return name[0] == JAVA_TEXT_LANG && name[1] == JAVA_TEXT_STRING && name[3] == JAVA_SIZE_STRING;
    default:
        return name[0] == JAVA_TEXT_BYTES && name[3] == JAVA_SIZE_BYTES;
    }
}

/* Whether an object is of the class. Which one that is says its name, once for a process: these are never unloaded. */
static __noinline bool is_of_class(struct interp_context *context, __u64 object, enum wp_java_class which)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u32 pointer;
    if (!w || !process || which >= WP_JAVA_CLASSES || !object || object & 7 ||
        !read_user(&pointer, 4, object + JAVA_OBJECT_CLASS) || !pointer)
        return false;
    if (process->classes[which])
        return process->classes[which] == pointer;
    __u64 class = decompress(&process->file, process->file.java.class_base, process->file.java.class_shift, pointer);
    if (!class || !read_class_name(w, &process->file.java, class) || !has_name(w, which))
        return false;
    process->classes[which] = pointer;
    return true;
}

/* The name that a virtual thread was given; nothing where it was given none, or one that is not Latin-1. */
static __always_inline void read_virtual_name(struct interp_context *context, __u64 thread)
{
    struct interp_walk *w = context->walk;
    __u64 text = java_object(context, thread + context->process->file.java.thread_name);
    __u32 size;
    __u8 coder;
    __builtin_memset(w->task_name, 0, sizeof(w->task_name));
    if (!is_of_class(context, text, WP_JAVA_STRING) || !read_user(&coder, 1, text + JAVA_STRING_CODER) || coder)
        return;
    __u64 bytes = java_object(context, text + JAVA_STRING_BYTES);
    if (!is_of_class(context, bytes, WP_JAVA_BYTES) || !read_user(&size, 4, bytes + JAVA_BYTES_SIZE))
        return;
    __u64 most = size < sizeof(w->task_name) ? size : sizeof(w->task_name);
    barrier_var(most);
    if (most > sizeof(w->task_name) || !read_user(w->task_name, most, bytes + JAVA_BYTES)) {
        w->task_name[0] = 0;
        return;
    }
#pragma unroll
    for (__u32 i = 0; i < WP_INTERP_TASK_NAME / 8; i++)
        w->task_name[i] = without_digits(w->task_name[i]);
}

/* The word, between the virtual thread's frames and the carrier's. `print`: of what it was started with. */
static __always_inline void put_virtual(struct interp_context *context, __u64 print)
{
    struct interp_walk *w = context->walk;
    put_word(w, context->words, WP_INTERP_WORD(task_hash(w), WP_INTERP_UNIT_TASK), print);
    w->place = JAVA_NEXT;
}

/* Where the entry of a continuation may end. Whose it is may change without a word of the stack. */
static __noinline long begin_virtual(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    if (!w || !process || !context->native || !context->words)
        return 1;
    const struct wp_java_layout *layout = &process->file.java;
    __u64 entry = w->stack - layout->continuation_bytes + JAVA_ENTRY_CONTINUATION;
    w->place = JAVA_NEXT;
    if (!layout->thread_name || w->task_code || w->task_name[0] || !read_user(w->bytes, 24, entry) ||
        (__u32)w->bytes[JAVA_ENTRY_IS_VIRTUAL] != 1 || !w->bytes[0] || w->bytes[0] & 7)
        return 0;
    if (process->classes[WP_JAVA_VIRTUAL_THREAD]) /* else it is none, most likely */
        context->native->word_count = WALK_WORDS + 1;
    __u64 thread = java_object(context, w->bytes[0] + JAVA_CONTINUATION_RUNS);
    thread = thread ? java_object(context, thread + JAVA_WRAPPER_THREAD) : 0;
    if (!is_of_class(context, thread, WP_JAVA_VIRTUAL_THREAD))
        return 0;
    context->native->word_count = WALK_WORDS + 1;
    read_virtual_name(context, thread);
    if (w->task_name[0]) {
        put_virtual(context, 0);
        return 0;
    }
    w->java.low = w->count;
    w->java.high = 0;
    w->place = JAVA_STARTED;
    return 0;
}

/* Whether a method is of the program, and not of the JDK nor made while it runs. `fixed`: its constant part. */
static __always_inline bool is_own_method(struct interp_walk *w, const struct wp_java_layout *layout, __u64 fixed)
{
    __u64 pool;
    __u32 size = layout->pool_bytes;
    barrier_var(size);
    if (size > WP_JAVA_POOL_BYTES || !read_user(&pool, 8, fixed + layout->at[WP_JAVA_CONST_POOL]) ||
        !read_user(&w->code[JAVA_POOL_AT], size, pool) || !(JAVA_POOL(w, layout, WP_JAVA_POOL_FILE) & 0xffff) ||
        !read_class_name(w, layout, JAVA_POOL(w, layout, WP_JAVA_POOL_CLASS)))
        return false;
    __u32 first = (__u32)w->bytes[0];
    return (w->bytes[0] & 0xffffffffffull) != JAVA_TEXT_JAVA && first != JAVA_TEXT_JDK && first != JAVA_TEXT_SUN;
}

/* A frame of a virtual thread without a name, from the outermost one on: is it the program's? */
static __noinline long search_started(struct interp_context *context)
{
    struct interp_walk *w = context->walk;
    if (!w->java.low || w->java.high++ >= JAVA_STARTED_MOST) {
        put_virtual(context, 0);
        return 0;
    }
    __u32 at = --w->java.low;
    barrier_var(at);
    at &= WP_INTERP_DEPTH - 1;
    __u64 method = WP_INTERP_CODE_OF(context->words[at]), print = w->prints[at];
    if (!method || !is_own_method(w, &context->process->file.java, print))
        return 0;
    w->task_code = method;
    put_virtual(context, print);
    return 0;
}

#endif
