/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/elf_go.h"

#include <errno.h>
#include <string.h>

#define TABLE_BYTES ((uint64_t)512 << 20)
#define FUNCTIONS (4u << 20)
#define NAME_BYTES 4095u
#define STEPS (64u << 20) /* of all functions together: they may share their tables */
#define MAGIC_2 0xfffffffbu
#define MAGIC_16 0xfffffffau
#define MAGIC_18 0xfffffff0u
#define MAGIC_20 0xfffffff1u

/* What the layouts differ in. Places are from the table's beginning. */
struct table {
    const uint8_t *bytes;
    uint64_t size, functions;
    uint64_t list, list_base; /* entries; what their second number counts from */
    uint64_t names, text;     /* what names and (with short entries) addresses count from */
    unsigned pointer;         /* bytes of one */
    unsigned number;          /* bytes of a number in an entry: 4, or as a pointer */
    uint64_t steps;           /* what places of tables by pc count from */
    unsigned quantum;         /* bytes that a step of pc counts */
    bool is_placed;
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
    t->quantum = (unsigned)number_at(t, 6, 1);
    switch (magic) {
    case MAGIC_2:
        t->list = 8 + t->pointer;
        t->number = t->pointer;
        t->is_placed = true;
        break;
    case MAGIC_16:
        t->names = words[2];
        t->list = t->list_base = words[6];
        t->number = t->pointer;
        t->steps = words[5];
        t->is_placed = true;
        break;
    case MAGIC_18:
    case MAGIC_20:
        t->text = words[2] ? words[2] : text; /* of what is relocated the file may say nothing */
        t->names = words[3];
        t->steps = words[6];
        t->is_placed = words[2];
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

static int read_functions(
    const struct table *t, int (*add)(void *context, uint64_t address, uint64_t size, const char *name), void *context)
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

static bool find_table(Elf *elf, struct table *table)
{
    uint64_t text = 0;
    bool has_frames = false;
    Elf_Scn *section = NULL;
    size_t names;
    *table = (struct table){0};
    if (elf_getshdrstrndx(elf, &names))
        return false;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || header.sh_type == SHT_NOBITS || header.sh_flags & SHF_COMPRESSED)
            continue;
        if (!strcmp(name, ".text"))
            text = header.sh_addr;
        has_frames |= !strcmp(name, ".eh_frame"); /* of C: Go's own linker writes none */
        if (strcmp(name, ".gopclntab") && strcmp(name, ".data.rel.ro.gopclntab"))
            continue;
        Elf_Data *data = header.sh_size <= TABLE_BYTES ? elf_rawdata(section, NULL) : NULL;
        if (data && data->d_buf)
            *table = (struct table){.bytes = data->d_buf, .size = data->d_size};
    }
    bool is = table->bytes && open_table(table, text);
    table->is_placed |= !has_frames;
    return is;
}

int wp_elf_go_functions(
    Elf *elf, int (*add)(void *context, uint64_t address, uint64_t size, const char *name), void *context)
{
    struct table table;
    return find_table(elf, &table) ? read_functions(&table, add, context) : 0;
}

bool wp_elf_go_has(Elf *elf)
{
    struct table table;
    return find_table(elf, &table);
}

bool wp_elf_go_is_placed(Elf *elf)
{
    struct table table;
    return find_table(elf, &table) && table.is_placed;
}

/* A number of seven bits a byte; what is too long or beyond the end is 0, which ends a table. */
static uint32_t take_number(const struct table *t, uint64_t *at)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 35 && *at < t->size; shift += 7) {
        uint32_t byte = t->bytes[(*at)++];
        value |= (byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    return 0;
}

struct frames {
    bool (*wants)(void *context, uint64_t address);
    int (*add)(void *context, uint64_t address, int64_t frame);
    void *context;
    uint32_t steps;
};

/* One function's sp by pc (runtime/symtab.go, step, of Go): how far it is below where the caller's return address
 * stands. */
static int read_frames(const struct table *t, struct frames *f, uint64_t at, uint64_t begin, uint64_t end)
{
    int64_t distance = -1;
    int rc = 0;
    for (uint64_t pc = begin; !rc && pc < end;) {
        uint32_t change = take_number(t, &at);
        if (!change && pc != begin)
            break;
        distance += (int32_t)(change & 1 ? ~(change >> 1) : change >> 1);
        uint64_t step = (uint64_t)take_number(t, &at) * t->quantum;
        if (!step)
            break;
        if (f->steps++ == STEPS)
            return -E2BIG;
        rc = f->add(f->context, t->text + pc, distance < 0 ? -1 : distance + t->pointer);
        pc += step;
    }
    return rc ? rc : f->add(f->context, t->text + end, -1); /* until the next one begins */
}

int wp_elf_go_frames(Elf *elf, bool (*wants)(void *context, uint64_t address),
    int (*add)(void *context, uint64_t address, int64_t frame), void *context)
{
    struct table table, *t = &table;
    struct frames frames = {.wants = wants, .add = add, .context = context};
    int rc = 0;
    if (!find_table(elf, t) || !t->is_placed)
        return 0;
    for (uint64_t i = 0; !rc && i < t->functions; i++) {
        uint64_t at = t->list + i * 2 * t->number;
        uint64_t begin = number_at(t, at, t->number), end = number_at(t, at + 2 * t->number, t->number);
        uint64_t function = t->list_base + number_at(t, at + t->number, t->number);
        if (begin >= end || at + 3 * t->number > t->size)
            break;
        /* Its address, name, size of arguments and where deferred calls return come before the place of its sp by pc.
         */
        uint64_t steps = number_at(t, function + (t->number == 4 ? 4 : t->pointer) + 12, 4);
        if (steps && frames.wants(context, t->text + begin))
            rc = read_frames(t, &frames, t->steps + steps, begin, end);
    }
    return rc;
}
