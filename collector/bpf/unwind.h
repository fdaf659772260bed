/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_UNWIND_H
#define WP_COLLECTOR_BPF_UNWIND_H
/*
 * User stacks without frame pointers: the rows that collector/unwind/unwind_rows.c makes of an object's .eh_frame say,
 * for every place in its code, where the caller's frame is. What is mapped at an address is read from the kernel's own
 * tree of the process's memory, so that a process that lives a millisecond is unwound as well as any. Code without rows
 * (made at run time, or not yet known) is walked by frame pointer.
 */
#include "emit.h"
#include "interp_bind.h"
#include "unwind_java.h"
#include "unwind_v8.h"

#define VM_EXEC 4u
#define AREAS 128u

struct area {
    __u64 start, end, file_offset;
    __u32 object, epoch;
};

/* Code that a process was met in, by a hash of the address; true as long as the kernel's figures are the same. */
struct space {
    __u64 exec_vm, start_code;
    __u32 tgid, generation;
    __u32 epoch, reserved; /* areas of another epoch are void */
    struct area areas[AREAS];
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 2048); /* on a large machine */
    __type(key, __u64);        /* address of its mm_struct */
    __type(value, struct space);
} spaces SEC(".maps");

/* An empty one to begin with, and room for a node of the tree. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct space);
} empty_space SEC(".maps");

struct node {
    __u64 words[32];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct node);
} nodes SEC(".maps");

/* Files that are known: their number, or 0 when they have no rows. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct wp_unwind_file);
    __type(value, __u32);
} unwind_files SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1 << 17); /* 128 MiB when all are in use */
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct wp_unwind_place);
    __type(value, struct wp_unwind_page);
} unwind_pages SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct wp_unwind_counts);
} unwind_counts SEC(".maps");

const volatile bool wp_unwinds = false; /* the kernel keeps memory in a tree that is known here */
__u32 wp_unwind_generation = 1;         /* changed by the reader when a file has become known */

/*
 * The number of a process's file, 0 when it has no rows, WP_UNWIND_UNKNOWN when it is not known yet: it is reported to
 * the reader. start: where it is mapped, 0 when it is the program that the process runs.
 */
static __always_inline __u32 file_number(struct file *file, __u32 pid, __u64 start)
{
    struct wp_unwind_file key = {};
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    key.inode = BPF_CORE_READ(inode, i_ino);
    key.device = BPF_CORE_READ(inode, i_sb, s_dev);
    __u32 *known = bpf_map_lookup_elem(&unwind_files, &key);
    if (known)
        return *known;
    struct wp_record *r = RESERVE(struct wp_record, WP_RECORD_FILE);
    if (!r)
        return WP_UNWIND_UNKNOWN;
    __builtin_memset(r, 0, sizeof(*r));
    r->time_ns = bpf_ktime_get_ns();
    r->kind = WP_RECORD_FILE;
    r->pid = pid;
    r->a = key.inode;
    r->b = start;
    r->d = key.device;
    bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
    return WP_UNWIND_UNKNOWN;
}

enum { TREE_LEAF = 1, TREE_GAPS = 3, TREE_LEVELS = 5, TREE_PIVOTS = 15, GAPS_PIVOTS = 9 };

/*
 * What a node of a maple tree (include/linux/maple_tree.h, Linux 6.1 to 6.18) has for an address: a node below it or,
 * in a leaf, what is stored; 0: nothing. Not static, so that the verifier walks it once and not once for each state of
 * each caller.
 */
__noinline __u64 tree_step(__u64 entry, __u64 address, __u32 which)
{
    struct node *node = bpf_map_lookup_elem(&nodes, &which);
    __u32 type = (entry >> 3) & 15;
    if (!node || type < TREE_LEAF || type > TREE_GAPS ||
        bpf_probe_read_kernel(node, sizeof(*node), (void *)(entry & ~255ull)))
        return 0;
    /* A parent, then pivots (the last address of each slot; 0: no more), then slots. */
    __u64 pivots = TREE_PIVOTS - (type >> 1 & type) * (TREE_PIVOTS - GAPS_PIVOTS), slot = 0;
    __s64 go_on = -1;
#pragma unroll
    for (__u32 i = 0; i < TREE_PIVOTS; i++) {
        __u64 pivot = node->words[1 + i] >> 1; /* the last one may be all ones */
        go_on &= mask_less(pivot, address >> 1) & mask_less(0, pivot);
        if (i >= GAPS_PIVOTS)
            go_on &= mask_less(i, pivots);
        slot -= go_on;
    }
    return node->words[(1 + pivots + slot) & 31];
}

/*
 * The memory area at an address from mm_struct.mm_mt. Programs run within RCU, which nodes are freed by. A node that is
 * changed meanwhile may mislead: the answer is checked by the caller.
 */
static __always_inline struct vm_area_struct *find_area(struct mm_struct *mm, __u64 address, __u32 which)
{
    __u64 entry = (__u64)(unsigned long)BPF_CORE_READ(mm, mm_mt.ma_root);
#pragma unroll
    for (int level = 0; level < TREE_LEVELS; level++) {
        if ((entry & 3) != (level ? 0 : 2) ||
            entry < 4096) /* the root alone has bit 1; else: an empty tree, or one entry */
            return 0;
        bool is_leaf = ((entry >> 3) & 15) == TREE_LEAF;
        entry = tree_step(entry, address, which);
        if (is_leaf)
            return entry & 3 || entry < 4096 ? 0 : (struct vm_area_struct *)entry;
    }
    return 0;
}

/* Where offset 0 of a file is that is mapped at so many bytes in front of it. Of the program it is told by its first
 * code: V8 maps a part of that once more, elsewhere. Not static: the verifier walks it once. */
__noinline __u64 base_of(__u64 inode, __u64 base, __u32 which)
{
    struct mm_struct *mm = BPF_CORE_READ(current_task(), mm);
    struct vm_area_struct *first = mm ? find_area(mm, BPF_CORE_READ(mm, start_code), which & 1) : 0;
    if (!first || inode != (__u64)(unsigned long)BPF_CORE_READ(first, vm_file, f_inode))
        return base;
    return BPF_CORE_READ(first, vm_start) - (BPF_CORE_READ(first, vm_pgoff) << 12);
}

static __always_inline __u64 file_base(struct vm_area_struct *area, __u32 which)
{
    __u64 base = BPF_CORE_READ(area, vm_start) - (BPF_CORE_READ(area, vm_pgoff) << 12);
    return base_of((__u64)(unsigned long)BPF_CORE_READ(area, vm_file, f_inode), base, which);
}

static __always_inline struct space *space_of(struct task_struct *task)
{
    __u64 key = address_of(&task->mm);
    __u64 exec_vm = BPF_CORE_READ(task, mm, exec_vm), start_code = BPF_CORE_READ(task, mm, start_code);
    struct space *space = bpf_map_lookup_elem(&spaces, &key);
    if (!space) {
        __u32 zero = 0;
        struct space *empty = bpf_map_lookup_elem(&empty_space, &zero);
        if (!key || !empty || bpf_map_update_elem(&spaces, &key, empty, BPF_NOEXIST))
            return 0;
        space = bpf_map_lookup_elem(&spaces, &key);
        if (!space)
            return 0;
    }
    if (space->exec_vm != exec_vm || space->start_code != start_code || space->tgid != (__u32)task->tgid ||
        space->generation != wp_unwind_generation) {
        space->exec_vm = exec_vm;
        space->start_code = start_code;
        space->tgid = task->tgid;
        space->generation = wp_unwind_generation;
        space->epoch++;
    }
    return space;
}

struct walk_context {
    struct walk *walk;
    struct space *space;
    __u64 *ips;
    __u32 which;
};

/* The code around an address; false when it is in none. */
static __always_inline bool area_of(struct space *space, __u64 address, __u32 which, struct area *out)
{
    __u64 place = mix(0, address >> 14) >> 32;
    barrier_var(place); /* the mask must come last: verifiers before Linux 6.10 know no bounds behind an exclusive or */
    struct area *area = &space->areas[place & (AREAS - 1)];
    if (area->epoch == space->epoch && area->start <= address && address < area->end) {
        *out = *area;
        return true;
    }
    struct mm_struct *mm = BPF_CORE_READ(current_task(), mm);
    struct vm_area_struct *vma = mm ? find_area(mm, address, which) : 0;
    if (!vma || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
        return false;
    struct area found = {
        .start = BPF_CORE_READ(vma, vm_start), .end = BPF_CORE_READ(vma, vm_end), .epoch = space->epoch};
    if (address < found.start || address >= found.end)
        return false;
    if (found.start == (__u64)BPF_CORE_READ(mm, context.vdso)) {
        found.object = WP_UNWIND_VDSO;
    } else if (BPF_CORE_READ(vma, vm_file)) {
        found.file_offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
        found.object = file_number(BPF_CORE_READ(vma, vm_file), space->tgid, found.start);
        if (wp_interps && found.object != WP_UNWIND_UNKNOWN)
            bind_interp(BPF_CORE_READ(vma, vm_file, f_inode), file_base(vma, which), which);
    }
    *area = found;
    *out = found;
    return true;
}

static __always_inline bool find_row(struct area *area, __u64 address, struct wp_unwind_row *row)
{
    __u64 offset = address - area->start + area->file_offset;
    struct wp_unwind_place place = {.object = area->object};
    struct wp_unwind_page *page = 0;
#pragma unroll
    for (__u32 level = 0; level < WP_UNWIND_LEVELS; level++) {
        place.page = WP_UNWIND_NUMBER(level, offset);
        page = bpf_map_lookup_elem(&unwind_pages, &place);
        if (!page)
            return false;
        if (page->count != WP_UNWIND_SPLIT)
            break;
    }
    if (!page)
        return false;
    __u32 at = offset & ((1u << WP_UNWIND_PAGE_BITS) - 1), position = 0; /* how many begin at or before it */
#pragma unroll
    for (__u32 width = WP_UNWIND_ROWS / 2; width; width /= 2) {
        __u32 index = position + width - 1;
        barrier_var(index);
        __u32 start = page->rows[index & (WP_UNWIND_ROWS - 1)].start;
        position -= width * (__u32)(mask_less(start, at + 1) & mask_less(index, page->count));
    }
    if (!position)
        return false;
    position--;
    barrier_var(position);
    *row = page->rows[position & (WP_UNWIND_ROWS - 1)];
    return true;
}

/* The frame around a signal handler: the kernel put all registers on the stack (struct rt_sigframe). */
#if defined(__TARGET_ARCH_x86)
enum { SIGNAL_IP = 40 + 128, SIGNAL_BP = 40 + 80, SIGNAL_SP = 40 + 120 };
#elif defined(__TARGET_ARCH_arm64)
enum {
    SIGNAL_REGS = 128 + 176 + 8,
    SIGNAL_BP = SIGNAL_REGS + 29 * 8,
    SIGNAL_SP = SIGNAL_REGS + 31 * 8,
    SIGNAL_IP = SIGNAL_SP + 8
};
#endif
static __always_inline long step_signal(struct walk *w)
{
    __u64 at = w->sp;
    if (!read_word(w, at + SIGNAL_IP, &w->ip) || !read_word(w, at + SIGNAL_BP, &w->bp) ||
        !read_word(w, at + SIGNAL_SP, &w->sp)) {
        w->end = WP_UNWIND_UNREADABLE;
        return 1;
    }
    w->bp_at = 0;
    w->is_exact = 1;
    return 0;
}

static __always_inline long step_register(struct walk *w, __s64 offset)
{
    w->word_count = WALK_WORDS + 1; /* the register is not remembered, so neither is the stack */
    if (!w->is_exact) {
        w->end = WP_UNWIND_UNREADABLE;
        return 1;
    }
    w->ip = w->di;
    w->sp += offset;
    w->is_exact = 0;
    return 0;
}

/* Go's g, with its gobuf (runtime/runtime2.go): where it goes on, and itself. */
enum { GOROUTINE_SP = 56, GOROUTINE_PC = 64, GOROUTINE_SELF = 72 };

/* The stack goes on in the goroutine that mcall has left last (runtime/asm_amd64.s), which it keeps at sp, or in the
 * one that is wanted; 0: it is none. Not static: as tree_step. */
__noinline int enter_goroutine(struct walk *w)
{
    __u64 goroutine = w ? w->goroutine : 0, self, sp, ip;
    if (!w || w->is_exact || (!goroutine && !read_word(w, w->sp, &goroutine)) || !goroutine || goroutine & 7 ||
        !read_word(w, goroutine + GOROUTINE_SELF, &self) || self != goroutine ||
        !read_word(w, goroutine + GOROUTINE_SP, &sp) || !read_word(w, goroutine + GOROUTINE_PC, &ip) || !ip)
        return 0;
    w->sp = sp;
    w->ip = ip;
    w->bp = w->bp_at = 0; /* its frames are found by sp */
    return 1;
}

static __always_inline long step_row(struct walk *w, struct wp_unwind_row row)
{
    __s64 offset = (__s16)row.cfa >> 3 << 3; /* the low bits are the kind */
    __u64 cfa;
    __u32 code;
    switch (row.cfa & 7) {
    case WP_CFA_SP:
        cfa = w->sp + offset;
        break;
    case WP_CFA_BP:
        load_bp(w);
        cfa = w->bp + offset;
        break;
    case WP_CFA_PLT:
        cfa = w->sp + 8 + ((w->ip & 15) >= 11 ? 8 : 0);
        break;
    case WP_CFA_BP_AT:
        load_bp(w);
        if (!read_word(w, w->bp + offset, &cfa)) {
            w->end = WP_UNWIND_UNREADABLE;
            return 1;
        }
        break;
    case WP_CFA_SIGNAL:
        return step_signal(w);
    case WP_CFA_END:
        if (row.cfa == WP_CFA_GOROUTINE && enter_goroutine(w))
            return 0;
        w->end = WP_UNWIND_COMPLETE;
        return 1;
    case WP_CFA_DI:
        return step_register(w, offset);
    default:
        code = WP_CFA_WIDE_BP_CODE(row);
        if (WP_CFA_IS_SP_AT(row)) {
            code = WP_CFA_SP_AT_BP_CODE(row);
            if (WP_CFA_IS_HELD(row)) {
                __u32 which = WP_CFA_HELD_OF(row);
                w->word_count = WALK_WORDS + 1; /* as in step_register */
                if (w->count != 1) {
                    w->end = WP_UNWIND_NO_ROWS;
                    return 1;
                }
                barrier_var(which);
                cfa = w->held[which & (WP_CFA_HELDS - 1)] + WP_CFA_SP_AT_OFFSET(row);
            } else if (!read_word(w, w->sp + WP_CFA_SP_AT_OFFSET(row), &cfa)) {
                w->end = WP_UNWIND_UNREADABLE;
                return 1;
            } else {
                cfa += WP_CFA_SP_AT_ABOVE(row);
            }
        } else {
            cfa = w->sp + WP_CFA_WIDE_OFFSET(row);
        }
        row.bp = code ? -1 - (short)code : WP_BP_SAME;
    }
#if defined(__TARGET_ARCH_arm64) /* the caller is behind bp, wherever that is */
    __u64 caller = cfa + (__s64)row.bp * 8 + 8;
    bool has_caller = row.bp != WP_BP_SAME && row.bp != WP_BP_AT_BP;
#else
    __u64 caller = cfa - 8;
    bool has_caller = true;
#endif
    if (!has_caller || cfa <= w->sp || !read_word(w, caller, &w->ip)) { /* the stack grows down: callers are above */
        w->end = WP_UNWIND_UNREADABLE;
        return 1;
    }
    if (row.bp == WP_BP_AT_BP) {
        load_bp(w);
        w->bp_at = w->bp;
    } else if (row.bp != WP_BP_SAME) {
        w->bp_at = cfa + (__s64)row.bp * 8;
    }
    w->sp = cfa;
    w->is_exact = 0;
    return 0;
}

static long step(__u32 index, void *argument)
{
    struct walk_context *context = argument;
    struct walk *w = context->walk;
    struct space *space = context->space;
    if (!w || !space || !context->ips || index >= WP_RECORD_USER_DEPTH)
        return 1;
    if (!w->ip) {
        w->end = WP_UNWIND_COMPLETE;
        return 1;
    }
    __u64 address = w->is_exact ? w->ip : w->ip - 1;
    struct area area;
    if (!area_of(space, address, context->which, &area)) {
        w->end = WP_UNWIND_NOT_CODE;
        return 1;
    }
    __u32 place = index;
    barrier_var(place); /* what follows is needless to the compiler and needed by the verifier; the depth is all ones */
    context->ips[place & WP_RECORD_USER_DEPTH] = w->ip;
    w->count = index + 1;
    struct wp_unwind_row row;
    if (area.object == WP_UNWIND_UNKNOWN) { /* a frame pointer would be a guess, and its rows will soon be known */
        w->end = WP_UNWIND_NOT_YET;
        return 1;
    }
    if (area.object && find_row(&area, address, &row) && row.cfa != WP_CFA_NONE)
        return step_row(w, row);
    load_bp(w);
    int java = !area.object && wp_interps ? step_java(w, address) : JAVA_NO_STEP;
    if (java != JAVA_NO_STEP)
        return java == JAVA_LAST_STEP;
    if (wp_interps && is_v8())
        put_v8(w);
    return step_pointer(w); /* code that has no rule may still keep a frame pointer */
}

struct user_ips {
    __u64 at[WP_RECORD_USER_DEPTH + 1];
};

/* Fills ips with up to WP_RECORD_USER_DEPTH addresses of the running thread, innermost first; their number. Not static:
 * as tree_step. */
__noinline __u32 unwind_user(struct user_ips *ips, __u32 which)
{
    __u32 zero = 0;
    if (!wp_unwinds || !ips)
        return 0;
    struct task_struct *task = current_task();
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    struct walk_context context = {
        .walk = bpf_map_lookup_elem(&walks, &which), .space = space_of(task), .ips = ips->at, .which = which};
    struct walk *w = context.walk;
    if (!w || !context.space || !regs)
        return 0;
    w->ip = REGS_IP(regs);
    w->sp = regs->sp;
    w->bp = REGS_BP(regs);
    w->bp_at = 0;
    w->count = w->word_count = w->jit_count = 0;
    w->di = REGS_LINK(regs);
#if defined(__TARGET_ARCH_x86)
    w->held[WP_CFA_HELD_AX] = regs->ax;
    w->held[WP_CFA_HELD_SI] = regs->si;
    w->held[WP_CFA_HELD_R9] = regs->r9;
    w->held[WP_CFA_HELD_R11] = regs->r11;
    w->bytecode = regs->r13;
#endif
    w->is_exact = 1;
    w->end = WP_UNWIND_TOO_DEEP;
    bpf_loop(WP_RECORD_USER_DEPTH, step, &context, 0);
    struct wp_unwind_counts *counts = bpf_map_lookup_elem(&unwind_counts, &zero);
    if (counts && w->end < WP_UNWIND_ENDS)
        counts->ends[w->end]++;
    return w->count;
}

#endif
