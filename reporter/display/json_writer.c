/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/json_writer.h"

#include "common/json_plain.h"
#include "reporter/display/escape.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

void wp_writer_put(
    struct wp_json_writer *writer, struct json_object *object, const char *key, struct json_object *value)
{
    if (!object || !value || json_object_object_add(object, key, value)) {
        json_object_put(value);
        writer->failed = true;
    }
}

void wp_writer_append(struct wp_json_writer *writer, struct json_object *array, struct json_object *value)
{
    if (!array || !value || json_object_array_add(array, value)) {
        json_object_put(value);
        writer->failed = true;
    }
}

void wp_writer_text(struct wp_json_writer *writer, struct json_object *object, const char *key, const char *text)
{
    struct wp_buffer clean = {0};
    wp_escape_utf8(&clean, text);
    writer->failed |= clean.failed;
    wp_writer_put(
        writer, object, key, json_object_new_string_len(clean.data ? (char *)clean.data : "", (int)clean.size));
    wp_buffer_fini(&clean);
}

void wp_writer_number(struct wp_json_writer *writer, struct json_object *object, const char *key, uint64_t number)
{
    wp_writer_put(writer, object, key, json_object_new_uint64(number));
}

void wp_writer_double(struct wp_json_writer *writer, struct json_object *object, const char *key, double value)
{
    char text[400];
    if (!isfinite(value)) { /* JSON has no word for it; a NULL is json-c's null */
        writer->failed |= !object || json_object_object_add(object, key, NULL);
        return;
    }
    int size = snprintf(text, sizeof(text), "%.6f", value);
    while (size > 2 && text[size - 1] == '0' && text[size - 2] != '.')
        text[--size] = 0;
    wp_writer_put(writer, object, key, json_object_new_double_s(value, text));
}

void wp_writer_real(struct wp_json_writer *writer, struct json_object *object, const char *key, double value)
{
    char text[48];
    if (!isfinite(value)) {
        writer->failed |= !object || json_object_object_add(object, key, NULL);
        return;
    }
    snprintf(text, sizeof(text), "%.9g", value);
    wp_writer_put(writer, object, key, json_object_new_double_s(value, text));
}

int wp_writer_finish(
    struct wp_json_writer *writer, struct json_object *root, struct wp_buffer *out, struct wp_error *err)
{
    const char *text = writer->failed
        ? NULL
        : json_object_to_json_string_ext(
              root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text) {
        wp_json_plain(out, text);
        wp_buffer_putc(out, '\n');
    }
    json_object_put(root);
    return text && !out->failed ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the summary");
}
