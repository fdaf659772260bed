/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/cpu_buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define AHEAD 8u /* slots that are fetched before they are looked at: another processor has them in its cache */

struct buffer {
    uint64_t tail, end, told;   /* slots; end: of the round, told: to the programs */
    uint64_t position, time_ns; /* of the slot at the tail */
};

struct wp_cpu_buffers {
    unsigned cpus;
    uint32_t slots;
    struct wp_cpu_cursor *cursors; /* one a CPU, which the programs write too */
    const struct wp_cpu_slot *all; /* `slots` a CPU */
    struct buffer *buffers;
    unsigned *heap; /* the CPUs that have something left in this round, by is_before */
    unsigned count;
};

static void *map(int fd, size_t bytes, int protection)
{
    void *at = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static size_t slot_bytes(const struct wp_cpu_buffers *b)
{
    return (size_t)b->cpus * b->slots * sizeof(*b->all);
}

int wp_cpu_buffers_create(struct wp_cpu_buffers **buffers, const struct wp_cpu_buffers_options *options)
{
    struct wp_cpu_buffers *b = calloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    b->cpus = options->cpus;
    b->slots = options->slots;
    b->buffers = calloc(b->cpus, sizeof(*b->buffers));
    b->heap = calloc(b->cpus, sizeof(*b->heap));
    int rc = b->buffers && b->heap ? 0 : -ENOMEM;
    if (!rc &&
        (!(b->cursors = map(options->cursors_fd, b->cpus * sizeof(*b->cursors), PROT_READ | PROT_WRITE)) ||
            !(b->all = map(options->slots_fd, slot_bytes(b), PROT_READ))))
        rc = -errno;
    if (rc || !b->cursors || !b->all) {
        wp_cpu_buffers_destroy(b);
        return rc ? rc : -ENOMEM;
    }
    for (unsigned cpu = 0; cpu < b->cpus; cpu++)
        b->buffers[cpu].tail = b->buffers[cpu].told = b->cursors[cpu].tail;
    *buffers = b;
    return 0;
}

void wp_cpu_buffers_destroy(struct wp_cpu_buffers *b)
{
    if (!b)
        return;
    if (b->all)
        munmap((void *)(uintptr_t)b->all, slot_bytes(b));
    if (b->cursors)
        munmap(b->cursors, b->cpus * sizeof(*b->cursors));
    free(b->buffers);
    free(b->heap);
    free(b);
}

static const struct wp_cpu_slot *slot_at(const struct wp_cpu_buffers *b, unsigned cpu, uint64_t index)
{
    return &b->all[(size_t)cpu * b->slots + (index & (b->slots - 1))];
}

static void look_at_tail(struct wp_cpu_buffers *b, unsigned cpu)
{
    struct buffer *buffer = &b->buffers[cpu];
    const struct wp_cpu_slot *slot = slot_at(b, cpu, buffer->tail);
    buffer->position = slot->position;
    memcpy(&buffer->time_ns, slot->head, sizeof(buffer->time_ns));
}

static bool is_before(const struct wp_cpu_buffers *b, unsigned one, unsigned other)
{
    const struct buffer *x = &b->buffers[one], *y = &b->buffers[other];
    return x->position != y->position ? x->position < y->position : x->time_ns < y->time_ns;
}

/* Puts the CPU where the hole is, or below. */
static void sift_down(struct wp_cpu_buffers *b, unsigned hole, unsigned cpu)
{
    for (unsigned child; (child = 2 * hole + 1) < b->count; hole = child) {
        if (child + 1 < b->count && is_before(b, b->heap[child + 1], b->heap[child]))
            child++;
        if (!is_before(b, b->heap[child], cpu))
            break;
        b->heap[hole] = b->heap[child];
    }
    b->heap[hole] = cpu;
}

void wp_cpu_buffers_begin(struct wp_cpu_buffers *b)
{
    b->count = 0;
    for (unsigned cpu = 0; cpu < b->cpus; cpu++) {
        struct buffer *buffer = &b->buffers[cpu];
        buffer->end = __atomic_load_n(&b->cursors[cpu].head, __ATOMIC_ACQUIRE);
        if (buffer->end == buffer->tail)
            continue;
        look_at_tail(b, cpu);
        b->heap[b->count++] = cpu;
    }
    for (unsigned i = b->count / 2; i--;)
        sift_down(b, i, b->heap[i]);
}

bool wp_cpu_buffers_are_filling(const struct wp_cpu_buffers *b)
{
    bool are_filling = false;
    for (unsigned cpu = 0; cpu < b->cpus; cpu++)
        are_filling = are_filling ||
            __atomic_load_n(&b->cursors[cpu].head, __ATOMIC_RELAXED) - b->buffers[cpu].tail > b->slots / 4;
    return are_filling;
}

static void publish_tail(struct wp_cpu_buffers *b, unsigned cpu, uint64_t until)
{
    __atomic_store_n(&b->cursors[cpu].tail, until, __ATOMIC_RELEASE);
    b->buffers[cpu].told = until;
}

const struct wp_cpu_slot *wp_cpu_buffers_next(struct wp_cpu_buffers *b, uint64_t position)
{
    if (!b->count || b->buffers[b->heap[0]].position > position)
        return NULL;
    unsigned cpu = b->heap[0];
    struct buffer *buffer = &b->buffers[cpu];
    const struct wp_cpu_slot *slot = slot_at(b, cpu, buffer->tail);
    __builtin_prefetch(slot_at(b, cpu, buffer->tail + AHEAD));
    if (buffer->tail - buffer->told >= b->slots / 4) /* of all but the one that is given out */
        publish_tail(b, cpu, buffer->tail);
    if (++buffer->tail != buffer->end)
        look_at_tail(b, cpu);
    else
        cpu = b->heap[--b->count];
    if (b->count)
        sift_down(b, 0, cpu);
    return slot;
}

void wp_cpu_buffers_end(struct wp_cpu_buffers *b)
{
    for (unsigned cpu = 0; cpu < b->cpus; cpu++)
        if (b->buffers[cpu].tail != b->buffers[cpu].told)
            publish_tail(b, cpu, b->buffers[cpu].tail);
}
