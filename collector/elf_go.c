/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf_go.h"

#include <string.h>

#define TABLE_BYTES ((uint64_t)512 << 20)
#define FUNCTIONS (4u << 20)
#define NAME_BYTES 4095u
#define MAGIC_2 0xfffffffbu
#define MAGIC_16 0xfffffffau
#define MAGIC_18 0xfffffff0u
#define MAGIC_20 0xfffffff1u

/* What the layouts differ in. Places are from the table's beginning. */
struct table {
    const uint8_t *bytes;
    uint64_t size, functions;
    uint64_t list, list_base;   /* entries; what their second number counts from */
    uint64_t names, text;       /* what names and (with short entries) addresses count from */
    unsigned pointer;           /* bytes of one */
    unsigned number;            /* bytes of a number in an entry: 4, or as a pointer */
};

/* 0 beyond the end: nothing of it is believed without a check. */
static uint64_t number_at(const struct table *t, uint64_t at, unsigned bytes)
{
    uint64_t value = 0;
    if (at <= t->size && bytes <= t->size - at)
        memcpy(&value, t->bytes + at, bytes);
    return value;
}

static bool open_table(struct table *t, uint64_t text)
{
    uint32_t magic = (uint32_t)number_at(t, 0, 4);
    t->pointer = (unsigned)number_at(t, 7, 1);
    if ((t->pointer != 4 && t->pointer != 8) || number_at(t, 4, 2))
        return false;
    uint64_t words[8];
    for (unsigned i = 0; i < 8; i++)
        words[i] = number_at(t, 8 + (uint64_t)i * t->pointer, t->pointer);
    t->functions = words[0];
    switch (magic) {
    case MAGIC_2:
        t->list = 8 + t->pointer;
        t->number = t->pointer;
        break;
    case MAGIC_16:
        t->names = words[2];
        t->list = t->list_base = words[6];
        t->number = t->pointer;
        break;
    case MAGIC_18:
    case MAGIC_20:
        t->text = words[2] ? words[2] : text; /* of what is relocated the file may say nothing */
        t->names = words[3];
        t->list = t->list_base = words[7];
        t->number = 4;
        break;
    default:
        return false;
    }
    return t->functions && t->functions <= FUNCTIONS && t->list < t->size && t->names < t->size;
}

/* NULL: it does not end, or has no place in the table. */
static const char *name_of(const struct table *t, uint64_t function)
{
    unsigned entry = t->number == 4 ? 4 : t->pointer; /* the function begins with its address, then its name */
    uint64_t at = t->names + number_at(t, t->list_base + function + entry, 4);
    if (function >= t->size || at >= t->size)
        return NULL;
    const char *name = (const char *)t->bytes + at;
    size_t room = t->size - at < NAME_BYTES ? t->size - at : NAME_BYTES;
    return *name && memchr(name, 0, room) ? name : NULL;
}

static int read_functions(const struct table *t, int (*add)(void *context, uint64_t address, uint64_t size, const char *name), void *context)
{
    int rc = 0;
    for (uint64_t i = 0; !rc && i < t->functions; i++) {
        uint64_t at = t->list + i * 2 * t->number;
        uint64_t begin = number_at(t, at, t->number), end = number_at(t, at + 2 * t->number, t->number);
        const char *name = name_of(t, number_at(t, at + t->number, t->number));
        if (begin >= end || at + 3 * t->number > t->size)
            break;
        if (name)
            rc = add(context, t->text + begin, end - begin, name);
    }
    return rc;
}

int wp_elf_go_read(const struct wp_elf_file *file, int (*add)(void *context, uint64_t address, uint64_t size, const char *name),
    void *context)
{
    struct table table = {0};
    uint64_t text = 0;
    Elf_Scn *section = NULL;
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names))
        return 0;
    while ((section = elf_nextscn(file->elf, section))) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(file->elf, names, header.sh_name) : NULL;
        if (!name || header.sh_type == SHT_NOBITS || header.sh_flags & SHF_COMPRESSED)
            continue;
        if (!strcmp(name, ".text"))
            text = header.sh_addr;
        if (strcmp(name, ".gopclntab") && strcmp(name, ".data.rel.ro.gopclntab"))
            continue;
        Elf_Data *data = header.sh_size <= TABLE_BYTES ? elf_rawdata(section, NULL) : NULL;
        if (data && data->d_buf)
            table = (struct table){.bytes = data->d_buf, .size = data->d_size};
    }
    return table.bytes && open_table(&table, text) ? read_functions(&table, add, context) : 0;
}
