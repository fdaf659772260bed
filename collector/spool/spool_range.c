/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/spool/spool_range.h"

#include "collector/spool/spool_batch.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FULL ((size_t)1 << 20)

struct entry { /* and `size` bytes behind it */
    uint64_t first_seq, last_seq;
    uint32_t size, reserved;
};

struct wp_spool_range {
    struct wp_frame_writer *writer;
    struct wp_frame_reader *reader;
    struct wp_buffer made;   /* entries */
    size_t last_entry;       /* in `made` */
    struct wp_buffer loaded; /* entries */
    size_t cursor;           /* in `loaded`: batches are read one behind the other */
};

struct wp_spool_range *wp_spool_range_create(void)
{
    struct wp_spool_range *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->writer = wp_frame_writer_create(3); /* written once, and kept long */
    s->reader = wp_frame_reader_create();
    if (s->writer && s->reader)
        return s;
    wp_spool_range_destroy(s);
    return NULL;
}

void wp_spool_range_destroy(struct wp_spool_range *s)
{
    if (!s)
        return;
    wp_frame_writer_destroy(s->writer);
    wp_frame_reader_destroy(s->reader);
    wp_buffer_fini(&s->made);
    wp_buffer_fini(&s->loaded);
    free(s);
}

void wp_spool_range_begin(struct wp_spool_range *s)
{
    wp_buffer_clear(&s->made);
}

/* One more batch that carries nothing, right behind another one. */
static bool widen(struct wp_spool_range *s, uint64_t seq)
{
    struct entry entry;
    if (!s->made.size)
        return false;
    memcpy(&entry, s->made.data + s->last_entry, sizeof(entry));
    if (entry.size || entry.last_seq + 1 != seq)
        return false;
    entry.last_seq = seq;
    memcpy(s->made.data + s->last_entry, &entry, sizeof(entry));
    return true;
}

int wp_spool_range_add(struct wp_spool_range *s, const struct wp_batch *batch, struct wp_error *err)
{
    bool is_empty = wp_spool_batch_is_empty(batch);
    struct entry entry = {batch->seq, batch->seq, 0, 0};
    if (is_empty && widen(s, batch->seq))
        return 0;
    size_t at = s->made.size;
    int rc = wp_buffer_append(&s->made, &entry, sizeof(entry))
        ? wp_error_set(err, -ENOMEM, "out of memory for the spool")
        : 0;
    if (!rc && !is_empty)
        rc = wp_batch_encode(batch, &s->made, err);
    if (rc) {
        s->made.size = at;
        return rc;
    }
    entry.size = (uint32_t)(s->made.size - at - sizeof(entry));
    memcpy(s->made.data + at, &entry, sizeof(entry));
    s->last_entry = at;
    return 0;
}

bool wp_spool_range_is_full(const struct wp_spool_range *s)
{
    return s->made.size >= FULL;
}

int wp_spool_range_finish(struct wp_spool_range *s, struct wp_buffer *out, struct wp_error *err)
{
    return wp_frame_write(s->writer, WP_FRAME_BATCH, s->made.data, s->made.size, out, err);
}

int wp_spool_range_load(struct wp_spool_range *s, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct wp_frame frame;
    struct entry entry;
    wp_buffer_clear(&s->loaded);
    s->cursor = 0;
    int rc = wp_frame_read(s->reader, bytes, size, &frame, err);
    if (rc)
        return rc == -ENOMEM ? rc : -EBADMSG;
    for (size_t at = 0; at < frame.size; at += sizeof(entry) + entry.size) {
        if (frame.size - at < sizeof(entry))
            return wp_error_set(err, -EBADMSG, "a range of batches that ends in the middle");
        memcpy(&entry, frame.payload + at, sizeof(entry));
        if (entry.size > frame.size - at - sizeof(entry) || entry.last_seq < entry.first_seq)
            return wp_error_set(err, -EBADMSG, "an invalid range of batches");
    }
    return wp_buffer_append(&s->loaded, frame.payload, frame.size)
        ? wp_error_set(err, -ENOMEM, "out of memory for the spool")
        : 0;
}

static bool look_at_frame(struct wp_spool_range *s, uint64_t seq, size_t from, const uint8_t **raw, size_t *size)
{
    struct entry entry;
    for (size_t at = from; at < s->loaded.size; at += sizeof(entry) + entry.size) {
        memcpy(&entry, s->loaded.data + at, sizeof(entry));
        if (seq < entry.first_seq || seq > entry.last_seq)
            continue;
        *raw = s->loaded.data + at + sizeof(entry);
        *size = entry.size;
        s->cursor = at;
        return true;
    }
    return false;
}

int wp_spool_range_find(struct wp_spool_range *s, uint64_t seq, const uint8_t **raw, size_t *size)
{
    return look_at_frame(s, seq, s->cursor, raw, size) || look_at_frame(s, seq, 0, raw, size) ? 0 : -ENOENT;
}
