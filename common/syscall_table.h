/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SYSCALL_TABLE_H
#define WP_COMMON_SYSCALL_TABLE_H
/* System calls of x86-64 by number and by name (common/syscalls.tbl): those of all architectures have these numbers. */
#include <elf.h>
#include <stdint.h>

/* "futex"; NULL: unknown. */
const char *wp_syscall_name(unsigned number);
/* The number + 1 of the call, or of the kernel's function for it ("newstat"); 0: unknown. */
uint32_t wp_syscall_number(const char *name);
#if defined(__aarch64__)
#define WP_MACHINE EM_AARCH64
#else
#define WP_MACHINE EM_X86_64
#endif

/* The number + 1 on x86-64 of the call that has `number`, + 1 as well, on that machine (EM_* of elf.h); 0: none. */
uint32_t wp_syscall_of(unsigned machine, uint32_t number);
/* The same of the machine that this was built for; without a call on x86-64. */
static inline uint32_t wp_syscall_of_host(uint32_t number)
{
    return WP_MACHINE == EM_X86_64 ? number : wp_syscall_of(WP_MACHINE, number);
}

#endif
