/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn_hour CAPTURE [SECONDS [SESSION_SECONDS [EVERY]]]: what an aggregator's engine with a store and checkpoints
 * holds while processes and connections come and go, as fast as it takes them. A capture of such a time (churn.c) is
 * told again and again until it is that long. In each round what ended in the capture is another process, another
 * connection; what lived on is the same. After SESSION_SECONDS (135) it goes on in another session, as a collector's
 * does when its dictionary has grown. Each second of the host is a commit. Prints a line of JSON each EVERY (30)
 * seconds of the host: memory as the kernel counts it, heap in use and not, and what the engine counts by kind, in kB.
 */
#include "aggregator/engine/engine.h"
#include "aggregator/net/connections.h"
#include "aggregator/session/session_bytes.h"
#include "aggregator/timeline/timeline_types.h"
#include "collector/send/capture_reader.h"
#include "common/path.h"
#include "proto/batch_encode.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define GAP_NS 1000000u /* between two rounds */
#define PIDS 4194304u   /* pid_max of a 64-bit host with systemd */
#define TCP_CLOSE 7
#define LARGE_BYTES (256 << 10) /* as the aggregator has it */

struct ids {       /* of one kind: what the capture calls it is now called */
    bool *is_over; /* ended in the capture; owned */
    uint32_t *now; /* owned */
    uint32_t count, next;
};

struct hour {
    const char *path;
    struct ids threads, sockets;
    uint32_t strings, objects, frames, stacks; /* of the capture */
    uint64_t first_ns, last_ns;
    struct wp_intmap leaders; /* pids of this round */
    uint64_t shift_ns, round, session_round, pids;
    struct wp_engine *engine;
    struct wp_aggregate_rule rule;
    struct wp_hello hello; /* of the capture; strings are the reader's */
    uint32_t session;
    uint64_t seq, told_s, every_s, events;
    struct wp_buffer bytes;
    char root[64], store[80], resume[80];
};

static void check(int rc, const struct wp_error *err)
{
    if (!rc)
        return;
    fprintf(stderr, "churn_hour: %s\n", err->text);
    exit(1);
}

/* --- what ends in the capture --- */

static void make_room(struct ids *ids, uint32_t count)
{
    ids->is_over = reallocarray(ids->is_over, count + 1u, sizeof(*ids->is_over));
    ids->now = reallocarray(ids->now, count + 1u, sizeof(*ids->now));
    if (!ids->is_over || !ids->now)
        abort();
    for (uint32_t id = ids->count ? ids->count + 1 : 0; id <= count; id++) {
        ids->is_over[id] = false;
        ids->now[id] = id;
    }
    ids->count = count;
}

static void look_at(struct hour *hour, const struct wp_batch *batch)
{
    make_room(&hour->threads, batch->first_thread + batch->thread_count - 1);
    make_room(&hour->sockets, batch->first_socket + batch->socket_count - 1);
    hour->strings = batch->first_string + batch->string_count;
    hour->objects = batch->first_object + batch->object_count;
    hour->frames = batch->first_frame + batch->frame_count;
    hour->stacks = batch->first_stack + batch->stack_count;
    for (uint32_t i = 0; i < batch->event_count; i++) {
        const struct wp_event *event = &batch->events[i];
        if (event->kind == WP_EVENT_EXIT)
            hour->threads.is_over[event->thread] = true;
        if (event->kind == WP_EVENT_SOCK_STATE && event->c == TCP_CLOSE)
            hour->sockets.is_over[event->d] = true;
        if (!hour->first_ns)
            hour->first_ns = event->time_ns;
        hour->last_ns = event->time_ns;
    }
    for (uint32_t i = batch->event_count; i-- > 0;) /* one that was another before exec has ended with it */
        if (batch->events[i].kind == WP_EVENT_EXEC && hour->threads.is_over[batch->events[i].other])
            hour->threads.is_over[batch->events[i].thread] = true;
}

/* --- a round --- */

static uint32_t now_called(const struct ids *ids, uint32_t id)
{
    return id <= ids->count ? ids->now[id] : id;
}

static uint32_t pid_of_round(struct hour *hour, uint32_t pid, bool is_leader)
{
    uint32_t now;
    if (is_leader) {
        now = 100000 + (uint32_t)(hour->pids++ % (PIDS - 100000));
        if (wp_intmap_put(&hour->leaders, (struct wp_intkey){pid, 0}, now))
            abort();
        return now;
    }
    return wp_intmap_get(&hour->leaders, (struct wp_intkey){pid, 0}, &now) ? now : pid;
}

static void tell_threads(struct hour *hour, struct wp_batch *b)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->thread_count; i++) {
        struct wp_thread_entry entry = b->threads[i];
        uint32_t id = b->first_thread + i, pid = entry.pid;
        bool is_over = hour->threads.is_over[id];
        if (hour->session_round && !is_over)
            continue;
        hour->threads.now[id] = hour->threads.next++;
        if (is_over) {
            bool is_again; /* after exec */
            uint32_t now;
            is_again = entry.tid == pid && entry.start_ns &&
                wp_intmap_get(&hour->leaders, (struct wp_intkey){pid, entry.start_ns}, &now);
            entry.pid = is_again ? now : pid_of_round(hour, pid, entry.tid == pid);
            if (entry.tid == pid && !is_again &&
                wp_intmap_put(&hour->leaders, (struct wp_intkey){pid, entry.start_ns}, entry.pid))
                abort();
            entry.tid = entry.tid == pid ? entry.pid : 100000 + (uint32_t)(hour->pids++ % (PIDS - 100000));
            entry.start_ns += entry.start_ns ? hour->shift_ns : 0;
        }
        entry.parent = now_called(&hour->threads, entry.parent);
        b->threads[kept++] = entry;
    }
    b->first_thread = hour->threads.next - kept;
    b->thread_count = kept;
}

static void tell_sockets(struct hour *hour, struct wp_batch *b)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->socket_count; i++) {
        uint32_t id = b->first_socket + i;
        if (hour->session_round && !hour->sockets.is_over[id])
            continue;
        hour->sockets.now[id] = hour->sockets.next++;
        b->sockets[kept++] = b->sockets[i];
    }
    b->first_socket = hour->sockets.next - kept;
    b->socket_count = kept;
}

/* Births and ends of who lives on are told once a session. */
static bool is_told(const struct hour *hour, const struct wp_event *event)
{
    uint32_t who = event->kind == WP_EVENT_FORK || event->kind == WP_EVENT_EXEC ? event->other : event->thread;
    bool is_life = event->kind == WP_EVENT_FORK || event->kind == WP_EVENT_EXEC || event->kind == WP_EVENT_RENAME ||
        event->kind == WP_EVENT_STATE || event->kind == WP_EVENT_EXIT;
    return !hour->session_round || !is_life || hour->threads.is_over[who];
}

static void turn_event(const struct hour *hour, struct wp_event *event)
{
    event->time_ns += hour->shift_ns;
    event->thread = now_called(&hour->threads, event->thread);
    if (event->kind <= WP_EVENT_EXEC)
        event->other = now_called(&hour->threads, event->other);
    if (!wp_event_has_socket(event))
        return;
    uint64_t mask = event->kind == WP_EVENT_WAKING ? WP_POSITION_ACKNOWLEDGES : 0, off = hour->round * 40503u * 65537u;
    if (hour->sockets.is_over[event->d] && !(event->flags & WP_SOCK_DATAGRAM && event->kind != WP_EVENT_WAKING) &&
        event->a) {
        uint32_t low = (uint32_t)event->a + (uint32_t)off;
        uint32_t high = event->kind == WP_EVENT_SOCK_STATE ? (uint32_t)(event->a >> 32) + (uint32_t)off : 0;
        event->a = (uint64_t)high << 32 | low | (event->a & mask);
    }
    event->d = now_called(&hour->sockets, event->d);
}

static void tell_names(struct hour *hour, struct wp_batch *b)
{
    if (!hour->session_round)
        return;
    b->first_string = hour->strings;
    b->first_object = hour->objects;
    b->first_frame = hour->frames;
    b->first_stack = hour->stacks;
    b->string_count = b->object_count = b->frame_count = b->stack_count = b->device_count = 0;
}

static void turn_batch(struct hour *hour, struct wp_batch *b)
{
    uint32_t kept = 0;
    memcpy(b->session, hour->hello.session, 16);
    b->seq = ++hour->seq;
    b->watermark_ns = (b->is_last ? hour->last_ns : b->watermark_ns) + hour->shift_ns;
    b->anchor_mono_ns += hour->shift_ns;
    b->anchor_real_ns += hour->shift_ns;
    b->is_last = false;
    b->drop_count = 0;
    tell_names(hour, b);
    tell_threads(hour, b);
    tell_sockets(hour, b);
    for (uint32_t i = 0; i < b->event_count; i++) {
        struct wp_event event = b->events[i];
        if (!is_told(hour, &event))
            continue;
        turn_event(hour, &event);
        b->events[kept++] = event;
    }
    b->event_count = kept;
    hour->events += kept;
}

/* --- what is held --- */

static uint64_t kilobytes(const char *file, const char *name)
{
    char line[256];
    uint64_t found = 0;
    FILE *in = fopen(file, "r");
    while (in && fgets(line, sizeof(line), in))
        if (!strncmp(line, name, strlen(name))) {
            found = strtoull(line + strlen(name), NULL, 10);
            break;
        }
    if (in)
        fclose(in);
    return found;
}

static void print(const char *name, uint64_t bytes)
{
    printf(", \"%s\": %" PRIu64, name, bytes / 1024);
}

struct sums {
    struct wp_session_bytes session;
    uint64_t rings, messages, sockets, transfers, by_address, woken, all;
};

static void add_up(struct sums *sums, const struct wp_host_session *session)
{
    const struct wp_timeline *timeline = wp_host_session_timeline(session);
    wp_session_bytes_add(&sums->session, session);
    sums->rings += timeline->ring_bytes;
    sums->messages += wp_messages_bytes(&timeline->messages);
    sums->sockets += wp_idtable_bytes(&timeline->messages.table);
    sums->transfers += timeline->messages.ring_bytes;
    sums->by_address += wp_intmap_bytes(&timeline->messages.by_address);
    sums->woken += wp_woken_bytes(&timeline->woken);
    sums->all += wp_session_bytes(session);
}

static void print_sums(const struct sums *sums)
{
    print("held", sums->all);
    print("dictionary", sums->session.dictionary);
    print("timeline", sums->session.timeline);
    print("rings", sums->rings);
    print("messages", sums->messages);
    print("sockets", sums->sockets);
    print("transfers", sums->transfers);
    print("by_address", sums->by_address);
    print("ends", sums->session.ends);
    print("woken", sums->woken);
    print("mappings", sums->session.mappings);
    print("tree", sums->session.aggregates.tree);
    print("sites", sums->session.aggregates.sites);
    print("reports", sums->session.aggregates.reports);
    print("base", sums->session.aggregates.base);
    print("kept", sums->session.kept);
}

static void tell(struct hour *hour, uint64_t at_s)
{
    struct mallinfo2 heap = mallinfo2();
    struct sums sums = {0};
    struct stat status;
    struct timespec ts;
    char path[192];
    uint32_t sessions = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    for (uint32_t i = 0; i < wp_engine_slots(hour->engine); i++) {
        const struct wp_host_session *session = wp_engine_session(hour->engine, i);
        if (!session)
            continue;
        sessions++;
        add_up(&sums, session);
    }
    printf("{\"second\": %" PRIu64 ", \"cpu_s\": %ld, \"events\": %" PRIu64 ", \"sessions\": %u", at_s, (long)ts.tv_sec,
        hour->events, sessions);
    print("resident", kilobytes("/proc/self/smaps_rollup", "Rss:") * 1024);
    print("anonymous", kilobytes("/proc/self/smaps_rollup", "Anonymous:") * 1024);
    print("in_use", heap.uordblks + heap.hblkhd);
    print("unused", heap.fordblks);
    print_sums(&sums);
    snprintf(path, sizeof(path), "%s/store/unversioned/data.mdb", hour->root);
    print("store", stat(path, &status) ? 0 : (uint64_t)status.st_size);
    printf("}\n");
    fflush(stdout);
}

/* --- the engine --- */

static void begin_session(struct hour *hour)
{
    struct wp_hello hello = hour->hello;
    struct wp_welcome welcome;
    struct wp_error err = {0};
    uint32_t before = hour->session++;
    uint64_t last_seq = hour->seq;
    if (before)
        memcpy(hello.continues, hour->hello.session, 16);
    hello.session[0] = (uint8_t)hour->session;
    hello.session[1] = (uint8_t)(hour->session >> 8);
    memcpy(hour->hello.session, hello.session, 16);
    hello.start_mono_ns += hour->shift_ns;
    hello.start_real_ns += hour->shift_ns;
    hour->session_round = hour->seq = 0;
    hour->threads.next = hour->sockets.next = 1;
    check(wp_engine_hello(hour->engine, hour->session, &hello, &welcome, &err), &err);
    if (!before)
        return;
    wp_engine_goes_on(hour->engine, before);
    check(wp_engine_bye(hour->engine, before, last_seq, &err), &err);
}

static void acknowledge(void *context, uint32_t peer, uint64_t seq, uint64_t taken)
{
    (void)context;
    (void)peer;
    (void)seq;
    (void)taken;
}

static void begin_engine(struct hour *hour)
{
    struct wp_engine_options options = WP_ENGINE_DEFAULTS;
    struct wp_error err = {0};
    const char *base = getenv("TMPDIR");
    snprintf(hour->root, sizeof(hour->root), "%.40s/wp-churn-XXXXXX", base ? base : "/var/tmp");
    if (!mkdtemp(hour->root))
        abort();
    snprintf(hour->store, sizeof(hour->store), "%s/store", hour->root);
    snprintf(hour->resume, sizeof(hour->resume), "%s/resume", hour->root);
    options.store = hour->store;
    options.resume = hour->resume;
    options.session.rules = &hour->rule;
    options.session.rule_count = 1;
    snprintf(hour->rule.name, sizeof(hour->rule.name), "main");
    check(wp_selector_parse(&hour->rule.selector, "comm=churn", &err), &err);
    check(wp_engine_create(&hour->engine, &options, NULL, &err), &err);
}

static void send_batch(struct hour *hour, const struct wp_batch *batch)
{
    struct wp_error err = {0};
    uint64_t now_ns = batch->watermark_ns;
    wp_buffer_clear(&hour->bytes);
    check(wp_batch_encode(batch, &hour->bytes, &err), &err);
    wp_engine_step(hour->engine, now_ns);
    check(wp_engine_batch(hour->engine, hour->session, hour->bytes.data, hour->bytes.size, &err), &err);
    check(wp_engine_commit(hour->engine, now_ns, batch->anchor_real_ns / 1000000000, false, &err), &err);
    wp_engine_acks(hour->engine, acknowledge, NULL);
    uint64_t at_s = (now_ns - hour->first_ns) / 1000000000;
    if (now_ns > hour->first_ns && at_s >= hour->told_s + hour->every_s) {
        hour->told_s = at_s;
        tell(hour, at_s);
    }
}

/* The capture once; the first time it is only looked at. */
static void go_round(struct hour *hour, bool is_look)
{
    struct wp_capture_reader *capture;
    const uint8_t *bytes;
    struct wp_error err = {0};
    size_t size;
    uint64_t seq;
    int got;
    check(wp_capture_reader_open(&capture, hour->path, &err), &err);
    if (is_look)
        check(wp_hello_copy(&hour->hello, wp_capture_reader_hello(capture)), &err);
    while ((got = wp_capture_reader_next(capture, &bytes, &size, &seq, &err)) > 0) {
        struct wp_batch batch = *wp_capture_reader_batch(capture);
        if (is_look) {
            look_at(hour, &batch);
        } else {
            turn_batch(hour, &batch);
            send_batch(hour, &batch);
        }
    }
    check(got, &err);
    wp_capture_reader_close(capture);
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: churn_hour CAPTURE [SECONDS [SESSION_SECONDS [EVERY]]]\n");
        return 64;
    }
    struct hour hour = {.path = argv[1], .every_s = argc > 4 ? strtoull(argv[4], NULL, 10) : 30};
    uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 3600,
             session_s = argc > 3 ? strtoull(argv[3], NULL, 10) : 135;
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    go_round(&hour, true);
    begin_engine(&hour);
    uint64_t period = hour.last_ns - hour.first_ns + GAP_NS, session_ns = session_s * 1000000000, since_ns = 0;
    for (; hour.shift_ns < seconds * 1000000000; hour.shift_ns += period, hour.round++, hour.session_round++) {
        if (!hour.session || hour.shift_ns >= since_ns + session_ns) {
            since_ns = hour.shift_ns;
            begin_session(&hour);
        }
        wp_intmap_clear(&hour.leaders);
        go_round(&hour, false);
    }
    check(wp_engine_bye(hour.engine, hour.session, hour.seq, &err), &err);
    check(wp_engine_commit(hour.engine, hour.shift_ns, 0, true, &err), &err);
    wp_engine_destroy(hour.engine);
    wp_path_remove(hour.root, NULL);
    return 0;
}
