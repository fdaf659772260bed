/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretch CAPTURE SECONDS: writes a capture of that length to standard output, made of one that is longer (cut) or
 * shorter: then its events again and again, each round behind the one before in time and in batch numbers, all in one
 * session. Dictionaries travel once, so who lives at the end lives on: what begins and ends processes is in the first
 * round only.
 */
#include "collector/send/capture_reader.h"
#include "proto/batch.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP_NS 1000000u /* between two rounds */

struct stretch {
    const char *path;
    struct wp_frame_reader *reader;
    struct wp_frame_writer *writer;
    struct wp_buffer raw, frame;
    struct wp_batch batch;
    uint64_t first_ns, last_ns; /* of the capture's events */
    uint64_t seconds, end_ns;   /* of what is written */
    uint64_t shift_ns;          /* of this round */
    uint64_t seq, events;
    bool is_again;
};

static int put_frame(struct stretch *s, enum wp_frame_type type, struct wp_error *err)
{
    wp_buffer_clear(&s->frame);
    int rc = wp_frame_write(s->writer, type, s->raw.data, s->raw.size, &s->frame, err);
    if (!rc && fwrite(s->frame.data, 1, s->frame.size, stdout) != s->frame.size)
        rc = wp_error_errno(err, -errno, "cannot write");
    wp_buffer_clear(&s->raw);
    return rc;
}

static bool happens_again(const struct wp_event *event)
{
    switch (event->kind) {
    case WP_EVENT_FORK:
    case WP_EVENT_EXEC:
    case WP_EVENT_EXIT:
    case WP_EVENT_RENAME:
    case WP_EVENT_STATE:
        return false;
    default:
        return true;
    }
}

static void shift_events(struct stretch *s)
{
    struct wp_batch *b = &s->batch;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->event_count; i++) {
        struct wp_event event = b->events[i];
        if (!s->is_again) {
            if (!s->first_ns) {
                s->first_ns = event.time_ns;
                s->end_ns = event.time_ns + s->seconds * 1000000000;
            }
            s->last_ns = event.time_ns;
        } else if (!happens_again(&event)) {
            continue;
        }
        event.time_ns += s->shift_ns;
        if (event.time_ns < s->end_ns)
            b->events[kept++] = event;
    }
    b->event_count = kept;
    s->events += kept;
}

/* The batch as this round has it. The ids of entries that travelled in the first round stay what they are. */
static void shift_batch(struct stretch *s)
{
    struct wp_batch *b = &s->batch;
    shift_events(s);
    for (uint32_t i = 0; i < b->drop_count; i++) {
        b->drops[i].from_ns += s->shift_ns;
        b->drops[i].to_ns += s->shift_ns;
    }
    b->watermark_ns =
        (b->is_last ? s->last_ns : b->watermark_ns) + s->shift_ns; /* the last one's: no more will ever come */
    b->anchor_mono_ns += s->shift_ns;
    b->anchor_real_ns += s->shift_ns;
    b->seq = ++s->seq;
    b->is_last = false;
    if (s->is_again)
        b->string_count = b->thread_count = b->socket_count = b->object_count = b->frame_count = b->stack_count =
            b->device_count = 0;
}

static int put_batch(
    struct stretch *s, const uint8_t *bytes, size_t size, const struct wp_batch *ids, struct wp_error *err)
{
    struct wp_frame frame;
    int rc = wp_frame_read(s->reader, bytes, size, &frame, err);
    if (!rc)
        rc = wp_batch_decode(&s->batch, frame.payload, frame.size, err);
    if (rc)
        return rc;
    shift_batch(s);
    if (s->is_again) { /* behind the last entry */
        s->batch.first_string = ids->first_string;
        s->batch.first_thread = ids->first_thread;
        s->batch.first_socket = ids->first_socket;
        s->batch.first_object = ids->first_object;
        s->batch.first_frame = ids->first_frame;
        s->batch.first_stack = ids->first_stack;
    }
    rc = wp_batch_encode(&s->batch, &s->raw, err);
    return rc ? rc : put_frame(s, WP_FRAME_BATCH, err);
}

static void count_ids(struct wp_batch *ids, const struct wp_batch *b)
{
    ids->first_string = b->first_string + b->string_count;
    ids->first_thread = b->first_thread + b->thread_count;
    ids->first_socket = b->first_socket + b->socket_count;
    ids->first_object = b->first_object + b->object_count;
    ids->first_frame = b->first_frame + b->frame_count;
    ids->first_stack = b->first_stack + b->stack_count;
}

static bool is_over(const struct stretch *s)
{
    return s->end_ns && s->batch.watermark_ns >= s->end_ns;
}

/* The capture once, from its first batch to its last. */
static int go_round(struct stretch *s, struct wp_batch *ids, struct wp_error *err)
{
    struct wp_capture_reader *capture = NULL;
    const uint8_t *bytes;
    size_t size;
    uint64_t seq;
    int got = 0, rc = wp_capture_reader_open(&capture, s->path, err);
    if (!rc && !s->is_again) {
        rc = wp_hello_encode(wp_capture_reader_hello(capture), &s->raw, err);
        if (!rc)
            rc = put_frame(s, WP_FRAME_HELLO, err);
    }
    while (!rc && !is_over(s) && (got = wp_capture_reader_next(capture, &bytes, &size, &seq, err)) > 0) {
        rc = put_batch(s, bytes, size, ids, err);
        if (!s->is_again)
            count_ids(ids, &s->batch);
    }
    wp_capture_reader_close(capture);
    return rc ? rc : got < 0 ? got : 0;
}

static int run(struct stretch *s, struct wp_error *err)
{
    struct wp_batch ids = {0};
    int rc = go_round(s, &ids, err);
    uint64_t period = s->last_ns - s->first_ns + GAP_NS;
    s->is_again = true;
    for (s->shift_ns = period; !rc && s->first_ns + s->shift_ns < s->end_ns; s->shift_ns += period)
        rc = go_round(s, &ids, err);
    if (!rc)
        rc = wp_bye_encode(&(struct wp_bye){.last_seq = s->seq, .events = s->events}, &s->raw, err);
    if (!rc)
        rc = put_frame(s, WP_FRAME_BYE, err);
    return rc ? rc : fflush(stdout) ? wp_error_errno(err, -errno, "cannot write") : 0;
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: stretch CAPTURE SECONDS\n");
        return 64;
    }
    struct stretch s = {.path = argv[1],
        .seconds = strtoull(argv[2], NULL, 10),
        .reader = wp_frame_reader_create(),
        .writer = wp_frame_writer_create(1)};
    int rc = s.reader && s.writer ? run(&s, &err) : -ENOMEM;
    if (rc)
        fprintf(stderr, "stretch: %s\n", err.text);
    wp_frame_reader_destroy(s.reader);
    wp_frame_writer_destroy(s.writer);
    wp_buffer_fini(&s.raw);
    wp_buffer_fini(&s.frame);
    wp_batch_fini(&s.batch);
    return rc ? 1 : 0;
}
