/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/older_peer.h"

#include "proto/batch.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wp_older_peer {
    struct wp_frame_reader *reader;
    struct wp_frame_writer *writer;
    struct wp_batch batch;
    struct wp_buffer raw, frame;
    uint64_t paused_ns; /* when the last pause began that was taken out; 0: not seen */
};

struct wp_older_peer *wp_older_peer_create(void)
{
    struct wp_older_peer *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->reader = wp_frame_reader_create();
    p->writer = wp_frame_writer_create(1);
    if (p->reader && p->writer)
        return p;
    wp_older_peer_destroy(p);
    return NULL;
}

void wp_older_peer_destroy(struct wp_older_peer *p)
{
    if (!p)
        return;
    wp_frame_reader_destroy(p->reader);
    wp_frame_writer_destroy(p->writer);
    wp_batch_fini(&p->batch);
    wp_buffer_fini(&p->raw);
    wp_buffer_fini(&p->frame);
    free(p);
}

static bool is_unknown(uint8_t kind, uint32_t minor)
{
    return (kind == WP_EVENT_WINDOW && minor < WP_WIRE_WINDOWS) || (kind == WP_EVENT_LOCAL && minor < WP_WIRE_LOCAL) ||
        (kind == WP_EVENT_REASON && minor < WP_WIRE_REASON);
}

static uint32_t count_unknown(const struct wp_batch *batch, uint32_t minor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->event_count; i++)
        count += is_unknown(batch->events[i].kind, minor);
    return count;
}

/* A pause that goes on beyond the batch is reported up to its end: who resolves meanwhile must know. */
static void take_out(struct wp_older_peer *p, uint32_t minor, struct wp_drop *drops)
{
    struct wp_batch *batch = &p->batch;
    uint32_t kept = 0;
    bool is_paused = false;
    for (uint32_t i = 0; i < batch->event_count; i++) {
        const struct wp_event event = batch->events[i];
        if (!is_unknown(event.kind, minor))
            batch->events[kept++] = event;
        if (!is_unknown(event.kind, minor) || event.kind != WP_EVENT_WINDOW)
            continue;
        is_paused = !event.c;
        if (is_paused) {
            p->paused_ns = event.time_ns;
            continue;
        }
        uint64_t from_ns = p->paused_ns && p->paused_ns < event.time_ns ? p->paused_ns : event.time_ns;
        drops[batch->drop_count++] =
            (struct wp_drop){.from_ns = from_ns, .to_ns = event.time_ns, .reason = WP_DROP_PAUSED};
    }
    if (is_paused && batch->watermark_ns > p->paused_ns && !batch->is_last)
        drops[batch->drop_count++] =
            (struct wp_drop){.from_ns = p->paused_ns, .to_ns = batch->watermark_ns, .reason = WP_DROP_PAUSED};
    batch->event_count = kept;
}

/* As the peer reads it; the batch has `unknown` events that it does not know. */
static int write_for(struct wp_older_peer *p, uint32_t minor, uint32_t unknown, struct wp_error *err)
{
    struct wp_drop *theirs = p->batch.drops, *drops = calloc(p->batch.drop_count + unknown + 1, sizeof(*drops));
    uint32_t their_count = p->batch.drop_count;
    if (!drops)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    if (their_count)
        memcpy(drops, theirs, their_count * sizeof(*drops));
    take_out(p, minor, drops);
    p->batch.drops = drops;
    wp_buffer_clear(&p->raw);
    wp_buffer_clear(&p->frame);
    int rc = wp_batch_encode_for(&p->batch, minor, &p->raw, err);
    if (!rc)
        rc = wp_frame_write(p->writer, WP_FRAME_BATCH, p->raw.data, p->raw.size, &p->frame, err);
    p->batch.drops = theirs;
    p->batch.drop_count = their_count;
    free(drops);
    return rc;
}

int wp_older_peer_batch(
    struct wp_older_peer *p, uint32_t minor, const uint8_t **frame, size_t *size, struct wp_error *err)
{
    struct wp_frame said;
    if (minor >= WP_WIRE_SHAPES)
        return 0;
    int rc = wp_frame_read(p->reader, *frame, *size, &said, err);
    if (!rc)
        rc = wp_batch_decode(&p->batch, said.payload, said.size, err);
    uint32_t unknown = rc ? 0 : count_unknown(&p->batch, minor);
    if (rc || !p->batch.event_count)
        return rc;
    rc = write_for(p, minor, unknown, err);
    if (rc)
        return rc;
    *frame = p->frame.data;
    *size = p->frame.size;
    return 0;
}
