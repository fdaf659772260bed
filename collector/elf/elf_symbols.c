/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/elf_symbols.h"

#include "collector/elf/code_extent.h"
#include "collector/elf/elf_go.h"
#include "collector/elf/elf_plt.h"
#include "collector/elf/gvl_code.h"
#include "common/array.h"
#include "common/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_LIMIT (4u << 20)
#define NAMES_LIMIT ((size_t)512 << 20)
#define SECTION_BYTES ((uint64_t)512 << 20)
#define CODE_BYTES ((size_t)64 << 20) /* of a file whose functions' ends are looked for */
#define LOOKED_AT ((size_t)32 << 20)  /* of it, in all: many symbols may begin at the same code */
#define NAME_BYTES 4095u              /* what is cut cannot be demangled */
#define LOADS 64u
#define TABLES 4u       /* a file has two at most */
#define ENTRY_BYTES 48u /* of _start, which glibc and musl write by hand: up to 38 on x86-64 */
#define LABEL_RANK 254u /* what has no type says the least of all symbols, and still more than a stub */

struct symbol {
    uint64_t offset; /* in the file */
    uint32_t size;   /* 0: up to the next one */
    uint32_t name;   /* in names */
    uint8_t rank;    /* of names for one place, lower is better */
    bool is_label;   /* hand-written code whose author gave it no type: it may be inside of a function */
};

struct load {
    uint64_t address, offset, size, memory;
    bool is_data; /* it may be written */
};

struct list {
    struct symbol *symbols; /* owned */
    uint32_t count, room;
};

struct wp_elf_symbols {
    struct list functions;
    struct list data; /* by address: what begins as zeros is not in the file */
    struct wp_buffer names;
    struct load loads[LOADS];
    unsigned load_count;
};

void wp_elf_symbols_destroy(struct wp_elf_symbols *s)
{
    if (!s)
        return;
    free(s->functions.symbols);
    free(s->data.symbols);
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
            s->loads[s->load_count++] =
                (struct load){header.p_vaddr, header.p_offset, header.p_filesz, header.p_memsz, header.p_flags & PF_W};
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

static bool is_data(const struct wp_elf_symbols *s, uint64_t address)
{
    for (unsigned i = 0; i < s->load_count; i++)
        if (s->loads[i].is_data && address - s->loads[i].address < s->loads[i].memory)
            return true;
    return false;
}

/* What is beyond the limits is left out. */
static int add(struct wp_elf_symbols *s, struct list *list, struct symbol made, const char *name)
{
    if (s->functions.count + s->data.count >= SYMBOLS_LIMIT || s->names.size >= NAMES_LIMIT)
        return 0;
    if (WP_ARRAY_FIT(list->symbols, list->room, list->count + 1))
        return -ENOMEM;
    made.name = (uint32_t)s->names.size;
    wp_buffer_append(&s->names, name, strnlen(name, NAME_BYTES));
    wp_buffer_append(&s->names, "", 1);
    list->symbols[list->count++] = made;
    return s->names.failed ? -ENOMEM : 0;
}

static int add_function(struct wp_elf_symbols *s, uint64_t address, uint64_t size, uint8_t rank, const char *name)
{
    struct symbol made = {.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, .rank = rank};
    return to_offset(s, address, &made.offset) ? add(s, &s->functions, made, name) : 0;
}

static int add_stub(void *context, uint64_t address, uint64_t size, const char *name)
{
    return add_function(context, address, size, UINT8_MAX, name); /* a real function there would be better */
}

static int add_go(void *context, uint64_t address, uint64_t size, const char *name)
{
    return add_function(context, address, size, 0, name);
}

/* Where a label's section ends: code, as far as is known, up to there or to the next symbol. 0: it is in no code. */
static uint64_t end_of_code(Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr section;
    if (symbol->st_shndx >= SHN_LORESERVE || !gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) ||
        !(section.sh_flags & SHF_EXECINSTR) || symbol->st_value < section.sh_addr ||
        symbol->st_value - section.sh_addr >= section.sh_size)
        return 0;
    return section.sh_addr + section.sh_size;
}

static int add_label(struct wp_elf_symbols *s, Elf *elf, const GElf_Sym *symbol, const char *name)
{
    uint64_t end = *name == '$' || *name == '.' ? 0 : end_of_code(elf, symbol); /* "$x", ".L1": the assembler's own */
    struct symbol made = {.rank = LABEL_RANK, .is_label = true};
    if (!end || !to_offset(s, symbol->st_value, &made.offset))
        return 0;
    made.size = end - symbol->st_value > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - symbol->st_value);
    return add(s, &s->functions, made, name);
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
        bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
        bool is_variable =
            type == STT_OBJECT && symbol.st_size && symbol.st_size <= UINT32_MAX && is_data(s, symbol.st_value);
        bool is_label = type == STT_NOTYPE;
        const char *name =
            is_function || is_variable || is_label ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
        if (!name || !*name)
            continue;
        if (is_label) {
            rc = add_label(s, elf, &symbol, name);
            continue;
        }
        uint8_t rank = rank_of(name, GELF_ST_BIND(symbol.st_info));
        rc = is_function
            ? add_function(s, symbol.st_value, symbol.st_size, rank, name)
            : add(s, &s->data,
                  (struct symbol){.offset = symbol.st_value, .size = (uint32_t)symbol.st_size, .rank = rank}, name);
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

static void settle(struct list *list)
{
    uint32_t kept = 0;
    uint64_t end = 0; /* of the functions so far that say how large they are */
    if (list->count)
        qsort(list->symbols, list->count, sizeof(*list->symbols), by_place);
    for (uint32_t i = 0; i < list->count; i++) {
        if (kept && list->symbols[kept - 1].offset == list->symbols[i].offset) {
            if (!list->symbols[kept - 1].size) /* one of no size and a function at one place */
                list->symbols[kept - 1].size = list->symbols[i].size;
            continue;
        }
        if (list->symbols[i].is_label && list->symbols[i].offset < end)
            continue; /* a place to jump to */
        if (!list->symbols[i].is_label && list->symbols[i].offset + list->symbols[i].size > end)
            end = list->symbols[i].offset + list->symbols[i].size;
        list->symbols[kept++] = list->symbols[i];
    }
    list->count = kept;
}

/* The linker of programs has no name for us to know it by but its own. */
static bool is_dynamic_linker(const struct wp_elf_file *file)
{
    GElf_Shdr header;
    Elf_Data *data = wp_elf_file_section(file, ".dynamic", SECTION_BYTES, &header);
    GElf_Dyn entry;
    for (int i = 0; data && i < 256 && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_SONAME) {
            const char *name = elf_strptr(file->elf, header.sh_link, entry.d_un.d_val);
            return name && !strncmp(name, "ld", 2) && strstr(name, ".so");
        }
    return false;
}

static bool is_program(const struct wp_elf_file *file)
{
    GElf_Ehdr elf;
    GElf_Shdr header;
    GElf_Phdr segment;
    size_t count = 0;
    if (!gelf_getehdr(file->elf, &elf))
        return false;
    if (elf.e_type == ET_EXEC)
        return true;
    elf_getphdrnum(file->elf, &count);
    for (size_t i = 0; i < count && i < 4096; i++)
        if (gelf_getphdr(file->elf, (int)i, &segment) && segment.p_type == PT_INTERP)
            return true;
    Elf_Data *data = wp_elf_file_section(file, ".dynamic", SECTION_BYTES, &header);
    GElf_Dyn entry;
    for (int i = 0; data && i < 256 && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE)
            return true;
    return is_dynamic_linker(file);
}

/* Stripped programs do not say what they begin with, and nearly all stacks end there. A symbol at or behind it is
 * better. */
static int add_entry(struct wp_elf_symbols *s, const struct wp_elf_file *file)
{
    GElf_Ehdr elf;
    struct symbol made = {.size = ENTRY_BYTES, .rank = UINT8_MAX, .is_label = true};
    if (!is_program(file) || !gelf_getehdr(file->elf, &elf) || !to_offset(s, elf.e_entry, &made.offset))
        return 0;
    return add(s, &s->functions, made, "_start");
}

/* What follows in a stripped file may be of functions that have no name any more. */
static void end_unsized(struct wp_elf_symbols *s, const struct wp_elf_file *file)
{
    GElf_Ehdr elf;
    GElf_Shdr header;
    size_t left = LOOKED_AT;
    Elf_Data *code = wp_elf_file_section(file, ".text", CODE_BYTES, &header);
    if (!code || !code->d_buf || !gelf_getehdr(file->elf, &elf) || elf.e_machine != EM_X86_64)
        return;
    for (uint32_t i = 0; i < s->functions.count && left >= WP_CODE_EXTENT_BYTES; i++) {
        struct symbol *f = &s->functions.symbols[i];
        if (f->size || f->offset < header.sh_offset || f->offset - header.sh_offset >= code->d_size)
            continue;
        f->size = (uint32_t)wp_code_extent((const uint8_t *)code->d_buf + (f->offset - header.sh_offset),
            code->d_size - (f->offset - header.sh_offset));
        left -= f->size ? f->size : WP_CODE_EXTENT_BYTES;
    }
}

static uint64_t address_of(const struct wp_elf_symbols *s, const char *name, uint32_t *size)
{
    uint64_t address = 0;
    for (uint32_t i = 0; i < s->functions.count && !address; i++) {
        const struct symbol *f = &s->functions.symbols[i];
        if (!strcmp((const char *)s->names.data + f->name, name) && wp_elf_symbols_address(s, f->offset, &address))
            *size = f->size;
    }
    return address;
}

/* Names for what waits for CRuby's lock, or, since 3.3 does not export it, for what yields it. */
static int add_gvl(struct wp_elf_symbols *s, const struct wp_elf_file *file)
{
    static const char yield[] = "rb_threadptr_execute_interrupts";
    uint32_t size = 0, other_size;
    bool is_told = address_of(s, yield, &other_size);
    uint64_t caller = address_of(s, is_told ? "rb_thread_call_with_gvl" : "rb_thread_check_ints", &size), address;
    size_t bytes;
    GElf_Ehdr elf;
    GElf_Shdr header;
    Elf_Data *code = caller ? wp_elf_file_section(file, ".text", CODE_BYTES, &header) : NULL;
    if (!code || !code->d_buf || !gelf_getehdr(file->elf, &elf) || elf.e_machine != EM_X86_64)
        return 0;
    const struct wp_gvl_search search = {code->d_buf, code->d_size, header.sh_addr, caller, size,
        {address_of(s, "rb_native_cond_wait", &other_size), address_of(s, "rb_native_cond_wait@plt", &other_size)}};
    bool is_found =
        is_told ? wp_gvl_code_find(&search, &address, &bytes) : wp_gvl_code_yield(&search, &address, &bytes);
    return is_found ? add_function(s, address, bytes, UINT8_MAX, is_told ? "gvl_acquire" : yield) : 0;
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
    if (!rc && !has_full) {
        end_unsized(s, file);
        rc = wp_elf_go_functions(file->elf, add_go, s);
    }
    if (!rc)
        rc = add_entry(s, file);
    if (!rc)
        rc = wp_elf_plt_read(file, add_stub, s);
    return rc || has_full ? rc : add_gvl(s, file);
}

int wp_elf_symbols_read(struct wp_elf_symbols **symbols, const struct wp_elf_file *file,
    const struct wp_elf_file *separate, struct wp_error *err)
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
    settle(&s->functions);
    settle(&s->data);
    *symbols = s;
    return 0;
}

static size_t name_bytes(const struct wp_elf_symbols *s, const struct list *list)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < list->count; i++)
        bytes += strlen((const char *)s->names.data + list->symbols[i].name) + 1;
    return bytes;
}

/* Its names go to `names`, from there on. Returns where they end. */
static size_t move_names(const struct wp_elf_symbols *s, struct list *list, char *names, size_t at)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = (const char *)s->names.data + list->symbols[i].name;
        size_t bytes = strlen(name) + 1;
        memcpy(names + at, name, bytes);
        list->symbols[i].name = (uint32_t)at;
        at += bytes;
    }
    return at;
}

/* Most symbols of a file that exports them stand in both its tables. */
void wp_elf_symbols_trim(struct wp_elf_symbols *s)
{
    size_t bytes = name_bytes(s, &s->functions) + name_bytes(s, &s->data);
    char *names = malloc(bytes + 1);
    if (!names)
        return;
    size_t used = move_names(s, &s->functions, names, 0);
    used = move_names(s, &s->data, names, used);
    free(s->names.data);
    s->names.data = (uint8_t *)names;
    s->names.size = used;
    s->names.capacity = bytes + 1;
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

bool wp_elf_symbols_data_address(const struct wp_elf_symbols *s, uint64_t offset, uint64_t *address)
{
    for (unsigned i = 0; i < s->load_count; i++)
        if (s->loads[i].is_data && offset >= s->loads[i].offset && offset - s->loads[i].offset < s->loads[i].memory) {
            *address = offset - s->loads[i].offset + s->loads[i].address;
            return true;
        }
    return false;
}

/* The last one that begins at or before the place and does not end before it. */
static const struct symbol *find(const struct list *list, uint64_t place)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, list->count, list->symbols[middle].offset <= place);
    const struct symbol *symbol = low ? &list->symbols[low - 1] : NULL;
    return symbol && symbol->size && place - symbol->offset >= symbol->size ? NULL : symbol;
}

const char *wp_elf_symbols_find(const struct wp_elf_symbols *s, uint64_t offset)
{
    const struct symbol *symbol = find(&s->functions, offset);
    return symbol ? (const char *)s->names.data + symbol->name : NULL;
}

const char *wp_elf_symbols_data(const struct wp_elf_symbols *s, uint64_t address, struct wp_elf_place *place)
{
    const struct symbol *symbol = find(&s->data, address);
    if (!symbol)
        return NULL;
    *place = (struct wp_elf_place){address - symbol->offset, symbol->size};
    return (const char *)s->names.data + symbol->name;
}

uint32_t wp_elf_symbols_count(const struct wp_elf_symbols *s)
{
    return s->functions.count;
}

size_t wp_elf_symbols_bytes(const struct wp_elf_symbols *s)
{
    return sizeof(*s) + ((size_t)s->functions.room + s->data.room) * sizeof(struct symbol) + s->names.capacity;
}

/* As it is kept: counts, loads, functions, data, names. */
struct kept_counts {
    uint32_t loads, functions, data, names;
};

struct kept_symbol {
    uint64_t offset;
    uint32_t size, name;
};

struct kept_load {
    uint64_t address, offset, size, memory, is_data;
};

static void encode_list(const struct list *list, struct wp_buffer *out)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct symbol *symbol = &list->symbols[i];
        const struct kept_symbol kept = {symbol->offset, symbol->size, symbol->name};
        wp_buffer_append(out, &kept, sizeof(kept));
    }
}

int wp_elf_symbols_encode(const struct wp_elf_symbols *s, struct wp_buffer *out)
{
    const struct kept_counts counts = {s->load_count, s->functions.count, s->data.count, (uint32_t)s->names.size};
    wp_buffer_append(out, &counts, sizeof(counts));
    for (unsigned i = 0; i < s->load_count; i++) {
        const struct load *load = &s->loads[i];
        const struct kept_load kept = {load->address, load->offset, load->size, load->memory, load->is_data};
        wp_buffer_append(out, &kept, sizeof(kept));
    }
    encode_list(&s->functions, out);
    encode_list(&s->data, out);
    wp_buffer_append(out, s->names.data, s->names.size);
    return out->failed ? -ENOMEM : 0;
}

/* In their order, each with a name among so many bytes. */
static int decode_list(struct list *list, const uint8_t *at, uint32_t count, uint32_t names)
{
    if (count && WP_ARRAY_FIT(list->symbols, list->room, count))
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++, at += sizeof(struct kept_symbol)) {
        struct kept_symbol kept;
        memcpy(&kept, at, sizeof(kept));
        if (kept.name >= names || (i && kept.offset < list->symbols[i - 1].offset))
            return -EINVAL;
        list->symbols[i] = (struct symbol){.offset = kept.offset, .size = kept.size, .name = kept.name};
    }
    list->count = count;
    return 0;
}

static int decode_all(struct wp_elf_symbols *s, const struct kept_counts *counts, const uint8_t *at)
{
    for (unsigned i = 0; i < counts->loads; i++, at += sizeof(struct kept_load)) {
        struct kept_load kept;
        memcpy(&kept, at, sizeof(kept));
        s->loads[i] = (struct load){kept.address, kept.offset, kept.size, kept.memory, kept.is_data != 0};
    }
    s->load_count = counts->loads;
    const uint8_t *data = at + counts->functions * sizeof(struct kept_symbol);
    const uint8_t *names = data + counts->data * sizeof(struct kept_symbol);
    int rc = decode_list(&s->functions, at, counts->functions, counts->names);
    if (!rc)
        rc = decode_list(&s->data, data, counts->data, counts->names);
    if (!rc && counts->names && names[counts->names - 1])
        rc = -EINVAL;
    return rc ? rc : wp_buffer_append(&s->names, names, counts->names);
}

int wp_elf_symbols_decode(struct wp_elf_symbols **symbols, const uint8_t *bytes, size_t size)
{
    struct kept_counts counts;
    if (size < sizeof(counts))
        return -EINVAL;
    memcpy(&counts, bytes, sizeof(counts));
    if (counts.loads > LOADS || counts.functions > SYMBOLS_LIMIT || counts.data > SYMBOLS_LIMIT ||
        size - sizeof(counts) !=
            counts.loads * sizeof(struct kept_load) +
                ((size_t)counts.functions + counts.data) * sizeof(struct kept_symbol) + counts.names)
        return -EINVAL;
    struct wp_elf_symbols *s = calloc(1, sizeof(*s));
    int rc = s ? decode_all(s, &counts, bytes + sizeof(counts)) : -ENOMEM;
    if (rc)
        wp_elf_symbols_destroy(s);
    else
        *symbols = s;
    return rc;
}
