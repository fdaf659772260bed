/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_STACK_H
#define WP_COLLECTOR_BPF_STACK_H
/*
 * Records with stacks. A stack is named by a hash of its addresses and of the address space; its addresses travel only
 * while the name is new to `seen`, so that a site that repeats costs a short record.
 */
#include "cpu_buffer.h"
#include "interp_code.h"
#include "unwind.h"

#define MAX_IPS (WP_RECORD_KERNEL_DEPTH + WP_RECORD_USER_DEPTH)

struct stack_record {
    struct wp_record head;
    /* Addresses, then frames of a language. One spare: lets the verifier see that a part fits behind the one before. */
    __u64 ips[MAX_IPS + WP_INTERP_DEPTH + 1];
    __u32 interp_frames;
    __u16 kernel_ips;     /* those of the head, when that is sent without */
    __u64 native, interp; /* hashes: of the addresses, of the frames; see stack_cache.h */
};

/* Switches run with interrupts off, samples in an interrupt that may stop everything but a switch: one buffer each. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct stack_record);
} scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, __u64);
    __type(value, __u8);
} seen SEC(".maps");

__u64 wp_stack_epoch = 1; /* the reader changes it when it forgets what it knew */

static __always_inline struct stack_record *stack_scratch(__u32 which)
{
    return bpf_map_lookup_elem(&scratch, &which);
}

/* The frames of a language go behind the addresses. */
static __always_inline __u64 take_interp(struct stack_record *r, __u64 h, __u32 which)
{
    __u64 at = (__u64)r->head.kernel_ips + r->head.user_ips;
    r->interp_frames = 0;
    r->native = h;
    barrier_var(at);
    if (!wp_interps || at > MAX_IPS || !at)
        return h;
    __u32 count = walk_interp((struct interp_words *)&r->ips[at], which);
    count = walk_left((struct interp_words *)&r->ips[at], count, which);
    r->interp_frames = count > WP_INTERP_DEPTH ? WP_INTERP_DEPTH : count;
    return count ? mix(h, interp_hash(which)) : h;
}

/* The addresses of a record are named by this. Not static: the verifier walks the loop once, not once for each caller.
 */
__noinline __u64 hash_stack(const struct stack_record *r, __u64 h, __u32 count)
{
    if (!r)
        return 0;
    for (__u32 i = 0; i < MAX_IPS; i++) {
        if (i >= count)
            break;
        h = mix(h, r->ips[i]);
    }
    return h;
}

/* Takes the stacks of `task`, which is the one that runs here; `regs`: its registers in user mode, NULL without any. */
static __always_inline void take_stacks(
    void *ctx, struct stack_record *r, struct task_struct *task, struct pt_regs *regs, __u32 which)
{
    long got = bpf_get_stack(ctx, r->ips, WP_RECORD_KERNEL_DEPTH * 8, 0);
    __u32 kernel = got > 0 ? (__u32)got / 8 : 0;
    if (kernel > WP_RECORD_KERNEL_DEPTH)
        kernel = WP_RECORD_KERNEL_DEPTH;
    __u32 user = 0;
    if (regs && wp_unwinds) {
        user = unwind_user((struct user_ips *)&r->ips[kernel], which);
    } else if (regs) {
        got = bpf_get_stack(ctx, &r->ips[kernel], WP_RECORD_USER_DEPTH * 8, BPF_F_USER_STACK);
        user = got > 0 ? (__u32)got / 8 : 0;
    }
    if (user > WP_RECORD_USER_DEPTH)
        user = WP_RECORD_USER_DEPTH;
    r->head.kernel_ips = (__u16)kernel;
    r->head.user_ips = (__u16)user;
    __u64 h = mix(mix(wp_stack_epoch, task->tgid), (__u64)task->self_exec_id << 32 | kernel << 16 | user);
    h = hash_stack(r, h, kernel + user);
    if (regs)
        h = take_interp(r, h, which);
    else
        r->interp_frames = 0;
    r->head.stack_key = h ? h : 1;
}

/* Behind a stack's addresses; 0: none. Without all code objects the stack has no name: it is sent again, with the
 * rest. */
static __always_inline __u32 add_interp(struct stack_record *r, __u32 count, __u32 which)
{
    __u32 frames = r->interp_frames;
    __u64 at = count;
    barrier_var(at);
    if (!wp_interps || !frames || frames > WP_INTERP_DEPTH || at > MAX_IPS)
        return 0;
    if (!send_codes((struct interp_words *)&r->ips[at], frames, which, wp_stack_epoch))
        r->head.stack_key = 0;
    return frames;
}

/* Sends the record, with the addresses when they are new. True: the reader knows the stack from now on. `is_quick`: see
 * send_quick, and what runs in a switch. */
static __always_inline bool send_with_stack(struct stack_record *r, bool is_quick)
{
    __u32 count = (__u32)r->head.kernel_ips + r->head.user_ips;
    __u64 key = r->head.stack_key;
    bool is_new = count && !bpf_map_lookup_elem(&seen, &key);
    if (!count)
        r->head.stack_key = 0;
    if (!is_new) {
        r->head.kernel_ips = r->head.user_ips = 0;
        return is_quick ? send_quick(&r->head) : send_head(&r->head);
    }
    count += add_interp(r, count, !is_quick);
    __u64 bytes = count * 8ull;
    r->head.tail = (__u32)bytes;
    barrier_var(bytes); /* else the compiler proves the next line needless, which the verifier cannot */
    if (bytes > (MAX_IPS + WP_INTERP_DEPTH) * 8)
        bytes = (MAX_IPS + WP_INTERP_DEPTH) * 8;
    if (bpf_ringbuf_output(&ring, r, sizeof(r->head) + bytes, wake_flag())) {
        count_drop(r->head.kind);
        return false;
    }
    __u8 one = 1;
    if (r->head.stack_key)
        bpf_map_update_elem(&seen, &key, &one, BPF_ANY);
    return r->head.stack_key;
}

/* What send_stack asks of a stack with frames of a language. */
static __always_inline void tell_codes(struct stack_record *r)
{
    __u64 key = r->head.stack_key;
    if (r->interp_frames && key && !bpf_map_lookup_elem(&seen, &key))
        add_interp(r, (__u32)r->head.kernel_ips + r->head.user_ips, 0);
}

/* A stack that a later record may name, with the addresses when they are new. False: they could not be sent. */
static __always_inline bool send_stack(struct stack_record *r)
{
    __u32 count = (__u32)r->head.kernel_ips + r->head.user_ips;
    __u64 key = r->head.stack_key;
    __u8 one = 1;
    if (!key || !count)
        return false;
    if (bpf_map_lookup_elem(&seen, &key))
        return true;
    count += r->interp_frames;
    r->head.kind = WP_RECORD_STACK;
    r->head.flags = 0;
    r->head.c = 0;
    r->head.a = r->head.b = r->head.d = 0;
    __u64 bytes = count * 8ull;
    r->head.tail = (__u32)bytes;
    barrier_var(bytes); /* as in send_with_stack */
    if (bytes > (MAX_IPS + WP_INTERP_DEPTH) * 8)
        bytes = (MAX_IPS + WP_INTERP_DEPTH) * 8;
    if (bpf_ringbuf_output(&ring, r, sizeof(r->head) + bytes, wake_flag())) {
        count_drop(WP_RECORD_STACK);
        return false;
    }
    bpf_map_update_elem(&seen, &key, &one, BPF_ANY);
    return true;
}

#endif
