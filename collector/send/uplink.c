/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/uplink.h"

#include "collector/send/backlog.h"
#include "collector/send/capture_writer.h"
#include "collector/send/losses.h"
#include "collector/send/retelling.h"
#include "collector/symbols/fleet_names.h"
#include "common/clock.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ZSTD_LEVEL 1
#define ACK_MS 60000u
#define RETOLD_MS 60000u /* at the end, since the last batch of a refused session that was acknowledged */
#define LEFT_MS 10000u   /* at the end, for what others left: the next collector can do it as well */

/* A session on its way. */
struct lane {
    struct wp_hello *hello;           /* a copy; owned */
    struct wp_spool_session *session; /* the spool's; NULL: none */
    struct wp_send_queue *queue;
    struct wp_sender *sender;       /* NULL: none, or it was refused */
    struct wp_retelling *retelling; /* it is too large: what is unacknowledged goes as another one */
    struct wp_bye bye;              /* of one that goes on in another one */
    uint64_t last_seq;
    bool was_asked; /* once more, after it was refused */
};

struct wp_uplink {
    const struct wp_uplink_options *options; /* borrowed */
    const struct wp_logger *logger;
    struct wp_spool *spool; /* NULL: none */
    struct wp_backlog *backlog;
    struct lane now, before;                   /* before: the session that goes on in `now`, until it has arrived */
    bool keeps_backlog;                        /* until the end */
    bool has_before, is_refused;               /* is_refused: `now` is too large for the aggregator */
    struct wp_fleet_names *names;              /* borrowed; NULL: nobody asks */
    uint64_t (*clock_ns)(const void *context); /* of time probes, NULL: none */
    const void *clock_context;
    struct wp_capture_writer *capture;
    uint64_t captured; /* bytes */
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    uint64_t bytes, renewals;
    struct wp_losses losses;
};

static int open_spool(struct wp_uplink *o, struct wp_error *err)
{
    const struct wp_uplink_options *options = o->options;
    struct wp_error why = {0};
    int rc = wp_spool_open(&o->spool, options->spool, options->spool_limit, o->logger, &why);
    if (!rc)
        rc = wp_spool_begin(o->spool, o->now.hello, &o->now.session, &why);
    if (!rc)
        rc = wp_backlog_create(&o->backlog,
            &(struct wp_backlog_options){o->spool, &options->endpoints, o->logger, options->session_bytes, &o->losses},
            &why);
    o->keeps_backlog = !rc && options->is_replay && wp_spool_has_successors(o->spool);
    if (!rc)
        return 0;
    wp_spool_close(o->spool);
    o->spool = NULL;
    o->now.session = NULL;
    if (options->needs_spool)
        return wp_error_set(err, rc, "%s", why.text);
    wp_log(o->logger, WP_LOG_WARN, "cannot open the spool, unacknowledged batches wait in memory: %s", why.text);
    return 0;
}

static int take_hello(struct lane *lane, const struct wp_hello *hello)
{
    lane->hello = calloc(1, sizeof(*lane->hello));
    return !lane->hello || wp_hello_copy(lane->hello, hello) ? -ENOMEM : 0;
}

/* Of `now`, whose Hello and session are there. */
static int open_lane(struct wp_uplink *o, struct wp_error *err)
{
    struct lane *lane = &o->now;
    int rc = wp_send_queue_create(&lane->queue, o->spool, lane->session, o->logger, err);
    if (!rc && !lane->session)
        rc = wp_send_queue_keep_entries(lane->queue, o->options->session_bytes, err);
    if (!rc)
        rc = wp_sender_open(&lane->sender, &o->options->endpoints, lane->hello, lane->queue, o->logger, err);
    if (!rc && o->clock_ns)
        wp_sender_answer_probes(lane->sender, o->clock_ns, o->clock_context);
    if (!rc && o->names)
        wp_sender_take_names(lane->sender, wp_fleet_names_take, o->names);
    return rc;
}

static int open_sender(struct wp_uplink *o, struct wp_error *err)
{
    int rc = o->options->spool ? open_spool(o, err) : 0;
    return rc ? rc : open_lane(o, err);
}

/* What is in the spool stays there. */
static void close_lane(struct lane *lane)
{
    wp_retelling_destroy(lane->retelling);
    wp_sender_close(lane->sender);
    wp_send_queue_destroy(lane->queue);
    if (lane->hello)
        wp_hello_fini(lane->hello);
    free(lane->hello);
    *lane = (struct lane){0};
}

int wp_uplink_open(struct wp_uplink **uplink, const struct wp_uplink_options *options, const struct wp_hello *hello,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_uplink *o = calloc(1, sizeof(*o));
    if (!o || !(o->frames = wp_frame_writer_create(ZSTD_LEVEL)) || take_hello(&o->now, hello)) {
        wp_uplink_close(o);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    o->options = options;
    o->logger = logger;
    int rc = options->endpoints.count ? open_sender(o, err) : 0;
    if (!rc && options->output)
        rc = wp_capture_writer_open(&o->capture, options->output, o->now.hello, err);
    if (rc) {
        wp_uplink_close(o);
        return rc;
    }
    *uplink = o;
    return 0;
}

void wp_uplink_close(struct wp_uplink *o)
{
    if (!o)
        return;
    struct wp_spool_session *session = o->now.session;
    close_lane(&o->now);
    close_lane(&o->before);
    wp_backlog_destroy(o->backlog);
    if (session && !wp_spool_session_last(session))
        wp_spool_remove(o->spool, session);
    wp_spool_close(o->spool);
    if (o->capture)
        wp_capture_writer_abort(o->capture);
    wp_frame_writer_destroy(o->frames);
    wp_buffer_fini(&o->raw);
    wp_buffer_fini(&o->frame);
    free(o);
}

void wp_uplink_answer_probes(struct wp_uplink *o, uint64_t (*clock_ns)(const void *context), const void *context)
{
    o->clock_ns = clock_ns;
    o->clock_context = context;
    if (o->now.sender)
        wp_sender_answer_probes(o->now.sender, clock_ns, context);
}

bool wp_uplink_is_ready(const struct wp_uplink *o)
{
    return !o->options->endpoints.count || (o->now.sender && wp_sender_is_welcome(o->now.sender));
}

int wp_uplink_fd(const struct wp_uplink *o)
{
    return o->now.sender ? wp_sender_fd(o->now.sender) : -1;
}

struct wp_window wp_uplink_window(const struct wp_uplink *o)
{
    return o->now.sender ? wp_sender_window(o->now.sender) : (struct wp_window){0};
}

void wp_uplink_ask_names(struct wp_uplink *o, struct wp_fleet_names *names)
{
    o->names = names;
    if (o->now.sender)
        wp_sender_take_names(o->now.sender, names ? wp_fleet_names_take : NULL, names);
}

static int send_names(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct wp_uplink *o = context;
    return wp_sender_send_names(o->now.sender, type, raw, size);
}

static void pump_names(struct wp_uplink *o)
{
    bool is_on = wp_sender_knows_names(o->now.sender);
    if (is_on != wp_fleet_names_are_on(o->names))
        wp_fleet_names_turn(o->names, is_on);
    wp_fleet_names_pump(o->names, wp_clock_ms(), send_names, o);
}

static bool is_too_large(const struct wp_error *why)
{
    return strstr(why->text, WP_REFUSED_TOO_LARGE) != NULL;
}

static void drop_sender(struct lane *lane)
{
    wp_sender_close(lane->sender);
    lane->sender = NULL;
}

/* Its batches stay in the queue, and others come until it goes on in another session. */
static int take_refusal(struct wp_uplink *o, int rc, const struct wp_error *why, struct wp_error *err)
{
    if (rc != -ECONNREFUSED || !is_too_large(why))
        return wp_error_set(err, rc, "%s", why->text);
    wp_log(o->logger, WP_LOG_WARN, "the session continues in a new one: %s", why->text);
    drop_sender(&o->now);
    o->is_refused = true;
    return 0;
}

/* The session before has arrived, or cannot. */
static void end_before(struct wp_uplink *o, bool has_arrived)
{
    struct wp_spool_session *session = o->before.session;
    if (!has_arrived && o->before.retelling)
        wp_send_queue_acknowledge(o->before.queue, wp_retelling_acked(o->before.retelling), "");
    if (!has_arrived && !session)
        wp_losses_send_queue(&o->losses, o->before.queue);
    close_lane(&o->before);
    o->has_before = false;
    if (o->spool)
        wp_spool_hold(o->spool, NULL);
    if (session && has_arrived)
        wp_spool_remove(o->spool, session);
}

/* The Welcome before the refusal said how far it was taken. */
static int begin_retelling(struct wp_uplink *o, struct wp_error *err)
{
    struct lane *lane = &o->before;
    if (wp_sender_wanted(lane->sender))
        wp_send_queue_acknowledge(lane->queue, wp_sender_wanted(lane->sender) - 1, "");
    drop_sender(lane);
    wp_log(o->logger, WP_LOG_INFO, "what is unacknowledged of the refused session is sent in a new one batches=%llu",
        (unsigned long long)wp_send_queue_waiting(lane->queue));
    return wp_retelling_create(&lane->retelling,
        &(struct wp_retelling_options){
            lane->hello, lane->queue, &o->options->endpoints, o->logger, lane->bye.successor},
        err);
}

/* Too large, and in memory: it is asked for once more, which says how far it was taken; the rest is reissued. */
static int pump_refused(struct wp_uplink *o, struct wp_error *err)
{
    struct lane *lane = &o->before;
    if (lane->was_asked)
        return begin_retelling(o, err);
    lane->was_asked = true;
    drop_sender(lane);
    return wp_sender_open(&lane->sender, &o->options->endpoints, lane->hello, lane->queue, o->logger, err);
}

/* 1: it has arrived, 0: not yet. */
static int deliver_before(struct wp_uplink *o, struct wp_error *why)
{
    struct lane *lane = &o->before;
    bool may_retell = !lane->session && wp_send_queue_has_entries(lane->queue);
    if (lane->retelling)
        return wp_retelling_pump(lane->retelling, why);
    if (!lane->sender)
        return may_retell ? pump_refused(o, why) : -ECONNREFUSED;
    int rc = wp_sender_pump(lane->sender, 0, why);
    if (!rc)
        rc = wp_sender_end(lane->sender, &lane->bye, why);
    return rc == -ECONNREFUSED && may_retell && is_too_large(why) ? pump_refused(o, why) : rc;
}

/* What is refused is a backlog, which knows what to do, or is reissued, or lost. */
static void pump_before(struct wp_uplink *o)
{
    struct wp_error why = {0};
    int rc = deliver_before(o, &why);
    if (!rc)
        return;
    if (rc < 0 && *why.text)
        wp_log(o->logger, WP_LOG_WARN, "the previous session was refused: %s", why.text);
    end_before(o, rc > 0);
}

int wp_uplink_pump(struct wp_uplink *o, int timeout_ms, struct wp_error *err)
{
    struct wp_error why = {0};
    if (o->names && o->now.sender)
        pump_names(o);
    if (o->has_before)
        pump_before(o);
    if (o->backlog && !o->keeps_backlog)
        wp_backlog_pump(o->backlog);
    int rc = o->now.sender ? wp_sender_pump(o->now.sender, timeout_ms, &why) : 0;
    return rc ? take_refusal(o, rc, &why, err) : 0;
}

/* --- another session --- */

bool wp_uplink_wants_renewal(const struct wp_uplink *o)
{
    return o->is_refused;
}

/* One that waits safely in the spool can be delivered with what others left. */
bool wp_uplink_may_renew(const struct wp_uplink *o)
{
    return !o->has_before || (o->before.session && wp_send_queue_is_safe(o->before.queue));
}

static void put_before(struct wp_uplink *o, const struct wp_bye *bye)
{
    struct wp_error why = {0};
    if (o->has_before)
        end_before(o, false);
    if (wp_send_queue_end(o->now.queue, bye, &why))
        wp_log(o->logger, WP_LOG_WARN, "cannot write the end of the session to the spool: %s", why.text);
    o->before = o->now;
    o->before.bye = *bye;
    o->has_before = true;
    o->now = (struct lane){0};
    if (o->spool)
        wp_spool_hold(o->spool, o->before.session);
}

/* What is wanted only as long as it is small does not end the recording. */
static int pass_capture(struct wp_uplink *o, int rc, struct wp_error *err)
{
    if (!rc || !o->options->output_limit)
        return rc;
    wp_log(o->logger, WP_LOG_WARN, "no capture is kept: %s", err->text);
    if (o->capture)
        wp_capture_writer_abort(o->capture);
    o->capture = NULL;
    *err = (struct wp_error){0};
    return 0;
}

static int capture_frame(struct wp_uplink *o, const uint8_t *frame, size_t size, struct wp_error *err)
{
    uint64_t limit = o->options->output_limit;
    if (!o->capture)
        return 0;
    o->captured += size;
    int rc = limit && o->captured > limit
        ? wp_error_set(err, -EFBIG, "it is larger than %llu MiB", (unsigned long long)(limit >> 20))
        : wp_capture_writer_batch(o->capture, frame, size, err);
    return pass_capture(o, rc, err);
}

int wp_uplink_renew(
    struct wp_uplink *o, const struct wp_hello *hello, uint64_t events, uint64_t dropped, struct wp_error *err)
{
    struct wp_bye bye = {.last_seq = o->now.last_seq, .events = events, .dropped = dropped};
    memcpy(bye.successor, hello->session, sizeof(bye.successor));
    int rc = pass_capture(o, o->capture ? wp_capture_writer_next(o->capture, &bye, hello, err) : 0, err);
    if (rc)
        return rc;
    o->renewals++;
    o->keeps_backlog = o->options->is_replay;
    o->is_refused = false;
    wp_log(o->logger, WP_LOG_INFO,
        "the session continues in a new one, its dictionary has grown too large batches=%llu",
        (unsigned long long)o->now.last_seq);
    if (o->options->endpoints.count)
        put_before(o, &bye);
    else
        close_lane(&o->now);
    if (take_hello(&o->now, hello))
        return wp_error_set(err, -ENOMEM, "out of memory for another session");
    if (!o->options->endpoints.count)
        return 0;
    if (o->spool && wp_spool_begin(o->spool, hello, &o->now.session, err)) {
        wp_log(o->logger, WP_LOG_ERROR, "cannot spool the new session, unacknowledged batches wait in memory: %s",
            err->text);
        o->now.session = NULL;
    }
    return open_lane(o, err);
}

bool wp_uplink_next_drop(struct wp_uplink *o, struct wp_drop *drop)
{
    return wp_losses_next(&o->losses, drop);
}

/* --- batches --- */

static int lose(struct wp_uplink *o, const struct wp_batch *batch)
{
    wp_send_queue_lose(o->now.queue, batch);
    return wp_losses_batch(&o->losses, batch);
}

int wp_uplink_frame(
    struct wp_uplink *o, const struct wp_batch *batch, const uint8_t *frame, size_t size, struct wp_error *err)
{
    struct wp_error why = {0};
    o->bytes += size;
    o->now.last_seq = batch->seq;
    int rc = capture_frame(o, frame, size, err);
    if (rc || !o->now.queue)
        return rc;
    rc = o->now.sender ? wp_sender_push(o->now.sender, batch, frame, size, &why)
                       : wp_send_queue_push(o->now.queue, batch, frame, size, &why);
    if (rc != -ECONNREFUSED)
        return rc == -EAGAIN ? lose(o, batch) : rc ? wp_error_set(err, rc, "%s", why.text) : 0;
    rc = take_refusal(o, rc, &why, err); /* it was met before the batch was put */
    return rc ? rc : wp_send_queue_push(o->now.queue, batch, frame, size, err) ? lose(o, batch) : 0;
}

int wp_uplink_batch(struct wp_uplink *o, const struct wp_batch *batch, struct wp_error *err)
{
    wp_buffer_clear(&o->raw);
    wp_buffer_clear(&o->frame);
    int rc = wp_batch_encode(batch, &o->raw, err);
    if (!rc)
        rc = wp_frame_write(o->frames, WP_FRAME_BATCH, o->raw.data, o->raw.size, &o->frame, err);
    return rc ? rc : wp_uplink_frame(o, batch, o->frame.data, o->frame.size, err);
}

/* What others left is taken along while somebody takes it. */
static void finish_backlog(struct wp_uplink *o)
{
    for (uint64_t end = wp_clock_ms() + LEFT_MS; !wp_backlog_is_done(o->backlog) && wp_clock_ms() < end;) {
        wp_backlog_pump(o->backlog);
        usleep(1000);
    }
    if (!wp_backlog_is_done(o->backlog))
        wp_log(
            o->logger, WP_LOG_WARN, "batches of earlier sessions stay in the spool, the next collector delivers them");
}

/* Batches of it that have not arrived: a retelling acknowledges nothing in the queue before its end. */
static uint64_t left_of(const struct lane *lane)
{
    uint64_t last = wp_send_queue_last(lane->queue), acked = wp_send_queue_acked(lane->queue),
             told = lane->retelling ? wp_retelling_acked(lane->retelling) : 0;
    uint64_t arrived = told > acked ? told : acked;
    return last > arrived ? last - arrived : 0;
}

/* What a refused session has left, while it goes on to arrive. It is lost when that ends. */
static int finish_retold(struct wp_uplink *o, struct wp_error *err)
{
    uint64_t left = UINT64_MAX, since = wp_clock_ms();
    while (o->has_before && wp_clock_ms() - since < RETOLD_MS) {
        uint64_t sessions = o->losses.sessions;
        pump_before(o);
        if (!o->has_before)
            return o->losses.sessions == sessions
                ? 0
                : wp_error_set(err, -ECONNREFUSED, "no aggregator takes what a refused session has left");
        if (left_of(&o->before) < left) {
            left = left_of(&o->before);
            since = wp_clock_ms();
        }
        usleep(1000);
    }
    if (!o->has_before)
        return 0;
    end_before(o, false);
    return wp_error_set(err, -ETIMEDOUT, "%llu batches of a refused session are lost", (unsigned long long)left);
}

/* The session before is given as long as the last one. */
static int finish_before(struct wp_uplink *o, struct wp_error *err)
{
    struct wp_error why = {0};
    if (!o->before.session && !o->before.sender)
        return finish_retold(o, err);
    int rc = o->before.sender ? wp_sender_finish(o->before.sender, &o->before.bye, ACK_MS, &why) : -ECONNREFUSED;
    if (rc == -ECONNREFUSED && !o->before.session && is_too_large(&why)) {
        rc = wp_send_queue_has_entries(o->before.queue) ? pump_refused(o, &why) : -ECONNREFUSED;
        if (!rc)
            return finish_retold(o, err);
    }
    bool stays = rc && o->before.session;
    if (rc == -ETIMEDOUT && stays && wp_send_queue_is_safe(o->before.queue))
        wp_log(o->logger, WP_LOG_WARN, "%s, the next collector delivers them from the spool", why.text);
    end_before(o, !rc);
    return !rc || stays ? 0 : wp_error_set(err, rc, "%s", why.text);
}

/* Of the last session. One that is too large is reissued, by the backlog if there is a spool. */
static int finish_now(struct wp_uplink *o, const struct wp_bye *bye, struct wp_error *err)
{
    struct lane *lane = &o->now;
    struct wp_error why = {0};
    if (wp_send_queue_end(lane->queue, bye, &why))
        wp_log(o->logger, WP_LOG_WARN, "cannot write the end of the session to the spool: %s", why.text);
    int rc = lane->sender ? wp_sender_finish(lane->sender, bye, ACK_MS, &why) : -ECONNREFUSED;
    if (rc == -ETIMEDOUT && lane->session && wp_send_queue_is_safe(lane->queue)) {
        wp_log(o->logger, WP_LOG_WARN, "%s, the next collector delivers them from the spool", why.text);
        return 1;
    }
    bool is_told_anew = rc == -ECONNREFUSED && (o->is_refused || is_too_large(&why));
    if (is_told_anew && !lane->session) {
        drop_sender(lane);
        put_before(o, bye);
        return finish_retold(o, err);
    }
    if (rc && !is_told_anew)
        return wp_error_set(err, rc, "%s", *why.text ? why.text : "the session is too large for the aggregator");
    struct wp_spool_session *session = lane->session;
    close_lane(lane);
    if (session && is_told_anew)
        wp_spool_let_go(o->spool, session);
    else if (session)
        wp_spool_remove(o->spool, session);
    return 0;
}

int wp_uplink_finish(struct wp_uplink *o, uint64_t events, uint64_t dropped, struct wp_error *err)
{
    struct wp_bye bye = {.last_seq = o->now.last_seq, .events = events, .dropped = dropped};
    int rc = 0;
    if (o->capture) {
        rc = wp_capture_writer_finish(o->capture, &bye, err);
        o->capture = NULL;
        rc = pass_capture(o, rc, err);
    }
    if (rc || !o->now.queue)
        return rc;
    rc = o->has_before ? finish_before(o, err) : 0;
    if (!rc && o->renewals &&
        o->backlog) /* earlier parts of the recording, before the one whose end is the end of all */
        finish_backlog(o);
    if (!rc)
        rc = finish_now(o, &bye, err);
    if (!rc && o->spool)
        finish_backlog(o);
    return rc > 0 ? 0 : rc;
}

uint64_t wp_uplink_bytes(const struct wp_uplink *o)
{
    return o->bytes;
}

void wp_uplink_count(const struct wp_uplink *o, struct wp_uplink_counts *counts)
{
    *counts = (struct wp_uplink_counts){.last_seq = o->now.last_seq,
        .trouble = "",
        .renewals = o->renewals,
        .refused_sessions = o->losses.sessions,
        .refused_events = o->losses.events};
    if (o->spool) {
        counts->has_spool = true;
        counts->spool_bytes = wp_spool_bytes(o->spool);
        counts->spool_limit = o->options->spool_limit;
        counts->spool_lost = o->now.session ? wp_spool_session_lost(o->now.session) : 0;
    }
    if (!o->now.sender)
        return;
    counts->has_aggregator = true;
    counts->is_welcome = wp_sender_is_welcome(o->now.sender);
    counts->acked_seq = wp_send_queue_acked(o->now.queue);
    counts->waiting =
        wp_send_queue_waiting(o->now.queue) + (o->has_before ? wp_send_queue_waiting(o->before.queue) : 0);
    counts->absent_ms = wp_sender_absent_ms(o->now.sender);
    counts->trouble = wp_sender_trouble(o->now.sender);
}
