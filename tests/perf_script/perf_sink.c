/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_sink.h"

#include "collector/perf_script/source_perf_script.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_frames(struct perf_sink *sink, const struct wp_fact *fact)
{
    for (uint32_t i = 0; i < fact->frame_count; i++) {
        const struct wp_named_frame *frame = &fact->frames[i];
        sink->broken +=
            !frame->function || !frame->object || strlen(frame->function) > 1023 || strlen(frame->object) > 1023;
    }
    sink->broken += fact->frame_count > 1024;
}

/* " KEY PROTOCOL LOCAL:PORT>REMOTE:PORT" */
static void print_socket(struct perf_sink *sink, const struct wp_fact_socket *socket)
{
    const struct wp_socket_entry *entry = &socket->entry;
    char local[INET6_ADDRSTRLEN] = "", remote[INET6_ADDRSTRLEN] = "";
    sink->broken += !inet_ntop(entry->family, entry->local, local, sizeof(local)) ||
        !inet_ntop(entry->family, entry->remote, remote, sizeof(remote)) ||
        (entry->protocol != IPPROTO_TCP && entry->protocol != IPPROTO_UDP);
    wp_buffer_printf(&sink->text, " %llu %s %s:%u>%s:%u", (unsigned long long)socket->key,
        entry->protocol == IPPROTO_UDP ? "udp" : "tcp", local, entry->local_port, remote, entry->remote_port);
}

/* "TIME KIND CPU TID/PID[COMM] > TID/PID[COMM] c=.. d=.. a=.. b=.. flags=.. frames=N OUTERMOST..INNERMOST" */
static void print(struct perf_sink *sink, const struct wp_fact *f)
{
    wp_buffer_printf(&sink->text, "%llu %s %u %u/%u[%s] > %u/%u[%s] c=%u d=%u a=%llu b=%llu flags=%u frames=%u",
        (unsigned long long)f->event.time_ns, wp_event_kind_name(f->event.kind), f->event.cpu, f->tid, f->pid,
        f->comm ? f->comm : "", f->other_tid, f->other_pid, f->other_comm ? f->other_comm : "", f->event.c, f->event.d,
        (unsigned long long)f->event.a, (unsigned long long)f->event.b, f->event.flags, f->frame_count);
    if (f->frame_count)
        wp_buffer_printf(&sink->text, " %s..%s", f->frames[0].function, f->frames[f->frame_count - 1].function);
    if (f->exe)
        wp_buffer_printf(&sink->text, " exe=%s", f->exe);
    if (f->socket.key)
        print_socket(sink, &f->socket);
    wp_buffer_putc(&sink->text, '\n');
}

static int on_fact(void *context, const struct wp_fact *fact, struct wp_error *err)
{
    struct perf_sink *sink = context;
    const struct wp_event *event = &fact->event;
    if (++sink->facts == sink->fail_at)
        return wp_error_set(err, -EIO, "the sink is full");
    sink->broken += event->time_ns <= sink->last_ns || event->time_ns < sink->watermark_ns;
    sink->broken += event->kind == 0 || event->kind >= WP_EVENT_KINDS || event->cpu >= 8192;
    sink->broken += fact->tid > 4194304 || fact->other_tid > 4194304;
    sink->last_ns = event->time_ns;
    if (event->kind < WP_EVENT_KINDS)
        sink->counts[event->kind]++;
    if (event->kind == WP_EVENT_WAKING) {
        sink->broken += event->c >= WP_CAUSES;
        sink->causes[event->c % WP_CAUSES]++;
    }
    sink->broken += event->kind == WP_EVENT_SWITCH && event->c >= WP_STATES;
    sink->broken += wp_event_has_socket(event) && !fact->socket.key;
    check_frames(sink, fact);
    print(sink, fact);
    return 0;
}

static int on_drops(void *context, const struct wp_drop *drop, struct wp_error *err)
{
    struct perf_sink *sink = context;
    (void)err;
    sink->drops++;
    sink->lost += drop->count;
    sink->broken += drop->from_ns > drop->to_ns;
    wp_buffer_printf(&sink->text, "drop %u %llu %llu-%llu\n", drop->cpu, (unsigned long long)drop->count,
        (unsigned long long)drop->from_ns, (unsigned long long)drop->to_ns);
    return 0;
}

static int on_watermark(void *context, uint64_t time_ns, struct wp_error *err)
{
    struct perf_sink *sink = context;
    (void)err;
    sink->broken += time_ns <= sink->watermark_ns;
    sink->watermark_ns = time_ns;
    return 0;
}

static int on_mapped(void *context, const struct wp_mapped_file *file, struct wp_error *err)
{
    struct perf_sink *sink = context;
    (void)file, (void)err;
    sink->broken++; /* the text has no mappings */
    return 0;
}

struct wp_fact_sink perf_sink_sink(struct perf_sink *sink)
{
    return (struct wp_fact_sink){on_fact, on_drops, on_watermark, on_mapped, sink};
}

void perf_sink_fini(struct perf_sink *sink)
{
    wp_buffer_fini(&sink->text);
    *sink = (struct perf_sink){0};
}

int perf_sink_run(struct perf_sink *sink, const char *bytes, size_t size, uint64_t *skipped, struct wp_error *err)
{
    char path[] = "/tmp/wp-perf-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
    struct wp_source *source;
    struct wp_fact_sink out = perf_sink_sink(sink);
    int rc = wp_source_perf_script_create(&source, path, err);
    unlink(path);
    if (rc)
        return rc;
    while ((rc = source->ops->poll(source, 1000, &out, err)) > 0)
        ;
    if (skipped) {
        struct wp_source_counts counts;
        source->ops->count(source, &counts);
        *skipped = counts.unread_lines;
    }
    source->ops->destroy(source);
    return rc;
}

bool perf_sink_has(const struct perf_sink *sink, const char *line)
{
    size_t size = strlen(line);
    for (const char *at = (const char *)sink->text.data; at && (at = strstr(at, line)); at++)
        if ((at == (const char *)sink->text.data || at[-1] == '\n') && at[size] == '\n')
            return true;
    return false;
}
