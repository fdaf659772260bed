/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_BLOCK_H
#define WP_COLLECTOR_BPF_BLOCK_H
/* Block requests. A request is named by a hash of its address, unique while it is in flight. */
#include "cause.h"
#include "file.h"
#include "reread.h"
#include "served.h"

#define WP_SERVED 64 /* WP_BLOCK_SERVED */

static __always_inline __u64 request_key(struct request *rq)
{
    return mix(0x77616b65, address_of(&rq));
}

static __always_inline __u32 device_of(struct request *rq)
{
    struct gendisk *disk = BPF_CORE_READ(rq, q, disk);
    return disk ? (__u32)BPF_CORE_READ(disk, major) << 20 | (BPF_CORE_READ(disk, first_minor) & 0xfffff) : 0;
}

/* include/linux/blk_types.h: operation in the low 8 bits, then flags. */
static __always_inline __u8 block_flags(__u32 command)
{
    __u32 operation = command & 0xff;
    __u8 flags = 0;
    if (operation & 1)
        flags |= 1;                           /* WP_BLOCK_WRITE */
    if (operation == 2 || command & 1u << 18) /* REQ_OP_FLUSH, REQ_PREFLUSH */
        flags |= 2;
    if (command & 1u << 19) /* REQ_RAHEAD */
        flags |= 4;
    if (command & 1u << 11) /* REQ_SYNC */
        flags |= 8;
    if (operation == 3)
        flags |= 16;
    return flags;
}

/* `server`: of the thread that the record is about; 0: the current one. */
static __always_inline int send_block(__u8 kind, struct request *rq, __u8 extra_flags, __u32 bytes, __u32 server)
{
    if (is_between_windows())
        return 0;
    __u64 file = kind == KIND_BLOCK_COMPLETE ? 0 : file_of(rq);
    struct wp_record *r = RESERVE(struct wp_record, kind);
    if (!r)
        return 0;
    fill_head(r, kind, current_task());
    if (server)
        r->tid = r->pid = server; /* a thread of the kernel */
    r->d = device_of(rq);
    r->a = rq->__sector;
    r->b = request_key(rq);
    r->c = bytes;
    r->flags = block_flags(rq->cmd_flags) | extra_flags;
    r->stack_key = file;
    submit(r);
    return 0;
}

SEC("tp_btf/block_rq_insert")
int WORK_PROG(wp_block_insert, struct request *rq)
{
    if (!is_between_windows() && BPF_CORE_READ(rq, q, elevator)) /* who asks: a work queue may issue it */
        note_if_again(rq, device_of(rq));
    return send_block(KIND_BLOCK_INSERT, rq, 0, rq->__data_len, 0);
}

SEC("tp_btf/block_rq_issue")
int WORK_PROG(wp_block_issue, struct request *rq)
{
    if (wp_follows_work)
        note_issued(rq, request_key(rq), device_of(rq));
    if (!is_between_windows() && !BPF_CORE_READ(rq, q, elevator))
        note_if_again(rq, device_of(rq));
    return send_block(KIND_BLOCK_ISSUE, rq, 0, rq->__data_len, 0);
}

/*
 * The driver says that it is done. One of a device interrupts; a thread that says so has done the work itself: of a
 * loop device, a network block device, one in user space. A driver's thread for interrupts is none of those.
 */
SEC("fentry/blk_mq_complete_request")
int WORK_PROG(wp_block_served, struct request *rq)
{
    struct cpu_context *context = cpu_context();
    if (!context || level_now(context) != LEVEL_TASK || !is_on_task_stack(ctx, context, current_task()))
        return 0;
    char comm[16] = "";
    bpf_get_current_comm(comm, sizeof(comm));
    bool is_irq = comm[0] == 'i' && comm[1] == 'r' && comm[2] == 'q' && comm[3] == '/';
    return is_irq ? 0 : send_block(KIND_BLOCK_ISSUE, rq, WP_SERVED, rq->__data_len, 0);
}

/* Also fires for a part of a request: that part's waiters are woken, the request goes on. */
SEC("tp_btf/block_rq_complete")
int WORK_PROG(wp_block_complete, struct request *rq, unsigned char status, unsigned int bytes)
{
    struct cpu_context *context = cpu_context();
    if (context) {
        begin_window(context);
        set_mark(context, level_now(context), CAUSE_BLOCK, request_key(rq), device_of(rq));
    }
    if (bytes < rq->__data_len)
        return 0;
    __u32 server = server_of(request_key(rq));
    if (server)
        send_block(KIND_BLOCK_ISSUE, rq, WP_SERVED, bytes, server);
    return send_block(KIND_BLOCK_COMPLETE, rq, status ? 32 : 0, bytes, 0); /* WP_BLOCK_ERROR */
}

#endif
