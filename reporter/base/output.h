/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_OUTPUT_H
#define WP_REPORTER_BASE_OUTPUT_H
/* Where a printed report goes. */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>

/* Into the file, whole or not at all; NULL: to standard output, where bytes that are no text are kept from a terminal
 * (-EINVAL). */
int wp_output_write(const char *path, const struct wp_buffer *content, bool is_binary, struct wp_error *err);

#endif
