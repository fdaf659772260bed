/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/ring_reader.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define TELL_BYTES                                                                                                     \
    ((size_t)256 << 10) /* so much is reported to the kernel at once, and of the rest at the end of a round */
#define HEADER 8u

struct wp_ring_reader {
    int epoll_fd;
    size_t page, size;
    uint64_t *consumed; /* a page that the kernel reads */
    const uint64_t
        *produced; /* a page that it writes, and behind it the ring, twice: records are never in two pieces */
    const uint8_t *data;
    uint64_t at, told, end, last; /* of the round. last: where what was given out the time before began, or earlier */
    uint64_t given;               /* where what was given out begins */
    bool is_bounded;
};

static int map_pages(struct wp_ring_reader *r, int fd)
{
    void *consumer = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (consumer == MAP_FAILED)
        return -errno;
    r->consumed = consumer;
    void *producer = mmap(NULL, r->page + 2 * r->size, PROT_READ, MAP_SHARED, fd, (off_t)r->page);
    if (producer == MAP_FAILED)
        return -errno;
    r->produced = producer;
    r->data = (const uint8_t *)producer + r->page;
    return 0;
}

int wp_ring_reader_create(struct wp_ring_reader **reader, int map_fd, size_t bytes)
{
    struct wp_ring_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->page = (size_t)sysconf(_SC_PAGESIZE);
    r->size = bytes;
    r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int rc = r->epoll_fd < 0 ? -errno : map_pages(r, map_fd);
    if (!rc)
        rc = wp_ring_reader_watch(r, map_fd);
    if (rc) {
        wp_ring_reader_destroy(r);
        return rc;
    }
    r->at = r->told = __atomic_load_n(r->consumed, __ATOMIC_RELAXED);
    *reader = r;
    return 0;
}

void wp_ring_reader_destroy(struct wp_ring_reader *r)
{
    if (!r)
        return;
    if (r->produced)
        munmap((void *)(uintptr_t)r->produced, r->page + 2 * r->size);
    if (r->consumed)
        munmap(r->consumed, r->page);
    if (r->epoll_fd >= 0)
        close(r->epoll_fd);
    free(r);
}

int wp_ring_reader_watch(struct wp_ring_reader *r, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) && errno != EEXIST ? -errno : 0;
}

void wp_ring_reader_wait(struct wp_ring_reader *r, int timeout_ms)
{
    struct epoll_event events[4];
    epoll_wait(r->epoll_fd, events, sizeof(events) / sizeof(events[0]), timeout_ms);
}

void wp_ring_reader_begin(struct wp_ring_reader *r, size_t most)
{
    r->end = __atomic_load_n(r->produced, __ATOMIC_ACQUIRE);
    r->is_bounded = r->end - r->at > most;
    if (r->is_bounded)
        r->end = r->at + most;
}

bool wp_ring_reader_is_filling(const struct wp_ring_reader *r)
{
    return __atomic_load_n(r->produced, __ATOMIC_RELAXED) - r->told > r->size / 4;
}

static void publish_consumed(struct wp_ring_reader *r, uint64_t until)
{
    __atomic_store_n(r->consumed, until, __ATOMIC_RELEASE);
    r->told = until;
}

const void *wp_ring_reader_next(struct wp_ring_reader *r, size_t *size)
{
    if (r->at - r->told >= TELL_BYTES) /* of all but the one that the caller may still look at */
        publish_consumed(r, r->last);
    r->last = r->at;
    while (r->at < r->end) {
        r->given = r->at;
        const uint32_t *header = (const void *)(r->data + (r->at & (r->size - 1)));
        uint32_t length = __atomic_load_n(header, __ATOMIC_ACQUIRE);
        if (length & BPF_RINGBUF_BUSY_BIT) { /* the rest in the next round */
            r->is_bounded = false;
            return NULL;
        }
        size_t bytes = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        r->at += (bytes + HEADER + 7) & ~(uint64_t)7;
        *size = bytes;
        if (!(length & BPF_RINGBUF_DISCARD_BIT))
            return (const uint8_t *)header + HEADER;
    }
    r->given = r->at;
    return NULL;
}

uint64_t wp_ring_reader_position(const struct wp_ring_reader *r)
{
    return r->given;
}

void wp_ring_reader_back(struct wp_ring_reader *r)
{
    r->at = r->given;
}

bool wp_ring_reader_end(struct wp_ring_reader *r)
{
    publish_consumed(r, r->at);
    return r->is_bounded;
}
