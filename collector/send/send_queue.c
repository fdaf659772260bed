/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/send_queue.h"

#include "common/array.h"
#include "common/clock.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_BYTES ((size_t)256 << 20)
#define LIMIT_FRAMES 65536u
#define MEMORY_FIRST ((size_t)32 << 20)  /* on a full disk, before unacknowledged batches in the spool go */
#define UNSYNCED_BYTES ((size_t)8 << 20) /* in the spool and in memory, before the spool is synced for it */
#define TEND_NS WP_NS_PER_S
#define SAY_NS (60 * WP_NS_PER_S)
#define ZSTD_LEVEL 1

struct frame {
    uint8_t *bytes; /* owned */
    size_t size;
    uint64_t seq;
};

/* What the batches of a session in memory define, by number. */
struct entries {
    struct frame *rows; /* owned */
    uint32_t count, room;
    size_t bytes, most_bytes; /* most_bytes 0: they are not kept */
    struct wp_frame_writer *writer;
    struct wp_buffer raw, frame;
};

/*
 * In memory: what is behind the spool's last batch, or without a spool what is not acknowledged. A ring. Before it
 * stands what the spool has been given since it was synced: a file system that fails throws such pages away (ext4 once
 * its journal is aborted, Linux 6.18), and then reads zeros there.
 */
struct wp_send_queue {
    struct wp_spool *spool;
    struct wp_spool_session *session;
    const struct wp_logger *logger;
    struct frame *frames;
    uint32_t first, count;
    uint32_t unsynced; /* of `count`, the first ones: in the spool as well */
    size_t bytes, unsynced_bytes;
    uint64_t last_seq, acked, tended_ns;
    bool is_broken; /* batches are missing behind the spool's last one: it takes no more */
    bool owes_bye;  /* the session is over and the spool does not say so yet */
    struct wp_bye bye;
    struct wp_log_limit trouble, damage;
    struct wp_frame_reader *reader;
    struct wp_batch batch;
    struct entries entries;
};

static struct frame *frame_at(const struct wp_send_queue *o, uint32_t index)
{
    return &o->frames[(o->first + index) % LIMIT_FRAMES];
}

int wp_send_queue_create(struct wp_send_queue **queue, struct wp_spool *spool, struct wp_spool_session *session,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_send_queue *o = calloc(1, sizeof(*o));
    if (o) {
        o->spool = spool;
        o->session = session;
        o->logger = logger;
        o->last_seq = session ? wp_spool_session_last(session) : 0;
        o->acked = session ? wp_spool_session_acked(session) : 0;
        o->frames = calloc(LIMIT_FRAMES, sizeof(*o->frames));
        o->reader = wp_frame_reader_create();
    }
    if (!o || !o->frames || !o->reader) {
        wp_send_queue_destroy(o);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    *queue = o;
    return 0;
}

int wp_send_queue_keep_entries(struct wp_send_queue *o, size_t most_bytes, struct wp_error *err)
{
    o->entries.most_bytes = most_bytes;
    o->entries.writer = wp_frame_writer_create(ZSTD_LEVEL);
    return o->entries.writer ? 0 : wp_error_set(err, -ENOMEM, "out of memory");
}

bool wp_send_queue_has_entries(const struct wp_send_queue *o)
{
    return o->entries.most_bytes > 0;
}

static void forget_entries(struct entries *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        free(e->rows[i].bytes);
    free(e->rows);
    wp_frame_writer_destroy(e->writer);
    wp_buffer_fini(&e->raw);
    wp_buffer_fini(&e->frame);
    *e = (struct entries){0};
}

static bool tells_connection(const struct wp_event *event)
{
    return event->kind == WP_EVENT_SOCK_STATE;
}

/* What of a batch is kept beyond its acknowledgement: a session that goes on behind it must know how connections
 * stand. Threads say so soon themselves. */
static bool is_kept_of(const struct wp_batch *batch)
{
    for (uint32_t i = 0; i < batch->event_count; i++)
        if (tells_connection(&batch->events[i]))
            return true;
    return batch->string_count || batch->thread_count || batch->socket_count || batch->object_count ||
        batch->frame_count || batch->stack_count || batch->device_count;
}

/* Those that say how connections stand. Owned by the caller; NULL: out of memory. */
static struct wp_event *connections_of(const struct wp_batch *batch, uint32_t *count)
{
    struct wp_event *events = malloc((batch->event_count + (size_t)1) * sizeof(*events));
    *count = 0;
    for (uint32_t i = 0; events && i < batch->event_count; i++)
        if (tells_connection(&batch->events[i]))
            events[(*count)++] = batch->events[i];
    return events;
}

/* `is_lost`: its events count as lost, and are not told. */
static int add_entries(struct entries *e, const struct wp_batch *batch, bool is_lost)
{
    struct wp_batch bare = *batch;
    bare.event_count = bare.drop_count = 0;
    struct wp_event *events = is_lost ? NULL : connections_of(batch, &bare.event_count);
    if (!events && !is_lost)
        return -ENOMEM;
    bare.events = events;
    wp_buffer_clear(&e->raw);
    wp_buffer_clear(&e->frame);
    int rc = wp_batch_encode(&bare, &e->raw, NULL);
    free(events);
    if (rc || wp_frame_write(e->writer, WP_FRAME_BATCH, e->raw.data, e->raw.size, &e->frame, NULL) ||
        e->bytes + e->frame.size > e->most_bytes || WP_ARRAY_FIT(e->rows, e->room, e->count + 1))
        return -ENOMEM;
    uint8_t *copy = malloc(e->frame.size);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, e->frame.data, e->frame.size);
    e->rows[e->count++] = (struct frame){copy, e->frame.size, batch->seq};
    e->bytes += e->frame.size;
    return 0;
}

static void forget_first(struct wp_send_queue *o)
{
    struct frame *frame = frame_at(o, 0);
    o->bytes -= frame->size;
    if (o->unsynced) {
        o->unsynced--;
        o->unsynced_bytes -= frame->size;
    }
    free(frame->bytes);
    frame->bytes = NULL;
    o->first = (o->first + 1) % LIMIT_FRAMES;
    o->count--;
}

void wp_send_queue_destroy(struct wp_send_queue *o)
{
    if (!o)
        return;
    while (o->frames && o->count)
        forget_first(o);
    free(o->frames);
    wp_frame_reader_destroy(o->reader);
    wp_batch_fini(&o->batch);
    forget_entries(&o->entries);
    free(o);
}

static bool takes_spool(const struct wp_send_queue *o)
{
    return o->session && !o->is_broken;
}

/* What is in memory alone. */
static uint32_t waiting(const struct wp_send_queue *o)
{
    return o->count - o->unsynced;
}

/* What could not be synced may be gone: then it is the memory that has it. Nor is a later sync to be believed, which no
 * longer knows of it. */
static void sync_spool(struct wp_send_queue *o)
{
    struct wp_error why = {0};
    if (!wp_spool_session_sync(o->session, &why)) {
        while (o->unsynced)
            forget_first(o);
    } else if (takes_spool(o)) {
        wp_log(o->logger, WP_LOG_ERROR, "cannot sync the spool, this session continues in memory: %s", why.text);
        o->is_broken = true;
        o->unsynced = 0;
        o->unsynced_bytes = 0;
        while (o->count && frame_at(o, 0)->seq <= o->acked)
            forget_first(o);
    }
}

static void say_trouble(struct wp_send_queue *o, const struct wp_error *why)
{
    if (wp_log_allowed(o->logger, &o->trouble, wp_clock_ns(), SAY_NS))
        wp_log(o->logger, WP_LOG_WARN, "cannot write the spool, batches wait in memory: %s waiting_batches=%u",
            why->text, waiting(o) + 1);
}

/* The oldest in memory is acknowledged and nobody has room for it: what comes behind it cannot go to the spool any
 * more. */
static void give_spool_up(struct wp_send_queue *o)
{
    wp_log(
        o->logger, WP_LOG_ERROR, "the spool could not be written for too long, this session continues in memory only");
    o->is_broken = true;
    while (o->count && frame_at(o, 0)->seq <= o->acked)
        forget_first(o);
}

static bool is_full(const struct wp_send_queue *o, size_t more)
{
    return o->count == LIMIT_FRAMES || (o->count && o->bytes + more > LIMIT_BYTES);
}

/* Not before the spool holds all of it: what Bye promises and the spool does not have would count as lost there. */
static int put_bye(struct wp_send_queue *o, struct wp_error *err)
{
    if (!o->owes_bye || !takes_spool(o) || waiting(o))
        return 0;
    int rc = wp_spool_session_set_bye(o->session, &o->bye, err);
    o->owes_bye = rc != 0;
    return rc;
}

int wp_send_queue_end(struct wp_send_queue *o, const struct wp_bye *bye, struct wp_error *err)
{
    o->bye = *bye;
    o->owes_bye = o->session;
    return put_bye(o, err);
}

static void was_spooled(struct wp_send_queue *o, const struct frame *frame)
{
    o->unsynced++;
    o->unsynced_bytes += frame->size;
    if (o->unsynced_bytes > UNSYNCED_BYTES)
        sync_spool(o);
}

/* From memory to where it belongs, as far as it can be written. */
static void spool_again(struct wp_send_queue *o, bool may_go)
{
    struct wp_frame frame;
    struct wp_error why = {0};
    uint32_t before = waiting(o);
    int rc = 0;
    while (!rc && takes_spool(o) && waiting(o)) {
        const struct frame *oldest = frame_at(o, o->unsynced);
        rc = wp_frame_read(o->reader, oldest->bytes, oldest->size, &frame, &why);
        if (!rc)
            rc = wp_batch_decode(&o->batch, frame.payload, frame.size, &why);
        if (!rc)
            rc = wp_spool_append(
                o->spool, o->session, &o->batch, &(struct wp_spool_frame){oldest->bytes, oldest->size, may_go}, &why);
        if (!rc)
            was_spooled(o, oldest);
    }
    if (rc)
        say_trouble(o, &why);
    else if (before && takes_spool(o))
        wp_log(o->logger, WP_LOG_INFO, "the spool can be written again batches=%u", before);
}

/* A copy, in memory. */
static int keep_frame(struct wp_send_queue *o, uint64_t seq, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    uint8_t *copy = malloc(size);
    if (!copy)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    memcpy(copy, bytes, size);
    *frame_at(o, o->count++) = (struct frame){copy, size, seq};
    o->bytes += size;
    o->last_seq = seq;
    return 0;
}

int wp_send_queue_push(
    struct wp_send_queue *o, const struct wp_batch *batch, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct wp_error why = {0};
    bool is_spooled = false;
    if (batch->seq <= o->last_seq)
        return 0; /* a recording that is sent again: the spool has it */
    if (o->unsynced && is_full(o, size))
        sync_spool(o);
    if (takes_spool(o) && !waiting(o)) {
        is_spooled = !wp_spool_append(o->spool, o->session, batch, &(struct wp_spool_frame){bytes, size, false}, &why);
        if (!is_spooled)
            say_trouble(o, &why);
    }
    if (!is_spooled && o->bytes - o->unsynced_bytes > MEMORY_FIRST && takes_spool(o))
        spool_again(o, true);
    if (is_full(o, size) && takes_spool(o) && !is_spooled && frame_at(o, 0)->seq <= o->acked)
        give_spool_up(o);
    if (is_full(o, size))
        return -EAGAIN;
    int rc = keep_frame(o, batch->seq, bytes, size, err);
    if (!rc && is_spooled)
        was_spooled(o, frame_at(o, o->count - 1));
    if (!rc && o->entries.most_bytes && is_kept_of(batch) && add_entries(&o->entries, batch, false))
        forget_entries(&o->entries);
    return rc;
}

void wp_send_queue_lose(struct wp_send_queue *o, const struct wp_batch *batch)
{
    if (!o->entries.most_bytes || batch->seq <= o->last_seq)
        return;
    o->last_seq = batch->seq;
    if (!add_entries(&o->entries, batch, true))
        return;
    forget_entries(&o->entries);
    o->last_seq = o->count ? frame_at(o, o->count - 1)->seq : o->acked;
}

static int read_spool(struct wp_send_queue *o, uint64_t seq, const char *endpoint, const uint8_t **frame, size_t *size,
    struct wp_error *err)
{
    uint64_t before = wp_spool_session_damaged(o->session);
    int rc = wp_spool_session_read(o->session, seq, endpoint, frame, size, err);
    if (wp_spool_session_damaged(o->session) > before && wp_log_allowed(o->logger, &o->damage, wp_clock_ns(), SAY_NS))
        wp_log(o->logger, WP_LOG_ERROR,
            "a batch in the spool is damaged or missing, its events are counted as lost batch=%llu",
            (unsigned long long)seq);
    return rc;
}

/* The first from that batch on; NULL: none. */
static const struct frame *frame_from(const struct wp_send_queue *o, uint64_t seq)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, o->count, frame_at(o, middle)->seq < seq);
    return low == o->count ? NULL : frame_at(o, low);
}

/* Likewise, of what is kept of batches that are acknowledged or lost. */
static const struct frame *entries_from(const struct wp_send_queue *o, uint64_t seq)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, o->entries.count, o->entries.rows[middle].seq < seq);
    return low < o->entries.count ? &o->entries.rows[low] : NULL;
}

int wp_send_queue_read(struct wp_send_queue *o, uint64_t *seq, const char *endpoint, const uint8_t **frame,
    size_t *size, struct wp_error *err)
{
    bool is_spooled = o->session && *seq <= wp_spool_session_last(o->session);
    if (is_spooled && (!o->count || *seq < frame_at(o, 0)->seq || wp_spool_session_is_past(o->session, *seq, endpoint)))
        return read_spool(o, *seq, endpoint, frame, size, err);
    const struct frame *found = frame_from(o, *seq), *entries = entries_from(o, *seq);
    if (entries && (!found || entries->seq < found->seq))
        found = entries;
    if (!found)
        return wp_error_set(err, -ENOENT, "batch %llu is not there", (unsigned long long)*seq);
    *seq = found->seq;
    *frame = found->bytes;
    *size = found->size;
    return 0;
}

void wp_send_queue_acknowledge(struct wp_send_queue *o, uint64_t seq, const char *endpoint)
{
    struct wp_error why = {0};
    if (seq <= o->acked)
        return;
    o->acked = seq;
    if (o->session && wp_spool_session_acknowledge(o->session, seq, endpoint, &why) &&
        wp_log_allowed(o->logger, &o->trouble, wp_clock_ns(), SAY_NS))
        wp_log(o->logger, WP_LOG_WARN, "cannot remove acknowledged batches from the spool: %s", why.text);
    while (!takes_spool(o) && o->count && frame_at(o, 0)->seq <= seq)
        forget_first(o);
}

void wp_send_queue_tend(struct wp_send_queue *o)
{
    uint64_t now = wp_clock_ns();
    if (!o->session || now - o->tended_ns < TEND_NS)
        return;
    o->tended_ns = now;
    if (takes_spool(o) && waiting(o))
        spool_again(o, false);
    sync_spool(o);
    put_bye(o, NULL);
}

void wp_send_queue_settle(struct wp_send_queue *o)
{
    if (takes_spool(o) && waiting(o))
        spool_again(o, true);
    if (o->session)
        sync_spool(o);
    put_bye(o, NULL);
}

uint64_t wp_send_queue_last(const struct wp_send_queue *o)
{
    return o->last_seq;
}

uint64_t wp_send_queue_acked(const struct wp_send_queue *o)
{
    return o->acked;
}

uint64_t wp_send_queue_waiting(const struct wp_send_queue *o)
{
    return o->last_seq > o->acked ? o->last_seq - o->acked : 0;
}

bool wp_send_queue_is_safe(const struct wp_send_queue *o)
{
    return o->session && (!waiting(o) || frame_at(o, o->count - 1)->seq <= o->acked);
}
