/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_SERVED_H
#define WP_COLLECTOR_BPF_SERVED_H
/*
 * Whose thread serves the requests of a loop device, where no program may be at the function by which a driver says
 * that it is done. The driver issues a request and gives the work for it, at once and on that processor, to a work
 * queue that is named as the disk; who executes that work serves it. Requests whose work was queued already stand
 * behind the others of their device. An execution ends with nothing left to do, so another thread's begins with what
 * was issued after it.
 */
#include "cause.h"

#define SERVED_AT_ONCE_NS 50000
#define DISK_NAME 32 /* include/linux/blkdev.h */

const volatile bool wp_follows_work = false;       /* set before loading: the programs below are attached */
volatile bool wp_serves_here SEC(".data") = false; /* there was such a device */

struct served_work {
    __u64 queued_ns; /* the request was issued for which it was queued last */
    __u64 since_ns;  /* what is issued from then on is the thread's, the rest that of the one before */
    __u32 tid, tid_before;
};

struct served_request {
    __u64 work, issued_ns;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 256);
    __type(key, __u64);
    __type(value, struct served_work);
} served_works SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, __u64);
    __type(value, struct served_request);
} served_requests SEC(".maps");

/* The last work of a device. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 256);
    __type(key, __u32);
    __type(value, __u64);
} served_devices SEC(".maps");

/* A request goes to its driver; `key` and `device` name it. */
static __always_inline void note_issued(struct request *rq, __u64 key, __u32 device)
{
    struct cpu_context *context = wp_follows_work ? cpu_context() : 0;
    if (!context)
        return;
    struct issued *issued = &context->issued;
    number_of(&issued->request, rq);
    issued->key = key;
    issued->device = device;
    issued->time_ns = bpf_ktime_get_ns();
    __u64 *work = wp_serves_here ? bpf_map_lookup_elem(&served_devices, &device) : 0;
    if (!work)
        return;
    struct served_request request = {.work = *work, .issued_ns = issued->time_ns};
    bpf_map_update_elem(&served_requests, &key, &request, BPF_ANY);
}

static __always_inline bool is_named_as_disk(struct pool_workqueue *pool, __u64 request)
{
    char queue[DISK_NAME] = "", disk[DISK_NAME] = "";
    BPF_CORE_READ_STR_INTO(&queue, pool, wq, name);
    BPF_CORE_READ_STR_INTO(&disk, (struct request *)request, q, disk, disk_name);
    for (int i = 0; i < 16; i++) {
        if (queue[i] != disk[i])
            return false;
        if (!queue[i])
            return i > 0;
    }
    return false;
}

SEC("tp_btf/workqueue_queue_work")
int WORK_PROG(wp_work_queued, int cpu, struct pool_workqueue *pool, struct work_struct *queued)
{
    struct cpu_context *context = cpu_context();
    if (!context || likely(!context->issued.request))
        return 0;
    struct issued *issued = &context->issued;
    __u64 place = 0, work = number_of(&place, queued), request = issued->request, issued_ns = issued->time_ns;
    issued->request = 0;
    if (bpf_ktime_get_ns() - issued_ns > SERVED_AT_ONCE_NS || !is_named_as_disk(pool, request))
        return 0;
    struct served_work *known = bpf_map_lookup_elem(&served_works, &work), first = {.queued_ns = issued_ns};
    if (known)
        known->queued_ns = issued_ns;
    else
        bpf_map_update_elem(&served_works, &work, &first, BPF_ANY);
    __u32 device = issued->device;
    __u64 key = issued->key;
    struct served_request value = {.work = work, .issued_ns = issued_ns};
    bpf_map_update_elem(&served_devices, &device, &work, BPF_ANY);
    bpf_map_update_elem(&served_requests, &key, &value, BPF_ANY);
    wp_serves_here = true;
    return 0;
}

SEC("tp_btf/workqueue_execute_start")
int WORK_PROG(wp_work_begun, struct work_struct *begun)
{
    if (likely(!wp_serves_here))
        return 0;
    __u64 place = 0, work = number_of(&place, begun);
    struct served_work *known = bpf_map_lookup_elem(&served_works, &work);
    __u32 tid = current_task()->pid;
    if (!known || known->tid == tid)
        return 0;
    known->tid_before = known->tid;
    known->tid = tid;
    known->since_ns = known->queued_ns;
    return 0;
}

/* The thread that served the request, which is done; 0: a device did, or it is not known. */
static __always_inline __u32 server_of(__u64 key)
{
    struct served_request *request =
        wp_follows_work && wp_serves_here ? bpf_map_lookup_elem(&served_requests, &key) : 0;
    if (!request)
        return 0;
    __u64 name = request->work, issued_ns = request->issued_ns;
    bpf_map_delete_elem(&served_requests, &key);
    struct served_work *work = bpf_map_lookup_elem(&served_works, &name);
    return !work ? 0 : issued_ns < work->since_ns ? work->tid_before : work->tid;
}

#endif
