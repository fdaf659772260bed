/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_JSON_WRITER_H
#define WP_REPORTER_DISPLAY_JSON_WRITER_H
/* Building JSON with json-c: names made well-formed, numbers the same on every machine, a failure remembered to the
 * end. */
#include "common/buffer.h"
#include "common/error.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* json-c returns NULL when out of memory and then prints "null": remembered, so that half a document never goes out. */
struct wp_json_writer {
    bool failed;
};

/* These take `value`. */
void wp_writer_put(
    struct wp_json_writer *writer, struct json_object *object, const char *key, struct json_object *value);
void wp_writer_append(struct wp_json_writer *writer, struct json_object *array, struct json_object *value);
void wp_writer_text(struct wp_json_writer *writer, struct json_object *object, const char *key, const char *text);
void wp_writer_number(struct wp_json_writer *writer, struct json_object *object, const char *key, uint64_t number);
/* Six digits after the point; null for what is no number. */
void wp_writer_double(struct wp_json_writer *writer, struct json_object *object, const char *key, double value);
/* Nine significant digits, for what may be very small. */
void wp_writer_real(struct wp_json_writer *writer, struct json_object *object, const char *key, double value);
/* Appends the document and a newline, and frees it. -ENOMEM. */
int wp_writer_finish(
    struct wp_json_writer *writer, struct json_object *root, struct wp_buffer *out, struct wp_error *err);

#endif
