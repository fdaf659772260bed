/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/reads.h"

void wp_reads_init(struct wp_reads *reads)
{
    wp_thread_rings_init(&reads->rings, sizeof(struct wp_read));
}

void wp_reads_fini(struct wp_reads *reads)
{
    wp_thread_rings_fini(&reads->rings);
}

void wp_reads_forget(struct wp_reads *reads, uint32_t thread)
{
    wp_thread_rings_forget(&reads->rings, thread);
}

size_t wp_reads_bytes(const struct wp_reads *reads)
{
    return wp_thread_rings_bytes(&reads->rings);
}

void wp_reads_add(struct wp_reads *reads, uint32_t thread, const struct wp_read *read)
{
    wp_thread_rings_add(&reads->rings, thread, read);
}

bool wp_reads_next(const struct wp_reads *reads, uint32_t thread, uint64_t since_ns, struct wp_read *read)
{
    const struct wp_thread_ring *list = wp_thread_rings_of(&reads->rings, thread);
    uint64_t i = list ? wp_thread_ring_since(list, sizeof(*read), since_ns) : 0;
    if (!list || i == list->ring.end)
        return false;
    *read = ((const struct wp_read *)list->rows)[i & list->ring.mask];
    return true;
}

bool wp_reads_before(const struct wp_reads *reads, uint32_t thread, uint64_t before_ns, struct wp_read *read)
{
    const struct wp_thread_ring *list = wp_thread_rings_of(&reads->rings, thread);
    uint64_t i = list ? wp_thread_ring_since(list, sizeof(*read), before_ns) : 0;
    if (!list || i == list->ring.first)
        return false;
    *read = ((const struct wp_read *)list->rows)[(i - 1) & list->ring.mask];
    return true;
}
