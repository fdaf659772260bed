/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf_symbols.h"

#include "collector/elf_plt.h"
#include "common/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_LIMIT (4u << 20)
#define NAMES_LIMIT ((size_t)512 << 20)
#define SECTION_BYTES ((uint64_t)512 << 20)
#define NAME_BYTES 4095u /* what is cut cannot be demangled */
#define LOADS 64u
#define TABLES 4u /* a file has two at most */

struct symbol {
    uint64_t offset;      /* in the file */
    uint32_t size;        /* 0: up to the next one */
    uint32_t name;        /* in names */
    uint8_t rank;         /* of names for one place, lower is better */
};

struct load {
    uint64_t address, offset, size;
};

struct wp_elf_symbols {
    struct symbol *symbols;
    uint32_t count, room;
    struct wp_buffer names;
    struct load loads[LOADS];
    unsigned load_count;
};

void wp_elf_symbols_destroy(struct wp_elf_symbols *s)
{
    if (!s)
        return;
    free(s->symbols);
    wp_buffer_fini(&s->names);
    free(s);
}

static void read_loads(struct wp_elf_symbols *s, Elf *elf)
{
    size_t count = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count && i < 4096 && s->load_count < LOADS; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD)
            s->loads[s->load_count++] = (struct load){header.p_vaddr, header.p_offset, header.p_filesz};
    }
}

static bool to_offset(const struct wp_elf_symbols *s, uint64_t address, uint64_t *offset)
{
    for (unsigned i = 0; i < s->load_count; i++)
        if (address >= s->loads[i].address && address - s->loads[i].address < s->loads[i].size) {
            *offset = address - s->loads[i].address + s->loads[i].offset;
            return true;
        }
    return false;
}

/* Of several names for one place: global before weak before local, then fewer underscores in front. */
static uint8_t rank_of(const char *name, unsigned binding)
{
    unsigned rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 64 : 128, underscores = 0;
    while (name[underscores] == '_' && underscores < 63)
        underscores++;
    return (uint8_t)(rank + underscores);
}

/* What is beyond the limits is left out. */
static int add(struct wp_elf_symbols *s, uint64_t address, uint64_t size, uint8_t rank, const char *name)
{
    struct symbol made = {.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, .rank = rank};
    if (s->count >= SYMBOLS_LIMIT || s->names.size >= NAMES_LIMIT || !to_offset(s, address, &made.offset))
        return 0;
    if (s->count == s->room) {
        uint32_t room = s->room ? s->room * 2 : 1024;
        struct symbol *symbols = realloc(s->symbols, room * sizeof(*symbols));
        if (!symbols)
            return -ENOMEM;
        s->symbols = symbols;
        s->room = room;
    }
    made.name = (uint32_t)s->names.size;
    wp_buffer_append(&s->names, name, strnlen(name, NAME_BYTES));
    wp_buffer_append(&s->names, "", 1);
    s->symbols[s->count++] = made;
    return s->names.failed ? -ENOMEM : 0;
}

static int add_stub(void *context, uint64_t address, uint64_t size, const char *name)
{
    return add(context, address, size, UINT8_MAX, name); /* a real function there would be better */
}

/* A table or its names; nobody compresses these, and a section may claim any size. */
static bool is_readable(const GElf_Shdr *header)
{
    return !(header->sh_flags & SHF_COMPRESSED) && header->sh_size <= SECTION_BYTES;
}

static int read_table(struct wp_elf_symbols *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Shdr names;
    if (!is_readable(header) || !header->sh_entsize || !gelf_getshdr(elf_getscn(elf, header->sh_link), &names) ||
        !is_readable(&names))
        return 0;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data)
        return 0;
    size_t count = data->d_size / header->sh_entsize;
    int rc = 0;
    for (size_t i = 0; !rc && i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        unsigned type = GELF_ST_TYPE(symbol.st_info);
        const char *name = type == STT_FUNC || type == STT_GNU_IFUNC ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
        if (name && *name)
            rc = add(s, symbol.st_value, symbol.st_size, rank_of(name, GELF_ST_BIND(symbol.st_info)), name);
    }
    return rc;
}

static int read_tables(struct wp_elf_symbols *s, Elf *elf, bool *has_full)
{
    Elf_Scn *section = NULL;
    unsigned tables = 0;
    int rc = 0;
    while (!rc && tables < TABLES && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        *has_full = *has_full || header.sh_type == SHT_SYMTAB;
        rc = read_table(s, elf, section, &header);
        tables++;
    }
    return rc;
}

static int by_place(const void *x, const void *y)
{
    const struct symbol *a = x, *b = y;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : a->name < b->name ? -1 : a->name > b->name;
}

static void settle(struct wp_elf_symbols *s)
{
    uint32_t kept = 0;
    if (s->count)
        qsort(s->symbols, s->count, sizeof(*s->symbols), by_place);
    for (uint32_t i = 0; i < s->count; i++) {
        if (kept && s->symbols[kept - 1].offset == s->symbols[i].offset) {
            if (!s->symbols[kept - 1].size) /* a label of no size and a function at one place */
                s->symbols[kept - 1].size = s->symbols[i].size;
            continue;
        }
        s->symbols[kept++] = s->symbols[i];
    }
    s->count = kept;
}

/* The full table is often not in the file: Debian puts it into a separate file, Fedora into a section of its own. */
static int read_all(struct wp_elf_symbols *s, const struct wp_elf_file *file, const struct wp_elf_file *separate)
{
    struct wp_elf_file mini;
    bool has_full = false;
    int rc = read_tables(s, file->elf, &has_full);
    if (!rc && !has_full && separate)
        rc = read_tables(s, separate->elf, &has_full);
    if (!rc && !has_full && !wp_elf_file_open_mini(&mini, file)) {
        rc = read_tables(s, mini.elf, &has_full);
        wp_elf_file_close(&mini);
    }
    return rc ? rc : wp_elf_plt_read(file, add_stub, s);
}

int wp_elf_symbols_read(struct wp_elf_symbols **symbols, const struct wp_elf_file *file, const struct wp_elf_file *separate,
    struct wp_error *err)
{
    struct wp_elf_symbols *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory for functions");
    read_loads(s, file->elf);
    int rc = read_all(s, file, separate);
    if (rc) {
        wp_elf_symbols_destroy(s);
        return wp_error_set(err, rc, "too many functions for the memory");
    }
    settle(s);
    *symbols = s;
    return 0;
}

bool wp_elf_symbols_address(const struct wp_elf_symbols *s, uint64_t offset, uint64_t *address)
{
    for (unsigned i = 0; i < s->load_count; i++)
        if (offset >= s->loads[i].offset && offset - s->loads[i].offset < s->loads[i].size) {
            *address = offset - s->loads[i].offset + s->loads[i].address;
            return true;
        }
    return false;
}

const char *wp_elf_symbols_find(const struct wp_elf_symbols *s, uint64_t offset)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->symbols[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    const struct symbol *symbol = &s->symbols[low - 1];
    if (symbol->size && offset - symbol->offset >= symbol->size)
        return NULL;
    return (const char *)s->names.data + symbol->name;
}

uint32_t wp_elf_symbols_count(const struct wp_elf_symbols *s)
{
    return s->count;
}
