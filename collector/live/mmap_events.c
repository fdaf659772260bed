/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/mmap_events.h"

#include "common/array.h"
#include "common/buffer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64u /* a CPU; what an ordinary perf_event_mlock_kb allows */
#define PATH_BYTES 4096u
#define TAKEN 1024u              /* records that were taken and are still kept, when there are always some that wait */
#define MISC_BUILD_ID (1u << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID, Linux 5.12 */

struct ring {
    int fd;
    struct perf_event_mmap_page *page;
};

struct entry {
    struct wp_mmap_event record;
    size_t path_at; /* in paths */
    uint64_t order; /* as read, for equal times */
};

struct wp_mmap_events {
    struct ring *rings;
    unsigned ring_count;
    size_t page_size;
    struct entry *entries;
    size_t count, capacity, taken;
    struct wp_buffer paths;
    struct wp_buffer scratch;
    uint64_t lost, orders;
};

static int open_event(int cpu)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .sample_id_all = 1,
        .sample_type = PERF_SAMPLE_TIME,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = 1u << 30,
        .build_id = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL) { /* before 5.12 */
        attr.build_id = 0;
        fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return fd < 0 ? -errno : fd;
}

void wp_mmap_events_close(struct wp_mmap_events *mmap_events)
{
    if (!mmap_events)
        return;
    for (unsigned i = 0; i < mmap_events->ring_count; i++) {
        if (mmap_events->rings[i].page)
            munmap(mmap_events->rings[i].page, (PAGES + 1) * mmap_events->page_size);
        close(mmap_events->rings[i].fd);
    }
    free(mmap_events->rings);
    free(mmap_events->entries);
    wp_buffer_fini(&mmap_events->paths);
    wp_buffer_fini(&mmap_events->scratch);
    free(mmap_events);
}

static int open_rings(struct wp_mmap_events *s, struct wp_error *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    s->rings = calloc((size_t)cpus, sizeof(*s->rings));
    if (!s->rings)
        return wp_error_set(err, -ENOMEM, "out of memory");
    for (int cpu = 0; cpu < cpus; cpu++) {
        int fd = open_event(cpu);
        if (fd == -ENODEV) /* offline */
            continue;
        if (fd < 0)
            return wp_error_errno(err, fd, "cannot follow mappings on CPU %d", cpu);
        struct ring *ring = &s->rings[s->ring_count++];
        ring->fd = fd;
        void *page = mmap(NULL, (PAGES + 1) * s->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED)
            return wp_error_errno(err, -errno, "cannot map the buffer of mappings of CPU %d", cpu);
        ring->page = page;
    }
    return 0;
}

int wp_mmap_events_open(struct wp_mmap_events **mmap_events, struct wp_error *err)
{
    struct wp_mmap_events *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    s->page_size = (size_t)sysconf(_SC_PAGESIZE);
    int rc = open_rings(s, err);
    if (rc) {
        wp_mmap_events_close(s);
        return rc;
    }
    *mmap_events = s;
    return 0;
}

static struct entry *add_entry(struct wp_mmap_events *s)
{
    if (WP_ARRAY_FIT(s->entries, s->capacity, s->count + 1))
        return NULL;
    struct entry *entry = &s->entries[s->count++];
    memset(entry, 0, sizeof(*entry));
    entry->order = s->orders++;
    return entry;
}

/* struct { header; u32 pid, tid; u64 addr, len, pgoff; union { dev and inode; build id }; u32 prot, flags; path; time }
 */
static int take_mapping(
    struct wp_mmap_events *s, const struct perf_event_header *header, const uint8_t *body, size_t size)
{
    if (size < 64 + 8 + 8)
        return 0;
    struct entry *entry = add_entry(s);
    if (!entry)
        return -ENOMEM;
    struct wp_mmap_event *r = &entry->record;
    memcpy(&r->pid, body, 4);
    memcpy(&r->start, body + 8, 8);
    memcpy(&r->size, body + 16, 8);
    memcpy(&r->file_offset, body + 24, 8);
    if (header->misc & MISC_BUILD_ID && body[32] <= sizeof(r->build_id)) {
        r->build_id_size = body[32];
        memcpy(r->build_id, body + 36, sizeof(r->build_id));
    }
    memcpy(&r->time_ns, body + size - 8, 8);
    const char *path = (const char *)body + 64;
    size_t length = strnlen(path, size - 8 - 64 < PATH_BYTES ? size - 8 - 64 : PATH_BYTES);
    entry->path_at = s->paths.size;
    wp_buffer_append(&s->paths, path, length);
    wp_buffer_append(&s->paths, "", 1);
    return s->paths.failed ? -ENOMEM : 0;
}

static int take_record(struct wp_mmap_events *s, const uint8_t *bytes, size_t size)
{
    struct perf_event_header header;
    memcpy(&header, bytes, sizeof(header));
    const uint8_t *body = bytes + sizeof(header);
    size -= sizeof(header);
    if (header.type == PERF_RECORD_MMAP2)
        return take_mapping(s, &header, body, size);
    if (header.type == PERF_RECORD_LOST && size >= 16) {
        uint64_t lost;
        memcpy(&lost, body + 8, 8);
        s->lost += lost;
    }
    if (header.type == PERF_RECORD_COMM && header.misc & PERF_RECORD_MISC_COMM_EXEC && size >= 16) {
        struct entry *entry = add_entry(s);
        if (!entry)
            return -ENOMEM;
        memcpy(&entry->record.pid, body, 4);
        memcpy(&entry->record.time_ns, body + size - 8, 8);
        entry->record.is_exec = true;
    }
    return 0;
}

static int read_ring(struct wp_mmap_events *s, struct ring *ring)
{
    const uint8_t *data = (const uint8_t *)ring->page + s->page_size;
    uint64_t mask = PAGES * s->page_size - 1;
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), tail = ring->page->data_tail;
    int rc = 0;
    while (tail < head && !rc) {
        struct perf_event_header header;
        uint64_t at = tail & mask;
        memcpy(&header, data + at, sizeof(header)); /* records are 8-byte aligned: a header never wraps */
        if (header.size < sizeof(header) || header.size > head - tail)
            break;
        const uint8_t *bytes = data + at;
        if (at + header.size > mask + 1) { /* wraps: made whole */
            size_t first = (size_t)(mask + 1 - at);
            wp_buffer_clear(&s->scratch);
            wp_buffer_append(&s->scratch, data + at, first);
            wp_buffer_append(&s->scratch, data, header.size - first);
            bytes = s->scratch.data;
        }
        if (!s->scratch.failed)
            rc = take_record(s, bytes, header.size);
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, tail < head && !rc ? head : tail, __ATOMIC_RELEASE);
    return rc;
}

static int by_time(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->record.time_ns != b->record.time_ns)
        return a->record.time_ns < b->record.time_ns ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Behind a reader that is always late some records always wait. */
static int forget_taken(struct wp_mmap_events *s)
{
    struct wp_buffer paths = {0};
    if (s->taken < s->count && (s->taken < TAKEN || s->taken < s->count - s->taken))
        return 0;
    for (size_t i = s->taken; i < s->count; i++) {
        struct entry *entry = &s->entries[i];
        const char *path = entry->record.is_exec ? "" : (const char *)s->paths.data + entry->path_at;
        entry->path_at = paths.size;
        if (!entry->record.is_exec)
            wp_buffer_append(&paths, path, strlen(path) + 1);
    }
    if (paths.failed) {
        wp_buffer_fini(&paths);
        return -ENOMEM;
    }
    memmove(s->entries, s->entries + s->taken, (s->count - s->taken) * sizeof(*s->entries));
    s->count -= s->taken;
    s->taken = 0;
    if (paths.size) {
        wp_buffer_fini(&s->paths);
        s->paths = paths;
    } else {
        wp_buffer_clear(&s->paths);
    }
    return 0;
}

int wp_mmap_events_read(struct wp_mmap_events *s)
{
    int rc = forget_taken(s);
    if (rc)
        return rc;
    size_t before = s->count;
    for (unsigned i = 0; i < s->ring_count; i++) {
        rc = read_ring(s, &s->rings[i]);
        if (rc)
            return rc;
    }
    if (s->count > before)
        qsort(s->entries + s->taken, s->count - s->taken, sizeof(*s->entries), by_time);
    return 0;
}

uint64_t wp_mmap_events_next_ns(const struct wp_mmap_events *s)
{
    return s->taken == s->count ? UINT64_MAX : s->entries[s->taken].record.time_ns;
}

const struct wp_mmap_event *wp_mmap_events_next(struct wp_mmap_events *s, uint64_t until_ns)
{
    if (s->taken == s->count || s->entries[s->taken].record.time_ns > until_ns)
        return NULL;
    struct entry *entry = &s->entries[s->taken++];
    entry->record.path = entry->record.is_exec ? "" : (const char *)s->paths.data + entry->path_at;
    return &entry->record;
}

uint64_t wp_mmap_events_lost(const struct wp_mmap_events *s)
{
    return s->lost;
}
