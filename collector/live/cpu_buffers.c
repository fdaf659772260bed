/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/cpu_buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define AHEAD 8u /* slots that are fetched before they are looked at: another processor has them in its cache */

struct front {
    uint64_t position, time_ns;
    unsigned cpu;
};

struct buffer {
    uint64_t tail, end, told; /* slots; end: of the round, told: to the programs */
};

struct wp_cpu_buffers {
    unsigned cpus;
    uint32_t slots;
    struct wp_cpu_cursor *cursors; /* one a CPU, which the programs write too */
    const struct wp_cpu_slot *all; /* `slots` a CPU */
    struct buffer *buffers;
    struct front *heap; /* of the CPUs that have something left in this round */
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

static struct front front_of(const struct wp_cpu_buffers *b, unsigned cpu)
{
    const struct wp_cpu_slot *slot = slot_at(b, cpu, b->buffers[cpu].tail);
    struct front front = {.position = slot->position, .cpu = cpu};
    memcpy(&front.time_ns, slot->head, sizeof(front.time_ns));
    return front;
}

static bool is_before(const struct front *a, const struct front *b)
{
    return a->position != b->position ? a->position < b->position : a->time_ns < b->time_ns;
}

/* Puts it where the hole is, or below: a heap by is_before. */
static void sift_down(struct wp_cpu_buffers *b, unsigned hole, struct front front)
{
    for (unsigned child; (child = 2 * hole + 1) < b->count; hole = child) {
        if (child + 1 < b->count && is_before(&b->heap[child + 1], &b->heap[child]))
            child++;
        if (!is_before(&b->heap[child], &front))
            break;
        b->heap[hole] = b->heap[child];
    }
    b->heap[hole] = front;
}

void wp_cpu_buffers_begin(struct wp_cpu_buffers *b)
{
    b->count = 0;
    for (unsigned cpu = 0; cpu < b->cpus; cpu++) {
        struct buffer *buffer = &b->buffers[cpu];
        buffer->end = __atomic_load_n(&b->cursors[cpu].head, __ATOMIC_ACQUIRE);
        if (buffer->end != buffer->tail)
            b->heap[b->count++] = front_of(b, cpu);
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
    if (!b->count || b->heap[0].position > position)
        return NULL;
    unsigned cpu = b->heap[0].cpu;
    struct buffer *buffer = &b->buffers[cpu];
    const struct wp_cpu_slot *slot = slot_at(b, cpu, buffer->tail);
    __builtin_prefetch(slot_at(b, cpu, buffer->tail + AHEAD));
    if (buffer->tail - buffer->told >= b->slots / 4) /* of all but the one that is given out */
        publish_tail(b, cpu, buffer->tail);
    struct front front = b->heap[b->count - 1];
    if (++buffer->tail != buffer->end)
        front = front_of(b, cpu);
    else
        b->count--;
    if (b->count)
        sift_down(b, 0, front);
    return slot;
}

void wp_cpu_buffers_end(struct wp_cpu_buffers *b)
{
    for (unsigned cpu = 0; cpu < b->cpus; cpu++)
        if (b->buffers[cpu].tail != b->buffers[cpu].told)
            publish_tail(b, cpu, b->buffers[cpu].tail);
}
