/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/retelling.h"

#include "collector/batch/reissue.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAITING 512u        /* batches that are told and not acknowledged, before more are read */
#define STEPS 1024u         /* more than those can be of */
#define READS 64u           /* batches that need not be told, at a time */
#define FRUITLESS 3u        /* refusals behind each other with nothing taken in between */
#define NUMBERS 0x80000000u /* of the sessions, apart from those of a replay */
#define ZSTD_LEVEL 1

/* The last batch that was told for one of the session's. */
struct step {
    uint64_t source, told;
};

struct wp_retelling {
    struct wp_retelling_options options;
    struct wp_reissue *reissue;
    struct wp_frame_reader *reader;
    struct wp_frame_writer *writer;
    struct wp_buffer raw, frame;
    struct wp_batch batch;
    struct wp_hello hello;       /* of the session that is told; texts are the original's */
    struct wp_send_queue *queue; /* likewise; NULL: it did not begin */
    struct wp_sender *sender;
    struct wp_bye bye;
    struct step steps[STEPS];
    uint64_t from, next; /* taken up to there; the next one that is read */
    uint32_t step_count;
    unsigned fruitless;
    bool is_over, was_asked; /* all is read; after its refusal, how much of it was taken */
};

static int begin_session(void *context, const struct wp_hello *hello, struct wp_error *err)
{
    struct wp_retelling *t = context;
    t->hello = *hello;
    int rc = wp_send_queue_create(&t->queue, NULL, NULL, t->options.logger, err);
    return rc ? rc : wp_sender_open(&t->sender, t->options.endpoints, &t->hello, t->queue, t->options.logger, err);
}

static int put_batch(void *context, const struct wp_batch *batch, struct wp_error *err)
{
    struct wp_retelling *t = context;
    wp_buffer_clear(&t->raw);
    wp_buffer_clear(&t->frame);
    int rc = wp_batch_encode(batch, &t->raw, err);
    if (!rc)
        rc = wp_frame_write(t->writer, WP_FRAME_BATCH, t->raw.data, t->raw.size, &t->frame, err);
    return rc ? rc : wp_send_queue_push(t->queue, batch, t->frame.data, t->frame.size, err);
}

static int end_session(void *context, const struct wp_bye *bye, struct wp_error *err)
{
    struct wp_retelling *t = context;
    (void)err;
    t->bye = *bye;
    memcpy(t->bye.successor, t->options.successor, sizeof(t->bye.successor));
    return 0;
}

static void close_session(struct wp_retelling *t)
{
    wp_sender_close(t->sender);
    wp_send_queue_destroy(t->queue);
    wp_reissue_destroy(t->reissue);
    t->sender = NULL;
    t->queue = NULL;
    t->reissue = NULL;
}

/* From the first batch that was not taken on. */
static int begin(struct wp_retelling *t, struct wp_error *err)
{
    t->from = wp_send_queue_acked(t->options.source);
    const struct wp_reissue_to to = {
        begin_session, put_batch, end_session, t, SIZE_MAX / 2, (uint32_t)t->from | NUMBERS};
    t->next = 1;
    t->step_count = 0;
    t->is_over = t->was_asked = false;
    return wp_reissue_create(&t->reissue, t->options.hello, &to, err);
}

int wp_retelling_create(
    struct wp_retelling **retelling, const struct wp_retelling_options *options, struct wp_error *err)
{
    struct wp_retelling *t = calloc(1, sizeof(*t));
    if (!t)
        return wp_error_set(err, -ENOMEM, "out of memory to reissue a session");
    t->options = *options;
    t->reader = wp_frame_reader_create();
    t->writer = wp_frame_writer_create(ZSTD_LEVEL);
    int rc =
        !t->reader || !t->writer ? wp_error_set(err, -ENOMEM, "out of memory to reissue a session") : begin(t, err);
    if (rc) {
        wp_retelling_destroy(t);
        return rc;
    }
    *retelling = t;
    return 0;
}

void wp_retelling_destroy(struct wp_retelling *t)
{
    if (!t)
        return;
    close_session(t);
    wp_frame_reader_destroy(t->reader);
    wp_frame_writer_destroy(t->writer);
    wp_buffer_fini(&t->raw);
    wp_buffer_fini(&t->frame);
    wp_batch_fini(&t->batch);
    free(t);
}

/* One batch of the session. */
static int reissue_batch(struct wp_retelling *t, struct wp_error *err)
{
    const uint8_t *bytes;
    size_t size;
    struct wp_frame frame;
    int rc = wp_send_queue_read(t->options.source, &t->next, "", &bytes, &size, err);
    if (!rc)
        rc = wp_frame_read(t->reader, bytes, size, &frame, err);
    if (!rc)
        rc = wp_batch_decode(&t->batch, frame.payload, frame.size, err);
    if (!rc)
        rc = t->next <= t->from ? wp_reissue_pass(t->reissue, &t->batch, err)
                                : wp_reissue_batch(t->reissue, &t->batch, err);
    if (rc)
        return rc;
    if (t->next > t->from)
        t->steps[t->step_count++ % STEPS] = (struct step){t->next, wp_send_queue_last(t->queue)};
    t->next++;
    return 0;
}

static int read_some(struct wp_retelling *t, struct wp_error *err)
{
    uint64_t last = wp_send_queue_last(t->options.source);
    int rc = 0;
    for (unsigned i = 0;
         !rc && i < READS && t->next <= last && (!t->queue || wp_send_queue_waiting(t->queue) < WAITING); i++)
        rc = reissue_batch(t, err);
    if (rc || t->next <= last || t->is_over)
        return rc;
    t->is_over = true;
    return wp_reissue_finish(t->reissue, err);
}

uint64_t wp_retelling_acked(const struct wp_retelling *t)
{
    uint64_t acked = t->queue ? wp_send_queue_acked(t->queue) : 0, source = t->from,
             wanted = t->sender ? wp_sender_wanted(t->sender) : 0;
    acked = wanted > acked ? wanted - 1 : acked;
    for (uint32_t i = t->step_count > STEPS ? t->step_count - STEPS : 0; i < t->step_count; i++)
        if (t->steps[i % STEPS].told <= acked)
            source = t->steps[i % STEPS].source;
    return source;
}

/* This one is too large as well: asked once more it says how far it was taken, and the rest is told as the next one. */
static int take_refusal(struct wp_retelling *t, const struct wp_error *why, struct wp_error *err)
{
    if (!strstr(why->text, WP_REFUSED_TOO_LARGE))
        return wp_error_set(err, -ECONNREFUSED, "%s", why->text);
    if (!t->was_asked) {
        t->was_asked = true;
        wp_sender_close(t->sender);
        t->sender = NULL;
        return wp_sender_open(&t->sender, t->options.endpoints, &t->hello, t->queue, t->options.logger, err);
    }
    uint64_t up_to = wp_retelling_acked(t);
    t->fruitless = up_to > t->from ? 0 : t->fruitless + 1;
    wp_send_queue_acknowledge(t->options.source, up_to, "");
    if (t->fruitless == FRUITLESS)
        return wp_error_set(err, -ECONNREFUSED, "%s", why->text);
    close_session(t);
    return begin(t, err);
}

int wp_retelling_pump(struct wp_retelling *t, struct wp_error *err)
{
    struct wp_error why = {0};
    int rc = read_some(t, err);
    if (rc)
        return rc;
    if (!t->sender)
        return t->is_over;
    rc = wp_sender_pump(t->sender, 0, &why);
    if (!rc && t->is_over)
        rc = wp_sender_end(t->sender, &t->bye, &why);
    if (rc == -ECONNREFUSED)
        return take_refusal(t, &why, err);
    return rc < 0 ? wp_error_set(err, rc, "%s", why.text) : rc;
}
