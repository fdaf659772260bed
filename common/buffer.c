/* SPDX-License-Identifier: Apache-2.0 */
#include "common/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wp_buffer_fini(struct wp_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct wp_buffer){0};
}

void wp_buffer_clear(struct wp_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
    if (buffer->data)
        buffer->data[0] = 0;
}

int wp_buffer_reserve(struct wp_buffer *buffer, size_t more)
{
    if (more > SIZE_MAX / 2 - buffer->size) {
        buffer->failed = true;
        return -ENOMEM;
    }
    size_t wanted = buffer->size + more + 1;
    if (wanted <= buffer->capacity)
        return 0;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < wanted)
        capacity *= 2;
    uint8_t *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return -ENOMEM;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

int wp_buffer_append(struct wp_buffer *buffer, const void *bytes, size_t size)
{
    int rc = wp_buffer_reserve(buffer, size);
    if (rc)
        return rc;
    if (size)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
    buffer->data[buffer->size] = 0;
    return 0;
}

int wp_buffer_puts(struct wp_buffer *buffer, const char *text)
{
    return wp_buffer_append(buffer, text, strlen(text));
}

int wp_buffer_putc(struct wp_buffer *buffer, char c)
{
    return wp_buffer_append(buffer, &c, 1);
}

int wp_buffer_printf(struct wp_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    int rc = size < 0 ? -EINVAL : wp_buffer_reserve(buffer, (size_t)size);
    buffer->failed |= size < 0;
    if (!rc) {
        vsnprintf((char *)buffer->data + buffer->size, (size_t)size + 1, format, again);
        buffer->size += (size_t)size;
    }
    va_end(again);
    return rc;
}
