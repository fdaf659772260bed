/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_COLUMNS_H
#define WP_STORAGE_VALUE_COLUMNS_H
/* The columns of one message while it is being packed, and the checks when one has been unpacked. */
#include "common/buffer.h"
#include "common/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#define WP_COLUMNS_LIMIT 128

struct wp_columns {                 /* init with {0} */
    void *blocks[WP_COLUMNS_LIMIT]; /* owned */
    unsigned count;
    bool has_failed;
};

/* Zeroed room for `count` values, never NULL unless it has failed; freed with wp_columns_fini. */
uint32_t *wp_columns_u32(struct wp_columns *columns, size_t count);
/* As wp_columns_u32. */
uint64_t *wp_columns_u64(struct wp_columns *columns, size_t count);
/* As wp_columns_u32. */
uint8_t *wp_columns_bytes(struct wp_columns *columns, size_t count);
/* As wp_columns_u32; the texts stay the caller's. */
ProtobufCBinaryData *wp_columns_texts(struct wp_columns *columns, size_t count);
/* Frees all columns at once and zeroes it; texts that wp_columns_texts points to are not its own. */
void wp_columns_fini(struct wp_columns *columns);

#define WP_MESSAGE_LIMIT (256u << 20) /* bytes of a packed message */
/* Appends the packed message. -ENOMEM; -EFBIG over WP_MESSAGE_LIMIT. */
int wp_message_pack(const ProtobufCMessage *message, struct wp_buffer *out, struct wp_error *err);
/* NULL with an error that names `what`, and errno: EBADMSG, not a message of this kind; EFBIG; ENOMEM. Free with
 * protobuf_c_message_free_unpacked. */
ProtobufCMessage *wp_message_unpack(
    const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size, const char *what, struct wp_error *err);
/* The same with memory of that allocator. */
ProtobufCMessage *wp_message_unpack_by(ProtobufCAllocator *allocator, const ProtobufCMessageDescriptor *type,
    const uint8_t *bytes, size_t size, const char *what, struct wp_error *err);

/* Fails unless all `lengths` (count of them) are the same. */
int wp_lengths_check(const size_t *lengths, unsigned count, const char *what, struct wp_error *err);
#define WP_LENGTHS(what, err, ...)                                                                                     \
    wp_lengths_check((const size_t[]){__VA_ARGS__}, sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t), what, err)
/* Fails when one of the ids is greater than `limit`. */
int wp_ids_check(const uint32_t *ids, size_t count, uint64_t limit, const char *what, struct wp_error *err);
/* Fails when one of the bytes is below `low` or above `high`. */
int wp_bytes_check(ProtobufCBinaryData bytes, unsigned low, unsigned high, const char *what, struct wp_error *err);
/* Fails on an empty string, a NUL inside, an overlong one. */
int wp_texts_check(const ProtobufCBinaryData *texts, size_t count, const char *what, struct wp_error *err);

#endif
