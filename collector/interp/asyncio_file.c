/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/asyncio_file.h"

#include "collector/elf/x86_insn.h"
#include "collector/interp/interp_image.h"

#include <errno.h>
#include <string.h>

#define CODE_BYTES 4096u
#define TASKS "_current_tasks"

/* The address that an instruction has beside the code: lea r64, [rip + disp32], mov r64, [rip + disp32]; 0: none. */
static uint64_t beside(const uint8_t *code, size_t size, uint8_t operation, uint64_t end)
{
    int32_t distance;
    if (size != 7 || (code[0] & 0xfb) != 0x48 || code[1] != operation || (code[2] & 0xc7) != 0x05)
        return 0;
    memcpy(&distance, code + 3, sizeof(distance));
    return end + (uint64_t)(int64_t)distance;
}

static bool is_name(const struct wp_elf_file *file, uint64_t address)
{
    char text[sizeof(TASKS)];
    return address && wp_interp_image_bytes(file, address, text, sizeof(text)) && !memcmp(text, TASKS, sizeof(text));
}

/* What is loaded for the call that is given the name, when that is one variable; 0: there is no such call. The code is
 * hostile. */
static uint64_t find_variable(const struct wp_elf_file *file, const uint8_t *code, size_t size, uint64_t address)
{
    struct wp_x86_insn insn;
    uint64_t variable = 0;
    unsigned loads = 0;
    bool is_named = false;
    for (size_t i = 0; i < size && wp_x86_insn_read(&insn, code + i, size - i); i += insn.size) {
        uint64_t end = address + i + insn.size, loaded = beside(code + i, insn.size, 0x8b, end);
        is_named |= is_name(file, beside(code + i, insn.size, 0x8d, end));
        variable = loaded ? loaded : variable;
        loads += loaded != 0;
        if (insn.kind != WP_X86_CALL)
            continue;
        if (is_named)
            return loads == 1 ? variable : 0;
        loads = 0;
    }
    return 0;
}

int wp_asyncio_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    static const char *const names[] = {"PyInit__asyncio"};
    const struct wp_interp_search search = {names, 1, 0};
    struct wp_interp_symbol begin;
    uint8_t code[CODE_BYTES];
    uint64_t variable, shift;
    GElf_Ehdr header;
    wp_interp_image_symbols(file, &search, &begin);
    size_t size = begin.size < sizeof(code) ? (size_t)begin.size : sizeof(code);
    if (!begin.address || !gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 ||
        !wp_interp_image_bytes(file, begin.address, code, size) ||
        !(variable = find_variable(file, code, size, begin.address)) ||
        !wp_interp_image_shift(file, begin.address, &shift))
        return wp_error_set(err, -ENOENT, "no CPython interpreter");
    *version = WP_INTERP_ASYNCIO;
    *out = (struct wp_interp_file){.version = *version, .runtime = variable + shift};
    return 0;
}
