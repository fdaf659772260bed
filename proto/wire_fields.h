/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_WIRE_FIELDS_H
#define WP_PROTO_WIRE_FIELDS_H
/*
 * The fields of a message of Protocol Buffers as they lie in the frame: a number each, its type, and its bytes. For
 * what is read too often to be unpacked into structs first. Nothing is read outside [at, end), whatever stands there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wp_wire_type { WP_WIRE_NUMBER = 0, WP_WIRE_64 = 1, WP_WIRE_BYTES = 2, WP_WIRE_32 = 5 };

struct wp_wire_span {
    const uint8_t *at, *end;
};

struct wp_wire_field {
    const uint8_t *begin;      /* of the field with its tag */
    struct wp_wire_span bytes; /* type BYTES only */
    uint64_t value;            /* type NUMBER only */
    uint32_t number;
    enum wp_wire_type type;
};

/* A number of at most ten bytes; of more than 64 bits those that do not fit are lost, as everywhere. False: it goes on
 * behind the end. */
static inline bool wp_wire_number(struct wp_wire_span *span, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 70 && span->at < span->end; shift += 7) {
        uint8_t byte = *span->at++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return true;
        }
    }
    return false;
}

/* The next field of a message. False: there is none that is whole; span->at == span->end when the message ends here. */
static inline bool wp_wire_field(struct wp_wire_span *span, struct wp_wire_field *field)
{
    struct wp_wire_span rest = *span;
    uint64_t tag, size = 0;
    *field = (struct wp_wire_field){.begin = rest.at};
    if (rest.at == rest.end || !wp_wire_number(&rest, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return false;
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum wp_wire_type)(tag & 7);
    if (field->type == WP_WIRE_NUMBER) {
        if (!wp_wire_number(&rest, &field->value))
            return false;
    } else if (field->type == WP_WIRE_BYTES) {
        if (!wp_wire_number(&rest, &size) || size > (uint64_t)(rest.end - rest.at))
            return false;
        field->bytes = (struct wp_wire_span){rest.at, rest.at + size};
        rest.at += size;
    } else if (field->type == WP_WIRE_64 || field->type == WP_WIRE_32) {
        size = field->type == WP_WIRE_64 ? 8 : 4;
        if (size > (uint64_t)(rest.end - rest.at))
            return false;
        rest.at += size;
    } else {
        return false;
    }
    *span = rest;
    return true;
}

#endif
