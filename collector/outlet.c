/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/outlet.h"

#include "collector/capture_writer.h"
#include "collector/sender.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>

#define ZSTD_LEVEL 1
#define ACK_MS 60000u

struct wp_outlet {
    struct wp_sender *sender;
    struct wp_capture_writer *capture;
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    uint64_t bytes, last_seq;
};

int wp_outlet_open(struct wp_outlet **outlet, const char *endpoint, const char *output, const struct wp_hello *hello,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_outlet *o = calloc(1, sizeof(*o));
    if (!o || !(o->frames = wp_frame_writer_create(ZSTD_LEVEL))) {
        free(o);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = endpoint ? wp_sender_open(&o->sender, endpoint, hello, logger, err) : 0;
    if (!rc && output)
        rc = wp_capture_writer_open(&o->capture, output, hello, err);
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

int wp_outlet_pump(struct wp_outlet *o, int timeout_ms, struct wp_error *err)
{
    return o->sender ? wp_sender_pump(o->sender, timeout_ms, err) : 0;
}

int wp_outlet_frame(struct wp_outlet *o, uint64_t seq, const uint8_t *frame, size_t size, struct wp_error *err)
{
    o->bytes += size;
    o->last_seq = seq;
    int rc = o->capture ? wp_capture_writer_batch(o->capture, frame, size, err) : 0;
    return rc || !o->sender ? rc : wp_sender_push(o->sender, seq, frame, size, err);
}

int wp_outlet_batch(struct wp_outlet *o, const struct wp_batch *batch, struct wp_error *err)
{
    wp_buffer_clear(&o->raw);
    wp_buffer_clear(&o->frame);
    int rc = wp_batch_encode(batch, &o->raw, err);
    if (!rc)
        rc = wp_frame_write(o->frames, WP_FRAME_BATCH, o->raw.data, o->raw.size, &o->frame, err);
    return rc ? rc : wp_outlet_frame(o, batch->seq, o->frame.data, o->frame.size, err);
}

int wp_outlet_finish(struct wp_outlet *o, uint64_t events, uint64_t dropped, struct wp_error *err)
{
    struct wp_bye bye = {.last_seq = o->last_seq, .events = events, .dropped = dropped};
    int rc = 0;
    if (o->capture) {
        rc = wp_capture_writer_finish(o->capture, &bye, err);
        o->capture = NULL;
    }
    return rc || !o->sender ? rc : wp_sender_finish(o->sender, &bye, ACK_MS, err);
}

uint64_t wp_outlet_bytes(const struct wp_outlet *o)
{
    return o->bytes;
}
