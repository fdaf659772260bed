/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/capture_writer.h"

#include "common/path.h"
#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct wp_capture_writer {
    int fd;
    char path[PATH_MAX], partial[PATH_MAX]; /* the same: a device or a pipe, which is written to and never replaced */
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    int failed;                /* the first error: what is behind it would not be a capture */
};

static bool is_file(const struct wp_capture_writer *w)
{
    return strcmp(w->path, w->partial) != 0;
}

static void destroy(struct wp_capture_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    wp_frame_writer_destroy(w->frames);
    wp_buffer_fini(&w->raw);
    wp_buffer_fini(&w->frame);
    free(w);
}

void wp_capture_writer_abort(struct wp_capture_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0 && is_file(w))
        unlink(w->partial);
    destroy(w);
}

static int write_failed(struct wp_capture_writer *w, int code, struct wp_error *err)
{
    w->failed = code;
    if (code == -ENOSPC || code == -EDQUOT)
        return wp_error_errno(err, code, "the disk is full: the capture '%s' cannot be written", w->partial);
    return wp_error_errno(err, code, "cannot write the capture '%s'", w->partial);
}

static int write_all(struct wp_capture_writer *w, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    if (w->failed)
        return wp_error_errno(err, w->failed, "the capture '%s' could not be written before", w->partial);
    while (size) {
        ssize_t done = write(w->fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return write_failed(w, -errno, err);
        bytes += done;
        size -= (size_t)done;
    }
    return 0;
}

static int write_message(struct wp_capture_writer *w, enum wp_frame_type type, struct wp_error *err)
{
    wp_buffer_clear(&w->frame);
    int rc = wp_frame_write(w->frames, type, w->raw.data, w->raw.size, &w->frame, err);
    return rc ? rc : write_all(w, w->frame.data, w->frame.size, err);
}

static bool is_special(const char *path)
{
    struct stat status;
    return !stat(path, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

int wp_capture_writer_open(struct wp_capture_writer **writer, const char *path, const struct wp_hello *hello, struct wp_error *err)
{
    struct wp_capture_writer *w = calloc(1, sizeof(*w));
    if (!w)
        return wp_error_set(err, -ENOMEM, "out of memory");
    w->fd = -1;
    w->frames = wp_frame_writer_create(1);
    int rc = w->frames ? 0 : wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc && (snprintf(w->path, sizeof(w->path), "%s", path) >= (int)sizeof(w->path) ||
                snprintf(w->partial, sizeof(w->partial), "%s%s", path, is_special(path) ? "" : ".partial") >= (int)sizeof(w->partial)))
        rc = wp_error_set(err, -ENAMETOOLONG, "the name of the capture is too long");
    if (!rc && (w->fd = open(w->partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
        rc = wp_error_errno(err, -errno, "cannot write the capture '%s'", w->partial);
    if (!rc)
        rc = wp_hello_encode(hello, &w->raw, err);
    if (!rc)
        rc = write_message(w, WP_FRAME_HELLO, err);
    if (rc) {
        wp_capture_writer_abort(w);
        return rc;
    }
    *writer = w;
    return 0;
}

int wp_capture_writer_batch(struct wp_capture_writer *w, const uint8_t *frame, size_t size, struct wp_error *err)
{
    return write_all(w, frame, size, err);
}

static int write_bye(struct wp_capture_writer *w, const struct wp_bye *bye, struct wp_error *err)
{
    wp_buffer_clear(&w->raw);
    int rc = wp_bye_encode(bye, &w->raw, err);
    return rc ? rc : write_message(w, WP_FRAME_BYE, err);
}

int wp_capture_writer_next(struct wp_capture_writer *w, const struct wp_bye *bye, const struct wp_hello *hello, struct wp_error *err)
{
    int rc = write_bye(w, bye, err);
    wp_buffer_clear(&w->raw);
    if (!rc)
        rc = wp_hello_encode(hello, &w->raw, err);
    return rc ? rc : write_message(w, WP_FRAME_HELLO, err);
}

int wp_capture_writer_finish(struct wp_capture_writer *w, const struct wp_bye *bye, struct wp_error *err)
{
    int rc = write_bye(w, bye, err);
    if (!rc && is_file(w) && fsync(w->fd))
        rc = write_failed(w, -errno, err);
    if (!rc && is_file(w) && rename(w->partial, w->path))
        rc = wp_error_errno(err, -errno, "cannot name the capture '%s'", w->path);
    if (!rc && is_file(w))
        wp_name_sync(w->path, NULL); /* it is whole; a folder that may not be read (as by the sandbox) is no reason to fail */
    if (rc && is_file(w))
        unlink(w->partial);
    destroy(w);
    return rc;
}
