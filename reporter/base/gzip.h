/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_GZIP_H
#define WP_REPORTER_BASE_GZIP_H
/* Bytes as a gzip file (RFC 1952) without a name or a time in it, so that equal bytes give equal files. */
#include "common/buffer.h"
#include "common/error.h"

/* Appends. -ENOMEM. */
int wp_gzip(struct wp_buffer *out, const void *bytes, size_t size, struct wp_error *err);

#endif
