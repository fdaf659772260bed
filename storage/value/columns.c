/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/columns.h"

#include "storage/value/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *take_column(struct wp_columns *columns, size_t count, size_t size)
{
    assert(columns->count < WP_COLUMNS_LIMIT);
    void *block = calloc(count ? count : 1, size);
    if (block)
        columns->blocks[columns->count++] = block;
    else
        columns->has_failed = true;
    return block;
}

uint32_t *wp_columns_u32(struct wp_columns *columns, size_t count)
{
    return take_column(columns, count, sizeof(uint32_t));
}

uint64_t *wp_columns_u64(struct wp_columns *columns, size_t count)
{
    return take_column(columns, count, sizeof(uint64_t));
}

uint8_t *wp_columns_bytes(struct wp_columns *columns, size_t count)
{
    return take_column(columns, count, 1);
}

ProtobufCBinaryData *wp_columns_texts(struct wp_columns *columns, size_t count)
{
    return take_column(columns, count, sizeof(ProtobufCBinaryData));
}

void wp_columns_fini(struct wp_columns *columns)
{
    for (unsigned i = 0; i < columns->count; i++)
        free(columns->blocks[i]);
    *columns = (struct wp_columns){0};
}

int wp_message_pack(const ProtobufCMessage *message, struct wp_buffer *out, struct wp_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (size > WP_MESSAGE_LIMIT)
        return wp_error_set(err, -EFBIG, "a %s of %zu bytes is over the limit of %u", message->descriptor->short_name,
            size, WP_MESSAGE_LIMIT);
    if (wp_buffer_reserve(out, size))
        return wp_error_set(err, -ENOMEM, "out of memory for a %s", message->descriptor->short_name);
    out->size += protobuf_c_message_pack(message, out->data + out->size);
    return 0;
}

/* An allocator that knows whether it had nothing to give: the parser does not tell that from a bad message. */
struct counted {
    ProtobufCAllocator *from; /* NULL: malloc(3) */
    bool has_failed;
};

static void *counted_alloc(void *context, size_t size)
{
    struct counted *counted = context;
    const ProtobufCAllocator *from = counted->from;
    void *piece = from ? from->alloc(from->allocator_data, size) : malloc(size ? size : 1);
    counted->has_failed |= !piece;
    return piece;
}

static void counted_free(void *context, void *piece)
{
    const ProtobufCAllocator *from = ((struct counted *)context)->from;
    if (from)
        from->free(from->allocator_data, piece);
    else
        free(piece);
}

ProtobufCMessage *wp_message_unpack(
    const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size, const char *what, struct wp_error *err)
{
    return wp_message_unpack_by(NULL, type, bytes, size, what, err);
}

ProtobufCMessage *wp_message_unpack_by(ProtobufCAllocator *allocator, const ProtobufCMessageDescriptor *type,
    const uint8_t *bytes, size_t size, const char *what, struct wp_error *err)
{
    struct counted counted = {.from = allocator};
    ProtobufCAllocator counting = {counted_alloc, counted_free, &counted};
    ProtobufCMessage *message = NULL;
    int rc = 0;
    if (size > WP_MESSAGE_LIMIT)
        rc = wp_error_set(err, -EFBIG, "%s: %zu bytes are over the limit of %u", what, size, WP_MESSAGE_LIMIT);
    else if (!(message = protobuf_c_message_unpack(type, &counting, size, bytes)) && counted.has_failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for a %s of %zu bytes", what, size);
    else if (!message)
        rc = wp_error_set(err, -EBADMSG, "%s: not a protobuf message of type %s", what, type->name);
    if (rc)
        errno = -rc;
    return message;
}

int wp_lengths_check(const size_t *lengths, unsigned count, const char *what, struct wp_error *err)
{
    for (unsigned i = 0; i < count; i++)
        if (lengths[i] != lengths[0] || lengths[i] >= WP_ROWS_LIMIT)
            return wp_error_set(err, -EBADMSG, "%s: columns of %zu and %zu rows", what, lengths[0], lengths[i]);
    return 0;
}

int wp_ids_check(const uint32_t *ids, size_t count, uint64_t limit, const char *what, struct wp_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] > limit)
            return wp_error_set(
                err, -EBADMSG, "%s: row %zu points to %u, there are %llu", what, i, ids[i], (unsigned long long)limit);
    return 0;
}

int wp_bytes_check(ProtobufCBinaryData bytes, unsigned low, unsigned high, const char *what, struct wp_error *err)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.data[i] < low || bytes.data[i] > high)
            return wp_error_set(
                err, -EBADMSG, "%s: row %zu is %u, known are %u to %u", what, i, bytes.data[i], low, high);
    return 0;
}

int wp_texts_check(const ProtobufCBinaryData *texts, size_t count, const char *what, struct wp_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!texts[i].len || texts[i].len > WP_TEXT_LIMIT || memchr(texts[i].data, 0, texts[i].len))
            return wp_error_set(
                err, -EBADMSG, "%s: string %zu is empty, over %u bytes or holds a NUL", what, i, WP_TEXT_LIMIT);
    return 0;
}
