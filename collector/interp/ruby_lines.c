/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/ruby_lines.h"

#include "collector/bpf/interp_row.h"

#include <string.h>

#define ENTRY_BYTES 12u /* since 3.1 */
/* The first places: seven bits each, nine in a word. */
#define FIRST_PLACES 54u
#define FIRST_BYTES 48u
/* Of 512 places each: how many entries are before, then before each part of 64 but the first (nine bits), then bits. */
#define BLOCK_PLACES 512u
#define BLOCK_BYTES 80u

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* How many entries begin at or before a place. */
static uint64_t rank_in_block(const uint8_t *block, uint32_t place)
{
    uint32_t part = place / 64, shift = 63 - place % 64;
    uint64_t before = part ? word_at(block + 8) >> 9 * (part - 1) & 0x1ff : 0;
    uint64_t bits = word_at(block + 16 + 8 * (size_t)part) << shift;
    return (word_at(block) & 0xffffffff) + before + (uint64_t)__builtin_popcountll(bits);
}

static bool find_rank(const uint8_t *index, uint64_t size, uint32_t place, uint64_t *rank)
{
    if (size < FIRST_BYTES)
        return false;
    if (place < FIRST_PLACES) {
        *rank = word_at(index + (size_t)place / 9 * 8) >> 7 * (place % 9) & 0x7f;
        return true;
    }
    uint64_t block = (place - FIRST_PLACES) / BLOCK_PLACES;
    if ((size - FIRST_BYTES) / BLOCK_BYTES <= block)
        return false;
    *rank = rank_in_block(index + FIRST_BYTES + block * BLOCK_BYTES, (place - FIRST_PLACES) % BLOCK_PLACES);
    return true;
}

bool wp_ruby_line(const struct wp_line_table *l, uint32_t unit, uint32_t *line)
{
    uint64_t index, rank = 1; /* without an index there is one entry */
    if (l->size < WP_RUBY_INDEX_AT)
        return false;
    index = word_at(l->bytes);
    if (index > l->size - WP_RUBY_INDEX_AT || (index && !find_rank(l->bytes + WP_RUBY_INDEX_AT, index, unit, &rank)))
        return false;
    const uint8_t *entries = l->bytes + WP_RUBY_INDEX_AT + index;
    if (!rank || (l->size - WP_RUBY_INDEX_AT - index) / ENTRY_BYTES < rank)
        return false;
    memcpy(line, entries + (rank - 1) * ENTRY_BYTES, sizeof(*line));
    return *line && *line <= INT32_MAX;
}
