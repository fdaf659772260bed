/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/code_extent.h"

#include "collector/elf/x86_insn.h"

#include <stdbool.h>

static bool goes_on(const struct wp_x86_insn *insn)
{
    return insn->kind != WP_X86_JUMP && insn->kind != WP_X86_RETURN && insn->kind != WP_X86_STOP;
}

/* It ends with what does not go on, behind the furthest place that it branches to. */
size_t wp_code_extent(const uint8_t *code, size_t size)
{
    size_t furthest = 0, limit = size < WP_CODE_EXTENT_BYTES ? size : WP_CODE_EXTENT_BYTES;
    struct wp_x86_insn insn;
    for (size_t at = 0; at < limit && wp_x86_insn_read(&insn, code + at, size - at);) {
        at += insn.size;
        bool is_within = (insn.kind == WP_X86_BRANCH || insn.kind == WP_X86_JUMP) && insn.is_direct;
        if (insn.kind == WP_X86_JUMP && !insn.is_direct)
            return 0; /* by a table, who knows how far */
        if (!goes_on(&insn) && at > furthest)
            return at; /* a jump that ends it leads into another function */
        if (is_within && insn.value > 0 && (uint64_t)insn.value < limit - at && at + (size_t)insn.value > furthest)
            furthest = at + (size_t)insn.value;
    }
    return 0;
}
