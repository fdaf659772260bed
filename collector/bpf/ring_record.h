/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_RING_RECORD_H
#define WP_COLLECTOR_BPF_RING_RECORD_H
/*
 * What the BPF programs write into the ring buffer and collector/live/source_bpf.c reads: a fixed head, then a tail
 * that the kind names. Shared by both sides, fixed-width types only. Kinds below WP_RECORD_SOCKET are enum
 * wp_event_kind (proto/event.h) and use thread, other, a, b, c as said there, with raw thread numbers.
 */
#ifdef __bpf__
typedef unsigned char wp_u8;
typedef unsigned short wp_u16;
typedef unsigned int wp_u32;
typedef unsigned long long wp_u64;
#else
#include <stdint.h>
typedef uint8_t wp_u8;
typedef uint16_t wp_u16;
typedef uint32_t wp_u32;
typedef uint64_t wp_u64;
#endif

#define WP_RECORD_SOCKET 32u /* tail: struct wp_record_socket; d = its key. Comes before the first use of the key */
#define WP_RECORD_FILE                                                                                                 \
    33u /* code of an unknown file: a = inode, d = device, pid,                                                        \
         * b = address of the mapping, 0: the program itself */
#define WP_RECORD_PATH                                                                                                 \
    34u /* what a file is called: a = its key, b = its filesystem's magic number, c = its mode, d = its                \
         * filesystem's device. Tail: struct wp_record_path.                                                           \
         * The stack_key of a block request is the key of the file that it is for, 0: not known */
#define WP_RECORD_WAIT                                                                                                 \
    35u /* what a socket or a lock is that threads wait for: a = its key, pid. Tail: struct wp_record_wait.            \
         * d of SWITCH is that number in its low two bytes and above them the key of what is waited for; the           \
         * stack_key of WAKING is the key of what was ready (a file, or such a one) */
#define WP_RECORD_INTERP                                                                                               \
    36u /* the process pid runs an interpreter, c = its version. Tail: struct wp_record_interp (interp_row.h) */
#define WP_RECORD_CODE                                                                                                 \
    37u /* what an interpreter's code object is, from now on: a = its address, pid, c = the version. Tail: struct      \
         * wp_record_code, then its table of lines. Comes before the first stack with it */
#define WP_RECORD_GROUP                                                                                                \
    38u /* what a cgroup is called: a = its key, c = WP_GROUP_*: what of it is waited for. Tail: struct                \
         * wp_record_group */
#define WP_GROUP_QUOTA 0u
#define WP_GROUP_MEMORY 1u
#define WP_RECORD_STACK                                                                                                \
    39u /* a stack of the process pid that a later WAKING may name: stack_key, with its addresses. The `a` of a WAKING \
         * by a timer is the key of the stack where the woken slept, 0: as its SWITCH said */
#define WP_RECORD_KINDS 40u

#define WP_RECORD_INTRODUCES 2u /* flag of STATE: who is there, and not how it stands */

#define WP_RECORD_COMM 16
#define WP_RECORD_EXE 256
#define WP_RECORD_CMDLINE 1024
#define WP_RECORD_KERNEL_DEPTH 64
#define WP_RECORD_USER_DEPTH 127

struct wp_record {
    wp_u64 time_ns; /* bpf_ktime_get_ns: CLOCK_MONOTONIC */
    wp_u8 kind, flags;
    wp_u16 cpu;
    wp_u32 tid, pid; /* thread (FORK: parent, EXEC: after) */
    wp_u32 other_tid, other_pid;
    wp_u32 c;
    wp_u64 d;         /* device, syscall number + 1, irq, vector, or socket key */
    wp_u64 stack_key; /* 0: no stack */
    /* A record may end here: what follows is 0. Most do, for the ring's memory is what they cost. */
    wp_u64 a, b;
    wp_u16 kernel_ips, user_ips; /* in the tail, innermost first; both 0 with a key: seen before */
    wp_u32 tail; /* bytes behind the head; what is not addresses is frames of a language, innermost first
                  * (interp_row.h) */
};

/* In the number of the window: the programs are not all attached, so that none tells anything. */
#define WP_WINDOW_UNWATCHED 0x80000000u

#define WP_RECORD_SHORT 48u
#define WP_RECORD_QUICK 56u /* or here */

/* Tail of FORK (the child), EXEC, STATE, RENAME. */
struct wp_record_task {
    wp_u64 start_ns, cgroup_id;
    wp_u32 is_kernel, reserved;
    char comm[WP_RECORD_COMM];
};

/* Tail of EXEC: the task, then these. */
struct wp_record_exec {
    struct wp_record_task task;
    char path[WP_RECORD_EXE];
    wp_u32 cmdline_size;             /* 0 when it was not asked for */
    char cmdline[WP_RECORD_CMDLINE]; /* arguments, each with its NUL */
};

struct wp_record_socket {
    wp_u8 family, protocol;
    wp_u16 local_port, remote_port; /* host order */
    wp_u16 opener;                  /* enum wp_opener of proto/batch.h */
    wp_u8 local[16], remote[16];
    wp_u32 netns;
};

#define WP_RECORD_NAMES 16
#define WP_RECORD_NAME 64

/* From the file up; `count` full: there may be more above. None: memory of the device itself (a filesystem's own data).
 */
struct wp_record_path {
    wp_u32 count;
    wp_u32 special;                              /* device of a device file */
    char names[WP_RECORD_NAMES][WP_RECORD_NAME]; /* cut to fit, each with its NUL */
};

#define WP_RECORD_GROUP_BYTES 1024u /* a name begins in them */
#define WP_RECORD_GROUP_NAME 256u   /* NAME_MAX, with its NUL */

/* From the cgroup up, without the root, one behind the other, each with its NUL. */
struct wp_record_group {
    wp_u32 size;
    wp_u32 is_cut; /* there are more above */
    char names[WP_RECORD_GROUP_BYTES + WP_RECORD_GROUP_NAME];
};

enum wp_kernel_lock {
    WP_LOCK_MUTEX = 1,
    WP_LOCK_RWSEM,
    WP_LOCK_MMAP,  /* the rwsem of a process' memory */
    WP_LOCK_INODE, /* the rwsem of a file or folder */
    WP_LOCK_PERCPU,
    WP_LOCK_RT,
    WP_LOCK_SEMAPHORE,
    WP_WAIT_INTERRUPT = 64, /* no lock: path is what its handler is called, address its number */
    WP_WAIT_SOFT_INTERRUPT  /* address: its vector */
};

struct wp_record_wait {
    struct wp_record_socket socket; /* family 0: a lock */
    wp_u16 type;                    /* SOCK_STREAM ...; of a lock of the kernel enum wp_kernel_lock, of another 0 */
    wp_u16 is_shared;               /* a lock of the kernel that is wanted to read */
    char path[112];                 /* of a unix socket; a NUL first: of the abstract names. What an inode is called */
    /* A lock at `address`, in memory that is a file's from `start` to `end`, or lies just behind it. */
    wp_u64 address, start, end, offset, inode;
};

/* Records that found the ring full: per CPU and kind, ever growing. */
struct wp_record_drops {
    wp_u64 count[WP_RECORD_KINDS];
    wp_u64 last_ns[WP_RECORD_KINDS];
};

#define WP_WORK_CPUS 1024u /* more of them share */
#define WP_WORK_ONE_IN 61u
#define WP_WORK_MOST_NS 100000u /* what takes longer was interrupted, by the host of a virtual machine maybe */

/* Of one CPU, ever growing. The programs may interrupt each other: a run may be lost here and there. */
struct wp_work {
    wp_u64 runs, taken, taken_ns; /* taken: runs whose time was taken; their times */
    wp_u64 unwalked;              /* stacks of sleeps that were left out */
    wp_u32 until_next, unwalked_run;
    wp_u64 reserved[11]; /* cache lines of its own, two, as processors fetch them in pairs */
};

/* A CPU's buffer of records without tails (collector/bpf/cpu_buffer.h): head and tail count slots and only grow. */
struct wp_cpu_cursor {
    wp_u64 head, tail_seen; /* the programs' */
    wp_u32 is_busy, reserved;
    wp_u64 last_ns; /* of the last slot */
    wp_u64 apart[4];
    wp_u64 tail; /* the reader's, on a cache line of its own */
    wp_u64 to_the_end[7];
};

struct wp_cpu_slot {
    wp_u8 head[WP_RECORD_QUICK]; /* of a struct wp_record */
    wp_u64 position;             /* so many bytes had been given out in the ring */
};

_Static_assert(sizeof(struct wp_cpu_cursor) == 128, "two cache lines");
_Static_assert(sizeof(struct wp_cpu_slot) == 64, "a cache line");
_Static_assert(sizeof(struct wp_work) == 128, "two cache lines");
_Static_assert(sizeof(struct wp_record) == 72, "the head of a record");
_Static_assert(__builtin_offsetof(struct wp_record, a) == WP_RECORD_SHORT, "the head of a short record");
_Static_assert(__builtin_offsetof(struct wp_record, b) == WP_RECORD_QUICK, "the head of a quick record");
_Static_assert(sizeof(struct wp_record_task) == 40, "the tail of a task");
_Static_assert(sizeof(struct wp_record_socket) == 44, "the tail of a socket");

#endif
