/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SYSCALL_TABLE_H
#define WP_COMMON_SYSCALL_TABLE_H
/* System calls of x86-64 by number and by name (common/syscalls.tbl). */
#include <stdint.h>

/* "futex"; NULL: unknown. */
const char *wp_syscall_name(unsigned number);
/* The number + 1 of the call, or of the kernel's function for it ("newstat"); 0: unknown. */
uint32_t wp_syscall_number(const char *name);

#endif
