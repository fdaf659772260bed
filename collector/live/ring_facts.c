/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/ring_facts.h"

#include "collector/bpf/interp_row.h"
#include "collector/live/file_paths.h"
#include "collector/live/wait_names.h"
#include "common/syscall_table.h"

#include <string.h>

static void fill_task(struct wp_fact *fact, const struct wp_record_task *task)
{
    fact->start_ns = task->start_ns;
    fact->cgroup_id = task->cgroup_id;
    fact->thread_flags = task->is_kernel ? WP_THREAD_KERNEL : 0;
}

static void fill_socket(struct wp_socket_entry *entry, const struct wp_record_socket *socket)
{
    *entry = (struct wp_socket_entry){.family = socket->family,
        .protocol = socket->protocol,
        .opener = socket->opener <= WP_OPENER_THERE ? (uint8_t)socket->opener : WP_OPENER_UNKNOWN,
        .local_port = socket->local_port,
        .remote_port = socket->remote_port,
        .netns = socket->netns};
    memcpy(entry->local, socket->local, sizeof(entry->local));
    memcpy(entry->remote, socket->remote, sizeof(entry->remote));
}

static int deliver_exec(const struct wp_record *r, const uint8_t *tail, struct wp_fact *fact,
    const struct wp_fact_sink *sink, struct wp_error *err)
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

/* A cgroup is told by its path, not by its kind: others of its kind are others. */
static int tell_group(const struct wp_record *r, const struct wp_record_group *group, const struct wp_fact_sink *sink,
    struct wp_error *err)
{
    char name[2 * WP_RECORD_GROUP_BYTES];
    struct wp_fact fact = {.wait = {.key = r->a, .name = name}};
    size_t head = r->c == WP_GROUP_MEMORY ? strlen(WP_MEMORY_GROUP) : 0;
    memcpy(name, WP_MEMORY_GROUP, head);
    wp_wait_name_group(group, name + head, sizeof(name) - head);
    return sink->fact(sink->context, &fact, err);
}

static int tell_path(struct wp_file_paths *paths, const struct wp_record *r, const struct wp_record_path *path,
    const struct wp_fact_sink *sink, struct wp_error *err)
{
    char name[WP_RECORD_NAMES * WP_RECORD_NAME + 1100];
    struct wp_fact fact = {.wait = {.key = r->a, .name = name}};
    wp_file_paths_add(paths, r->a, (uint32_t)r->d, path);
    const char *known = wp_file_paths_get(paths, r->a);
    wp_wait_name_file(path, r->c, r->b, known ? known : "", name, sizeof(name));
    return sink->fact(sink->context, &fact, err);
}

static int tell_wait(
    const struct wp_record *r, const struct wp_record_wait *wait, const struct wp_fact_sink *sink, struct wp_error *err)
{
    char name[256];
    struct wp_fact fact = {.wait = {.key = r->a,
                               .name = wait->socket.family || wait->type ? name : NULL,
                               .lock = {.pid = r->pid,
                                   .address = wait->address,
                                   .start = wait->start,
                                   .end = wait->end,
                                   .file_offset = wait->offset,
                                   .inode = wait->inode}}};
    if (wait->socket.family)
        wp_wait_name_socket(wait, name, sizeof(name));
    else if (wait->type >= WP_WAIT_INTERRUPT)
        wp_wait_name_interrupt(wait, name, sizeof(name));
    else if (wait->type)
        wp_wait_name_kernel_lock(wait, name, sizeof(name));
    return sink->fact(sink->context, &fact, err);
}

static int tell_interp(const struct wp_record *r, const struct wp_record_interp *interp,
    const struct wp_fact_sink *sink, struct wp_error *err)
{
    const struct wp_fact_interp process = {.pid = r->pid,
        .version = r->c,
        .loop = interp->loop,
        .loop_end = interp->loop_end,
        .cold = interp->cold,
        .cold_end = interp->cold_end,
        .inner = interp->inner,
        .inner_end = interp->inner_end};
    const struct wp_fact fact = {.interp = &process};
    return sink->fact(sink->context, &fact, err);
}

static int tell_code(
    const struct wp_record *r, const struct wp_record_code *code, const struct wp_fact_sink *sink, struct wp_error *err)
{
    if (code->name_size > sizeof(code->name) || code->file_size > sizeof(code->file) ||
        code->lines_kept > r->tail - sizeof(*code))
        return 0;
    const struct wp_fact_code told = {.pid = r->pid,
        .parent = r->other_pid,
        .version = r->c,
        .time_ns = r->time_ns,
        .address = r->a,
        .part = code->part,
        .first_line = code->first_line,
        .name = {code->name, code->name_size, code->name_unit, code->name_is_cut},
        .file = {code->file, code->file_size, code->file_unit, code->file_is_cut},
        .lines = (const uint8_t *)(code + 1),
        .lines_size = code->lines_kept,
        .lines_are_cut = code->lines_kept < code->lines_size};
    const struct wp_fact fact = {.code = &told};
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
    case WP_RECORD_GROUP:
        return sizeof(struct wp_record_group);
    case WP_RECORD_WAIT:
        return sizeof(struct wp_record_wait);
    case WP_RECORD_INTERP:
        return sizeof(struct wp_record_interp);
    case WP_RECORD_CODE:
        return sizeof(struct wp_record_code);
    default:
        return 0;
    }
}

/* Whether the tail is as long as the kind says: both sides share ring_record.h, so it always is. */
static bool is_whole(const struct wp_record *r, size_t tail_size)
{
    return tail_size >= tail_wanted(r->kind) && r->tail <= tail_size &&
        ((size_t)r->kernel_ips + r->user_ips) * 8 <= tail_size;
}

/* Without a tail, and with nothing in what a short head leaves out. */
static void fill_quick(struct wp_fact *fact, const struct wp_record *r, uint64_t a)
{
    fact->event = (struct wp_event){.time_ns = r->time_ns,
        .kind = r->kind,
        .flags = r->flags,
        .cpu = r->cpu,
        .a = a,
        .c = r->c,
        .d = (uint32_t)r->d};
    fact->tid = r->tid;
    fact->pid = r->pid;
    fact->other_tid = r->other_tid;
    fact->other_pid = r->other_pid;
    fact->stack_key = r->stack_key;
    fact->kernel_ip_count = fact->user_ip_count = fact->interp_word_count = 0;
}

static void fill(struct wp_fact *fact, const struct wp_record *r, const uint8_t *tail)
{
    fill_quick(fact, r, r->a);
    fact->event.b = r->b;
    fact->kernel_ip_count = r->kernel_ips;
    fact->user_ip_count = r->user_ips;
    fact->kernel_ips = (const uint64_t *)(const void *)tail;
    fact->user_ips = fact->kernel_ips + r->kernel_ips;
    uint32_t ips = (uint32_t)r->kernel_ips + r->user_ips, words = r->tail / 8;
    fact->interp_words = fact->kernel_ips + ips;
    fact->interp_word_count = ips && words > ips ? words - ips : 0;
}

/* Switches, wakings and messages. */
static bool is_usual(unsigned kind)
{
    return kind == WP_EVENT_SWITCH || kind == WP_EVENT_WAKING ||
        (kind >= WP_EVENT_SOCK_SEND && kind <= WP_EVENT_SOCK_RETRANSMIT) || kind == WP_EVENT_SOCK_LEAVE;
}

/* Filled already, but for what the kind makes of the keys. */
static int tell_usual(struct wp_ring_facts *f, const struct wp_record *r, struct wp_error *err)
{
    struct wp_fact *fact = &f->usual;
    if (r->kind == WP_EVENT_SWITCH) {
        fact->wait.key = r->d >> 16;
        fact->event.d = wp_syscall_of_host(r->d & 0xffff);
        fact->socket.key = 0;
    } else if (r->kind == WP_EVENT_WAKING) {
        fact->socket.key = r->c == WP_CAUSE_MESSAGE ? r->d : 0;
        fact->wait.key = r->stack_key;
        fact->stack_key = 0;
        if (wp_event_has_waking_stack(&fact->event)) {
            fact->stack_key = fact->event.a;
            fact->event.a = 0;
        }
    } else {
        fact->socket.key = r->d;
        fact->wait.key = 0;
    }
    return f->sink.fact(f->sink.context, fact, err);
}

/* Those have something else than their CPU in `b`. */
static bool is_of_quota(uint32_t reason)
{
    return reason == WP_REASON_QUOTA || reason == WP_REASON_QUEUE_QUOTA;
}

static int tell_other(struct wp_ring_facts *f, const struct wp_record *r, const uint8_t *tail, struct wp_error *err)
{
    const struct wp_record_task *task = (const void *)tail;
    const struct wp_fact_sink *sink = &f->sink;
    struct wp_fact fact = {0};
    fill(&fact, r, tail);
    switch (r->kind) {
    case WP_EVENT_EXEC:
        return deliver_exec(r, tail, &fact, sink, err);
    case WP_EVENT_FORK:
        fill_task(&fact, task);
        fact.other_comm = task->comm;
        break;
    case WP_EVENT_STATE:
        fact.event.d = wp_syscall_of(WP_MACHINE, fact.event.d);
        if (r->flags & WP_RECORD_INTRODUCES)
            fact.event = (struct wp_event){0};
        /* fall through */
    case WP_EVENT_RENAME:
        fill_task(&fact, task);
        fact.comm = task->comm;
        break;
    case WP_RECORD_SOCKET:
        fact.event.kind = 0;
        fill_socket(&fact.socket.entry, (const void *)tail);
        fact.socket.key = r->d;
        break;
    case WP_RECORD_PATH:
        return tell_path(f->paths, r, (const void *)tail, sink, err);
    case WP_RECORD_GROUP:
        return tell_group(r, (const void *)tail, sink, err);
    case WP_RECORD_WAIT:
        return tell_wait(r, (const void *)tail, sink, err);
    case WP_RECORD_INTERP:
        return tell_interp(r, (const void *)tail, sink, err);
    case WP_RECORD_STACK:
        fact.event.kind = 0;
        break;
    case WP_RECORD_CODE:
        return r->tail < sizeof(struct wp_record_code) ? 0 : tell_code(r, (const void *)tail, sink, err);
    case WP_EVENT_BLOCK_INSERT:
    case WP_EVENT_BLOCK_ISSUE:
        fact.file = r->stack_key ? wp_file_paths_get(f->paths, r->stack_key) : NULL;
        fact.stack_key = 0;
        break;
    case WP_EVENT_REASON:
        fact.event.b = is_of_quota(r->c & 0xff) ? r->b : r->c >= WP_REASON_MEMORY ? 0 : r->cpu;
        fact.wait.key = r->stack_key;
        fact.stack_key = 0;
        break;
    default:
        break;
    }
    return sink->fact(sink->context, &fact, err);
}

void wp_ring_facts_init(struct wp_ring_facts *f, struct wp_file_paths *paths, const struct wp_fact_sink *sink)
{
    *f = (struct wp_ring_facts){.paths = paths, .sink = *sink};
}

int wp_ring_fact(struct wp_ring_facts *f, const void *bytes, size_t size, struct wp_error *err)
{
    const struct wp_record *r = bytes;
    bool is_quick = size == WP_RECORD_QUICK || size == WP_RECORD_SHORT; /* most are */
    if (!is_quick && (size < sizeof(*r) || !is_whole(r, size - sizeof(*r))))
        return 0;
    uint64_t a = size == WP_RECORD_SHORT ? 0 : r->a;
    if (is_quick && is_usual(r->kind)) {
        fill_quick(&f->usual, r, a);
        return tell_usual(f, r, err);
    }
    struct wp_record whole = {0};
    const uint8_t *tail = (const uint8_t *)bytes + sizeof(*r);
    if (is_quick) {
        memcpy(&whole, bytes, WP_RECORD_SHORT);
        whole.a = a;
        r = &whole;
    }
    if (!is_usual(r->kind))
        return is_quick && tail_wanted(r->kind) ? 0 : tell_other(f, r, tail, err);
    fill(&f->usual, r, tail);
    return tell_usual(f, r, err);
}
