/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/python_lines.h"

/* Wraps instead of overflowing: a hostile table adds what it likes. */
static uint32_t line_after(uint32_t line, int64_t delta)
{
    return (uint32_t)((int64_t)line + delta);
}

static bool is_line(uint32_t line)
{
    return line && line <= INT32_MAX;
}

/* Pairs: bytes of code, lines. The last line goes on, unless there are more pairs. */
static bool find_pairs(const struct wp_line_table *l, uint32_t unit, uint32_t *line)
{
    uint64_t address = 0, wanted = 2 * (uint64_t)unit;
    *line = l->first_line;
    for (size_t i = 0; i + 1 < l->size; i += 2) {
        address += l->bytes[i];
        if (address > wanted)
            return is_line(*line);
        *line = line_after(*line, (int8_t)l->bytes[i + 1]);
    }
    return !l->is_cut && is_line(*line);
}

/* Pairs: bytes of code, and the line before them; -128: they have none. */
static bool find_ranges(const struct wp_line_table *l, uint32_t unit, uint32_t *line)
{
    uint64_t end = 0, wanted = 2 * (uint64_t)unit;
    *line = l->first_line;
    for (size_t i = 0; i + 1 < l->size; i += 2) {
        int8_t delta = (int8_t)l->bytes[i + 1];
        end += l->bytes[i];
        if (delta != INT8_MIN)
            *line = line_after(*line, delta);
        if (end > wanted)
            return delta != INT8_MIN && is_line(*line);
    }
    return false;
}

struct reader {
    const uint8_t *at, *end;
};

/* Groups of six bits, the lowest first; bit 6: there are more. */
static uint64_t read_number(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 60; shift += 6) {
        uint8_t byte = *r->at++;
        value |= (uint64_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

static int64_t read_signed(struct reader *r)
{
    uint64_t value = read_number(r);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum { CODE_ONE_LINE = 10, CODE_NO_COLUMNS = 13, CODE_LONG = 14, CODE_NONE = 15 };

/* Entries begin with a byte that has bit 7, which no other byte has. */
static bool find_location(const struct wp_line_table *l, uint32_t unit, uint32_t *line)
{
    struct reader r = {l->bytes, l->bytes + l->size};
    uint64_t end = 0;
    *line = l->first_line;
    while (r.at < r.end) {
        uint8_t head = *r.at++, code = head >> 3 & 15;
        if (!(head & 128))
            return false;
        if (code == CODE_NO_COLUMNS || code == CODE_LONG)
            *line = line_after(*line, read_signed(&r));
        else if (code >= CODE_ONE_LINE && code < CODE_NO_COLUMNS)
            *line = line_after(*line, code - CODE_ONE_LINE);
        while (r.at < r.end && !(*r.at & 128))
            r.at++;
        end += (head & 7u) + 1;
        if (end > unit)
            return code != CODE_NONE && is_line(*line);
    }
    return false;
}

bool wp_python_line(const struct wp_line_table *l, uint32_t unit, uint32_t *line)
{
    if (l->version >= 0x030b)
        return find_location(l, unit, line);
    return l->version == 0x030a ? find_ranges(l, unit, line) : find_pairs(l, unit, line);
}
