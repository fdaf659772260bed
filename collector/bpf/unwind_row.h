/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_UNWIND_ROW_H
#define WP_COLLECTOR_BPF_UNWIND_ROW_H
/*
 * Where the caller's frame is, for the code of one object: rows by offset in the file, gathered in pages of 4 KiB
 * of code. x86-64 has the return address below the CFA; arm64 in the word behind the saved frame pointer (bp is x29),
 * or, where none is saved, still in the link register. A page's first row begins at its start. Made by
 * collector/unwind/unwind_rows.c, read by collector/bpf/unwind.h.
 */
#include "ring_record.h"

#define WP_UNWIND_PAGE_BITS 12
#define WP_UNWIND_ROWS                                                                                                 \
    128u /* room in a page; one less is used: with the kernel's own words it fits into 1024 bytes                      \
          */
/* A page with more rows is split into four finer ones of their own numbers, and has this many rows itself; so is one of
 * those. Starts are counted from the whole page all the same. The finest with more are left out and counted. */
#define WP_UNWIND_SPLIT 0xffffu
#define WP_UNWIND_SPLIT_BITS 2
#define WP_UNWIND_LEVELS 3
#define WP_UNWIND_LEVEL_BITS(level) (WP_UNWIND_PAGE_BITS - (level)*WP_UNWIND_SPLIT_BITS)
/* Of a page at a level: 0 the whole ones, 2 the finest. Offsets are below 2^31, as rows are made. */
#define WP_UNWIND_NUMBER(level, offset) ((wp_u32)(level) << 30 | (wp_u32)((offset) >> WP_UNWIND_LEVEL_BITS(level)))
#define WP_UNWIND_LEVEL_OF(number) ((number) >> 30)
#define WP_UNWIND_BEGIN_OF(number) ((wp_u64)((number)&0x3fffffffu) << WP_UNWIND_LEVEL_BITS(WP_UNWIND_LEVEL_OF(number)))
#define WP_UNWIND_VDSO 1u /* the object number of the vdso */
#define WP_UNWIND_UNKNOWN (~0u)

/* The low three bits of `cfa`; the rest is the offset, a multiple of 8. */
enum wp_cfa {
    WP_CFA_NONE,   /* no rule that a row can hold */
    WP_CFA_SP,     /* CFA = sp + offset */
    WP_CFA_BP,     /* CFA = bp + offset */
    WP_CFA_BP_AT,  /* CFA = *(bp + offset): a realigned stack */
    WP_CFA_PLT,    /* the psABI's lazy binding stub */
    WP_CFA_SIGNAL, /* the kernel's signal frame */
    WP_CFA_END,    /* no caller: _start, clone */
    WP_CFA_DI      /* the caller is in di (arm64: x30) and sp + offset its stack: glibc's vfork; a leaf on arm64 */
};

/* WP_CFA_END of code that Go's scheduler runs behind, on a stack of its own: the goroutine that it left stands at sp.
 */
#define WP_CFA_GOROUTINE ((wp_u16)(1u << 3 | WP_CFA_END))

/*
 * CFA = sp + an offset that has no room in `cfa`, as compilers of large languages make frames of 32 KiB and more: kind
 * WP_CFA_NONE with high bits that are not 0, nine of them the offset / 8 from bit 16 on, plus 1, with `bp` the lower
 * ones; the other four say where the caller's bp is: 0: WP_BP_SAME, n: at CFA - 8 * (n + 1).
 */
#define WP_CFA_WIDE(high, bp_code) ((wp_u16)(((bp_code) << 9 | ((high) + 1)) << 3))
#define WP_CFA_WIDE_OFFSET(row) (((((wp_u64)(row).cfa >> 3 & 0x1ff) - 1) << 16 | (wp_u16)(row).bp) << 3)
#define WP_CFA_WIDE_BP_CODE(row) ((row).cfa >> 12)
#define WP_CFA_WIDE_MOST (((wp_u64)0x1fe << 16 | 0xffff) << 3)
#define WP_CFA_WIDE_CODES 16

/*
 * CFA = *(sp + offset) + above, as hand-written code keeps its caller's stack pointer (OpenSSL's ciphers): kind
 * WP_CFA_NONE with those nine bits 0 and above / 8 in the other four, which is not 0. `bp`: offset / 8 + 1 in its lower
 * twelve bits, and where the caller's bp is in the others, as before.
 */
#define WP_CFA_SP_AT(above) ((wp_u16)((above) / 8 << 12))
#define WP_CFA_IS_SP_AT(row) (!((row).cfa & 0xfff))
#define WP_CFA_SP_AT_BP(offset, bp_code) ((short)(wp_u16)(((offset) / 8 + 1) | (bp_code) << 12))
#define WP_CFA_SP_AT_ABOVE(row) (((wp_u64)(row).cfa >> 12) * 8)
#define WP_CFA_SP_AT_OFFSET(row) ((((long long)((wp_u16)(row).bp & 0xfff)) - 1) * 8)
#define WP_CFA_SP_AT_BP_CODE(row) ((wp_u16)(row).bp >> 12)
#define WP_CFA_SP_AT_MOST ((0xffe) * 8)
#define WP_CFA_SP_AT_MOST_ABOVE (11 * 8)
/* Of the values of above / 8 the last four say that CFA = one of these registers + offset (x86-64). It is known in the
 * innermost function alone. */
enum wp_cfa_held { WP_CFA_HELD_AX, WP_CFA_HELD_SI, WP_CFA_HELD_R9, WP_CFA_HELD_R11, WP_CFA_HELDS };
#define WP_CFA_HELD(which) WP_CFA_SP_AT((12 + (which)) * 8)
#define WP_CFA_IS_HELD(row) ((row).cfa >> 12 >= 12)
#define WP_CFA_HELD_OF(row) ((row).cfa >> 12 & 3)

/* `bp`: bp of the caller is at CFA + bp * 8, or one of these. */
#define WP_BP_SAME 0x7fff
#define WP_BP_AT_BP 0x7ffe /* at bp + 0 */

struct wp_unwind_row {
    wp_u16 start; /* in the page */
    wp_u16 cfa;
    short bp;
};

struct wp_unwind_page {
    wp_u16 count, reserved;
    struct wp_unwind_row rows[WP_UNWIND_ROWS];
};

struct wp_unwind_place {
    wp_u32 object, page;
};

struct wp_unwind_file {
    wp_u64 inode;
    wp_u32 device, reserved; /* the kernel's dev_t: major << 20 | minor */
};

enum wp_unwind_end {
    WP_UNWIND_COMPLETE,   /* the thread's first function was reached */
    WP_UNWIND_NOT_YET,    /* code of a file that is not known yet */
    WP_UNWIND_NO_ROWS,    /* code without rows, and no frame pointer either */
    WP_UNWIND_NOT_CODE,   /* a return address that is in no code */
    WP_UNWIND_UNREADABLE, /* stack that is paged out or nonsense */
    WP_UNWIND_TOO_DEEP,
    WP_UNWIND_ENDS
};

struct wp_unwind_counts {
    wp_u64 ends[WP_UNWIND_ENDS];
};

_Static_assert(sizeof(struct wp_unwind_row) == 6, "a row");

#endif
