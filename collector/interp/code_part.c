/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/code_part.h"

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

struct code {
    struct section text, index, frames;
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
    const struct section *index, const struct section *frames, uint64_t address, struct wp_code_part *range)
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
    *range = (struct wp_code_part){start, start + (uint32_t)number_at(frames, (size_t)described + 12)};
    return address >= range->start && address < range->end;
}

/* Where the function's jumps, or calls, lead to that leave it. */
static void collect_jumps(
    const struct section *text, const struct wp_code_part *function, bool is_calls, struct jumps *jumps)
{
    uint64_t at = function->start - text->address, end = function->end - text->address;
    struct wp_x86_insn insn;
    while (at < end && jumps->count < JUMPS && wp_x86_insn_read(&insn, text->bytes + at, end - at)) {
        at += insn.size;
        bool is_jump = insn.kind == WP_X86_BRANCH || (insn.kind == WP_X86_JUMP && insn.is_direct);
        bool is_call = insn.kind == WP_X86_CALL && insn.is_direct;
        uint64_t to = text->address + at + (uint64_t)insn.value;
        if ((is_calls ? is_call : is_jump) && (to < function->start || to >= function->end))
            jumps->to[jumps->count++] = to;
    }
}

/* The range that most of the jumps lead to. */
static bool find_most(const struct code *code, const struct jumps *jumps, uint64_t function, struct wp_code_part *part)
{
    unsigned most = 0;
    for (unsigned i = 0; i < jumps->count; i++) {
        struct wp_code_part range;
        unsigned inside = 0;
        if (!find_range(&code->index, &code->frames, jumps->to[i], &range) || range.start == function)
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

/* The largest range of code that one of them leads to the start of. */
static bool find_largest(const struct code *code, const struct jumps *calls, struct wp_code_part *part)
{
    struct wp_code_part largest = {0};
    uint64_t end = code->text.address + code->text.size;
    for (unsigned i = 0; i < calls->count; i++) {
        struct wp_code_part range;
        bool is_function = calls->to[i] >= code->text.address && calls->to[i] < end &&
            find_range(&code->index, &code->frames, calls->to[i], &range) && range.start == calls->to[i];
        if (is_function && range.end <= end && range.end - range.start > largest.end - largest.start)
            largest = range;
    }
    if (largest.end)
        *part = largest;
    return largest.end;
}

/* False: the function is not in code that can be read. */
static bool read_code(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct code *code)
{
    GElf_Ehdr header;
    return gelf_getehdr(file->elf, &header) && header.e_machine == EM_X86_64 && size <= CODE_BYTES &&
        find_section(file, ".text", SECTION_BYTES, &code->text) &&
        find_section(file, ".eh_frame_hdr", HEADER_BYTES, &code->index) &&
        find_section(file, ".eh_frame", SECTION_BYTES, &code->frames) && function >= code->text.address &&
        function - code->text.address <= code->text.size && code->text.size - (function - code->text.address) >= size;
}

enum kind { COLD, CALLEE, TAIL };

static bool find_part(
    const struct wp_elf_file *file, const struct wp_code_part *function, enum kind kind, struct wp_code_part *part)
{
    struct code code;
    if (!read_code(file, function->start, function->end - function->start, &code))
        return false;
    struct jumps *jumps = calloc(1, sizeof(*jumps));
    if (!jumps)
        return false;
    collect_jumps(&code.text, function, kind == CALLEE, jumps);
    struct wp_code_part found;
    bool is_found =
        kind == COLD ? find_most(&code, jumps, function->start, &found) : find_largest(&code, jumps, &found);
    if (is_found)
        *part = found;
    free(jumps);
    return is_found;
}

bool wp_code_part_cold(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_code_part *part)
{
    return find_part(file, &(struct wp_code_part){function, function + size}, COLD, part);
}

bool wp_code_part_callee(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_code_part *part)
{
    return find_part(file, &(struct wp_code_part){function, function + size}, CALLEE, part);
}

bool wp_code_part_tail(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_code_part *part)
{
    return find_part(file, &(struct wp_code_part){function, function + size}, TAIL, part);
}

bool wp_code_part_given(const struct wp_elf_file *file, uint64_t function, struct wp_code_part *part)
{
    struct code code;
    struct wp_x86_insn insn;
    struct wp_code_part range, found;
    bool is_loaded = false;
    if (!read_code(file, function, 0, &code) || !find_range(&code.index, &code.frames, function, &range) ||
        range.start != function || !read_code(file, function, range.end - function, &code))
        return false;
    size_t at = function - code.text.address, end = range.end - code.text.address;
    while (at < end && wp_x86_insn_read(&insn, code.text.bytes + at, end - at)) {
        at += insn.size;
        uint64_t next = code.text.address + at, to = next + (uint64_t)insn.value;
        if (is_loaded && insn.is_direct && (insn.kind == WP_X86_CALL || insn.kind == WP_X86_JUMP)) {
            if (!find_range(&code.index, &code.frames, to, &found) || found.start != to)
                return false;
            *part = found;
            return true;
        }
        is_loaded |= insn.has_address && insn.is_relative && next + (uint64_t)insn.address == function;
    }
    return false;
}

unsigned wp_code_part_jumps(const struct wp_elf_file *file, const struct wp_code_part *part)
{
    struct code code;
    struct wp_x86_insn insn;
    unsigned count = 0;
    if (part->end < part->start || !read_code(file, part->start, part->end - part->start, &code))
        return 0;
    size_t at = part->start - code.text.address, end = part->end - code.text.address;
    for (; at < end && wp_x86_insn_read(&insn, code.text.bytes + at, end - at); at += insn.size)
        count += insn.kind == WP_X86_JUMP && !insn.is_direct;
    return count;
}
