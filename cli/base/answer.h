/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_ANSWER_H
#define WP_CLI_BASE_ANSWER_H
/* What a program says when it is asked: its output, of both streams, at most 1 MiB of it. */
#include "common/buffer.h"

/* Runs it to its end with nothing to read. Its exit status (255: killed), or -errno when it cannot be run. `text` ends
 * with a zero byte; the caller ends it. */
int wp_answer_read(const char *path, char *const argv[], struct wp_buffer *text);

#endif
