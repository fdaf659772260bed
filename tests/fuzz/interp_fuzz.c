/* SPDX-License-Identifier: Apache-2.0 */
/* A code object as a hostile process has it: texts, table of lines, and words of stacks that name it. */
#include "fuzz.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_codes.h"
#include "collector/interp/interp_splice.h"
#include "collector/interp/python_offsets.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 12u
#define FUNCTION 16u /* address */

static void splice(const uint8_t *bytes, size_t size)
{
    struct wp_spliced_frame frames[64];
    uint64_t words[32] = {0};
    uint8_t parts[32];
    uint32_t word_count = (uint32_t)(size / 8 < 32 ? size / 8 : 32), native_count = size ? bytes[0] % 33 : 0;
    memcpy(words, bytes, (size_t)word_count * 8);
    for (uint32_t i = 0; i < native_count; i++)
        parts[i] = bytes[i % size] % 4;
    const struct wp_interp_stack stack = {parts, native_count, words, word_count};
    if (wp_interp_splice(&stack, frames) > native_count + word_count)
        abort();
}

/* Of CPython each that is known; V8's one whose bytecodes are. */
static uint32_t version_of(uint32_t kind)
{
    if (kind < 5)
        return 0x0309u + kind;
    return kind - 4 == WP_INTERP_V8 ? WP_INTERP_VERSION(WP_INTERP_V8, 11, 3) : WP_INTERP_VERSION(kind - 4, 3, 1);
}

/* V8's objects lead to each other: the same one as a piece of a text, and as a function. */
static void add_others(struct wp_interp_codes *codes, struct wp_fact_code code)
{
    uint8_t lines[512];
    const uint32_t kind = WP_V8_SHARED;
    code.part = 1;
    wp_interp_codes_add(codes, &code);
    code.part = 0;
    code.address = FUNCTION;
    code.lines_size = code.lines_size < sizeof(lines) ? code.lines_size : (uint32_t)sizeof(lines);
    memcpy(lines, code.lines, code.lines_size);
    if (code.lines_size >= WP_V8_HEAD)
        memcpy(lines, &kind, sizeof(kind));
    code.lines = lines;
    wp_interp_codes_add(codes, &code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_interp_codes *codes = size > HEAD ? wp_interp_codes_create() : NULL;
    struct wp_interp_offsets at;
    struct wp_interp_place places[4];
    uint32_t version;
    uint32_t first_line;
    if (!codes)
        return 0;
    uint32_t rest = (uint32_t)(size - HEAD), name = bytes[0] % (rest + 1), file = bytes[1] % (rest - name + 1);
    uint32_t kind = bytes[2] % 10;
    memcpy(&first_line, bytes + 8, sizeof(first_line));
    struct wp_fact_code code = {.pid = 1,
        .version = version_of(kind),
        .address = 8,
        .first_line = first_line,
        .name = {bytes + HEAD, name, bytes[4], bytes[5] & 1},
        .file = {bytes + HEAD + name, file, bytes[6], bytes[5] & 2},
        .lines = bytes + HEAD + name + file,
        .lines_size = rest - name - file,
        .lines_are_cut = bytes[3] & 1};
    wp_interp_codes_add(codes, &code);
    if (WP_INTERP_LANGUAGE(code.version) == WP_INTERP_V8)
        add_others(codes, code);
    for (uint32_t unit = 0; unit < 128; unit++) {
        uint64_t address = unit & 1 ? FUNCTION : 8;
        for (uint32_t i = wp_interp_codes_places(codes, 1, WP_INTERP_WORD(address, unit / 2 * bytes[7]), places, 4); i;
             i--)
            if (i > 4 || places[i - 1].line > INT32_MAX)
                abort();
    }
    wp_interp_codes_destroy(codes);
    wp_python_offsets_read(bytes, size, &at, &version);
    splice(bytes, size);
    return 0;
}
