/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_JSON_H
#define WP_COMMON_JSON_H
/*
 * Writes JSON as it goes: {.out = &buffer, .style = ...} begins. Each call puts one value where the writer stands: in
 * an object under `key`, in an array with NULL. Texts and keys may be hostile: what is no UTF-8 becomes U+FFFD, and
 * what a terminal obeys is escaped. What was once out of memory stays so (out->failed), until wp_json_finish says it.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_JSON_DEPTH 64u /* objects and arrays in each other */

enum wp_json_style {
    WP_JSON_PLAIN,  /* one line, but for wp_json_line */
    WP_JSON_PRETTY, /* a line each, "key":value */
    WP_JSON_SPACED  /* a line each, "key": value */
};

/* The writer: where it writes, how, and where it stands. */
struct wp_json {
    struct wp_buffer *out; /* borrowed */
    enum wp_json_style style;
    void (*put_text)(struct wp_buffer *out, const char *text); /* a text with its quotes; NULL: as said above */
    /* inside */
    uint64_t is_array, has_member; /* a bit a depth */
    unsigned depth;
    bool has_line;
};

/* Begin one that holds values, until the wp_json_end that belongs to it. */
void wp_json_object(struct wp_json *json, const char *key);
/* As wp_json_object; what stands in it has no key. */
void wp_json_array(struct wp_json *json, const char *key);
/* Ends the innermost object or array; there must be one (assert). */
void wp_json_end(struct wp_json *json);
/* The next value, or end, stands on a new line (WP_JSON_PLAIN; of itself in the others). */
void wp_json_line(struct wp_json *json);

/* A text that ends with NUL and is not NULL, by `put_text` where the writer has one. */
void wp_json_text(struct wp_json *json, const char *key, const char *text);
/* The same, null for NULL. */
void wp_json_text_or_null(struct wp_json *json, const char *key, const char *text);
/* Text of `size` bytes, which may hold NULs; never by `put_text`. */
void wp_json_bytes(struct wp_json *json, const char *key, const char *bytes, size_t size);
/* All 64 bits in decimal: a reader that keeps numbers as doubles rounds those above 2^53. */
void wp_json_number(struct wp_json *json, const char *key, uint64_t number);
/* The literal true or false. */
void wp_json_bool(struct wp_json *json, const char *key, bool value);
/* At most six digits after the point, one at least; null for what is no number. */
void wp_json_fixed(struct wp_json *json, const char *key, double value);
/* Nine significant digits, for what may be very small; null for what is no number. */
void wp_json_real(struct wp_json *json, const char *key, double value);
/* All that a double holds, with a point or an exponent; null for what is no number. */
void wp_json_exact(struct wp_json *json, const char *key, double value);
/* JSON that the caller has made. */
void wp_json_raw(struct wp_json *json, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A newline after the last end. -ENOMEM; `what` is said of it. */
int wp_json_finish(struct wp_json *json, const char *what, struct wp_error *err);

#endif
