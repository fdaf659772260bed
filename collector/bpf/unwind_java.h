/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_UNWIND_JAVA_H
#define WP_COLLECTOR_BPF_UNWIND_JAVA_H
/*
 * Stacks through code that HotSpot made (17, 21, 25: share/code/heap.cpp, codeBlob.hpp, nmethod.hpp;
 * cpu/x86/frame_x86.hpp). Its code cache consists of heaps of blocks; a map has a byte for each segment of a heap: how
 * many segments before it its block begins, or begins to be looked for. The blob in a block says how large its code's
 * frames are. Compiled code keeps what it likes in bp.
 */
#include "interp_bind.h"
#include "unwind_virtual.h"

#define JAVA_HOPS 12
#define JAVA_FREE 0xffu
/* The names begin with these. */
#define JAVA_NAME_COMPILED 0x00646f6874656d6eull     /* "nmethod" */
#define JAVA_NAME_NATIVE 0x6e2065766974616eull       /* "native nmethod" */
#define JAVA_NAME_INTERPRETER 0x6572707265746e49ull  /* "Interpreter" */
#define JAVA_NAME_VTABLE 0x6320656c62617476ull       /* "vtable chunks" */
#define JAVA_NAME_STUBS 0x74756f5262757453ull        /* "StubRoutines (continuation stubs)" and others */
#define JAVA_NAME_CONTINUATION 0x61756e69746e6f63ull /* ... from here on: "continua" */
#define JAVA_NAME_CONTINUATION_AT 14
#define JAVA_NAME_ADAPTERS 0x204932432f433249ull /* "I2C/C2I adapters" */
/* Of an interpreted method's frame, from bp - 64 on. */
#define JAVA_FRAME_BYTECODE (-64)
#define JAVA_FRAME_METHOD (-24)
#define JAVA_FRAME_CALLER_SP (-8)
#define JAVA_FRAME_MOST 65536u

/* A member of the blob that the walk is at. */
#define JAVA_BLOB(w, layout, member) member_in((w)->blob, (layout)->at[member], JAVA_BLOB_WORDS - 1)

/* The process whose code cache an address is in: the running thread's, and the walk knows in which heap; NULL: none. */
static __always_inline struct wp_interp_process *java_at(struct walk *w, __u64 address)
{
    struct wp_interp_process *process = interp_here(current_task());
    if (!process || WP_INTERP_LANGUAGE(process->file.version) != WP_INTERP_JAVA)
        return 0;
#pragma unroll
    for (__u32 i = 0; i < WP_JAVA_HEAPS; i++) {
        const struct wp_java_heap *heap = &process->heaps[i];
        if (address - heap->begin < heap->end - heap->begin) {
            w->heap = *heap;
            w->segment_bits = process->segment_bits & 31;
            w->cache = process->file.loop;
            w->cache_bytes = process->file.loop_end - process->file.loop;
            return process;
        }
    }
    return 0;
}

/* Of the code at an address; 0: none. */
static __always_inline __u64 find_blob(struct walk *w, const struct wp_java_layout *layout, __u64 address)
{
    __u64 segment = (address - w->heap.begin) >> w->segment_bits;
    for (int i = 0; i < JAVA_HOPS; i++) {
        __u8 back;
        if (bpf_probe_read_user(&back, 1, (void *)(w->heap.segments + segment)) || back == JAVA_FREE)
            return 0;
        if (!back)
            return w->heap.begin + (segment << w->segment_bits) + layout->block_head;
        segment -= back;
    }
    return 0;
}

/* What a member of a blob leads to: it is an address, or an offset. */
static __always_inline __u64 java_address(const struct wp_java_layout *layout, __u64 from, __u64 member)
{
    return layout->has_offsets ? from + (__u32)member : member;
}

static __always_inline long stop_java(struct walk *w, enum wp_unwind_end end)
{
    w->end = end;
    return 1;
}

/* The caller is above; its bp is below its address in this frame, if this one has saved it. */
static __always_inline long return_java(struct walk *w, __u64 cfa, bool has_bp)
{
    __u64 caller;
    if (cfa <= w->sp || !read_word(w, cfa - 8, &caller))
        return stop_java(w, WP_UNWIND_UNREADABLE);
    if (has_bp && !read_word(w, cfa - 16, &w->bp))
        return stop_java(w, WP_UNWIND_UNREADABLE);
    if (has_bp)
        w->bp = java_link(w->bp, cfa - 16);
    w->ip = caller;
    w->sp = cfa;
    w->is_exact = 0;
    return 0;
}

static __always_inline long step_interpreted(struct walk *w)
{
    __u64 method, place = w->bytecode, sp, bp = w->bp;
    if (bp < w->sp || bp - w->sp > JAVA_FRAME_MOST || bp & 7 || !read_word(w, bp + JAVA_FRAME_METHOD, &method) ||
        !read_word(w, bp + JAVA_FRAME_CALLER_SP, &sp) || !read_word(w, bp + 8, &w->ip) || !read_word(w, bp, &w->bp))
        return stop_java(w, WP_UNWIND_UNREADABLE);
    if (w->is_exact && w->count == 1)
        w->word_count = WALK_WORDS + 1; /* as in step_register */
    else if (!read_word(w, bp + JAVA_FRAME_BYTECODE, &place))
        return stop_java(w, WP_UNWIND_UNREADABLE);
    put_jit(w, method & 7 ? JAVA_STUB : method | JAVA_INTERPRETED, place);
    sp = java_link(sp, bp);
    w->bp = java_link(w->bp, bp);
    if (sp <= w->sp || sp < bp || sp & 7)
        return stop_java(w, WP_UNWIND_UNREADABLE);
    w->sp = sp;
    w->is_exact = 0;
    return 0;
}

/* Bytes of its frame that compiled code has at the instruction that it was met at; the caller's bp is among them when
 * there are 16 or more. */
static __always_inline __u64 size_at(struct walk *w, __u64 begin, __u64 complete, __u64 size)
{
    __u64 code = 0;
    if (w->ip - begin < complete)
        return w->ip - begin + 4 >= complete ? 16 : 8;
    bpf_probe_read_user(&code, 8, (void *)w->ip);
    if ((code & 0xff) == 0x5d) /* pop rbp */
        return 16;
    bool is_poll = (code & 0xffffff) == 0xa73b49 || ((code & 0xffff) == 0x870f && (code >> 48 & 0xff) == 0xc3);
    return (code & 0xff) == 0xc3 || is_poll ? 8 : size; /* ret; what comes before it: is the thread to stop? */
}

/* Compiled code is called by code of the cache alone. When something was pushed beside its frame, that is further up.
 */
static __always_inline long step_compiled(
    struct walk *w, const struct wp_java_layout *layout, __u64 blob, enum java_kind kind)
{
    __u64 place = w->ip, size = (__u64)(__u32)JAVA_BLOB(w, layout, WP_JAVA_BLOB_FRAME_SIZE) * 8;
    if (w->ip == java_address(layout, blob, JAVA_BLOB(w, layout, WP_JAVA_CODE_DEOPT))) {
        __s32 at;
        if (bpf_probe_read_user(&at, 4, (void *)(blob + layout->at[WP_JAVA_CODE_CALLER])) ||
            !read_word(w, w->sp + at, &place))
            place = 0;
    }
    put_jit(w, blob | kind, place);
    if (w->is_exact) {
        __u64 complete = JAVA_BLOB(w, layout, WP_JAVA_BLOB_COMPLETE) & (layout->has_offsets ? 0xffff : 0xffffffff);
        size = size_at(w, w->code, complete, size);
    }
    __u64 cfa = w->sp + size, caller;
    bool is_entry = kind == JAVA_NATIVE && !w->is_exact && layout->continuation_bytes &&
        size == (__u64)layout->continuation_bytes + JAVA_ENTRY_ABOVE; /* or has a frame as large */
#pragma unroll
    for (int i = 0; i < 6; i++) {
        if (bpf_probe_read_user(&caller, 8, (void *)(cfa - 8)))
            return stop_java(w, WP_UNWIND_UNREADABLE);
        if (caller - w->cache < w->cache_bytes || is_chunk_end(w, cfa, caller)) {
            if (is_entry)
                put_jit(w, JAVA_TASK, cfa - JAVA_ENTRY_ABOVE);
            return return_java(w, cfa, size >= 16);
        }
        cfa += 8;
    }
    return stop_java(w, WP_UNWIND_NO_ROWS);
}

static __always_inline long step_stub(struct walk *w, const struct wp_java_layout *layout, bool is_call_alone)
{
    __u64 size = (__u64)(__u32)JAVA_BLOB(w, layout, WP_JAVA_BLOB_FRAME_SIZE) * 8;
    put_jit(w, JAVA_STUB, 0);
    if (is_call_alone)
        return return_java(w, w->sp + 8, false);
    if (size)
        return return_java(w, w->sp + size, size >= 16);
    return step_pointer(w);
}

/* Hand-written code. */
static __always_inline long step_routine(struct walk *w, const struct wp_interp_file *file)
{
    __u64 name, code;
    if (w->is_exact || bpf_probe_read_user(&code, 8, (void *)w->ip) || (code & 0xffffff) != JAVA_BARRIER ||
        bpf_probe_read_user(
            &name, 8, (void *)(JAVA_BLOB(w, &file->java, WP_JAVA_BLOB_NAME) + JAVA_NAME_CONTINUATION_AT)) ||
        name != JAVA_NAME_CONTINUATION)
        return step_stub(w, &file->java, false);
    put_jit(w, JAVA_STUB, 0);
    return enter_continuation(w, file) ? 0 : stop_java(w, WP_UNWIND_NO_ROWS);
}

static __always_inline long step_blob(struct walk *w, const struct wp_interp_file *file)
{
    const struct wp_java_layout *layout = &file->java;
    __u64 blob = find_blob(w, layout, w->is_exact ? w->ip : w->ip - 1), name = 0;
    if (!blob || bpf_probe_read_user(w->blob, WP_JAVA_BLOB_BYTES, (void *)blob))
        return stop_java(w, WP_UNWIND_NO_ROWS);
    w->code = java_address(layout, blob, JAVA_BLOB(w, layout, WP_JAVA_BLOB_CODE));
    __u64 end = java_address(layout, blob, JAVA_BLOB(w, layout, WP_JAVA_BLOB_CODE_END));
    if (w->ip - w->code > end - w->code ||
        bpf_probe_read_user(&name, 8, (void *)JAVA_BLOB(w, layout, WP_JAVA_BLOB_NAME)))
        return stop_java(w, WP_UNWIND_NO_ROWS);
    switch (name) {
    case JAVA_NAME_INTERPRETER:
        return step_interpreted(w);
    case JAVA_NAME_COMPILED:
        return step_compiled(w, layout, blob, JAVA_COMPILED);
    case JAVA_NAME_NATIVE:
        return step_compiled(w, layout, blob, JAVA_NATIVE);
    case JAVA_NAME_STUBS:
        return step_routine(w, file);
    default:
        return step_stub(w, layout, name == JAVA_NAME_VTABLE || name == JAVA_NAME_ADAPTERS);
    }
}

enum java_step { JAVA_NO_STEP, JAVA_STEP, JAVA_LAST_STEP };

/* Where the walk stands may be code of HotSpot's. Not static: the verifier walks it once, with a stack of its own. */
__noinline int step_java(struct walk *w, __u64 address)
{
    struct wp_interp_process *process = w ? java_at(w, address) : 0;
    if (!w || !process)
        return JAVA_NO_STEP;
    __u32 before = w->jit_count;
    if (!before)
        w->chunk_end = 0;
    long is_end = step_blob(w, &process->file);
    if (!is_end && w->chunk_end && (!w->ip || w->sp >= w->chunk_end) && !leave_chunk(w))
        is_end = stop_java(w, WP_UNWIND_UNREADABLE);
    if (w->jit_count == before) /* each of these frames has an entry */
        put_jit(w, JAVA_STUB, 0);
    return is_end ? JAVA_LAST_STEP : JAVA_STEP;
}

#endif
