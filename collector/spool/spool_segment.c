/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/spool/spool_segment.h"

#include "common/array.h"
#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC 0x31535057u                             /* "WPS1" */
#define FRAME_LIMIT (WP_FRAME_RAW_LIMIT + (1u << 20)) /* what a frame can take at most */
#define SEARCH ((size_t)2 * FRAME_LIMIT)              /* behind a damaged head, for the next good one */

struct disk_head {
    uint32_t magic, size; /* of the frame behind it */
    uint64_t first_seq, last_seq, first_ns, last_ns, events, dropped, anchor_mono_ns, anchor_real_ns;
    uint32_t before[WP_SPOOL_KINDS], after[WP_SPOOL_KINDS];
    uint32_t is_range, held_before; /* 0 in files of versions that did not know it */
    uint64_t frame_sum, head_sum;   /* XXH3-64 of the frame, and of all before head_sum */
};
_Static_assert(sizeof(struct disk_head) == 144, "the head has no holes");

struct place {
    uint32_t offset;       /* in the file */
    uint32_t first, count; /* batches, counted from the segment's first */
};

struct wp_spool_segment {
    char *path;           /* owned */
    int fd;               /* -1: at rest */
    struct place *places; /* owned, by number */
    size_t count, room;
    uint64_t base, last_ns; /* first number; of the last event */
    uint64_t end, size;     /* behind the last whole record; of the file */
    uint64_t torn;
    bool is_dirty;
    int sync_rc; /* of a sync that failed: the kernel calls those pages clean, so a later one says nothing */
};

static uint64_t head_sum(const struct disk_head *head)
{
    return XXH3_64bits(head, offsetof(struct disk_head, head_sum));
}

static bool is_head(const struct disk_head *head)
{
    return head->magic == MAGIC && head->head_sum == head_sum(head) && head->size <= FRAME_LIMIT && head->first_seq &&
        head->last_seq >= head->first_seq && head->last_seq < UINT64_MAX / 2;
}

/* 0 when all of it was there; -ENODATA at the end of the file. */
static int read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -ENODATA;
        done += (size_t)got;
    }
    return 0;
}

static int add_place(struct wp_spool_segment *s, const struct disk_head *head, uint64_t offset)
{
    uint64_t base = s->count ? s->base : head->first_seq;
    if (head->last_seq - base >= UINT32_MAX || offset > UINT32_MAX)
        return -EFBIG;
    if (WP_ARRAY_FIT(s->places, s->room, s->count + 1))
        return -ENOMEM;
    s->base = base;
    s->last_ns = head->last_ns > s->last_ns ? head->last_ns : s->last_ns;
    s->places[s->count++] = (struct place){
        (uint32_t)offset, (uint32_t)(head->first_seq - base), (uint32_t)(head->last_seq - head->first_seq + 1)};
    return 0;
}

uint64_t wp_spool_segment_last(const struct wp_spool_segment *s)
{
    const struct place *last = s->count ? &s->places[s->count - 1] : NULL;
    return last ? s->base + last->first + last->count - 1 : 0;
}

/* A whole record at `offset` that may follow. */
static bool is_record(const struct wp_spool_segment *s, const struct disk_head *head, uint64_t offset)
{
    return is_head(head) && head->first_seq > wp_spool_segment_last(s) &&
        head->size <= s->size - offset - sizeof(*head);
}

/* The next good head behind a damaged one. -ENODATA: none. */
static int search(struct wp_spool_segment *s, uint64_t from, struct disk_head *head, uint64_t *offset)
{
    struct wp_buffer bytes = {0};
    const uint32_t magic = MAGIC;
    uint64_t left = s->size - from;
    size_t size = left < SEARCH ? (size_t)left : SEARCH;
    int rc = wp_buffer_reserve(&bytes, size) ? -ENOMEM : read_at(s->fd, bytes.data, size, from);
    const uint8_t *at = bytes.data, *end = at + size;
    bool is_found = false;
    while (!rc && !is_found && (at = memmem(at, (size_t)(end - at), &magic, sizeof(magic))) &&
        (size_t)(end - at) >= sizeof(*head)) {
        memcpy(head, at, sizeof(*head));
        *offset = from + (uint64_t)(at - bytes.data);
        is_found = is_record(s, head, *offset);
        at++;
    }
    wp_buffer_fini(&bytes);
    return rc ? rc : is_found ? 0 : -ENODATA;
}

static int scan(struct wp_spool_segment *s)
{
    struct disk_head head;
    uint64_t offset = 0;
    while (s->size - offset >= sizeof(head)) {
        int rc = read_at(s->fd, &head, sizeof(head), offset);
        if (!rc && !is_record(s, &head, offset))
            rc = search(s, offset + 1, &head, &offset);
        if (rc == -ENODATA)
            break;
        if (!rc)
            rc = add_place(s, &head, offset);
        if (rc)
            return rc;
        offset += sizeof(head) + head.size;
        s->end = offset;
    }
    s->torn = s->size - s->end;
    return 0;
}

static int wake(struct wp_spool_segment *s)
{
    if (s->fd < 0)
        s->fd = open(s->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (s->fd < 0 && errno == EROFS) /* it can be read all the same */
        s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return s->fd < 0 ? -errno : 0;
}

int wp_spool_segment_open(struct wp_spool_segment **segment, const char *path, bool makes, struct wp_error *err)
{
    struct wp_spool_segment *s = calloc(1, sizeof(*s));
    struct stat status = {0};
    int rc = 0;
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    }
    s->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (makes ? O_CREAT : 0), 0600);
    if (s->fd < 0 || fstat(s->fd, &status))
        rc = -errno;
    else if (!S_ISREG(status.st_mode))
        rc = -EINVAL;
    if (!rc) {
        s->size = (uint64_t)status.st_size;
        rc = scan(s);
    }
    if (rc) {
        wp_spool_segment_close(s);
        return wp_error_errno(err, rc, "cannot open '%s' of the spool", path);
    }
    *segment = s;
    return 0;
}

void wp_spool_segment_rest(struct wp_spool_segment *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

void wp_spool_segment_close(struct wp_spool_segment *s)
{
    if (!s)
        return;
    wp_spool_segment_rest(s);
    free(s->places);
    free(s->path);
    free(s);
}

void wp_spool_segment_remove(struct wp_spool_segment *s)
{
    if (s)
        unlink(s->path);
    wp_spool_segment_close(s);
}

static int write_record(struct wp_spool_segment *s, const struct disk_head *head, const uint8_t *frame)
{
    size_t size = sizeof(*head) + head->size, done = 0;
    while (done < size) {
        size_t in_head = done < sizeof(*head) ? sizeof(*head) - done : 0,
               in_frame = done < sizeof(*head) ? 0 : done - sizeof(*head);
        struct iovec parts[2] = {
            {(char *)head + (sizeof(*head) - in_head), in_head}, {(uint8_t *)frame + in_frame, head->size - in_frame}};
        ssize_t got = pwritev(s->fd, parts, 2, (off_t)(s->end + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -EIO;
        done += (size_t)got;
    }
    return 0;
}

int wp_spool_segment_append(struct wp_spool_segment *s, const struct wp_spool_head *head, const uint8_t *frame,
    size_t size, struct wp_error *err)
{
    struct disk_head disk = {.magic = MAGIC,
        .size = (uint32_t)size,
        .first_seq = head->first_seq,
        .last_seq = head->last_seq,
        .first_ns = head->first_ns,
        .last_ns = head->last_ns,
        .events = head->events,
        .dropped = head->dropped,
        .anchor_mono_ns = head->anchor_mono_ns,
        .anchor_real_ns = head->anchor_real_ns,
        .is_range = head->is_range,
        .held_before = head->held_before,
        .frame_sum = XXH3_64bits(frame, size)};
    memcpy(disk.before, head->before, sizeof(disk.before));
    memcpy(disk.after, head->after, sizeof(disk.after));
    disk.head_sum = head_sum(&disk);
    int rc = wake(s);
    if (!rc && size > FRAME_LIMIT)
        rc = -E2BIG;
    if (!rc && s->size > s->end && ftruncate(s->fd, (off_t)s->end))
        rc = -errno;
    if (rc)
        return wp_error_errno(err, rc, "cannot write '%s'", s->path);
    s->size = s->end;
    s->is_dirty = true;
    rc = write_record(s, &disk, frame);
    if (!rc)
        rc = add_place(s, &disk, s->end);
    if (rc) {
        if (ftruncate(s->fd, (off_t)s->end))
            s->size = s->end + sizeof(disk) + size; /* tried again by the next append; until then it is a torn tail */
        return wp_error_errno(err, rc, "cannot write '%s'", s->path);
    }
    s->end = s->size = s->end + sizeof(disk) + size;
    return 0;
}

int wp_spool_segment_sync(struct wp_spool_segment *s, struct wp_error *err)
{
    int rc = s->sync_rc;
    if (!rc && !s->is_dirty)
        return 0;
    if (!rc)
        rc = wake(s);
    if (!rc && (fdatasync(s->fd) || fdatasync(s->fd))) /* pages given up while the first one went on: only the second
                                                          knows (ext4 asks at its start) */
        rc = s->sync_rc = -errno;
    s->is_dirty = rc != 0;
    return rc ? wp_error_errno(err, rc, "cannot sync '%s'", s->path) : 0;
}

size_t wp_spool_segment_count(const struct wp_spool_segment *s)
{
    return s->count;
}

uint64_t wp_spool_segment_bytes(const struct wp_spool_segment *s)
{
    return s->size;
}

uint64_t wp_spool_segment_torn(const struct wp_spool_segment *s)
{
    return s->torn;
}

uint64_t wp_spool_segment_first(const struct wp_spool_segment *s)
{
    return s->count ? s->base : 0;
}

uint64_t wp_spool_segment_last_ns(const struct wp_spool_segment *s)
{
    return s->last_ns;
}

bool wp_spool_segment_find(const struct wp_spool_segment *s, uint64_t seq, size_t *index)
{
    size_t low = WP_LOWER_BOUND(middle, 0, s->count, s->base + s->places[middle].first <= seq);
    *index = low ? low - 1 : 0;
    return low > 0;
}

static int read_head(
    struct wp_spool_segment *s, size_t index, struct disk_head *disk, struct wp_spool_head *head, struct wp_error *err)
{
    const struct place *place = &s->places[index];
    *head = (struct wp_spool_head){0};
    int rc = wake(s);
    if (!rc)
        rc = read_at(s->fd, disk, sizeof(*disk), place->offset);
    if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
        return wp_error_errno(err, rc, "cannot read '%s'", s->path);
    if (rc || !is_head(disk) || disk->first_seq != s->base + place->first)
        return wp_error_set(err, -EBADMSG, "a damaged head in '%s' at byte %u", s->path, place->offset);
    *head = (struct wp_spool_head){.first_seq = disk->first_seq,
        .last_seq = disk->last_seq,
        .first_ns = disk->first_ns,
        .last_ns = disk->last_ns,
        .events = disk->events,
        .dropped = disk->dropped,
        .anchor_mono_ns = disk->anchor_mono_ns,
        .anchor_real_ns = disk->anchor_real_ns,
        .held_before = disk->held_before,
        .is_range = disk->is_range};
    memcpy(head->before, disk->before, sizeof(head->before));
    memcpy(head->after, disk->after, sizeof(head->after));
    return 0;
}

int wp_spool_segment_head(struct wp_spool_segment *s, size_t index, struct wp_spool_head *head, struct wp_error *err)
{
    struct disk_head disk;
    return read_head(s, index, &disk, head, err);
}

int wp_spool_segment_read(
    struct wp_spool_segment *s, size_t index, struct wp_spool_head *head, struct wp_buffer *frame, struct wp_error *err)
{
    struct disk_head disk;
    int rc = read_head(s, index, &disk, head, err);
    if (rc)
        return rc;
    wp_buffer_clear(frame);
    if (wp_buffer_reserve(frame, disk.size))
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    rc = read_at(s->fd, frame->data, disk.size, s->places[index].offset + sizeof(disk));
    frame->size = disk.size;
    if (rc || XXH3_64bits(frame->data, frame->size) != disk.frame_sum)
        return wp_error_set(err, -EBADMSG, "a damaged batch in '%s' at byte %u", s->path, s->places[index].offset);
    return 0;
}
