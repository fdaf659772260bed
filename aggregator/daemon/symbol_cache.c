/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/symbol_cache.h"

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

struct wp_symbol_cache {
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
    struct wp_symbol_broker *broker, size_t *first)
{
    struct wp_frame frame;
    size_t at = 0;
    *first = SIZE_MAX;
    while (at < bytes->size && !wp_frame_read(reader, bytes->data + at, bytes->size - at, &frame, NULL)) {
        if (frame.type != WP_FRAME_NAME_ANSWER ||
            (at >= from && wp_symbol_broker_recall(broker, frame.payload, frame.size, NULL)))
            break;
        if (at >= from && *first == SIZE_MAX)
            *first = at;
        at += frame.consumed;
    }
    return at;
}

static int take_file(struct wp_symbol_cache *cache, struct wp_symbol_broker *broker, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_frame_reader *reader = wp_frame_reader_create();
    size_t first, end;
    int rc = reader ? wp_file_read(cache->path, 2 * LIMIT_BYTES, &bytes, err)
                    : wp_error_set(err, -ENOMEM, "out of memory for names");
    if (!rc) {
        bool is_large = bytes.size > LIMIT_BYTES / 2;
        end = read_frames(reader, &bytes, is_large ? bytes.size - LIMIT_BYTES / 4 : 0, broker, &first);
        cache->size = end;
        if (is_large && first < end) {
            rc = wp_file_write_atomic(cache->path, bytes.data + first, end - first, err);
            cache->size = end - first;
        }
    }
    wp_frame_reader_destroy(reader);
    wp_buffer_fini(&bytes);
    return rc == -ENOENT || rc == -EFBIG ? 0 : rc; /* one that is too large is begun again */
}

int wp_symbol_cache_open(struct wp_symbol_cache **out, const char *folder, const char *shard,
    struct wp_symbol_broker *broker, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_symbol_cache *cache = calloc(1, sizeof(*cache));
    if (!cache || !(cache->writer = wp_frame_writer_create(1))) {
        free(cache);
        return wp_error_set(err, -ENOMEM, "out of memory for names");
    }
    cache->logger = logger;
    cache->fd = -1;
    snprintf(cache->path, sizeof(cache->path), "%s/~names.%s", folder, shard);
    int rc = take_file(cache, broker, err);
    if (!rc && (cache->fd = open(cache->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
        rc = wp_error_errno(err, -errno, "cannot open '%s'", cache->path);
    if (!rc && ftruncate(cache->fd, (off_t)cache->size))
        rc = wp_error_errno(err, -errno, "cannot write '%s'", cache->path);
    if (rc) {
        wp_symbol_cache_close(cache);
        return rc;
    }
    *out = cache;
    return 0;
}

void wp_symbol_cache_close(struct wp_symbol_cache *cache)
{
    if (!cache)
        return;
    if (cache->fd >= 0)
        close(cache->fd);
    wp_frame_writer_destroy(cache->writer);
    wp_buffer_fini(&cache->frame);
    free(cache);
}

void wp_symbol_cache_add(struct wp_symbol_cache *cache, const uint8_t *raw, size_t size)
{
    struct wp_error err = {0};
    if (!cache)
        return;
    wp_buffer_clear(&cache->frame);
    int rc = wp_frame_write(cache->writer, WP_FRAME_NAME_ANSWER, raw, size, &cache->frame, &err);
    if (rc || cache->size + cache->frame.size > LIMIT_BYTES)
        return;
    ssize_t done = pwrite(
        cache->fd, cache->frame.data, cache->frame.size, (off_t)cache->size); /* the next one goes over half a frame */
    if (done == (ssize_t)cache->frame.size)
        cache->size += cache->frame.size;
    else if (wp_log_allowed(cache->logger, &cache->failures, wp_clock_ms() * WP_NS_PER_MS, 60 * WP_NS_PER_S))
        wp_log(cache->logger, WP_LOG_WARN,
            "cannot write the symbol cache, its objects will be read again after a restart file=%s reason=\"%s\"",
            cache->path, strerror(done < 0 ? errno : ENOSPC));
}
