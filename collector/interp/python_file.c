/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/python_file.h"

#include "collector/interp/cold_part.h"
#include "collector/interp/python_offsets.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SECTION_BYTES ((size_t)64 << 20) /* of a table of symbols, and of names in an interpreter ... */
#define OTHER_STRINGS ((size_t)16 << 20) /* ... and in a file of which it is not known whether it is one */
#define SYMBOLS (1 << 22)
#define LOOP "_PyEval_EvalFrameDefault"

enum { RUNTIME, CODE_TYPE, LOOP_FUNCTION, VERSION, SINCE_3_9, SINCE_3_10, COLD, WANTED };

struct symbol {
    uint64_t address, size;
};

struct symbols {
    struct symbol found[WANTED];
};

static const char *const names[WANTED] = {[RUNTIME] = "_PyRuntime",
    [CODE_TYPE] = "PyCode_Type",
    [LOOP_FUNCTION] = LOOP,
    [VERSION] = "Py_Version",
    [SINCE_3_9] = "PyFrame_GetBack",
    [SINCE_3_10] = "Py_NewRef",
    [COLD] = LOOP ".cold"};

static void take_symbol(struct symbols *symbols, const char *name, const GElf_Sym *symbol)
{
    for (unsigned i = 0; i < WANTED; i++) {
        size_t size = strlen(names[i]);
        bool is = i == COLD ? !strncmp(name, names[i], size) : !strcmp(name, names[i]);
        if (is && !symbols->found[i].address)
            symbols->found[i] = (struct symbol){symbol->st_value, symbol->st_size};
    }
}

/* Nobody compresses these, and a section may claim any size. */
static bool is_readable(const GElf_Shdr *header, size_t limit)
{
    return !(header->sh_flags & SHF_COMPRESSED) && header->sh_type != SHT_NOBITS && header->sh_size <= limit;
}

/* A table's names, when an interpreter's are among them; NULL: they are not. The last one has an end. */
static const Elf_Data *names_of(Elf *elf, const GElf_Shdr *table, size_t limit)
{
    static const char needle[] = "_PyRuntime";
    GElf_Shdr header;
    Elf_Scn *strings = elf_getscn(elf, table->sh_link);
    if (!strings || !gelf_getshdr(strings, &header) || !is_readable(&header, limit))
        return NULL;
    const Elf_Data *texts = elf_getdata(strings, NULL);
    if (!texts || !texts->d_buf || !texts->d_size || ((const char *)texts->d_buf)[texts->d_size - 1])
        return NULL;
    return memmem(texts->d_buf, texts->d_size, needle, sizeof(needle)) ? texts : NULL;
}

/* The table's names are looked at first: most files are no interpreters. */
static void read_table(struct symbols *symbols, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Sym symbol;
    bool is_likely = symbols->found[RUNTIME].address || header->sh_type == SHT_DYNSYM;
    if (!is_readable(header, SECTION_BYTES))
        return;
    const Elf_Data *texts = names_of(elf, header, is_likely ? SECTION_BYTES : OTHER_STRINGS);
    Elf_Data *table = texts ? elf_getdata(section, NULL) : NULL;
    for (int i = 0; table && i < SYMBOLS && gelf_getsym(table, i, &symbol); i++) {
        const char *name = symbol.st_name < texts->d_size ? (const char *)texts->d_buf + symbol.st_name : "";
        if (symbol.st_shndx != SHN_UNDEF && (*name == 'P' || *name == '_'))
            take_symbol(symbols, name, &symbol);
    }
}

/* The first table of a type: no file has another one (gABI, "Sections"). */
static void read_first(struct symbols *symbols, Elf *elf, GElf_Word type)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, &header) && header.sh_type == type) {
            read_table(symbols, elf, section, &header);
            return;
        }
}

static void read_symbols(struct symbols *symbols, Elf *elf)
{
    read_first(symbols, elf, SHT_DYNSYM);
    read_first(symbols, elf, SHT_SYMTAB);
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

static bool read_at(const struct wp_elf_file *file, uint64_t address, void *bytes, size_t size)
{
    GElf_Phdr segment;
    if (!find_segment(file->elf, address, &segment) || segment.p_filesz - (address - segment.p_vaddr) < size)
        return false;
    return pread(file->fd, bytes, size, (off_t)(segment.p_offset + (address - segment.p_vaddr))) == (ssize_t)size;
}

/* 3.11 and later say it; before that by what each version brought. 0: older. */
static uint32_t version_of(const struct wp_elf_file *file, const struct symbols *symbols)
{
    uint64_t hex;
    if (symbols->found[VERSION].address)
        return read_at(file, symbols->found[VERSION].address, &hex, sizeof(hex)) ? (uint32_t)(hex >> 16) & 0xffff : 0;
    return symbols->found[SINCE_3_10].address ? 0x030a : symbols->found[SINCE_3_9].address ? 0x0309 : 0;
}

static int find_offsets(
    const struct wp_elf_file *file, const struct symbols *symbols, struct wp_interp_file *out, struct wp_error *err)
{
    uint8_t own[WP_PYTHON_OWN_OFFSETS];
    const struct wp_interp_offsets *known = wp_python_offsets(out->version);
    if (known) {
        out->at = *known;
        return 0;
    }
    if (out->version > 0x030c && read_at(file, symbols->found[RUNTIME].address, own, sizeof(own)) &&
        wp_python_offsets_read(own, sizeof(own), &out->at, &out->version))
        return 0;
    return wp_error_set(
        err, -ENOTSUP, "CPython %u.%u, or this build of it, is not known", out->version >> 8, out->version & 0xff);
}

int wp_python_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    struct symbols symbols = {0};
    GElf_Phdr code;
    const struct symbol *found = symbols.found;
    read_symbols(&symbols, file->elf);
    if (!found[RUNTIME].address || !found[CODE_TYPE].address || !found[LOOP_FUNCTION].size ||
        !find_segment(file->elf, found[LOOP_FUNCTION].address, &code))
        return wp_error_set(err, -ENOENT, "no CPython interpreter");
    *out = (struct wp_interp_file){.version = version_of(file, &symbols)};
    int rc = find_offsets(file, &symbols, out, err);
    *version = out->version;
    if (rc)
        return rc;
    uint64_t shift = code.p_offset - code.p_vaddr;
    struct wp_cold_part cold = {found[COLD].address, found[COLD].address + found[COLD].size};
    if (!found[COLD].size)
        wp_cold_part_find(file, found[LOOP_FUNCTION].address, found[LOOP_FUNCTION].size, &cold);
    out->runtime = found[RUNTIME].address + shift;
    out->code_type = found[CODE_TYPE].address + shift;
    out->loop = found[LOOP_FUNCTION].address + shift;
    out->loop_end = out->loop + found[LOOP_FUNCTION].size;
    out->cold = cold.end > cold.start ? cold.start + shift : 0;
    out->cold_end = cold.end > cold.start ? cold.end + shift : 0;
    return 0;
}
