/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_KERNEL_MARKS_H
#define WP_COLLECTOR_BPF_KERNEL_MARKS_H
/*
 * Numbers in the programs that stand for those of the kernel's types, functions and variables until a program is loaded
 * (collector/live/program_marks.h). libbpf would put them in by itself, with a copy of all of the kernel's types.
 */

/* Types that an address is read as. */
#define WP_MARKED_TYPES(X)                                                                                             \
    X(sock)                                                                                                            \
    X(tcp_sock)                                                                                                        \
    X(unix_sock)                                                                                                       \
    X(inet_connection_sock)                                                                                            \
    X(inet_bind_bucket)                                                                                                \
    X(sk_buff)                                                                                                         \
    X(iphdr)                                                                                                           \
    X(ipv6hdr)                                                                                                         \
    X(file)                                                                                                            \
    X(inode)                                                                                                           \
    X(eventpoll)                                                                                                       \
    X(epitem)                                                                                                          \
    X(load_weight)                                                                                                     \
    X(task_struct)

#define WP_MARK_OF(name) WP_MARK_TYPE_##name,
enum { WP_MARK_TYPE_FIRST = 0x57500000, WP_MARK_TYPE_BEFORE = WP_MARK_TYPE_FIRST - 1, WP_MARKED_TYPES(WP_MARK_OF) };
#undef WP_MARK_OF

#define WP_MARK_CAST 0x57510000             /* the function bpf_rdonly_cast, where a helper's number would be */
#define WP_MARK_COUNT 0x5752000057520000ull /* the address of the variable __preempt_count */

#endif
