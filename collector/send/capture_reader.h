/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_CAPTURE_READER_H
#define WP_COLLECTOR_SEND_CAPTURE_READER_H
/* Reads a capture (capture_writer.h). Files are hostile: a frame is checked whole before it is given out. */
#include "common/error.h"
#include "proto/batch.h"
#include "proto/session.h"

#include <stdbool.h>
#include <stddef.h>

struct wp_capture_reader;

/* Opens a file, or standard input for "-" (which stays open), and reads its Hello. -EBADMSG: not a capture; -ENOMEM, or
 * -errno of opening and reading. */
int wp_capture_reader_open(struct wp_capture_reader **reader, const char *path, struct wp_error *err);
/* Frees the reader with the frames, batches and Hello it returned. NULL is allowed. */
void wp_capture_reader_close(struct wp_capture_reader *reader);
/* The Hello of the current session, valid until wp_capture_reader_turn. */
const struct wp_hello *wp_capture_reader_hello(const struct wp_capture_reader *reader);
/* 1: the next BATCH frame, bit for bit, valid until the next call, and its number. 0: the end of the session, all of it
 * was good. -errno: damaged or cut short; err says at which byte and how many batches were good before it. */
int wp_capture_reader_next(
    struct wp_capture_reader *reader, const uint8_t **frame, size_t *size, uint64_t *seq, struct wp_error *err);
/* The batch that was given out last, decoded; valid as long as its frame. */
const struct wp_batch *wp_capture_reader_batch(const struct wp_capture_reader *reader);
/* NULL before the end of the session. */
const struct wp_bye *wp_capture_reader_bye(const struct wp_capture_reader *reader);
/* At the end of a session: goes on to the one behind it, whose Hello and batches are given out then. False: there is
 * none. */
bool wp_capture_reader_turn(struct wp_capture_reader *reader);

#endif
