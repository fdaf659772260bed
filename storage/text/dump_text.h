/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_DUMP_TEXT_H
#define WP_STORAGE_TEXT_DUMP_TEXT_H
/*
 * The messages of the store as lines of text and back: one line a field, one a row of a column, so that diff shows what
 * has changed. The text of what is not written as our own writer would write it does not lead back to the same bytes;
 * who prints asks for that, and prints such a value as bytes.
 */
#include "storage/value/keys.h"

#include <protobuf-c/protobuf-c.h>

/* The message in the body of this kind, NULL: it has none (a blob, a flag). */
const ProtobufCMessageDescriptor *wp_dump_message(enum wp_value_kind kind);

/* Appends the lines, each with `indent` blanks before it. -EBADMSG: not a message that can be told as text. */
int wp_dump_print(
    const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size, unsigned indent, struct wp_buffer *out);
/* A quoted string: what is not printable ASCII is \xNN, besides \n, \t, \\ and \". */
void wp_dump_quote(const uint8_t *bytes, size_t size, struct wp_buffer *out);
/* Reads such a string at *text, which is moved behind it. -EBADMSG. */
int wp_dump_unquote(const char **text, struct wp_buffer *out);

/* Reads lines. */
struct wp_dump_lines {
    int (*next)(void *context, const char **line); /* 1 with the next line, without its newline; 0 at the end; -errno */
    void *context;
    const char *line; /* the one that is looked at, NULL: none yet or no more */
    uint64_t number;
};
/* Looks at the next line. 1, 0 or -errno. */
int wp_dump_next(struct wp_dump_lines *lines);
/* Parses lines that begin with `indent` blanks until one with fewer, which is left to be looked at. */
int wp_dump_parse(const ProtobufCMessageDescriptor *type, struct wp_dump_lines *lines, unsigned indent,
    struct wp_buffer *out, struct wp_error *err);

#endif
