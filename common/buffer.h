/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_BUFFER_H
#define WP_COMMON_BUFFER_H
/*
 * A growing run of bytes, embedded in its owner: init with {0}, free with wp_buffer_fini. A failed append sets `failed`
 * and leaves the contents as they were, so a builder may check once at its end. The text helpers keep data[size] == 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes and their room; {0} is an empty one, which takes no memory. */
struct wp_buffer {
    uint8_t *data;   /* owned */
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes allocated */
    bool failed;     /* an append ran out of memory, or could not be printed */
};

/* Frees the bytes and leaves an empty buffer that can be used again; a zeroed one is allowed. */
void wp_buffer_fini(struct wp_buffer *buffer);
/* Empties it, takes `failed` back and keeps the memory. */
void wp_buffer_clear(struct wp_buffer *buffer);
/* Makes room for `more` bytes beyond size (and a terminator). -ENOMEM. */
int wp_buffer_reserve(struct wp_buffer *buffer, size_t more);
/* The appends copy. -ENOMEM. `bytes` lies outside this buffer, which may move, and may be NULL for size 0. */
int wp_buffer_append(struct wp_buffer *buffer, const void *bytes, size_t size);
/* A text without its terminator. -ENOMEM. */
int wp_buffer_puts(struct wp_buffer *buffer, const char *text);
/* One byte. -ENOMEM. */
int wp_buffer_putc(struct wp_buffer *buffer, char c);
/* As printf(3). -ENOMEM; -EINVAL: it cannot be printed, or is over INT_MAX bytes. */
int wp_buffer_printf(struct wp_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
