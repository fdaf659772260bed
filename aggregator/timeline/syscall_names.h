/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_SYSCALL_NAMES_H
#define WP_AGGREGATOR_TIMELINE_SYSCALL_NAMES_H
/* System calls by number. */
/* "futex" for a system call number of x86-64; NULL unknown. */
const char *wp_syscall_name(unsigned number);

#endif
