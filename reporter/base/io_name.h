/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_IO_NAME_H
#define WP_REPORTER_BASE_IO_NAME_H
/* What the frames of block operations say: "io:vda write", "io:8:16 read /var/lib/db", and inside of one "io:queue"
 * (docs/engine.md). */
#include "reporter/base/text_pool.h"

/* "vda", "8:16"; "unknown" of "io:unknown". */
const char *wp_io_device(struct wp_pool *pool, const char *frame);
/* "tcp:10.0.0.3:5432" of "tcp:10.0.0.3:5432 (not recorded)", and what stands in the brackets ("" nothing). */
const char *wp_net_address(struct wp_pool *pool, const char *frame);
/* The text between the brackets of such a frame, cut to 80 bytes; "" without brackets. */
const char *wp_net_missing(struct wp_pool *pool, const char *frame);
/* "read", "write", "flush", "discard"; "" when the frame does not say. */
const char *wp_io_kind(const char *frame);
/* The file, "" when the frame does not say. */
const char *wp_io_file(const char *frame);

#endif
