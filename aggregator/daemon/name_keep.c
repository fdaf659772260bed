/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/name_keep.h"

#include "common/clock.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_BYTES                                                                                                    \
    ((size_t)64 << 20) /* more is not appended; of more than half of it the newest quarter is left at the next start   \
                        */

struct wp_name_keep {
    struct wp_frame_writer *writer;
    struct wp_buffer frame;
    const struct wp_logger *logger;
    struct wp_log_limit failures;
    char path[PATH_MAX];
    size_t size;
    int fd;
};

/* Where the frames end that can be used; those before `from` are passed over. *first: the first that was told. */
static size_t read_frames(struct wp_frame_reader *reader, const struct wp_buffer *bytes, size_t from,
    struct wp_name_desk *desk, size_t *first)
{
    struct wp_frame frame;
    size_t at = 0;
    *first = SIZE_MAX;
    while (at < bytes->size && !wp_frame_read(reader, bytes->data + at, bytes->size - at, &frame, NULL)) {
        if (frame.type != WP_FRAME_NAME_ANSWER ||
            (at >= from && wp_name_desk_recall(desk, frame.payload, frame.size, NULL)))
            break;
        if (at >= from && *first == SIZE_MAX)
            *first = at;
        at += frame.consumed;
    }
    return at;
}

static int take_file(struct wp_name_keep *keep, struct wp_name_desk *desk, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_frame_reader *reader = wp_frame_reader_create();
    size_t first, end;
    int rc = reader ? wp_file_read(keep->path, 2 * LIMIT_BYTES, &bytes, err)
                    : wp_error_set(err, -ENOMEM, "out of memory for names");
    if (!rc) {
        bool is_large = bytes.size > LIMIT_BYTES / 2;
        end = read_frames(reader, &bytes, is_large ? bytes.size - LIMIT_BYTES / 4 : 0, desk, &first);
        keep->size = end;
        if (is_large && first < end) {
            rc = wp_file_write_atomic(keep->path, bytes.data + first, end - first, err);
            keep->size = end - first;
        }
    }
    wp_frame_reader_destroy(reader);
    wp_buffer_fini(&bytes);
    return rc == -ENOENT || rc == -EFBIG ? 0 : rc; /* one that is too large is begun again */
}

int wp_name_keep_open(struct wp_name_keep **out, const char *folder, const char *shard, struct wp_name_desk *desk,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_name_keep *keep = calloc(1, sizeof(*keep));
    if (!keep || !(keep->writer = wp_frame_writer_create(1))) {
        free(keep);
        return wp_error_set(err, -ENOMEM, "out of memory for names");
    }
    keep->logger = logger;
    keep->fd = -1;
    snprintf(keep->path, sizeof(keep->path), "%s/~names.%s", folder, shard);
    int rc = take_file(keep, desk, err);
    if (!rc && (keep->fd = open(keep->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
        rc = wp_error_errno(err, -errno, "cannot open '%s'", keep->path);
    if (!rc && ftruncate(keep->fd, (off_t)keep->size))
        rc = wp_error_errno(err, -errno, "cannot write '%s'", keep->path);
    if (rc) {
        wp_name_keep_close(keep);
        return rc;
    }
    *out = keep;
    return 0;
}

void wp_name_keep_close(struct wp_name_keep *keep)
{
    if (!keep)
        return;
    if (keep->fd >= 0)
        close(keep->fd);
    wp_frame_writer_destroy(keep->writer);
    wp_buffer_fini(&keep->frame);
    free(keep);
}

void wp_name_keep_add(struct wp_name_keep *keep, const uint8_t *raw, size_t size)
{
    struct wp_error err = {0};
    if (!keep)
        return;
    wp_buffer_clear(&keep->frame);
    int rc = wp_frame_write(keep->writer, WP_FRAME_NAME_ANSWER, raw, size, &keep->frame, &err);
    if (rc || keep->size + keep->frame.size > LIMIT_BYTES)
        return;
    ssize_t done = pwrite(
        keep->fd, keep->frame.data, keep->frame.size, (off_t)keep->size); /* the next one goes over half a frame */
    if (done == (ssize_t)keep->frame.size)
        keep->size += keep->frame.size;
    else if (wp_log_allowed(keep->logger, &keep->failures, wp_clock_ms() * WP_NS_PER_MS, 60 * WP_NS_PER_S))
        wp_log(keep->logger, WP_LOG_WARN,
            "cannot write the symbol cache, its objects will be read again after a restart file=%s reason=\"%s\"",
            keep->path, strerror(done < 0 ? errno : ENOSPC));
}
