/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/capture_reader.h"

#include "proto/batch.h"
#include "proto/batch_decode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 20)

struct wp_capture_reader {
    FILE *file;
    struct wp_frame_reader *frames;
    struct wp_buffer bytes; /* read, from `at` on not yet given out */
    size_t at;
    uint64_t offset; /* of bytes.data[at] in the file */
    uint64_t batches, last_seq;
    struct wp_batch batch;
    struct wp_hello hello;
    struct wp_bye bye;
    bool has_bye;
    struct wp_hello next; /* of the session behind it */
    bool has_next;
};

void wp_capture_reader_close(struct wp_capture_reader *r)
{
    if (!r)
        return;
    if (r->file && r->file != stdin)
        fclose(r->file);
    wp_frame_reader_destroy(r->frames);
    wp_buffer_fini(&r->bytes);
    wp_batch_fini(&r->batch);
    wp_hello_fini(&r->hello);
    wp_hello_fini(&r->next);
    free(r);
}

/* Reads more behind what is there; 0 at the end of the file. */
static int read_more(struct wp_capture_reader *r, struct wp_error *err)
{
    if (r->at) {
        memmove(r->bytes.data, r->bytes.data + r->at, r->bytes.size - r->at);
        r->bytes.size -= r->at;
        r->at = 0;
    }
    if (wp_buffer_reserve(&r->bytes, CHUNK))
        return wp_error_set(err, -ENOMEM, "out of memory for a capture");
    size_t got = fread(r->bytes.data + r->bytes.size, 1, CHUNK, r->file);
    r->bytes.size += got;
    return got ? 1 : ferror(r->file) ? wp_error_set(err, -EIO, "cannot read the capture") : 0;
}

/* The frame at r->at: 1, 0 at the end of the file, -errno. */
static int look_at_frame(struct wp_capture_reader *r, struct wp_frame *frame, struct wp_error *err)
{
    for (;;) {
        size_t left = r->bytes.size - r->at;
        int rc = left ? wp_frame_read(r->frames, r->bytes.data + r->at, left, frame, err) : -EAGAIN;
        if (rc != -EAGAIN)
            return rc ? rc : 1;
        int more = read_more(r, err);
        if (more < 0)
            return more;
        if (!more)
            return r->bytes.size == r->at ? 0 : -EBADMSG; /* err says how much of the frame there is */
    }
}

static int skip_frame(struct wp_capture_reader *r, const struct wp_frame *frame)
{
    r->at += frame->consumed;
    r->offset += frame->consumed;
    return 0;
}

static int where(const struct wp_capture_reader *r, int code, struct wp_error *err)
{
    return wp_error_wrap(err, code, "the capture is damaged at byte %llu, behind %llu good batches",
        (unsigned long long)r->offset, (unsigned long long)r->batches);
}

static int open_file(struct wp_capture_reader *r, const char *path, struct wp_error *err)
{
    struct wp_frame frame;
    r->file = strcmp(path, "-") ? fopen(path, "re") : stdin;
    if (!r->file)
        return wp_error_errno(err, -errno, "cannot read the capture '%s'", path);
    if (!(r->frames = wp_frame_reader_create()))
        return wp_error_set(err, -ENOMEM, "out of memory");
    int rc = look_at_frame(r, &frame, err);
    if (rc == 0 || (rc == 1 && frame.type != WP_FRAME_HELLO))
        rc = wp_error_set(err, -EBADMSG, "it does not begin with a Hello");
    if (rc == 1)
        rc = wp_hello_decode(&r->hello, frame.payload, frame.size, err);
    if (rc)
        return wp_error_wrap(err, rc, "'%s' is not a capture", path);
    return skip_frame(r, &frame);
}

int wp_capture_reader_open(struct wp_capture_reader **reader, const char *path, struct wp_error *err)
{
    struct wp_capture_reader *r = calloc(1, sizeof(*r));
    int rc = r ? open_file(r, path, err) : wp_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        wp_capture_reader_close(r);
        return rc;
    }
    *reader = r;
    return 0;
}

const struct wp_hello *wp_capture_reader_hello(const struct wp_capture_reader *r)
{
    return &r->hello;
}

const struct wp_batch *wp_capture_reader_batch(const struct wp_capture_reader *r)
{
    return &r->batch;
}

const struct wp_bye *wp_capture_reader_bye(const struct wp_capture_reader *r)
{
    return r->has_bye ? &r->bye : NULL;
}

static int take_batch(struct wp_capture_reader *r, const struct wp_frame *frame, const uint8_t **bytes, size_t *size,
    uint64_t *seq, struct wp_error *err)
{
    int rc = wp_batch_decode(&r->batch, frame->payload, frame->size, err);
    if (!rc && r->batch.seq <= r->last_seq)
        rc = wp_error_set(err, -EBADMSG, "batch %llu stands behind batch %llu", (unsigned long long)r->batch.seq,
            (unsigned long long)r->last_seq);
    if (rc)
        return where(r, rc, err);
    *bytes = r->bytes.data + r->at;
    *size = frame->consumed;
    *seq = r->last_seq = r->batch.seq;
    r->batches++;
    skip_frame(r, frame);
    return 1;
}

bool wp_capture_reader_turn(struct wp_capture_reader *r)
{
    if (!r->has_bye || !r->has_next)
        return false;
    wp_hello_fini(&r->hello);
    r->hello = r->next;
    r->next = (struct wp_hello){0};
    r->has_bye = r->has_next = false;
    r->last_seq = 0;
    return true;
}

/* Behind Bye stands nothing, or the session that it names. */
static int take_behind(struct wp_capture_reader *r, const struct wp_frame *frame, struct wp_error *err)
{
    static const uint8_t none[sizeof(r->bye.successor)];
    if (frame->type != WP_FRAME_HELLO || !memcmp(r->bye.successor, none, sizeof(none)))
        return wp_error_set(err, -EBADMSG, "a frame behind the last one");
    int rc = wp_hello_decode(&r->next, frame->payload, frame->size, err);
    if (!rc && memcmp(r->next.session, r->bye.successor, sizeof(r->bye.successor)))
        rc = wp_error_set(err, -EBADMSG, "another session behind the last one");
    if (rc)
        return rc;
    r->has_next = true;
    return skip_frame(r, frame);
}

/* The last frame of a session: it knows how many there were. */
static int take_bye(struct wp_capture_reader *r, const struct wp_frame *frame, struct wp_error *err)
{
    struct wp_frame behind;
    struct wp_bye bye;
    int rc = wp_bye_decode(&bye, frame->payload, frame->size, err);
    if (!rc && bye.last_seq != r->last_seq)
        rc = wp_error_set(err, -EBADMSG, "its last batch is %llu, it says %llu", (unsigned long long)r->last_seq,
            (unsigned long long)bye.last_seq);
    if (rc)
        return where(r, rc, err);
    skip_frame(r, frame);
    r->bye = bye;
    rc = look_at_frame(r, &behind, err);
    if (rc > 0)
        rc = take_behind(r, &behind, err);
    if (rc)
        return where(r, rc, err);
    r->has_bye = true;
    return 0;
}

int wp_capture_reader_next(
    struct wp_capture_reader *r, const uint8_t **bytes, size_t *size, uint64_t *seq, struct wp_error *err)
{
    struct wp_frame frame;
    if (r->has_bye)
        return 0;
    int rc = look_at_frame(r, &frame, err);
    if (rc == 0)
        return where(r, wp_error_set(err, -EBADMSG, "it ends without its last frame"), err);
    if (rc < 0)
        return where(r, rc, err);
    if (frame.type == WP_FRAME_BATCH)
        return take_batch(r, &frame, bytes, size, seq, err);
    if (frame.type == WP_FRAME_BYE)
        return take_bye(r, &frame, err);
    return where(r, wp_error_set(err, -EBADMSG, "a frame that does not belong there"), err);
}
