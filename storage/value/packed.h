/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_PACKED_H
#define WP_STORAGE_VALUE_PACKED_H
/*
 * Writes the fields of a message of Protocol Buffers straight from the rows that hold them, byte for byte as protobuf-c
 * packs them: for messages with so many rows that columns made for packing alone would cost more than the packing.
 * Fields are written in the order of their numbers. Like a buffer, it stays as it was where memory is out, and says so
 * in `has_failed`.
 */
#include "common/buffer.h"
#include "common/error.h"

/* Start with {.out = ...}. */
struct wp_packed {
    struct wp_buffer *out;   /* borrowed */
    struct wp_buffer column; /* the one that is being written; owned */
    bool has_failed;
};

#define WP_PACKED_NUMBER_BYTES 10u /* the most that one number takes */

/* A number that is 0 is left out. */
void wp_packed_number(struct wp_packed *packed, unsigned field, uint64_t value);
/* Bytes, written even when there are none, as entries of a list are; `bytes` may be NULL for size 0. */
void wp_packed_bytes(struct wp_packed *packed, unsigned field, const void *bytes, size_t size);
/* Room for a column of so many numbers, or single bytes: the caller writes from there on, by wp_packed_put for numbers.
 * NULL: memory is out. */
uint8_t *wp_packed_begin(struct wp_packed *packed, size_t count);
/* The column ends at `end`, as wp_packed_put returned it last; one without a row is left out. */
void wp_packed_end(struct wp_packed *packed, unsigned field, const uint8_t *end);
/* Frees what it took besides the buffer. 0; -ENOMEM; -EFBIG where more than WP_MESSAGE_LIMIT bytes have been written
 * since the buffer had `before`: then the buffer ends there again. `what`: the message's name. */
int wp_packed_fini(struct wp_packed *packed, size_t before, const char *what, struct wp_error *err);

/* Writes one number and returns where the next one goes. */
static inline uint8_t *wp_packed_put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at = (uint8_t)value;
    return at + 1;
}

/* What a signed column (sint64) has for that difference, modulo 2^64. */
static inline uint64_t wp_packed_signed(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

#endif
