/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/capture_writer.h"

#include "common/path.h"
#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct wp_capture_writer {
    int fd;
    char path[PATH_MAX], partial[PATH_MAX]; /* the same: a device or a pipe, which is written to and never replaced */
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    int failed; /* the first error: what is behind it would not be a capture */
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

static bool is_capture(int fd)
{
    uint8_t head[WP_FRAME_HEADER];
    ssize_t got = pread(fd, head, sizeof(head), 0);
    return got == (ssize_t)sizeof(head) && wp_frame_is_head(head, sizeof(head));
}

/* A capture of before is replaced; the user may have named another file by mistake. */
static int check_target(const char *path, struct wp_error *err)
{
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode) || !status.st_size)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot see whether '%s' is a capture, which may be replaced", path);
    bool is_ours = is_capture(fd);
    close(fd);
    return is_ours ? 0
                   : wp_error_set(err, -EEXIST,
                         "'%s' exists and is not a capture of Wakepath: it is not replaced. Name another file, or "
                         "move it away",
                         path);
}

/* The file of this name may be what a killed collector left, one that another writes, or no capture at all. */
static int take_partial(struct wp_capture_writer *w, struct wp_error *err)
{
    struct stat status;
    int fd = open(w->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600), rc = 0;
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write the capture '%s'", w->partial);
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || (status.st_size && !is_capture(fd)))
        rc = wp_error_set(err, -EEXIST,
            "'%s' exists and is not an unfinished capture: name another file, or move it away", w->partial);
    else if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        rc = wp_error_set(err, -EBUSY, "another collector writes the capture '%s'", w->partial);
    else if (ftruncate(fd, 0))
        rc = wp_error_errno(err, -errno, "cannot write the capture '%s'", w->partial);
    if (rc)
        close(fd);
    else
        w->fd = fd; /* from here on it is ours to remove */
    return rc;
}

static int open_special(struct wp_capture_writer *w, struct wp_error *err)
{
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
    return w->fd < 0 ? wp_error_errno(err, -errno, "cannot write the capture '%s'", w->path) : 0;
}

int wp_capture_writer_open(
    struct wp_capture_writer **writer, const char *path, const struct wp_hello *hello, struct wp_error *err)
{
    struct wp_capture_writer *w = calloc(1, sizeof(*w));
    if (!w)
        return wp_error_set(err, -ENOMEM, "out of memory");
    w->fd = -1;
    w->frames = wp_frame_writer_create(1);
    int rc = w->frames ? 0 : wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc &&
        (snprintf(w->path, sizeof(w->path), "%s", path) >= (int)sizeof(w->path) ||
            snprintf(w->partial, sizeof(w->partial), "%s%s", path, is_special(path) ? "" : ".partial") >=
                (int)sizeof(w->partial)))
        rc = wp_error_set(err, -ENAMETOOLONG, "the name of the capture is too long");
    if (!rc)
        rc = is_file(w) ? check_target(w->path, err) : open_special(w, err);
    if (!rc && is_file(w))
        rc = take_partial(w, err);
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

int wp_capture_writer_next(
    struct wp_capture_writer *w, const struct wp_bye *bye, const struct wp_hello *hello, struct wp_error *err)
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
        wp_name_sync(
            w->path, NULL); /* it is whole; a folder that may not be read (as by the sandbox) is no reason to fail */
    if (rc && is_file(w))
        unlink(w->partial);
    destroy(w);
    return rc;
}
