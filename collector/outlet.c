/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/outlet.h"

#include "collector/capture_writer.h"
#include "collector/fleet_names.h"
#include "collector/leftovers.h"
#include "common/clock.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ZSTD_LEVEL 1
#define ACK_MS 60000u
#define LEFT_MS 10000u     /* at the end, for what others left: the next collector can do it as well */

struct wp_outlet {
    const struct wp_outlet_options *options; /* borrowed */
    const struct wp_logger *logger;
    struct wp_spool *spool;             /* NULL: none */
    struct wp_spool_session *session;   /* the spool's */
    struct wp_leftovers *leftovers;
    struct wp_outbox *outbox;
    struct wp_sender *sender;
    struct wp_fleet_names *names;       /* borrowed; NULL: nobody asks */
    struct wp_capture_writer *capture;
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    uint64_t bytes, last_seq;
};

static int open_spool(struct wp_outlet *o, const struct wp_hello *hello, struct wp_error *err)
{
    const struct wp_outlet_options *options = o->options;
    struct wp_error why = {0};
    int rc = wp_spool_open(&o->spool, options->spool, options->spool_limit, o->logger, &why);
    if (!rc)
        rc = wp_spool_begin(o->spool, hello, &o->session, &why);
    if (!rc)
        rc = wp_leftovers_create(&o->leftovers, o->spool, &options->endpoints, o->logger, &why);
    if (!rc)
        return 0;
    wp_spool_close(o->spool);
    o->spool = NULL;
    o->session = NULL;
    if (options->needs_spool)
        return wp_error_set(err, rc, "%s", why.text);
    wp_log(o->logger, WP_LOG_WARN, "there is no spool, what an aggregator does not have waits in memory: %s", why.text);
    return 0;
}

static int open_sender(struct wp_outlet *o, const struct wp_hello *hello, struct wp_error *err)
{
    int rc = o->options->spool ? open_spool(o, hello, err) : 0;
    if (!rc)
        rc = wp_outbox_create(&o->outbox, o->spool, o->session, o->logger, err);
    return rc ? rc : wp_sender_open(&o->sender, &o->options->endpoints, hello, o->outbox, o->logger, err);
}

int wp_outlet_open(struct wp_outlet **outlet, const struct wp_outlet_options *options, const struct wp_hello *hello,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_outlet *o = calloc(1, sizeof(*o));
    if (!o || !(o->frames = wp_frame_writer_create(ZSTD_LEVEL))) {
        free(o);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    o->options = options;
    o->logger = logger;
    int rc = options->endpoints.count ? open_sender(o, hello, err) : 0;
    if (!rc && options->output)
        rc = wp_capture_writer_open(&o->capture, options->output, hello, err);
    if (rc) {
        wp_outlet_close(o);
        return rc;
    }
    *outlet = o;
    return 0;
}

void wp_outlet_close(struct wp_outlet *o)
{
    if (!o)
        return;
    wp_sender_close(o->sender);
    wp_leftovers_destroy(o->leftovers);
    wp_outbox_destroy(o->outbox);
    if (o->session && !wp_spool_session_last(o->session))
        wp_spool_remove(o->spool, o->session);
    wp_spool_close(o->spool);
    if (o->capture)
        wp_capture_writer_abort(o->capture);
    wp_frame_writer_destroy(o->frames);
    wp_buffer_fini(&o->raw);
    wp_buffer_fini(&o->frame);
    free(o);
}

void wp_outlet_answer_probes(struct wp_outlet *o, uint64_t (*clock_ns)(const void *context), const void *context)
{
    if (o->sender)
        wp_sender_answer_probes(o->sender, clock_ns, context);
}

bool wp_outlet_is_ready(const struct wp_outlet *o)
{
    return !o->sender || wp_sender_is_welcome(o->sender);
}

int wp_outlet_fd(const struct wp_outlet *o)
{
    return o->sender ? wp_sender_fd(o->sender) : -1;
}

struct wp_window wp_outlet_window(const struct wp_outlet *o)
{
    return o->sender ? wp_sender_window(o->sender) : (struct wp_window){0};
}

void wp_outlet_ask_names(struct wp_outlet *o, struct wp_fleet_names *names)
{
    if (!o->sender)
        return;
    o->names = names;
    wp_sender_take_names(o->sender, names ? wp_fleet_names_take : NULL, names);
}

static int send_names(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct wp_outlet *o = context;
    return wp_sender_send_names(o->sender, type, raw, size);
}

static void pump_names(struct wp_outlet *o)
{
    bool is_on = wp_sender_knows_names(o->sender);
    if (is_on != wp_fleet_names_are_on(o->names))
        wp_fleet_names_turn(o->names, is_on);
    wp_fleet_names_pump(o->names, wp_clock_ms(), send_names, o);
}

int wp_outlet_pump(struct wp_outlet *o, int timeout_ms, struct wp_error *err)
{
    if (o->names && o->sender)
        pump_names(o);
    if (o->leftovers)
        wp_leftovers_pump(o->leftovers);
    return o->sender ? wp_sender_pump(o->sender, timeout_ms, err) : 0;
}

int wp_outlet_frame(struct wp_outlet *o, const struct wp_batch *batch, const uint8_t *frame, size_t size, struct wp_error *err)
{
    o->bytes += size;
    o->last_seq = batch->seq;
    int rc = o->capture ? wp_capture_writer_batch(o->capture, frame, size, err) : 0;
    return rc || !o->sender ? rc : wp_sender_push(o->sender, batch, frame, size, err);
}

int wp_outlet_batch(struct wp_outlet *o, const struct wp_batch *batch, struct wp_error *err)
{
    wp_buffer_clear(&o->raw);
    wp_buffer_clear(&o->frame);
    int rc = wp_batch_encode(batch, &o->raw, err);
    if (!rc)
        rc = wp_frame_write(o->frames, WP_FRAME_BATCH, o->raw.data, o->raw.size, &o->frame, err);
    return rc ? rc : wp_outlet_frame(o, batch, o->frame.data, o->frame.size, err);
}

/* What others left is taken along while somebody takes it. */
static void finish_leftovers(struct wp_outlet *o)
{
    for (uint64_t end = wp_clock_ms() + LEFT_MS; !wp_leftovers_are_done(o->leftovers) && wp_clock_ms() < end;) {
        wp_leftovers_pump(o->leftovers);
        usleep(1000);
    }
    if (!wp_leftovers_are_done(o->leftovers))
        wp_log(o->logger, WP_LOG_WARN, "batches that others left stay in the spool, the next collector there delivers them");
}

static int finish_sending(struct wp_outlet *o, const struct wp_bye *bye, struct wp_error *err)
{
    struct wp_error why = {0};
    if (wp_outbox_end(o->outbox, bye, &why))
        wp_log(o->logger, WP_LOG_WARN, "the end of the session cannot be spooled: %s", why.text);
    int rc = wp_sender_finish(o->sender, bye, ACK_MS, &why);
    if (rc == -ETIMEDOUT && o->session && wp_outbox_is_safe(o->outbox)) {
        wp_log(o->logger, WP_LOG_WARN, "%s, the next collector there delivers them", why.text);
        return 0;
    }
    if (rc)
        return wp_error_set(err, rc, "%s", why.text);
    if (!o->session)
        return 0;
    wp_sender_close(o->sender);
    o->sender = NULL;
    wp_outbox_destroy(o->outbox);
    o->outbox = NULL;
    wp_spool_remove(o->spool, o->session);
    o->session = NULL;
    finish_leftovers(o);
    return 0;
}

int wp_outlet_finish(struct wp_outlet *o, uint64_t events, uint64_t dropped, struct wp_error *err)
{
    struct wp_bye bye = {.last_seq = o->last_seq, .events = events, .dropped = dropped};
    int rc = 0;
    if (o->capture) {
        rc = wp_capture_writer_finish(o->capture, &bye, err);
        o->capture = NULL;
    }
    return rc || !o->sender ? rc : finish_sending(o, &bye, err);
}

uint64_t wp_outlet_bytes(const struct wp_outlet *o)
{
    return o->bytes;
}

void wp_outlet_count(const struct wp_outlet *o, struct wp_outlet_counts *counts)
{
    *counts = (struct wp_outlet_counts){.last_seq = o->last_seq, .trouble = ""};
    if (o->spool) {
        counts->has_spool = true;
        counts->spool_bytes = wp_spool_bytes(o->spool);
        counts->spool_limit = o->options->spool_limit;
        counts->spool_lost = o->session ? wp_spool_session_lost(o->session) : 0;
    }
    if (!o->sender)
        return;
    counts->has_aggregator = true;
    counts->is_welcome = wp_sender_is_welcome(o->sender);
    counts->acked_seq = wp_outbox_acked(o->outbox);
    counts->waiting = wp_outbox_waiting(o->outbox);
    counts->absent_ms = wp_sender_absent_ms(o->sender);
    counts->trouble = wp_sender_trouble(o->sender);
}
