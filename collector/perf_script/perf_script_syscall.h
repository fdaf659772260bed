/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_SYSCALL_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_SYSCALL_H
/* System calls by the names of the kernel functions that enter them, as they stand on stacks. */
#include <stdint.h>

#define WP_PERF_NANOSLEEP 35u
#define WP_PERF_CLOCK_NANOSLEEP 230u
#define WP_PERF_SCHED_YIELD 24u
#define WP_PERF_VFORK 58u

/* "__x64_sys_read", "ksys_read", "SyS_read" -> its number on x86-64 + 1, on whatever machine the text was made; the
 * numbers stand for names here. 0: not one. */
uint32_t wp_perf_syscall(const char *function);

#endif
