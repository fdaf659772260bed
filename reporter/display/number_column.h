/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_NUMBER_COLUMN_H
#define WP_REPORTER_DISPLAY_NUMBER_COLUMN_H
/* Many numbers in a data file of a page: a column of differences from one to the next, each in base64 VLQ as in source
 * maps (ECMA-426, section 7: sign in the lowest bit, five bits a digit, the least first). A browser reads it quicker
 * than the same numbers written out, and it is shorter. assets/column.js reads it. */
#include "common/buffer.h"

#include <stdint.h>

/* Appends "name":wakepath.column(COUNT,"..."),\n of value(context, row) for each row. What is above 2^53 - 1, the
 * largest whole number that a script has, is written as that. */
void wp_number_column_put(struct wp_buffer *out, const char *name, uint32_t count,
    uint64_t (*value)(const void *context, uint32_t row), const void *context);

#endif
