/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/ruby_file.h"

#include "collector/interp/code_part.h"
#include "collector/interp/interp_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOP "rb_vm_exec"
#define STATE "ruby_current_ec"
#define SECTION_BYTES ((uint64_t)64 << 20)

enum { LOOP_FUNCTION, VERSION, COLD, WANTED };

static const char *const names[WANTED] = {[LOOP_FUNCTION] = LOOP, [VERSION] = "ruby_version", [COLD] = LOOP ".cold"};

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

const struct wp_ruby_offsets *wp_ruby_offsets(uint32_t version)
{
    return version == WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 1) ? &ruby_3_1 : NULL;
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

/* Where the loader writes which of a thread's blocks of variables is the file's, and where the variable is in it; 0. */
static uint64_t find_variable(const struct wp_elf_file *file, const char *name)
{
    GElf_Shdr header;
    GElf_Rela relocation;
    Elf_Data *table = wp_elf_file_section(file, ".rela.dyn", SECTION_BYTES, &header);
    if (!table || header.sh_type != SHT_RELA)
        return 0;
    for (int i = 0; (uint64_t)i < header.sh_size / sizeof(Elf64_Rela); i++) {
        if (!gelf_getrela(table, i, &relocation))
            return 0;
        if (GELF_R_TYPE(relocation.r_info) == R_X86_64_DTPMOD64 &&
            is_named(file->elf, &header, GELF_R_SYM(relocation.r_info), name))
            return relocation.r_offset;
    }
    return 0;
}

static uint64_t find_state(const struct wp_elf_file *file)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64)
        return 0;
    return find_variable(file, STATE);
}

int wp_ruby_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    struct wp_interp_symbol found[WANTED];
    const struct wp_interp_symbol *loop = &found[LOOP_FUNCTION];
    struct wp_code_part inner;
    uint64_t shift;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 1}, found);
    if (!loop->size || !found[VERSION].address || !wp_interp_image_shift(file, loop->address, &shift))
        return wp_error_set(err, -ENOENT, "no Ruby interpreter");
    *version = version_of(file, &found[VERSION]);
    const struct wp_ruby_offsets *known = wp_ruby_offsets(*version);
    uint64_t state = known ? find_state(file) : 0;
    if (!known || !state)
        return wp_error_set(
            err, -ENOTSUP, "Ruby %u.%u, or this build of it, is not known", *version >> 8 & 0xff, *version & 0xff);
    *out = (struct wp_interp_file){.runtime = state + shift, .ruby = *known, .version = *version};
    wp_interp_image_loop(file, loop, &found[COLD], shift, out);
    if (wp_code_part_callee(file, loop->address, loop->size, &inner)) {
        out->inner = inner.start + shift;
        out->inner_end = inner.end + shift;
    }
    return 0;
}
