/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/source_bpf.h"

#include "collector/bpf_programs.h"
#include "collector/file_paths.h"
#include "collector/sideband.h"
#include "collector/unwinder.h"
#include "collector/wait_names.h"
#include "common/buffer.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUND_BYTES ((size_t)8 << 20)  /* records copied out of the ring before they are worked on */
#define LOOK_MS 20                     /* the ring is looked at so often when nothing wakes the reader */
/* A record is stamped before its place in the ring is taken; an interrupt, or a hypervisor, may stand between. */
#define MARGIN_NS 50000000u
#define RECORD_ALIGN 8u
#define SETTLE_MS 2000u /* for the C library to be known to the unwinder */

struct source_bpf {
    struct wp_source base;
    struct wp_programs *programs;
    struct ring_buffer *ring;
    struct wp_unwinder *unwinder;      /* NULL when this kernel cannot */
    struct wp_file_paths *paths;
    struct wp_sideband *sideband;      /* NULL when the kernel refuses it */
    struct wp_buffer records;          /* each: u32 size, padding to 8, bytes */
    struct wp_record_drops *drops, *drops_before;
    uint64_t drops_read_ns, newest_ns, sideband_lost;
    const struct wp_logger *logger;
    bool is_stopping, is_full;
};

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int on_record(void *context, void *bytes, size_t size)
{
    struct source_bpf *s = context;
    uint64_t head = size;
    wp_buffer_append(&s->records, &head, sizeof(head));
    wp_buffer_append(&s->records, bytes, size);
    if (wp_buffer_reserve(&s->records, RECORD_ALIGN))
        return -ENOMEM;
    s->records.size = (s->records.size + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
    if (s->records.failed)
        return -ENOMEM;
    s->is_full = s->records.size >= ROUND_BYTES;
    return s->is_full ? -ENOBUFS : 0; /* a negative answer ends the round; the record is taken all the same */
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

static int tell_path(const struct source_bpf *s, const struct wp_record *r, const struct wp_record_path *path,
    const struct wp_sink *sink, struct wp_error *err)
{
    char name[WP_RECORD_NAMES * WP_RECORD_NAME + 1100];
    struct wp_fact fact = {.wait = {.key = r->a, .name = name}};
    wp_file_paths_add(s->paths, r->a, (uint32_t)r->d, path);
    const char *known = wp_file_paths_get(s->paths, r->a);
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

static int deliver(const struct source_bpf *s, const struct wp_record *r, const uint8_t *tail, size_t tail_size,
    const struct wp_sink *sink, struct wp_error *err)
{
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
        fact.wait.key = r->b;
        fact.event.b = 0;
        break;
    case WP_EVENT_SWITCH:
        fact.wait.key = r->b;
        fact.event.b = 0;
        break;
    case WP_RECORD_PATH:
        return tell_path(s, r, (const void *)tail, sink, err);
    case WP_RECORD_WAIT:
        return tell_wait(r, (const void *)tail, sink, err);
    case WP_EVENT_BLOCK_INSERT:
    case WP_EVENT_BLOCK_ISSUE:
        fact.file = r->stack_key ? wp_file_paths_get(s->paths, r->stack_key) : NULL;
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

static int deliver_mappings(struct source_bpf *s, uint64_t until_ns, const struct wp_sink *sink, struct wp_error *err)
{
    const struct wp_sideband_record *r;
    while (s->sideband && (r = wp_sideband_next(s->sideband, until_ns))) {
        int rc = sink->mapped(sink->context, r->time_ns, r->pid, r->is_exec, r->start, r->size, r->file_offset, r->path,
            r->build_id, r->build_id_size, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int deliver_all(struct source_bpf *s, const struct wp_sink *sink, struct wp_error *err)
{
    for (size_t at = 0; at < s->records.size;) {
        uint64_t size;
        memcpy(&size, s->records.data + at, sizeof(size));
        const struct wp_record *r = (const void *)(s->records.data + at + sizeof(size));
        at += (sizeof(size) + size + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
        if (size < sizeof(*r))
            continue;
        if (r->kind == WP_RECORD_FILE) {
            if (s->unwinder)
                wp_unwinder_ask(s->unwinder, r->a, (uint32_t)r->d, r->pid, r->b);
            continue;
        }
        int rc = deliver_mappings(s, r->time_ns, sink, err);
        if (!rc)
            rc = deliver(s, r, (const uint8_t *)(r + 1), size - sizeof(*r), sink, err);
        if (rc)
            return rc;
        if (r->time_ns > s->newest_ns)
            s->newest_ns = r->time_ns;
    }
    return 0;
}

/* Tells what the ring had no room for since the last look. */
static int deliver_drops(struct source_bpf *s, const struct wp_sink *sink, struct wp_error *err)
{
    uint64_t now = now_ns();
    int rc = wp_programs_drops(s->programs, s->drops);
    if (rc)
        return wp_error_errno(err, rc, "cannot read what was dropped");
    for (unsigned cpu = 0; cpu < wp_programs_cpus(s->programs); cpu++)
        for (unsigned kind = 0; kind < WP_RECORD_KINDS; kind++) {
            uint64_t count = s->drops[cpu].count[kind] - s->drops_before[cpu].count[kind];
            if (!count)
                continue;
            uint64_t last = s->drops[cpu].last_ns[kind];
            struct wp_drop drop = {.kind = kind < WP_EVENT_KINDS ? kind : 0, .cpu = cpu, .count = count,
                .from_ns = s->drops_read_ns < last ? s->drops_read_ns : last, .to_ns = last};
            rc = sink->drops(sink->context, &drop, err);
            if (rc)
                return rc;
        }
    struct wp_record_drops *read = s->drops;
    s->drops = s->drops_before;
    s->drops_before = read;
    s->drops_read_ns = now;
    return 0;
}

static void wait_for_records(struct source_bpf *s, int timeout_ms)
{
    struct pollfd fd = {.fd = ring_buffer__epoll_fd(s->ring), .events = POLLIN};
    if (!s->is_stopping && !s->is_full)
        poll(&fd, 1, timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS);
}

static int poll_source(struct wp_source *source, int timeout_ms, const struct wp_sink *sink, struct wp_error *err)
{
    struct source_bpf *s = (struct source_bpf *)source;
    wait_for_records(s, timeout_ms);
    bool is_stopping = s->is_stopping;
    uint64_t before = now_ns();
    wp_buffer_clear(&s->records);
    s->is_full = false;
    int rc = ring_buffer__consume(s->ring);
    if (rc < 0 && rc != -ENOBUFS)
        return wp_error_errno(err, rc, "cannot read the ring of events");
    rc = s->sideband ? wp_sideband_read(s->sideband) : 0;
    if (rc)
        return wp_error_errno(err, rc, "cannot read the mappings");
    rc = deliver_all(s, sink, err);
    if (!rc)
        rc = deliver_mappings(s, s->is_full ? s->newest_ns : before, sink, err);
    if (!rc)
        rc = deliver_drops(s, sink, err);
    uint64_t certain = s->is_full ? s->newest_ns : before;
    if (!rc)
        rc = sink->watermark(sink->context, certain > MARGIN_NS ? certain - MARGIN_NS : 0, err);
    if (s->sideband && wp_sideband_lost(s->sideband) != s->sideband_lost) {
        s->sideband_lost = wp_sideband_lost(s->sideband);
        wp_log(s->logger, WP_LOG_WARN, "mappings were lost, some functions will have no names lost=%llu",
            (unsigned long long)s->sideband_lost);
    }
    if (rc)
        return rc;
    return is_stopping && !s->is_full ? 0 : 1;
}

static void stop_source(struct wp_source *source)
{
    struct source_bpf *s = (struct source_bpf *)source;
    wp_programs_detach(s->programs);
    s->is_stopping = true;
}

/* The mark of a beginning is older than all that the programs tell from then on, that of an end newer than all before. */
static int pause_source(struct wp_source *source, bool is_paused, const struct wp_sink *sink, struct wp_error *err)
{
    struct source_bpf *s = (struct source_bpf *)source;
    struct wp_fact fact = {.event = {.kind = WP_EVENT_WINDOW, .c = !is_paused}};
    if (is_paused)
        wp_programs_pause(s->programs, true);
    fact.event.time_ns = now_ns();
    if (!is_paused)
        wp_programs_pause(s->programs, false);
    int rc = sink->fact(sink->context, &fact, err);
    return rc || is_paused ? rc : wp_programs_snapshot(s->programs, err);
}

static void say_unwound(const struct source_bpf *s)
{
    struct wp_unwind_counts counts;
    if (!s->unwinder)
        return;
    wp_programs_unwind_counts(s->programs, &counts);
    wp_log(s->logger, WP_LOG_DEBUG, "user stacks complete=%llu no_rows=%llu not_code=%llu unreadable=%llu too_deep=%llu",
        (unsigned long long)counts.ends[WP_UNWIND_COMPLETE], (unsigned long long)counts.ends[WP_UNWIND_NO_ROWS],
        (unsigned long long)counts.ends[WP_UNWIND_NOT_CODE], (unsigned long long)counts.ends[WP_UNWIND_UNREADABLE],
        (unsigned long long)counts.ends[WP_UNWIND_TOO_DEEP]);
}

static void destroy_source(struct wp_source *source)
{
    struct source_bpf *s = (struct source_bpf *)source;
    if (!s)
        return;
    say_unwound(s);
    wp_unwinder_destroy(s->unwinder); /* it works on the programs' maps */
    ring_buffer__free(s->ring);
    wp_file_paths_destroy(s->paths);
    wp_programs_destroy(s->programs);
    wp_sideband_close(s->sideband);
    wp_buffer_fini(&s->records);
    free(s->drops);
    free(s->drops_before);
    free(s);
}

static void count(const struct wp_source *source, struct wp_source_counts *counts)
{
    const struct source_bpf *s = (const struct source_bpf *)source;
    struct wp_unwind_counts unwound = {0};
    if (s->unwinder)
        wp_programs_unwind_counts(s->programs, &unwound);
    *counts = (struct wp_source_counts){.walks_complete = unwound.ends[WP_UNWIND_COMPLETE],
        .walks_no_rows = unwound.ends[WP_UNWIND_NO_ROWS], .walks_not_code = unwound.ends[WP_UNWIND_NOT_CODE],
        .walks_unreadable = unwound.ends[WP_UNWIND_UNREADABLE], .walks_too_deep = unwound.ends[WP_UNWIND_TOO_DEEP],
        .lost_mappings = s->sideband_lost};
    wp_programs_run_time(s->programs, &counts->program_runs, &counts->program_ns);
    counts->unwalked = wp_programs_unwalked(s->programs);
    counts->reading_ns = s->unwinder ? wp_unwinder_cpu_ns(s->unwinder) : 0;
}

static void thin(struct wp_source *source, uint32_t stack_one_in)
{
    wp_programs_thin(((struct source_bpf *)source)->programs, stack_one_in);
}

static const struct wp_probe *probe(const struct wp_source *source)
{
    return wp_programs_probe(((const struct source_bpf *)source)->programs);
}

static const struct wp_source_ops ops = {"bpf", poll_source, stop_source, pause_source, destroy_source, count, thin, probe};

static int start(struct source_bpf *s, const struct wp_source_bpf_options *options, struct wp_error *err)
{
    struct wp_error why = {0};
    struct wp_unwinder_options unwinding;
    int rc = wp_programs_load(&s->programs, options, s->logger, err);
    if (rc)
        return rc;
    if (wp_programs_unwinding(s->programs, &unwinding)) {
        unwinding.cache = options->unwind_cache;
        s->unwinder = wp_unwinder_create(&unwinding);
    }
    if (wp_sideband_open(&s->sideband, &why))
        wp_log(s->logger, WP_LOG_WARN, "functions of processes that live shortly will have no names reason=\"%s\"", why.text);
    s->drops = calloc(wp_programs_cpus(s->programs), sizeof(*s->drops));
    s->drops_before = calloc(wp_programs_cpus(s->programs), sizeof(*s->drops));
    s->ring = ring_buffer__new(wp_programs_ring_fd(s->programs), on_record, s, NULL);
    s->paths = wp_file_paths_create("/proc/self/mountinfo");
    if (!s->drops || !s->drops_before || !s->ring || !s->paths)
        return wp_error_set(err, -ENOMEM, "out of memory for the ring of events");
    s->drops_read_ns = now_ns();
    if (s->unwinder)
        wp_unwinder_settle(s->unwinder, SETTLE_MS);
    rc = wp_programs_attach(s->programs, options->frequency_hz, err);
    return rc ? rc : wp_programs_snapshot(s->programs, err);
}

int wp_source_bpf_create(struct wp_source **source, const struct wp_source_bpf_options *options,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct source_bpf *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    s->base.ops = &ops;
    s->logger = logger;
    int rc = start(s, options, err);
    if (rc) {
        destroy_source(&s->base);
        return rc;
    }
    *source = &s->base;
    return 0;
}
