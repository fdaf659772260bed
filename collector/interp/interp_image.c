/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/interp_image.h"

#include "collector/interp/code_part.h"

#include <string.h>
#include <unistd.h>

#define SECTION_BYTES ((size_t)64 << 20) /* of a table of symbols, and of names in an interpreter ... */
#define OTHER_STRINGS ((size_t)16 << 20) /* ... and in a file of which it is not known whether it is one */
#define SYMBOLS (1 << 22)

static void keep_symbol(
    const struct wp_interp_search *search, struct wp_interp_symbol *found, const char *name, const GElf_Sym *symbol)
{
    for (unsigned i = 0; i < search->count; i++) {
        const char *wanted = search->names[i];
        bool is_prefix = i >= search->count - search->prefixes;
        bool is = is_prefix ? !strncmp(name, wanted, strlen(wanted)) : !strcmp(name, wanted);
        if (is && !found[i].address)
            found[i] = (struct wp_interp_symbol){symbol->st_value, symbol->st_size};
    }
}

/* Nobody compresses these, and a section may claim any size. */
static bool is_readable(const GElf_Shdr *header, size_t limit)
{
    return !(header->sh_flags & SHF_COMPRESSED) && header->sh_type != SHT_NOBITS && header->sh_size <= limit;
}

/* A table's names, when the interpreter's are among them; NULL: they are not. The last one has an end. */
static const Elf_Data *names_of(Elf *elf, const GElf_Shdr *table, const char *needle, size_t limit)
{
    GElf_Shdr header;
    Elf_Scn *strings = elf_getscn(elf, table->sh_link);
    if (!strings || !gelf_getshdr(strings, &header) || !is_readable(&header, limit))
        return NULL;
    const Elf_Data *texts = elf_getdata(strings, NULL);
    if (!texts || !texts->d_buf || !texts->d_size || ((const char *)texts->d_buf)[texts->d_size - 1])
        return NULL;
    return memmem(texts->d_buf, texts->d_size, needle, strlen(needle) + 1) ? texts : NULL;
}

/* The table's names are looked at first: most files are no interpreters. */
static void read_table(
    Elf *elf, Elf_Scn *section, const struct wp_interp_search *search, struct wp_interp_symbol *found)
{
    GElf_Shdr header;
    GElf_Sym symbol;
    if (!gelf_getshdr(section, &header) || !is_readable(&header, SECTION_BYTES))
        return;
    bool is_likely = found[0].address || header.sh_type == SHT_DYNSYM;
    const Elf_Data *texts = names_of(elf, &header, search->names[0], is_likely ? SECTION_BYTES : OTHER_STRINGS);
    Elf_Data *table = texts ? elf_getdata(section, NULL) : NULL;
    for (int i = 0; table && i < SYMBOLS && gelf_getsym(table, i, &symbol); i++) {
        const char *name = symbol.st_name < texts->d_size ? (const char *)texts->d_buf + symbol.st_name : "";
        if (symbol.st_shndx != SHN_UNDEF && *name)
            keep_symbol(search, found, name, &symbol);
    }
}

/* The first table of a type: no file has another one (gABI, "Sections"). */
static Elf_Scn *first_table(Elf *elf, GElf_Word type)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, &header) && header.sh_type == type)
            return section;
    return NULL;
}

void wp_interp_image_symbols(
    const struct wp_elf_file *file, const struct wp_interp_search *search, struct wp_interp_symbol *found)
{
    static const GElf_Word types[] = {SHT_DYNSYM, SHT_SYMTAB};
    memset(found, 0, search->count * sizeof(*found));
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        Elf_Scn *section = first_table(file->elf, types[i]);
        if (section)
            read_table(file->elf, section, search, found);
    }
}

/* The segment with an address; false: none is in the file. */
static bool find_segment(Elf *elf, uint64_t address, GElf_Phdr *segment)
{
    size_t count;
    if (elf_getphdrnum(elf, &count))
        return false;
    for (size_t i = 0; i < count && i < 256; i++)
        if (gelf_getphdr(elf, (int)i, segment) && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return true;
    return false;
}

bool wp_interp_image_bytes(const struct wp_elf_file *file, uint64_t address, void *bytes, size_t size)
{
    GElf_Phdr segment;
    if (!find_segment(file->elf, address, &segment) || segment.p_filesz - (address - segment.p_vaddr) < size)
        return false;
    return pread(file->fd, bytes, size, (off_t)(segment.p_offset + (address - segment.p_vaddr))) == (ssize_t)size;
}

void wp_interp_image_pointers(const struct wp_elf_file *file, uint64_t address, uint64_t *pointers, unsigned count)
{
    GElf_Shdr header;
    GElf_Rela relocation;
    Elf_Data *table = wp_elf_file_section(file, ".rela.dyn", SECTION_BYTES, &header);
    memset(pointers, 0, count * sizeof(*pointers));
    if (!table || header.sh_type != SHT_RELA)
        return;
    for (int i = 0; (uint64_t)i < header.sh_size / sizeof(Elf64_Rela) && gelf_getrela(table, i, &relocation); i++) {
        uint64_t place = (relocation.r_offset - address) / sizeof(*pointers);
        if (relocation.r_offset >= address && place < count && relocation.r_offset % sizeof(*pointers) == 0 &&
            GELF_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE)
            pointers[place] = (uint64_t)relocation.r_addend;
    }
}

bool wp_interp_image_shift(const struct wp_elf_file *file, uint64_t code, uint64_t *shift)
{
    GElf_Phdr segment;
    if (!find_segment(file->elf, code, &segment))
        return false;
    *shift = segment.p_offset - segment.p_vaddr;
    return true;
}

void wp_interp_image_loop(const struct wp_elf_file *file, const struct wp_interp_symbol *loop,
    const struct wp_interp_symbol *cold, uint64_t shift, struct wp_interp_file *out)
{
    struct wp_code_part part = {cold->address, cold->address + cold->size};
    if (!cold->size)
        wp_code_part_cold(file, loop->address, loop->size, &part);
    out->loop = loop->address + shift;
    out->loop_end = out->loop + loop->size;
    out->cold = part.end > part.start ? part.start + shift : 0;
    out->cold_end = part.end > part.start ? part.end + shift : 0;
}
