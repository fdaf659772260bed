/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ring_facts.h"

#include "collector/file_paths.h"
#include "collector/wait_names.h"

#include <errno.h>
#include <string.h>

#define ALIGN 8u

int wp_ring_facts_keep(struct wp_buffer *records, const void *bytes, size_t size)
{
    uint64_t head = size < sizeof(struct wp_record) ? sizeof(struct wp_record) : size;
    size_t whole = (sizeof(head) + head + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (wp_buffer_reserve(records, whole))
        return -ENOMEM;
    uint8_t *at = records->data + records->size;
    memcpy(at, &head, sizeof(head));
    if (size == WP_RECORD_SHORT) { /* most are */
        memcpy(at + sizeof(head), bytes, WP_RECORD_SHORT);
        memset(at + sizeof(head) + WP_RECORD_SHORT, 0, sizeof(struct wp_record) - WP_RECORD_SHORT);
    } else {
        memcpy(at + sizeof(head), bytes, size);
        memset(at + sizeof(head) + size, 0, whole - sizeof(head) - size);
    }
    records->size += whole;
    return 0;
}

const struct wp_record *wp_ring_facts_next(const struct wp_buffer *records, size_t *at, size_t *size)
{
    while (records->size - *at >= sizeof(uint64_t)) {
        const uint8_t *here = records->data + *at;
        uint64_t bytes;
        memcpy(&bytes, here, sizeof(bytes));
        if (bytes > records->size - *at - sizeof(bytes))
            return NULL;
        *at += (sizeof(bytes) + bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        *size = bytes;
        if (bytes >= sizeof(struct wp_record))
            return (const void *)(here + sizeof(bytes));
    }
    return NULL;
}

static void fill_task(struct wp_fact *fact, const struct wp_record_task *task)
{
    fact->start_ns = task->start_ns;
    fact->cgroup_id = task->cgroup_id;
    fact->thread_flags = task->is_kernel ? WP_THREAD_KERNEL : 0;
}

static void fill_socket(struct wp_socket_entry *entry, const struct wp_record_socket *socket)
{
    *entry = (struct wp_socket_entry){.family = socket->family, .protocol = socket->protocol,
        .local_port = socket->local_port, .remote_port = socket->remote_port, .netns = socket->netns};
    memcpy(entry->local, socket->local, sizeof(entry->local));
    memcpy(entry->remote, socket->remote, sizeof(entry->remote));
}

static int deliver_exec(const struct wp_record *r, const uint8_t *tail, struct wp_fact *fact, const struct wp_sink *sink,
    struct wp_error *err)
{
    const struct wp_record_exec *exec = (const void *)tail;
    char cmdline[WP_RECORD_CMDLINE + 1];
    uint32_t size = exec->cmdline_size < WP_RECORD_CMDLINE ? exec->cmdline_size : WP_RECORD_CMDLINE;
    for (uint32_t i = 0; i < size; i++)
        cmdline[i] = exec->cmdline[i] ? exec->cmdline[i] : ' ';
    while (size && cmdline[size - 1] == ' ')
        size--;
    cmdline[size] = 0;
    fill_task(fact, &exec->task);
    fact->comm = exec->task.comm;
    fact->exe = exec->path;
    fact->cmdline = cmdline;
    fact->other_pid = r->pid;
    return sink->fact(sink->context, fact, err);
}

static int tell_path(struct wp_file_paths *paths, const struct wp_record *r, const struct wp_record_path *path,
    const struct wp_sink *sink, struct wp_error *err)
{
    char name[WP_RECORD_NAMES * WP_RECORD_NAME + 1100];
    struct wp_fact fact = {.wait = {.key = r->a, .name = name}};
    wp_file_paths_add(paths, r->a, (uint32_t)r->d, path);
    const char *known = wp_file_paths_get(paths, r->a);
    wp_wait_name_file(path, r->c, r->b, known ? known : "", name, sizeof(name));
    return sink->fact(sink->context, &fact, err);
}

static int tell_wait(const struct wp_record *r, const struct wp_record_wait *wait, const struct wp_sink *sink, struct wp_error *err)
{
    char name[256];
    struct wp_fact fact = {.wait = {.key = r->a, .name = wait->socket.family ? name : NULL, .lock = {.pid = r->pid,
        .address = wait->address, .start = wait->start, .end = wait->end, .file_offset = wait->offset, .inode = wait->inode}}};
    if (wait->socket.family)
        wp_wait_name_socket(wait, name, sizeof(name));
    return sink->fact(sink->context, &fact, err);
}

static size_t tail_wanted(unsigned kind)
{
    switch (kind) {
    case WP_EVENT_FORK:
    case WP_EVENT_RENAME:
    case WP_EVENT_STATE:
        return sizeof(struct wp_record_task);
    case WP_EVENT_EXEC:
        return sizeof(struct wp_record_exec);
    case WP_RECORD_SOCKET:
        return sizeof(struct wp_record_socket);
    case WP_RECORD_PATH:
        return sizeof(struct wp_record_path);
    case WP_RECORD_WAIT:
        return sizeof(struct wp_record_wait);
    default:
        return 0;
    }
}

int wp_ring_fact(const struct wp_record *r, size_t size, struct wp_file_paths *paths, const struct wp_sink *sink,
    struct wp_error *err)
{
    const uint8_t *tail = (const uint8_t *)(r + 1);
    size_t tail_size = size - sizeof(*r);
    struct wp_fact fact = {.event = {.time_ns = r->time_ns, .kind = r->kind, .flags = r->flags, .cpu = r->cpu, .a = r->a,
        .b = r->b, .c = r->c, .d = (uint32_t)r->d}, .tid = r->tid, .pid = r->pid, .other_tid = r->other_tid,
        .other_pid = r->other_pid, .stack_key = r->stack_key};
    if (tail_size < tail_wanted(r->kind) || ((size_t)r->kernel_ips + r->user_ips) * 8 > tail_size)
        return 0; /* cannot be: both sides share ring_record.h */
    const struct wp_record_task *task = (const void *)tail;
    if (r->kernel_ips || r->user_ips) {
        fact.kernel_ips = (const uint64_t *)(const void *)tail;
        fact.kernel_ip_count = r->kernel_ips;
        fact.user_ips = fact.kernel_ips + r->kernel_ips;
        fact.user_ip_count = r->user_ips;
    }
    switch (r->kind) {
    case WP_EVENT_EXEC:
        return deliver_exec(r, tail, &fact, sink, err);
    case WP_EVENT_FORK:
        fill_task(&fact, task);
        fact.other_comm = task->comm;
        break;
    case WP_EVENT_RENAME:
    case WP_EVENT_STATE:
        fill_task(&fact, task);
        fact.comm = task->comm;
        break;
    case WP_RECORD_SOCKET:
        fact.event.kind = 0;
        fill_socket(&fact.socket.entry, (const void *)tail);
        fact.socket.key = r->d;
        break;
    case WP_EVENT_WAKING:
        if (r->c == WP_CAUSE_MESSAGE)
            fact.socket.key = r->d;
        fact.wait.key = r->stack_key;
        fact.stack_key = 0;
        break;
    case WP_EVENT_SWITCH:
        fact.wait.key = r->d >> 16;
        fact.event.d = r->d & 0xffff;
        break;
    case WP_RECORD_PATH:
        return tell_path(paths, r, (const void *)tail, sink, err);
    case WP_RECORD_WAIT:
        return tell_wait(r, (const void *)tail, sink, err);
    case WP_EVENT_BLOCK_INSERT:
    case WP_EVENT_BLOCK_ISSUE:
        fact.file = r->stack_key ? wp_file_paths_get(paths, r->stack_key) : NULL;
        fact.stack_key = 0;
        break;
    case WP_EVENT_SOCK_SEND:
    case WP_EVENT_SOCK_ARRIVE:
    case WP_EVENT_SOCK_RECV:
    case WP_EVENT_SOCK_STATE:
    case WP_EVENT_SOCK_RETRANSMIT:
    case WP_EVENT_SOCK_LEAVE:
        fact.socket.key = r->d;
        break;
    default:
        break;
    }
    return sink->fact(sink->context, &fact, err);
}
