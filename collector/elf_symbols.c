/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf_symbols.h"

#include "common/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_LIMIT ((off_t)4 << 30)
#define SYMBOLS_LIMIT (4u << 20)
#define NAME_BYTES 4095u /* what is cut cannot be demangled */
#define LOADS 64u
#define NOTE_BYTES ((size_t)1 << 16)

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

/* NT_GNU_BUILD_ID of the notes; false when there is none. */
static bool find_build_id(Elf *elf, uint8_t *id, uint32_t *size)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        Elf_Data *data;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE || header.sh_size > NOTE_BYTES ||
            !(data = elf_getdata(section, NULL)))
            continue;
        GElf_Nhdr note;
        size_t name, content;
        for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &content)) > 0;)
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz && note.n_descsz <= 20 &&
                !memcmp((char *)data->d_buf + name, "GNU", 4)) {
                memcpy(id, (char *)data->d_buf + content, note.n_descsz);
                *size = note.n_descsz;
                return true;
            }
    }
    return false;
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

static int add_symbol(struct wp_elf_symbols *s, const GElf_Sym *symbol, const char *name)
{
    struct symbol made = {.size = symbol->st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)symbol->st_size,
        .rank = rank_of(name, GELF_ST_BIND(symbol->st_info))};
    if (!to_offset(s, symbol->st_value, &made.offset))
        return 0;
    if (s->count == s->room) {
        uint32_t room = s->room ? s->room * 2 : 1024;
        struct symbol *symbols = realloc(s->symbols, room * sizeof(*symbols));
        if (!symbols)
            return -ENOMEM;
        s->symbols = symbols;
        s->room = room;
    }
    if (s->names.size > UINT32_MAX - NAME_BYTES - 1)
        return -E2BIG;
    made.name = (uint32_t)s->names.size;
    wp_buffer_append(&s->names, name, strnlen(name, NAME_BYTES));
    wp_buffer_append(&s->names, "", 1);
    s->symbols[s->count++] = made;
    return s->names.failed ? -ENOMEM : 0;
}

static int read_table(struct wp_elf_symbols *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !header->sh_entsize)
        return 0;
    size_t count = data->d_size / header->sh_entsize;
    int rc = 0;
    for (size_t i = 0; !rc && i < count && i < INT32_MAX && s->count < SYMBOLS_LIMIT; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        unsigned type = GELF_ST_TYPE(symbol.st_info);
        const char *name = type == STT_FUNC || type == STT_GNU_IFUNC ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
        if (name && *name)
            rc = add_symbol(s, &symbol, name);
    }
    return rc;
}

static int read_tables(struct wp_elf_symbols *s, Elf *elf, bool *has_full)
{
    Elf_Scn *section = NULL;
    int rc = 0;
    while (!rc && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        *has_full = *has_full || header.sh_type == SHT_SYMTAB;
        rc = read_table(s, elf, section, &header);
    }
    return rc;
}

static int open_file(const char *path, struct wp_error *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot open '%s'", path);
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size > FILE_LIMIT) {
        close(fd);
        return wp_error_set(err, -ENOEXEC, "'%s' is no file that could hold functions", path);
    }
    return fd;
}

/* Distributions put the full table of a stripped file there (gdb's "separate debug files"); same build id, same addresses. */
static int read_separate(struct wp_elf_symbols *s, const uint8_t *id, uint32_t size)
{
    char path[128] = "/usr/lib/debug/.build-id/", *at = path + strlen(path);
    bool has_full;
    uint8_t found[20];
    uint32_t found_size = 0;
    if (size < 2)
        return 0;
    for (uint32_t i = 0; i < size; i++)
        at += sprintf(at, i == 0 ? "%02x/" : "%02x", id[i]);
    strcpy(at, ".debug");
    int rc = 0, fd = open_file(path, NULL);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    if (elf && find_build_id(elf, found, &found_size) && found_size == size && !memcmp(found, id, size))
        rc = read_tables(s, elf, &has_full);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
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

static int read_elf(struct wp_elf_symbols **symbols, Elf *elf, const uint8_t *wanted, uint32_t wanted_size, struct wp_error *err)
{
    uint8_t id[20];
    uint32_t id_size = 0;
    bool has_id = false, has_full = false;
    if (!elf || elf_kind(elf) != ELF_K_ELF)
        return wp_error_set(err, -ENOEXEC, "no ELF file");
    has_id = find_build_id(elf, id, &id_size);
    if (wanted_size && (!has_id || id_size != wanted_size || memcmp(id, wanted, id_size)))
        return wp_error_set(err, -ESTALE, "another build of the file");
    struct wp_elf_symbols *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory for functions");
    read_loads(s, elf);
    int rc = read_tables(s, elf, &has_full);
    if (!rc && has_id && !has_full)
        rc = read_separate(s, id, id_size);
    if (rc) {
        wp_elf_symbols_destroy(s);
        return wp_error_set(err, rc, "too many functions for the memory");
    }
    settle(s);
    *symbols = s;
    return 0;
}

int wp_elf_symbols_read(struct wp_elf_symbols **symbols, const char *path, const uint8_t *build_id, uint32_t build_id_size,
    struct wp_error *err)
{
    int fd = open_file(path, err);
    if (fd < 0)
        return fd;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    int rc = read_elf(symbols, elf, build_id, build_id_size, err);
    elf_end(elf);
    close(fd);
    return rc;
}

int wp_elf_symbols_parse(struct wp_elf_symbols **symbols, const void *image, size_t size, struct wp_error *err)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)image, size);
    int rc = read_elf(symbols, elf, NULL, 0, err);
    elf_end(elf);
    return rc;
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
