/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/records.h"

#include "collector/live/ring_reader.h"

#include <errno.h>
#include <stdlib.h>

struct wp_records {
    struct wp_ring_reader *ring;
    struct wp_cpu_buffers *buffers;
    const void *next; /* of the ring: what comes after the slots that were written before it; NULL: none is there */
    size_t next_size;
    uint64_t position; /* where it begins; without one, where the round of the ring ended */
    bool is_over;      /* that round is */
};

int wp_records_create(struct wp_records **records, const struct wp_records_options *options)
{
    struct wp_records *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    int rc = wp_ring_reader_create(&r->ring, options->ring_fd, options->ring_bytes);
    if (!rc)
        rc = wp_cpu_buffers_create(&r->buffers, &options->buffers);
    if (rc) {
        wp_records_destroy(r);
        return rc;
    }
    *records = r;
    return 0;
}

void wp_records_destroy(struct wp_records *r)
{
    if (!r)
        return;
    wp_ring_reader_destroy(r->ring);
    wp_cpu_buffers_destroy(r->buffers);
    free(r);
}

int wp_records_watch(struct wp_records *r, int fd)
{
    return wp_ring_reader_watch(r->ring, fd);
}

void wp_records_wait(struct wp_records *r, int timeout_ms)
{
    wp_ring_reader_wait(r->ring, timeout_ms);
}

/* The buffers first: what their slots refer to is in the ring by then. */
void wp_records_begin(struct wp_records *r, size_t most)
{
    wp_cpu_buffers_begin(r->buffers);
    wp_ring_reader_begin(r->ring, most);
    r->next = NULL;
    r->is_over = false;
}

bool wp_records_are_filling(const struct wp_records *r)
{
    return wp_cpu_buffers_are_filling(r->buffers) || wp_ring_reader_is_filling(r->ring);
}

const void *wp_records_next(struct wp_records *r, size_t *size)
{
    if (!r->next && !r->is_over) {
        r->next = wp_ring_reader_next(r->ring, &r->next_size);
        r->position = wp_ring_reader_position(r->ring);
        r->is_over = !r->next;
    }
    const struct wp_cpu_slot *slot = wp_cpu_buffers_next(r->buffers, r->position);
    if (slot) {
        *size = WP_RECORD_QUICK;
        return slot->head;
    }
    const void *next = r->next;
    *size = r->next_size;
    r->next = NULL;
    return next;
}

bool wp_records_end(struct wp_records *r)
{
    if (r->next)
        wp_ring_reader_back(r->ring);
    r->next = NULL;
    wp_cpu_buffers_end(r->buffers);
    return wp_ring_reader_end(r->ring);
}
