/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_BATCH_H
#define WP_PROTO_BATCH_H
/*
 * A batch: one session, one sequence number, up to WP_BATCH_EVENTS events and the dictionary entries that they are the
 * first to use. In memory it is plain arrays; on the wire columnar protobuf (proto/wakepath.proto) in a frame
 * (proto/frame.h). Dictionary ids are implicit: entry i of an array has id first_X + i, and ids grow without gaps
 * through a session (strings, threads, sockets, objects, frames, stacks each count by themselves, from 1).
 */
#include "proto/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_BATCH_EVENTS 65536u
#define WP_BATCH_ENTRIES 262144u /* of one dictionary array in one batch */
#define WP_STRING_BYTES 4096u    /* of one dictionary string */

struct wp_bytes {
    const char *data; /* not terminated; any bytes */
    uint32_t size;
};

struct wp_thread_entry {
    uint32_t tid, pid;           /* as the host's first namespace numbers them; pid = thread group */
    uint64_t start_ns;           /* CLOCK_MONOTONIC; 0 unknown */
    uint32_t comm, exe, cgroup;  /* string ids; 0 unknown */
    uint32_t parent;             /* thread id of the creator, 0 unknown */
    uint32_t flags;              /* WP_THREAD_* */
    uint32_t release;            /* string id: what code it says it runs, 0: it does not say */
    uint32_t workload;           /* string id: what its container is called, "NAMESPACE/POD/CONTAINER" or "NAME" */
    uint32_t cmdline_matches[4]; /* string ids of the patterns that its command line matches, 0: none */
    uint32_t parent_pid;      /* of the creator, which may be forgotten first; 0 unknown. A dictionary fills it in, */
    uint64_t parent_start_ns; /* and this: they are not on the wire */
    uint32_t started_by;      /* pid of who created a process that is older than the recording, 0 unknown */
};
#define WP_THREAD_KERNEL 1u
#define WP_THREAD_COMMAND 2u /* the recorded command, from its exec on */
#define WP_THREAD_SELF 4u    /* Wakepath's own */
#define WP_THREAD_IDLE 8u

/* Which end of a TCP connection asked for it. */
enum wp_opener { WP_OPENER_UNKNOWN, WP_OPENER_HERE, WP_OPENER_THERE };

struct wp_socket_entry {
    uint8_t family;                   /* AF_INET, AF_INET6 */
    uint8_t protocol;                 /* IPPROTO_TCP, IPPROTO_UDP */
    uint16_t local_port, remote_port; /* host order */
    uint8_t local[16], remote[16];    /* IPv4 in the first four bytes */
    uint32_t netns;                   /* inode number of the network namespace */
    uint8_t opener;                   /* enum wp_opener, as the kernel knows it */
};

struct wp_object_entry {
    uint32_t path; /* string id: file, "[kernel]", "[module]", "[vdso]", "[jit]" */
    uint8_t build_id[20];
    uint8_t build_id_size; /* 0: none */
};

struct wp_frame_entry {
    uint32_t object;   /* object id, 0 unknown */
    uint32_t function; /* string id, 0 unknown */
    uint64_t offset;   /* file offset (user), address - _text (kernel), in the object */
    bool is_kernel;
    uint32_t file, line; /* string id of the source file, 0 unknown; line in it, 0 unknown: where it called on */
    uint32_t inlined;    /* frame id, larger than its own, of the function that was inlined at this place; 0: none */
};

/* Stacks are a trie: a stack is its caller's stack plus one frame. parent 0: outermost. Kernel frames stand on user
 * frames. */
struct wp_stack_entry {
    uint32_t parent, frame;
};

struct wp_device_entry {
    uint32_t device; /* major << 20 | minor */
    uint32_t name;   /* string id */
};

enum wp_drop_reason {
    WP_DROP_NO_ROOM,
    WP_DROP_PAUSED, /* it would have cost too much: says why the recording paused (WP_EVENT_WINDOW) */
    WP_DROP_STACKS, /* so many sleeps are without their stack for the same reason */
    WP_DROP_REASONS
};

/* Events that were lost: how many of which kind on which CPU, between two times. kind 0: kind unknown. */
struct wp_drop {
    uint32_t kind, cpu;
    uint64_t count, from_ns, to_ns;
    uint32_t reason; /* enum wp_drop_reason; unknown ones are no reason to refuse */
};

struct wp_batch {
    uint8_t session[16];     /* UUID */
    uint64_t seq;            /* from 1 */
    uint64_t watermark_ns;   /* no later batch holds an event before this */
    uint64_t anchor_mono_ns; /* CLOCK_REALTIME was anchor_real_ns at this CLOCK_MONOTONIC instant */
    uint64_t anchor_real_ns;
    uint64_t programs_ns; /* CPU time of the collector's programs in the kernel, of the session so far; 0 not known */
    bool is_last;         /* the session ends with it */
    struct wp_event *events; /* sorted by time_ns inside the batch */
    uint32_t event_count;
    uint32_t first_string, string_count;
    uint32_t first_thread, thread_count;
    uint32_t first_socket, socket_count;
    uint32_t first_object, object_count;
    uint32_t first_frame, frame_count;
    uint32_t first_stack, stack_count;
    uint32_t device_count, drop_count;
    struct wp_bytes *strings;
    struct wp_thread_entry *threads;
    struct wp_socket_entry *sockets;
    struct wp_object_entry *objects;
    struct wp_frame_entry *frames;
    struct wp_stack_entry *stacks;
    struct wp_device_entry *devices;
    struct wp_drop *drops;
    const uint8_t *besides; /* all but the events as it was read, until the next decode; NULL: it was not read */
    size_t besides_size;
    void *storage; /* what wp_batch_decode allocated; NULL in a batch that the caller built */
};

#endif
