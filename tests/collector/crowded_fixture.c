/* SPDX-License-Identifier: Apache-2.0 */
/* An object whose first kibibyte of code has more rules than a page has room for. */
#define PUSH ".cfi_adjust_cfa_offset 8\n nop\n nop\n nop\n"
#define PUSHES PUSH PUSH PUSH PUSH PUSH PUSH PUSH PUSH PUSH PUSH

__asm__(
    ".text\n .globl crowded\n .type crowded, %function\ncrowded:\n .cfi_startproc\n nop\n" PUSHES PUSHES PUSHES PUSHES
        PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES PUSHES
    " ret\n .cfi_endproc\n .size crowded, . - crowded\n");
