/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/cold_part.h"

#include "collector/elf/x86_insn.h"
#include "common/array.h"

#include <stdlib.h>
#include <string.h>

#define CODE_BYTES ((uint64_t)1 << 20)
#define JUMPS 4096u
#define SECTION_BYTES ((size_t)64 << 20) /* a section may claim any size */
#define HEADER_BYTES ((size_t)16 << 20)

struct section {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
};

struct jumps {
    uint64_t to[JUMPS];
    unsigned count;
};

static bool find_section(const struct wp_elf_file *file, const char *name, size_t limit, struct section *section)
{
    GElf_Shdr header;
    Elf_Data *data = wp_elf_file_section(file, name, limit, &header);
    if (!data || !data->d_buf)
        return false;
    *section = (struct section){data->d_buf, data->d_size, header.sh_addr};
    return true;
}

static int32_t number_at(const struct section *s, size_t at)
{
    int32_t number;
    memcpy(&number, s->bytes + at, sizeof(number));
    return number;
}

/* Of a row of the table. */
static uint64_t begin_of(const struct section *index, uint32_t row)
{
    return index->address + (uint64_t)(int64_t)number_at(index, 12 + 8 * (size_t)row);
}

/* The range whose description .eh_frame_hdr has for an address (LSB, "Exception Frames": a sorted table of pairs). */
static bool find_range(
    const struct section *index, const struct section *frames, uint64_t address, struct wp_cold_part *range)
{
    if (index->size < 12 || memcmp(index->bytes, "\x01\x1b\x03\x3b", 4))
        return false;
    uint32_t count = (uint32_t)number_at(index, 8);
    if (!count || (index->size - 12) / 8 < count)
        return false;
    uint32_t low = WP_LOWER_BOUND(i, 0u, count, begin_of(index, i) <= address); /* the first that begins behind it */
    if (!low)
        return false;
    uint64_t start = begin_of(index, low - 1),
             described =
                 index->address + (uint64_t)(int64_t)number_at(index, 16 + 8 * (size_t)(low - 1)) - frames->address;
    if (described > frames->size || frames->size - described < 16)
        return false;
    *range = (struct wp_cold_part){start, start + (uint32_t)number_at(frames, (size_t)described + 12)};
    return address >= range->start && address < range->end;
}

/* Where the function's jumps lead to that leave it. */
static void collect_jumps(const struct section *text, uint64_t function, uint64_t size, struct jumps *jumps)
{
    uint64_t at = function - text->address, end = at + size;
    struct wp_x86_insn insn;
    while (at < end && jumps->count < JUMPS && wp_x86_insn_read(&insn, text->bytes + at, end - at)) {
        at += insn.size;
        bool is_jump = insn.kind == WP_X86_BRANCH || (insn.kind == WP_X86_JUMP && insn.is_direct);
        uint64_t to = text->address + at + (uint64_t)insn.value;
        if (is_jump && (to < function || to >= function + size))
            jumps->to[jumps->count++] = to;
    }
}

static bool choose_range(const struct section *index, const struct section *frames, const struct jumps *jumps,
    uint64_t function, struct wp_cold_part *part)
{
    unsigned most = 0;
    for (unsigned i = 0; i < jumps->count; i++) {
        struct wp_cold_part range;
        unsigned inside = 0;
        if (!find_range(index, frames, jumps->to[i], &range) || range.start == function)
            continue;
        for (unsigned j = 0; j < jumps->count; j++)
            inside += jumps->to[j] > range.start && jumps->to[j] < range.end; /* who jumps to its start calls it */
        if (inside > most) {
            most = inside;
            *part = range;
        }
    }
    return most;
}

bool wp_cold_part_find(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_cold_part *part)
{
    struct section text, index, frames;
    GElf_Ehdr header;
    if (!gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 || size > CODE_BYTES ||
        !find_section(file, ".text", SECTION_BYTES, &text) ||
        !find_section(file, ".eh_frame_hdr", HEADER_BYTES, &index) ||
        !find_section(file, ".eh_frame", SECTION_BYTES, &frames) || function < text.address ||
        function - text.address > text.size || text.size - (function - text.address) < size)
        return false;
    struct jumps *jumps = calloc(1, sizeof(*jumps));
    if (!jumps)
        return false;
    struct wp_cold_part found;
    collect_jumps(&text, function, size, jumps);
    bool is_found = choose_range(&index, &frames, jumps, function, &found);
    if (is_found)
        *part = found;
    free(jumps);
    return is_found;
}
