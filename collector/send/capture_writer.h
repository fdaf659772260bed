/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_CAPTURE_WRITER_H
#define WP_COLLECTOR_SEND_CAPTURE_WRITER_H
/*
 * A capture: the frames of one session, HELLO, BATCH..., BYE, one behind the other in a file; behind it may stand the
 * session that it goes on in (wp_bye.successor). It is written as "FILE.partial" and gets its name when it is whole; a
 * device or a pipe is written to as it is.
 */
#include "proto/session.h"

#include <stddef.h>

struct wp_capture_writer;

/* Writes the Hello. -EEXIST: `path` or its FILE.partial exists and is not a capture; -EBUSY: another collector writes
 * it; -ENAMETOOLONG, -ENOMEM, or -errno of opening and writing. */
int wp_capture_writer_open(
    struct wp_capture_writer **writer, const char *path, const struct wp_hello *hello, struct wp_error *err);
/* A whole BATCH frame. -ENOSPC or another -errno: the capture cannot be finished any more, each later call fails as
 * well. */
int wp_capture_writer_batch(struct wp_capture_writer *writer, const uint8_t *frame, size_t size, struct wp_error *err);
/* The session ends, and the next one begins. */
int wp_capture_writer_next(
    struct wp_capture_writer *writer, const struct wp_bye *bye, const struct wp_hello *hello, struct wp_error *err);
/* On disk and named when it returns 0; frees the writer either way. */
int wp_capture_writer_finish(struct wp_capture_writer *writer, const struct wp_bye *bye, struct wp_error *err);
/* Removes what was written and frees the writer. */
void wp_capture_writer_abort(struct wp_capture_writer *writer);

#endif
