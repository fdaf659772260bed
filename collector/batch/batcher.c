/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/batcher.h"

#include "collector/batch/event_queue.h"
#include "collector/batch/heir.h"
#include "collector/batch/socket_table.h"
#include "collector/batch/wait_table.h"
#include "collector/host/devices.h"
#include "common/clock.h"
#include "common/host_pids.h"
#include "common/intern.h"
#include "common/intmap.h"
#include "proto/dictionary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CUT_NS 100000000u   /* a batch at least so often while there are events ... */
#define QUIET_NS 500000000u /* ... and so often when there are none: it carries the watermark */
/* Frames get their names before they travel, which takes as long as reading an object takes: until then events wait
 * here. */
#define NAMES_NS (10 * WP_NS_PER_S) /* at most so long ... */
#define NAMES_EVENTS (1u << 20)     /* ... and so many */
#define NAMES_MS 5u                 /* that the source may stand still for names that are nearly there */
#define NAMES_LAST_MS 20000u        /* for all that is left at the end */
#define SWEEP_NS (60 * WP_NS_PER_S) /* between two looks for who is gone without a word: no source is so late */
#define RENAME_REACH 4096u          /* events between the renaming and the end of an exec */

struct wp_batcher {
    struct wp_batcher_options options;
    struct wp_dict_writer *dict;
    struct wp_thread_table *threads;
    struct wp_address_spaces *spaces;
    struct wp_stack_table *stacks;
    struct wp_wait_table *waits;
    struct wp_event_queue queue;
    struct wp_socket_table *sockets;
    struct wp_intmap devices; /* told */
    struct wp_intern *exes;
    struct wp_intmap exe_of; /* pid -> the first file mapped since its exec; UINT32_MAX: none yet */
    struct wp_batcher_stats stats;
    uint64_t seq, watermark_ns, cut_ns;
    uint64_t paused_ns, resumed_ns; /* the last ones */
    uint64_t swept_ns;
    size_t session_bytes;   /* of the session's dictionary, as who receives it counts */
    size_t inherited_bytes; /* of them, what it began with */
    bool must_renew;
    bool is_successor;             /* the session goes on behind another one */
    struct wp_dict_writer *before; /* while the session is renewed: of the old one; else NULL */
};

int wp_batcher_create(struct wp_batcher **batcher, const struct wp_batcher_options *options, struct wp_error *err)
{
    struct wp_batcher *b = calloc(1, sizeof(*b));
    if (!b)
        return wp_error_set(err, -ENOMEM, "out of memory");
    b->options = *options;
    b->dict = wp_dict_writer_create();
    b->exes = wp_intern_create();
    if (options->has_addresses)
        b->spaces = wp_address_spaces_create();
    int rc = !b->dict || !b->exes || (options->has_addresses && !b->spaces)
        ? wp_error_set(err, -ENOMEM, "out of memory")
        : 0;
    if (!rc)
        rc = wp_thread_table_create(&b->threads,
            &(struct wp_thread_table_options){.dict = b->dict,
                .command_pid = options->command_pid,
                .self_pid = options->self_pid,
                .recorder_pid = options->recorder_pid,
                .reads_proc = options->reads_proc,
                .patterns = options->patterns,
                .pattern_count = options->pattern_count},
            err);
    if (!rc &&
        (!(b->waits = wp_wait_table_create(b->dict)) || !(b->sockets = wp_socket_table_create(b->dict)) ||
            !(b->stacks = wp_stack_table_create(b->dict, b->spaces, b->waits, &options->names, options->logger))))
        rc = wp_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        wp_batcher_destroy(b);
        return rc;
    }
    *batcher = b;
    return 0;
}

int wp_batcher_match(struct wp_batcher *b, const char *const *patterns, size_t count, struct wp_error *err)
{
    return wp_thread_table_match(b->threads, patterns, count, err);
}

void wp_batcher_destroy(struct wp_batcher *b)
{
    if (!b)
        return;
    wp_stack_table_destroy(b->stacks);
    wp_wait_table_destroy(b->waits);
    wp_thread_table_destroy(b->threads);
    wp_address_spaces_destroy(b->spaces);
    wp_socket_table_destroy(b->sockets);
    wp_dict_writer_destroy(b->dict);
    wp_dict_writer_destroy(b->before);
    wp_intern_destroy(b->exes);
    wp_event_queue_fini(&b->queue);
    wp_intmap_fini(&b->devices);
    wp_intmap_fini(&b->exe_of);
    free(b);
}

static int send_batch(struct wp_batcher *b, size_t events, uint64_t watermark_ns, bool is_last, struct wp_error *err)
{
    uint64_t resolution_ns = b->options.resolution_ns ? b->options.resolution_ns : 1;
    struct wp_batch batch = {.seq = b->seq + 1,
        .watermark_ns = watermark_ns & ~(resolution_ns - 1),
        .is_last = is_last,
        .anchor_mono_ns = wp_clock_of_ns(CLOCK_MONOTONIC),
        .anchor_real_ns = wp_clock_of_ns(CLOCK_REALTIME)};
    memcpy(batch.session, b->options.session, sizeof(batch.session));
    wp_wait_table_settle(b->waits, b->queue.events, events);
    if (wp_dict_writer_fill(b->dict, &batch))
        return wp_error_set(err, -ENOMEM, "out of memory for the dictionary");
    wp_event_queue_round_down(&b->queue, events, resolution_ns);
    batch.events = b->queue.events;
    batch.event_count = (uint32_t)events;
    int rc = b->options.batch(b->options.context, &batch, err);
    if (rc)
        return rc;
    b->session_bytes += wp_dictionary_bytes_of(&batch);
    wp_dict_writer_sent(b->dict);
    b->seq++;
    b->stats.batches++;
    for (size_t i = 0; i < events; i++)
        b->stats.events += !wp_event_is_retold(&b->queue.events[i]);
    wp_event_queue_take(&b->queue, events);
    return 0;
}

/* Sends what is certain at `watermark_ns`, in batches that are full but the last. */
static int cut(struct wp_batcher *b, uint64_t watermark_ns, bool is_last, struct wp_error *err)
{
    if (wp_event_queue_sort(&b->queue))
        return wp_error_set(err, -ENOMEM, "out of memory to sort events");
    size_t certain = wp_event_queue_before(&b->queue, watermark_ns);
    while (certain > WP_BATCH_EVENTS) {
        int rc = send_batch(b, WP_BATCH_EVENTS, b->queue.events[WP_BATCH_EVENTS - 1].time_ns, false, err);
        if (rc)
            return rc;
        certain -= WP_BATCH_EVENTS;
    }
    b->cut_ns = watermark_ns;
    int rc = send_batch(b, certain, watermark_ns, is_last, err);
    if (!b->inherited_bytes)
        b->inherited_bytes = b->session_bytes;
    return rc;
}

/* --- another session --- */

static const char *old_string(const void *context, uint32_t id)
{
    return wp_dict_writer_text(((const struct wp_batcher *)context)->before, id);
}

/* Those that live have been told to the heir before it asks. */
static const struct wp_thread_entry *old_thread(const void *context, uint32_t id)
{
    return wp_thread_table_dead_entry(((const struct wp_batcher *)context)->threads, id);
}

static const struct wp_object_entry *old_object(const void *context, uint32_t id)
{
    return wp_dict_writer_object_entry(((const struct wp_batcher *)context)->before, id);
}

static const struct wp_frame_entry *old_frame(const void *context, uint32_t id)
{
    return wp_dict_writer_frame_entry(((const struct wp_batcher *)context)->before, id);
}

static const struct wp_stack_entry *old_stack(const void *context, uint32_t id)
{
    return wp_dict_writer_stack_entry(((const struct wp_batcher *)context)->before, id);
}

static int send_entries(void *context)
{
    struct wp_batcher *b = context;
    return send_batch(b, 0, b->cut_ns, false, NULL);
}

/* At the instant where the session begins: its other end, on another host, is known by this. */
static int tell_connection(void *context, const struct wp_event *event)
{
    struct wp_batcher *b = context;
    struct wp_event *place = wp_event_queue_next(&b->queue);
    if (!place)
        return -ENOMEM;
    *place = *event;
    place->time_ns = b->cut_ns;
    wp_event_queue_added(&b->queue);
    return wp_dict_writer_is_full(b->dict) ? send_entries(b) : 0;
}

/* What was mapped first in processes that are about to run another program. */
static int renew_exes(struct wp_batcher *b)
{
    struct wp_intern *exes = wp_intern_create();
    struct wp_intmap *map = &b->exe_of;
    if (!exes)
        return -ENOMEM;
    for (uint32_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used && map->slots[i].value != UINT32_MAX)
            map->slots[i].value = wp_intern_str(exes, wp_intern_text(b->exes, map->slots[i].value));
    wp_intern_destroy(b->exes);
    b->exes = exes;
    return 0;
}

/* Everything that holds an id gets that of the new session, and what waits to be sent as well. */
static int inherit(struct wp_batcher *b, struct wp_heir *heir)
{
    wp_socket_table_renew(b->sockets, b->dict);
    int rc = wp_thread_table_renew(b->threads, b->dict, heir);
    if (!rc)
        rc = wp_wait_table_renew(b->waits, b->dict, b->queue.events, b->queue.count);
    if (rc)
        return rc;
    wp_stack_table_renew(b->stacks, b->dict, heir);
    for (size_t i = 0; i < b->queue.count; i++) {
        struct wp_event *event = &b->queue.events[i];
        if (wp_event_has_socket(event) && event->d)
            event->d = wp_socket_table_again(b->sockets, event->d);
        wp_heir_event(heir, event, false);
    }
    wp_thread_table_forget_dead(b->threads);
    rc = wp_heir_failed(heir);
    return rc ? rc : wp_socket_table_tell(b->sockets, tell_connection, b);
}

/* What was certain has gone in the last batch of the session before. */
static int renew(struct wp_batcher *b, struct wp_error *err)
{
    static const struct wp_heir_from from = {NULL, old_string, old_thread, NULL, old_object, old_frame, old_stack};
    struct wp_heir_from here = from;
    struct wp_dict_writer *dict = wp_dict_writer_create();
    here.context = b;
    struct wp_heir *heir = dict ? wp_heir_create(&here, dict, send_entries, b) : NULL;
    if (!heir) {
        wp_dict_writer_destroy(dict);
        return wp_error_set(err, -ENOMEM, "out of memory for another session");
    }
    b->before = b->dict;
    b->dict = dict;
    b->seq = 0;
    b->session_bytes = b->inherited_bytes = 0;
    b->must_renew = false;
    b->is_successor = true;
    b->paused_ns = b->resumed_ns = 0;
    wp_intmap_clear(&b->devices);
    int rc = renew_exes(b);
    if (!rc)
        rc = inherit(b, heir);
    wp_heir_destroy(heir);
    wp_dict_writer_destroy(b->before);
    b->before = NULL;
    return rc ? wp_error_set(err, rc, "the recording cannot go on in another session") : 0;
}

/* Between two windows nothing says so to the new session: it begins with the next one. What lives may be more than is
 * allowed. */
static bool is_renewal_due(const struct wp_batcher *b)
{
    bool is_paused = b->paused_ns > b->resumed_ns;
    bool is_large = b->session_bytes >= b->options.session_bytes && b->session_bytes >= 2 * b->inherited_bytes;
    return b->options.renew && !is_paused && b->inherited_bytes && (b->must_renew || is_large);
}

/* 1: it goes on in another session; 0: not now. */
static int try_renewal(struct wp_batcher *b, uint64_t watermark_ns, struct wp_error *err)
{
    uint8_t session[16];
    int rc = b->options.may_renew(b->options.context) ? cut(b, watermark_ns, true, err) : -EAGAIN;
    if (rc)
        return rc == -EAGAIN ? 0 : rc;
    rc = b->options.renew(b->options.context, session, err);
    if (rc)
        return rc;
    memcpy(b->options.session, session, sizeof(session));
    rc = renew(b, err);
    return rc ? rc : 1;
}

/* Also an id of a thread that is no process. Without the right to look it is there. */
static bool is_there(void *context, uint32_t pid)
{
    char path[32];
    (void)context;
    snprintf(path, sizeof(path), "/proc/%u", pid);
    return !access(path, F_OK) || errno != ENOENT;
}

static void forget_process(void *context, uint32_t pid)
{
    struct wp_batcher *b = context;
    wp_intmap_remove(&b->exe_of, (struct wp_intkey){pid, 0});
    wp_stack_table_forget(b->stacks, pid);
}

/* Not in a pid namespace of its own, nor in a /proc that hides what belongs to others (hidepid). */
static bool sees_processes(struct wp_batcher *b)
{
    return b->options.reads_proc && wp_host_pids_are_seen() && is_there(b, 1);
}

/* The ends of threads may have been among what was dropped, and a first thread may end before its process. */
static void sweep(struct wp_batcher *b, uint64_t time_ns)
{
    if (time_ns - b->swept_ns < SWEEP_NS)
        return;
    b->swept_ns = time_ns;
    renew_exes(b); /* without memory for it they stay */
    if (!sees_processes(b))
        return;
    wp_thread_table_sweep(b->threads, is_there, b);
    if (b->spaces)
        wp_address_spaces_sweep(b->spaces, is_there, forget_process, b);
}

static int on_watermark(void *context, uint64_t time_ns, struct wp_error *err)
{
    struct wp_batcher *b = context;
    if (time_ns <= b->watermark_ns)
        return 0;
    b->watermark_ns = time_ns;
    if (!b->cut_ns)
        b->cut_ns = time_ns;
    sweep(b, time_ns);
    uint64_t since = time_ns - b->cut_ns;
    if (is_renewal_due(b) && wp_stack_table_names(b->stacks, NAMES_MS)) {
        int rc = try_renewal(b, time_ns, err);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    if (b->queue.count < WP_BATCH_EVENTS && since < (b->queue.count ? CUT_NS : QUIET_NS))
        return 0;
    if (!wp_stack_table_names(b->stacks, NAMES_MS) && since < NAMES_NS && b->queue.count < NAMES_EVENTS)
        return 0;
    return cut(b, time_ns, false, err);
}

static int on_drops(void *context, const struct wp_drop *drop, struct wp_error *err)
{
    struct wp_batcher *b = context;
    (void)err;
    wp_dict_writer_drop(b->dict, drop);
    b->stats.dropped += drop->count;
    b->stats.dropped_kinds[drop->kind < WP_EVENT_KINDS ? drop->kind : 0] += drop->count;
    return 0;
}

/* The program that a process runs is the first file mapped since its exec began. */
static int on_mapped(void *context, const struct wp_mapped_file *file, struct wp_error *err)
{
    struct wp_batcher *b = context;
    struct wp_intkey key = {file->pid, 0};
    uint32_t exe;
    if (!b->spaces)
        return 0;
    if (file->is_exec) {
        wp_intmap_put(&b->exe_of, key, UINT32_MAX);
        wp_address_spaces_exec(b->spaces, file->pid);
        wp_stack_table_forget(b->stacks, file->pid);
        return 0;
    }
    if (*file->path == '/' && file->path[1] != '/' && wp_intmap_get(&b->exe_of, key, &exe) && exe == UINT32_MAX)
        wp_intmap_put(&b->exe_of, key, wp_intern_str(b->exes, file->path));
    int rc = wp_address_spaces_map(b->spaces, file);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for mappings") : 0;
}

static void tell_device(struct wp_batcher *b, uint32_t device)
{
    uint32_t told;
    char name[64];
    if (wp_intmap_get(&b->devices, (struct wp_intkey){device, 0}, &told))
        return;
    wp_intmap_put(&b->devices, (struct wp_intkey){device, 0}, 1);
    wp_device_name(device, name, sizeof(name));
    wp_dict_writer_device(b->dict, device, name);
}

/* The kernel renames a thread on its way into exec: that name is of the new program, not of the old one. */
static void undo_rename(struct wp_batcher *b, uint32_t thread, uint32_t comm)
{
    for (size_t i = b->queue.count, looked = 0; i && looked < RENAME_REACH; i--, looked++) {
        struct wp_event *event = &b->queue.events[i - 1];
        if (event->kind != WP_EVENT_RENAME || event->thread != thread)
            continue;
        event->c = comm;
        return;
    }
}

static void on_exec(struct wp_batcher *b, const struct wp_fact *fact, struct wp_event *event)
{
    struct wp_intkey key = {fact->pid, 0};
    uint32_t exe;
    const char *path = NULL;
    if (wp_intmap_get(&b->exe_of, key, &exe) && exe != UINT32_MAX)
        path = wp_intern_text(b->exes, exe);
    forget_process(b, fact->pid);
    uint32_t comm_before = wp_thread_table_comm_before(b->threads, fact->other_tid ? fact->other_tid : fact->tid);
    event->other = wp_thread_table_exec(b->threads, fact, path, &event->thread);
    if (comm_before)
        undo_rename(b, event->thread, comm_before);
}

/* It sleeps since it left the CPU, when that was seen. */
static void state(struct wp_batcher *b, const struct wp_fact *fact, struct wp_event *event)
{
    event->thread = wp_thread_table_existing(b->threads, fact);
    if (event->c != WP_STATE_RUNNING && !event->a)
        event->a = wp_thread_table_left_ns(b->threads, fact->tid);
    if (b->is_successor && !b->paused_ns) /* later ones are of windows */
        event->flags |= WP_EVENT_RETOLD;
}

static void fill_threads(struct wp_batcher *b, const struct wp_fact *fact, struct wp_event *event)
{
    if (event->kind == WP_EVENT_EXEC) {
        on_exec(b, fact, event);
        return;
    }
    if (event->kind == WP_EVENT_STATE)
        state(b, fact, event);
    else
        event->thread = wp_thread_table_id(b->threads, fact->tid, fact->pid, fact->comm);
    if (event->kind == WP_EVENT_FORK) {
        event->other = wp_thread_table_born(b->threads, fact);
        if (b->spaces && !(event->flags & WP_FORK_THREAD))
            wp_address_spaces_fork(b->spaces, fact->pid, fact->other_pid);
    } else {
        event->other = wp_thread_table_id(b->threads, fact->other_tid, fact->other_pid, fact->other_comm);
    }
}

/* Its last switch is told, but not while the recording pauses. */
static bool is_end_of_thread(const struct wp_batcher *b, const struct wp_event *event)
{
    bool is_between = b->paused_ns && event->time_ns >= b->paused_ns &&
        (b->resumed_ns < b->paused_ns || event->time_ns < b->resumed_ns);
    return (event->kind == WP_EVENT_SWITCH && event->c == WP_STATE_DEAD) ||
        (event->kind == WP_EVENT_EXIT && is_between);
}

/* What a thread or a socket leaves behind when it is gone. A process whose other threads run is left to the sweep. */
static void after(struct wp_batcher *b, const struct wp_fact *fact)
{
    const struct wp_event *event = &fact->event;
    if (event->kind == WP_EVENT_WINDOW)
        *(event->c ? &b->resumed_ns : &b->paused_ns) = event->time_ns;
    if (fact->tid && is_end_of_thread(b, event)) {
        wp_thread_table_dead(b->threads, fact->tid);
        if (b->spaces && fact->tid == fact->pid && !(sees_processes(b) && wp_host_has_threads(fact->pid))) {
            wp_address_spaces_exit(b->spaces, fact->pid);
            forget_process(b, fact->pid);
        }
    }
    if (event->kind == WP_EVENT_SOCK_STATE)
        wp_socket_table_state(b->sockets, fact);
    if (event->kind == WP_EVENT_SWITCH && fact->tid)
        wp_thread_table_left(b->threads, fact->tid, event->time_ns);
}

/* What later facts refer to. */
static int define(struct wp_batcher *b, const struct wp_fact *fact, struct wp_error *err)
{
    uint32_t number = fact->wait.key ? wp_wait_table_define(b->waits, fact->wait.key, fact->wait.name) : 0;
    if (number && !fact->wait.name)
        wp_stack_table_lock(b->stacks, &fact->wait.lock, number);
    if (fact->interp || fact->code)
        wp_stack_table_define(b->stacks, fact);
    else if (fact->start_ns)
        wp_thread_table_existing(b->threads, fact);
    else if (!fact->wait.key && !wp_stack_table_id(b->stacks, fact))
        wp_socket_table_id(b->sockets, fact);
    return wp_dict_writer_failed(b->dict) ? wp_error_set(err, -ENOMEM, "out of memory for names") : 0;
}

/* The event is made where it will wait: nothing else is put into the queue meanwhile. */
static int on_fact(void *context, const struct wp_fact *fact, struct wp_error *err)
{
    struct wp_batcher *b = context;
    if (!fact->event.kind)
        return define(b, fact, err);
    uint32_t socket = wp_socket_table_id(b->sockets, fact);
    struct wp_event *event = wp_event_queue_next(&b->queue);
    if (!event)
        return wp_error_set(err, -ENOMEM, "out of memory for events");
    wp_event_queue_fill(event, &fact->event);
    b->stats.taken_kinds[event->kind < WP_EVENT_KINDS ? event->kind : 0]++;
    fill_threads(b, fact, event);
    event->stack = wp_stack_table_id(b->stacks, fact);
    if (event->kind == WP_EVENT_RENAME)
        event->c = wp_thread_table_rename(b->threads, fact->tid, fact->comm);
    if (wp_event_has_socket(event))
        event->d = socket;
    if (fact->wait.key)
        event->wait = wp_wait_table_number(b->waits, fact->wait.key);
    if (fact->file)
        event->other = wp_dict_writer_string(b->dict, fact->file);
    if (wp_event_is_block(event) || (event->kind == WP_EVENT_WAKING && event->c == WP_CAUSE_BLOCK))
        tell_device(b, event->d);
    if (event->time_ns < b->cut_ns) {
        event->time_ns = b->cut_ns;
        b->stats.late++;
    }
    wp_event_queue_added(&b->queue);
    if (wp_dict_writer_failed(b->dict))
        return wp_error_set(err, -ENOMEM, "out of memory for events");
    after(b, fact);
    if (!wp_dict_writer_is_full(b->dict))
        return 0;
    wp_stack_table_names(b->stacks, NAMES_MS);
    return send_batch(b, 0, b->cut_ns, false, err);
}

struct wp_symbolizer *wp_batcher_symbolizer(const struct wp_batcher *b)
{
    return wp_stack_table_symbolizer(b->stacks);
}

struct wp_fact_sink wp_batcher_sink(struct wp_batcher *b)
{
    return (struct wp_fact_sink){on_fact, on_drops, on_watermark, on_mapped, b};
}

int wp_batcher_finish(struct wp_batcher *b, struct wp_error *err)
{
    wp_stack_table_names(b->stacks, NAMES_MS); /* what the fleet did not know is read from here on */
    wp_stack_table_names(b->stacks, NAMES_LAST_MS);
    return cut(b, UINT64_MAX / 2, true, err);
}

const struct wp_batcher_stats *wp_batcher_stats(const struct wp_batcher *b)
{
    return &b->stats;
}

struct wp_symbolizer_stats wp_batcher_names(const struct wp_batcher *b)
{
    return wp_stack_table_naming(b->stacks);
}

const struct wp_stack_counts *wp_batcher_stacks(const struct wp_batcher *b)
{
    return wp_stack_table_counts(b->stacks);
}

struct wp_interp_codes_counts wp_batcher_codes(const struct wp_batcher *b)
{
    return wp_stack_table_codes(b->stacks);
}

uint64_t wp_batcher_reading_ns(const struct wp_batcher *b)
{
    return wp_stack_table_reading_ns(b->stacks);
}

bool wp_batcher_wants_stacks(const struct wp_batcher *b)
{
    return wp_stack_table_is_full(b->stacks);
}

void wp_batcher_turn_stacks(struct wp_batcher *b)
{
    wp_stack_table_turn(b->stacks);
}

void wp_batcher_renew_soon(struct wp_batcher *b)
{
    b->must_renew = true;
}

void wp_batcher_lost(struct wp_batcher *b, const struct wp_drop *drop)
{
    struct wp_drop told = *drop;
    if (!told.to_ns)
        told.from_ns = told.to_ns = b->watermark_ns;
    on_drops(b, &told, NULL);
}

void wp_batcher_left_out(struct wp_batcher *b, const struct wp_drop *drop)
{
    wp_dict_writer_drop(b->dict, drop);
}
