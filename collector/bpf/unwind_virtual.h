/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_UNWIND_VIRTUAL_H
#define WP_COLLECTOR_BPF_UNWIND_VIRTUAL_H
/*
 * Virtual threads of HotSpot 21 and 25 (share/runtime/continuationFreezeThaw.cpp, continuationEntry.hpp). While one
 * waits its frames are in objects of the heap, chunks. Of those few come back to the stack of the thread that goes on
 * with it, and the last of these returns to a stub, the return barrier, which would fetch more. There the walk goes on
 * in the chunk, and behind that below the continuation's entry, which lies where the barrier's frame would be. Offsets
 * in objects are not told by HotSpot: those of compressed pointers are tried, and must lead back to the continuation.
 */
#include "interp_bind.h"
#include "unwind_walk.h"

#define JAVA_ENTRY_CONTINUATION 16 /* in an entry: the continuation */
#define JAVA_CONTINUATION_TAIL 32  /* in a continuation: its last chunk */
#define JAVA_CHUNK_BYTES 56u       /* in front of a chunk's stack */
#define JAVA_CHUNK_WORDS 65536u    /* of a stack */
/* Words of a chunk; the halves of some. */
enum {
    JAVA_CHUNK_SIZE = 1, /* high: words of the stack */
    JAVA_CHUNK_PC = 2,
    JAVA_CHUNK_SP = 3,   /* low: where its first frame is, high: where its last one ends, both in words */
    JAVA_CHUNK_LINKS = 5 /* low: the chunk that its callers are in, high: the continuation */
};
#define JAVA_BARRIER 0xa78b49u /* mov (JavaThread.cont_entry)(%r15), %rsp */
#define JAVA_LINK_MOST 65536u  /* words */
#define JAVA_ARGUMENTS 16      /* words that a frame may have been given, between it and its caller's */

/* In a chunk a place of the stack is told in words from where that is written. */
static __always_inline __u64 java_link(__u64 link, __u64 from)
{
    return link - 1 < JAVA_LINK_MOST ? from + 8 * link : link;
}

/* The last frame of a chunk returns to nothing. */
static __always_inline bool is_chunk_end(const struct walk *w, __u64 cfa, __u64 caller)
{
    return w->chunk_end && !caller && w->chunk_end - cfa <= 8 * JAVA_ARGUMENTS;
}

/* The frames of a chunk are next. False: it is none of this continuation's, or has no frames: then `chunk` is the one
 * that has its callers'. */
static __always_inline bool enter_chunk(struct walk *w, __u32 chunk)
{
    __u64 at = w->heap_base + ((__u64)chunk << (w->heap_shift & 31)), pc = 0;
    if (!chunk || bpf_probe_read_user(w->blob, JAVA_CHUNK_BYTES, (void *)at))
        return false;
    __u32 size = w->blob[JAVA_CHUNK_SIZE] >> 32, bottom = w->blob[JAVA_CHUNK_SP] >> 32;
    __u32 sp = w->blob[JAVA_CHUNK_SP];
    __u64 stack = at + JAVA_CHUNK_BYTES, continuation = w->blob[JAVA_CHUNK_LINKS] >> 32;
    w->chunk = 0;
    if (w->heap_base + (continuation << (w->heap_shift & 31)) != w->continuation || size > JAVA_CHUNK_WORDS ||
        bottom > size)
        return false;
    if (sp >= bottom)
        w->chunk = w->blob[JAVA_CHUNK_LINKS];
    if (sp >= bottom || w->blob[JAVA_CHUNK_PC] - w->cache >= w->cache_bytes)
        return false;
    w->ip = w->blob[JAVA_CHUNK_PC];
    w->sp = stack + 8ull * sp + 8; /* but for what its callee was given, and what that is aligned by */
    for (int i = 0; i < JAVA_ARGUMENTS && pc != w->ip; i++) {
        w->sp -= 8;
        if (bpf_probe_read_user(&pc, 8, (void *)(w->sp - 8)))
            return false;
    }
    if (pc != w->ip || bpf_probe_read_user(&w->bp, 8, (void *)(w->sp - 16)))
        return false;
    w->bp = java_link(w->bp, w->sp - 16);
    w->chunk_end = stack + 8ull * bottom;
    w->chunk = w->blob[JAVA_CHUNK_LINKS];
    return true;
}

/* At the return barrier: the walk goes on in the chunk, and will do so below the entry. False: neither is found. */
static __always_inline bool enter_continuation(struct walk *w, const struct wp_interp_file *file)
{
    __u64 table = file->code_type, end = w->sp + file->java.continuation_bytes + JAVA_ENTRY_ABOVE, caller;
    __u32 tail;
    w->word_count = WALK_WORDS + 1; /* what is in the heap is not remembered */
    for (int i = 0; i < JAVA_ARGUMENTS; i++) {
        if (bpf_probe_read_user(&caller, 8, (void *)(end - 8)))
            return false;
        if (caller - w->cache < w->cache_bytes)
            break;
        end += 8;
    }
    w->entry_end = end;
    __u64 entry = end - JAVA_ENTRY_ABOVE - file->java.continuation_bytes;
    w->heap_shift = 0;
    return caller - w->cache < w->cache_bytes && file->java.continuation_bytes &&
        !bpf_probe_read_user(&w->heap_base, 8, (void *)(table + (__s32)file->java.heap_base)) &&
        !bpf_probe_read_user(&w->heap_shift, 4, (void *)(table + (__s32)file->java.heap_shift)) &&
        !bpf_probe_read_user(&w->continuation, 8, (void *)(entry + JAVA_ENTRY_CONTINUATION)) &&
        !bpf_probe_read_user(&tail, 4, (void *)(w->continuation + JAVA_CONTINUATION_TAIL)) &&
        (enter_chunk(w, tail) || enter_chunk(w, w->chunk));
}

/* Behind the last frame of a chunk: the one before that, or the stack again, below the entry. False: it is not read. */
static __always_inline bool leave_chunk(struct walk *w)
{
    w->chunk_end = 0;
    if (w->chunk)
        return enter_chunk(w, w->chunk);
    w->sp = w->entry_end;
    put_jit(w, JAVA_TASK, w->entry_end - JAVA_ENTRY_ABOVE);
    return read_word(w, w->sp - 8, &w->ip) && read_word(w, w->sp - 16, &w->bp);
}

#endif
