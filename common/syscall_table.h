/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SYSCALL_TABLE_H
#define WP_COMMON_SYSCALL_TABLE_H
/* System calls of x86-64 by number and by name (common/syscalls.tbl): those of all architectures have these numbers. */
#include <stdint.h>

/* "futex"; NULL: unknown. */
const char *wp_syscall_name(unsigned number);
/* The number + 1 of the call, or of the kernel's function for it ("newstat"); 0: unknown. */
uint32_t wp_syscall_number(const char *name);
/* The number + 1 on x86-64 of the call that has `number`, + 1 as well, on arm64; 0: none. */
uint32_t wp_syscall_of_arm64(uint32_t number);

/* The same of the architecture that this was built for. */
static inline uint32_t wp_syscall_of_host(uint32_t number)
{
#if defined(__aarch64__)
    return wp_syscall_of_arm64(number);
#else
    return number;
#endif
}

#endif
