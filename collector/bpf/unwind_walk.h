/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_UNWIND_WALK_H
#define WP_COLLECTOR_BPF_UNWIND_WALK_H
/* A walk through a user stack: where it stands, and what it has read. */
#include "emit.h"
#include "interp_row.h"
#include "unwind_row.h"

/* All ones where x < y (both below 2^63): a branch less for the verifier, which walks every path. It makes two of a
 * mask and a constant joined by `and` (Linux 6.18), so a mask is joined with masks, or multiplied. */
static __always_inline __s64 mask_less(__u64 x, __u64 y)
{
    __s64 difference = (__s64)(x - y);
    barrier_var(difference); /* else the compiler makes a branch of it again, here ... */
    __s64 mask = difference >> 63;
    barrier_var(mask); /* ... or there */
    return mask;
}

#define WALK_WORDS 64u

#define JAVA_BLOB_WORDS 32u

/* Frames of HotSpot and V8 are native ones, too: what is read of one on the way. */
struct jit_frame {
    /* HotSpot: JAVA_STUB or JAVA_TASK alone; a Method; a piece of compiled code (nmethod). The low bits: enum
     * java_kind. V8: its frame pointer. */
    __u64 what;
    __u64 place; /* address of a bytecode; address in the compiled code, of a call: in the call; JAVA_TASK: see there */
    __u32 index, reserved; /* of the native frame */
};

/* JAVA_TASK: no frame, but where the entry of a continuation may end, from which on the frames are its carrier's. */
enum java_kind { JAVA_STUB, JAVA_INTERPRETED, JAVA_COMPILED, JAVA_NATIVE, JAVA_TASK, JAVA_KINDS };
#define JAVA_ENTRY_ABOVE 16 /* between an entry and its caller's frame: the caller's bp, the return address */

struct word {
    __u64 at, value;
};

/* Kept in a map: what the verifier does not follow it need not walk again for every frame. */
struct walk {
    __u64 ip, sp, bp;
    __u64 bp_at; /* 0, or where the frame's bp lies that nobody has asked for yet */
    __u32 count;
    __u32 end;                /* enum wp_unwind_end */
    __u32 is_exact;           /* ip is an instruction, not the one behind a call */
    __u32 word_count;         /* past WALK_WORDS: not all of them are there */
    __u64 di;                 /* at the start */
    __u64 held[WP_CFA_HELDS]; /* other registers then */
    __u64 goroutine;          /* where Go's scheduler is left for: this one; 0: the one that it has left last */
    __u64 bytecode;           /* where HotSpot's interpreter stood in a method then (r13) */
    __u32 jit_count, segment_bits;
    struct wp_java_heap heap;              /* of HotSpot's code cache: the last one that was met ... */
    __u64 cache, cache_bytes;              /* ... and where all of them are */
    __u64 chunk_end;                       /* of a virtual thread's frames in the heap; 0: the walk is on the stack */
    __u64 entry_end, continuation;         /* where the stack goes on behind them; whose they are */
    __u64 heap_base;                       /* of compressed pointers */
    __u32 heap_shift, chunk;               /* chunk: a pointer to the one with the callers; 0: that was the last */
    struct jit_frame jit[WP_INTERP_DEPTH]; /* what was met in code that HotSpot or V8 made, innermost first */
    __u64 blob[JAVA_BLOB_WORDS];           /* the head of what HotSpot's code at the address belongs to ... */
    __u64 code;                            /* ... and where that begins */
    struct word words[WALK_WORDS];         /* all that was read: the same words lead to the same walk */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct walk);
} walks SEC(".maps");

static __always_inline bool read_word(struct walk *w, __u64 address, __u64 *word)
{
    if (bpf_probe_read_user(word, sizeof(*word), (void *)address)) {
        w->word_count = WALK_WORDS + 1;
        return false;
    }
    __u32 index = w->word_count++;
    if (index < WALK_WORDS) {
        struct word *kept = &w->words[index & (WALK_WORDS - 1)];
        kept->at = address;
        kept->value = *word;
    }
    return true;
}

/* Of a struct that was read; mask: of its words. */
static __always_inline __u64 word_in(const __u64 *words, __u32 offset, __u32 mask)
{
    offset = offset / 8 & mask;
    barrier_var(offset);
    return words[offset & mask];
}

/* The same of a member that is smaller; what is behind it is in the high bits. */
static __always_inline __u64 member_in(const __u64 *words, __u32 offset, __u32 mask)
{
    return word_in(words, offset, mask) >> (offset & 7) * 8;
}

/* Few frames are found by bp: elsewhere what a function has saved of it is a value like others, which neither costs a
 * read nor makes a place differ from itself. Not static: the verifier walks it once. */
__noinline int load_bp(struct walk *w)
{
    if (w && w->bp_at)
        read_word(w, w->bp_at, &w->bp);
    if (w)
        w->bp_at = 0;
    return 0;
}

static __always_inline void put_jit(struct walk *w, __u64 what, __u64 place)
{
    __u32 at = w->jit_count;
    if (at >= WP_INTERP_DEPTH)
        return;
    barrier_var(at);
    w->jit[at & (WP_INTERP_DEPTH - 1)] = (struct jit_frame){.what = what, .place = place, .index = w->count - 1};
    w->jit_count++;
}

static __always_inline long step_pointer(struct walk *w)
{
    __u64 before = w->bp;
    if (!before && !w->is_exact) { /* the psABI's mark of the outermost frame */
        w->end = WP_UNWIND_COMPLETE;
        return 1;
    }
    if (before < w->sp || before & 7 || !read_word(w, before + 8, &w->ip) || !read_word(w, before, &w->bp)) {
        w->end = WP_UNWIND_NO_ROWS;
        return 1;
    }
    w->sp = before + 16;
    w->is_exact = 0;
    return 0;
}

#endif
