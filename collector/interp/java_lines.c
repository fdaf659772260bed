/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/java_lines.h"

#include "collector/bpf/interp_row.h"

#define ESCAPE 0xffu /* two numbers follow; else a byte has five bits of the bytecode's, three of the line's */
#define LAST_BYTE 191u
#define NUMBER_BYTES 5u

#define WITHOUT_ZERO WP_INTERP_VERSION(WP_INTERP_JAVA, 20, 0) /* since then no byte of a number is 0 */

struct stream {
    const uint8_t *bytes;
    size_t at, size;
    uint32_t least; /* byte of a number */
};

/* Six bits from each byte, but for the first: all of it (UNSIGNED5); the sign is in the lowest. */
static bool read_signed(struct stream *s, uint32_t *out)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < NUMBER_BYTES; i++) {
        if (s->at >= s->size)
            return false;
        uint32_t byte = s->bytes[s->at++];
        number += (byte - s->least) << 6 * i;
        if (byte <= LAST_BYTE)
            break;
    }
    *out = number >> 1 ^ (0 - (number & 1));
    return true;
}

/* False: the table has ended. Of hostile numbers the sums wrap. */
static bool read_pair(struct stream *s, uint32_t *bytecode, uint32_t *line)
{
    uint32_t byte = s->at < s->size ? s->bytes[s->at++] : 0, more_bytecode = byte >> 3, more_line = byte & 7;
    if (!byte || (byte == ESCAPE && (!read_signed(s, &more_bytecode) || !read_signed(s, &more_line))))
        return false;
    *bytecode += more_bytecode;
    *line += more_line;
    return true;
}

bool wp_java_line(const struct wp_line_table *lines, uint32_t unit, uint32_t *line)
{
    struct stream s = {lines->bytes, 0, lines->size, lines->version >= WITHOUT_ZERO};
    uint32_t bytecode = 0, now = 0, nearest = 0, found = 0;
    bool is_past = false; /* what a cut table has behind its end is not nearer */
    while (read_pair(&s, &bytecode, &now)) {
        is_past |= bytecode > unit;
        if (bytecode > unit || bytecode < nearest)
            continue;
        nearest = bytecode;
        found = now;
        if (bytecode == unit)
            break;
    }
    *line = found;
    return found && found <= UINT16_MAX && (nearest == unit || is_past || !lines->is_cut);
}
