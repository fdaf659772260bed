/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_X86_INSN_H
#define WP_COLLECTOR_ELF_X86_INSN_H
/*
 * As much of an x86-64 instruction as it takes to follow the stack pointer: how long it is, where it goes, and what it
 * does to sp and bp (Intel 64 Architectures Software Developer's Manual, volume 2, chapter 2 and appendix A).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wp_x86_kind {
    WP_X86_OTHER,    /* sp and the flow stay as they are */
    WP_X86_PUSH,     /* value: bytes */
    WP_X86_POP,      /* value: bytes */
    WP_X86_ADD_SP,   /* sp += value */
    WP_X86_SP_OF_BP, /* sp = bp + value */
    WP_X86_BP_OF_SP, /* bp = sp + value */
    WP_X86_LEAVE,
    WP_X86_LOSE_SP, /* sp becomes what cannot be followed */
    WP_X86_CALL,    /* value: to where, counted from the instruction's end; is_direct */
    WP_X86_BRANCH,  /* the same, or on */
    WP_X86_JUMP,    /* the same; not direct: to where a register or memory says */
    WP_X86_RETURN,
    WP_X86_STOP /* hlt, ud2, int3 */
};

struct wp_x86_insn {
    uint8_t size;
    uint8_t kind; /* enum wp_x86_kind */
    bool is_direct;
    bool is_bp;       /* of PUSH and POP: it is bp that is pushed or popped */
    bool has_address; /* `lea` of a place beside the code, or a jump by a table: */
    bool is_compare;  /* with `value` */
    int64_t address;  /* with is_relative: from the instruction's end */
    bool is_relative;
    int64_t value;
};

/* False: no instruction, or it is cut short. */
bool wp_x86_insn_read(struct wp_x86_insn *insn, const uint8_t *bytes, size_t size);

#endif
