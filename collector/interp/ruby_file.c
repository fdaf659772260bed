/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/ruby_file.h"

#include "collector/elf/x86_insn.h"
#include "collector/interp/code_part.h"
#include "collector/interp/interp_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOP "rb_vm_exec"
#define STATE "ruby_current_ec"
#define SECTION_BYTES ((uint64_t)64 << 20)

#define STATE_AT 4096u     /* where it is among a library's variables */
#define RECEIVER_BYTES 64u /* of code */
#define INSTRUCTIONS 64u   /* of the language: the function that runs them has a jump for most of them */

enum { VERSION, LOOP_FUNCTION, EVAL, RECEIVER, COLD, WANTED };

static const char *const names[WANTED] = {[VERSION] = "ruby_version",
    [LOOP_FUNCTION] = LOOP,
    [EVAL] = "rb_iseq_eval",
    [RECEIVER] = "rb_current_receiver",
    [COLD] = LOOP ".cold"};

/* vm_core.h, iseq.h, include/ruby/internal/core/rstring.h. */
static const struct wp_ruby_offsets ruby_3_1 = {.frame_bytes = 64,
    .encoded = 8,
    .encoded_words = 4,
    .path = 64,
    .label = 80,
    .first_line = 88,
    .lines = 120,
    .line_count = 136,
    .line_index = 144,
    .line_bytes = 12,
    .text_embedded = 16};

static const struct wp_ruby_offsets ruby_3_3 = {.frame_bytes = 56,
    .encoded = 8,
    .encoded_words = 4,
    .path = 64,
    .label = 80,
    .first_line = 88,
    .lines = 112,
    .line_count = 128,
    .line_index = 136,
    .line_bytes = 12,
    .text_embedded = 24,
    .has_text_size = 1};

const struct wp_ruby_offsets *wp_ruby_offsets(uint32_t version)
{
    switch (version) {
    case WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 1):
        return &ruby_3_1;
    case WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 3):
        return &ruby_3_3;
    default:
        return NULL;
    }
}

/* "3.1.7"; 0 in the lower half: nothing like it. */
static uint32_t version_of(const struct wp_elf_file *file, const struct wp_interp_symbol *symbol)
{
    char text[8] = "", *end;
    unsigned long major, minor = 0;
    if (!symbol->address || !wp_interp_image_bytes(file, symbol->address, text, 5))
        return WP_INTERP_VERSION(WP_INTERP_RUBY, 0, 0);
    major = strtoul(text, &end, 10);
    if (*end == '.')
        minor = strtoul(end + 1, NULL, 10);
    return WP_INTERP_VERSION(WP_INTERP_RUBY, major & 255, minor & 255);
}

/* The section of that number, if it is of that type and can be read; NULL. */
static Elf_Scn *linked_section(Elf *elf, uint32_t number, uint32_t type, GElf_Shdr *header)
{
    Elf_Scn *section = elf_getscn(elf, number);
    if (!section || !gelf_getshdr(section, header) || header->sh_type != type || header->sh_flags & SHF_COMPRESSED ||
        header->sh_size > SECTION_BYTES)
        return NULL;
    return section;
}

static bool is_named(Elf *elf, const GElf_Shdr *relocations, uint64_t symbol, const char *wanted)
{
    GElf_Shdr header, strings;
    GElf_Sym found;
    Elf_Scn *section = linked_section(elf, relocations->sh_link, SHT_DYNSYM, &header);
    if (!section || !linked_section(elf, header.sh_link, SHT_STRTAB, &strings))
        return false;
    Elf_Data *table = elf_getdata(section, NULL);
    if (!table || symbol > INT32_MAX || !gelf_getsym(table, (int)symbol, &found))
        return false;
    const char *name = elf_strptr(elf, header.sh_link, found.st_name);
    return name && !strcmp(name, wanted);
}

/* Where the loader writes which of a thread's blocks of variables is the file's. */
struct variable {
    const char *name; /* NULL: that at `place` is meant, whatever it is called */
    uint64_t place;
};

/* And, behind that, where the variable is in the block. False: there is no such place. */
static bool find_variable(const struct wp_elf_file *file, struct variable *wanted)
{
    GElf_Shdr header;
    GElf_Rela relocation;
    Elf_Data *table = wp_elf_file_section(file, ".rela.dyn", SECTION_BYTES, &header);
    if (!table || header.sh_type != SHT_RELA)
        return false;
    for (int i = 0; (uint64_t)i < header.sh_size / sizeof(Elf64_Rela); i++) {
        if (!gelf_getrela(table, i, &relocation))
            return false;
        if (GELF_R_TYPE(relocation.r_info) != R_X86_64_DTPMOD64)
            continue;
        if (wanted->name ? is_named(file->elf, &header, GELF_R_SYM(relocation.r_info), wanted->name)
                         : relocation.r_offset == wanted->place) {
            wanted->place = relocation.r_offset;
            return true;
        }
    }
    return false;
}

/* lea rdi, [rip + disp32]: what is given to __tls_get_addr; 0: something else. */
static uint64_t argument_of(const uint8_t *code, size_t size, uint64_t end)
{
    int32_t distance;
    if (size != 7 || memcmp(code, "\x48\x8d\x3d", 3))
        return 0;
    memcpy(&distance, code + 3, sizeof(distance));
    return end + (uint64_t)(int64_t)distance;
}

/* mov rax, [rax + disp]: what is loaded of what that returns. */
static bool is_load(const uint8_t *code, size_t size, int32_t *at)
{
    bool is_move = size >= 3 && code[0] == 0x48 && code[1] == 0x8b;
    *at = 0;
    if (is_move && size == 7 && code[2] == 0x80)
        memcpy(at, code + 3, sizeof(*at));
    else if (is_move && size == 4 && code[2] == 0x40)
        *at = (int8_t)code[3];
    else
        return is_move && size == 3 && !code[2];
    return true;
}

/* A file that does not export the variable has a function that begins with reading it (rb_current_receiver of 3.3):
 * where that has it from. The code is hostile. */
static bool find_hidden(
    const struct wp_elf_file *file, const struct wp_interp_symbol *function, struct variable *found, int32_t *at)
{
    struct wp_x86_insn insn;
    uint8_t code[RECEIVER_BYTES];
    bool is_called = false;
    if (!function->address || !wp_interp_image_bytes(file, function->address, code, sizeof(code)))
        return false;
    *found = (struct variable){0};
    for (size_t i = 0; i < sizeof(code) && wp_x86_insn_read(&insn, code + i, sizeof(code) - i); i += insn.size) {
        uint64_t argument = argument_of(code + i, insn.size, function->address + i + insn.size);
        if (is_called)
            return is_load(code + i, insn.size, at) && *at >= 0 && *at < (int32_t)STATE_AT &&
                find_variable(file, found);
        is_called = insn.kind == WP_X86_CALL && found->place;
        found->place = argument ? argument : found->place;
    }
    return false;
}

static uint64_t find_state(const struct wp_elf_file *file, const struct wp_interp_symbol *found, uint16_t *at)
{
    GElf_Ehdr header;
    int32_t place = 0;
    struct variable state = {.name = STATE};
    if (!gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 ||
        (!find_variable(file, &state) && !find_hidden(file, &found[RECEIVER], &state, &place)))
        return 0;
    *at = (uint16_t)place;
    return state.place;
}

/* The function that calls the one that runs bytecode, by its name, or as the one that rb_iseq_eval ends with (vm_exec
 * of 3.3). False: there is none. */
static bool find_loop(const struct wp_elf_file *file, struct wp_interp_symbol *found, struct wp_code_part *inner)
{
    struct wp_interp_symbol *loop = &found[LOOP_FUNCTION];
    struct wp_code_part tail;
    if (loop->size) {
        if (!wp_code_part_callee(file, loop->address, loop->size, inner))
            *inner = (struct wp_code_part){0};
        return true;
    }
    if (!wp_code_part_tail(file, found[EVAL].address, found[EVAL].size, &tail) ||
        !wp_code_part_callee(file, tail.start, tail.end - tail.start, inner) ||
        wp_code_part_jumps(file, inner) < INSTRUCTIONS)
        return false;
    *loop = (struct wp_interp_symbol){tail.start, tail.end - tail.start};
    return true;
}

int wp_ruby_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    struct wp_interp_symbol found[WANTED];
    const struct wp_interp_symbol *loop = &found[LOOP_FUNCTION];
    struct wp_code_part inner;
    uint64_t shift;
    uint16_t state_at = 0;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 1}, found);
    if (!found[VERSION].address || !(loop->size || found[EVAL].size))
        return wp_error_set(err, -ENOENT, "no Ruby interpreter");
    *version = version_of(file, &found[VERSION]);
    const struct wp_ruby_offsets *known = wp_ruby_offsets(*version);
    uint64_t state = known ? find_state(file, found, &state_at) : 0;
    if (!state || !find_loop(file, found, &inner) || !wp_interp_image_shift(file, loop->address, &shift))
        return wp_error_set(
            err, -ENOTSUP, "Ruby %u.%u, or this build of it, is not known", *version >> 8 & 0xff, *version & 0xff);
    *out = (struct wp_interp_file){.runtime = state + shift, .ruby = *known, .version = *version};
    out->ruby.state_at = state_at;
    wp_interp_image_loop(file, loop, &found[COLD], shift, out);
    if (inner.end) {
        out->inner = inner.start + shift;
        out->inner_end = inner.end + shift;
    }
    return 0;
}
