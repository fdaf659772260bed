/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/debug_lines.h"

#include "common/array.h"
#include "common/clock.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNITS_LIMIT (1u << 20)
#define RANGES_LIMIT (4u << 20)
#define NESTING 32u                     /* of namespaces and classes around a function, and of blocks in it */
#define VISITS 200000u                  /* entries looked at for one address */
#define PATH_BYTES 1024u                /* a longer one stays as the debug info has it */
#define CPU_LIMIT_NS (10 * WP_NS_PER_S) /* that one object may cost; then it has no lines any more */

struct range {
    uint64_t start, end;
    Dwarf_Off entry;
};

struct ranges {
    struct range *items; /* owned; sorted by start */
    uint32_t count, room;
};

struct unit {
    Dwarf_Off entry;
    struct ranges functions;
    bool has_looked;
};

struct wp_debug_lines {
    Dwarf *dwarf;
    uint64_t bytes, spent_ns;
    struct ranges places; /* -> index of the unit */
    struct unit *units;
    uint32_t unit_count, unit_room;
    const unsigned char *info, *info_end;     /* .debug_info as libdw has it, which has texts of its own; borrowed */
    char paths[WP_INLINE_LEVELS][PATH_BYTES]; /* of the last answer */
};

void wp_debug_lines_close(struct wp_debug_lines *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->unit_count; i++)
        free(l->units[i].functions.items);
    free(l->units);
    free(l->places.items);
    dwarf_end(l->dwarf);
    free(l);
}

/* Of all that libdw will read at once, as it will lie in memory; UINT64_MAX when that cannot be known. */
static uint64_t debug_bytes(const struct wp_elf_file *f, bool *has_info)
{
    size_t names;
    uint64_t bytes = 0;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(f->elf, &names))
        return UINT64_MAX;
    while ((section = elf_nextscn(f->elf, section))) {
        GElf_Shdr header;
        GElf_Chdr compressed;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(f->elf, names, header.sh_name) : NULL;
        if (!name || header.sh_type == SHT_NOBITS || !strstr(name, "debug_"))
            continue;
        if (!strncmp(name, ".zdebug_", 8))
            return UINT64_MAX; /* an old form of compression that tells its size only inside */
        uint64_t size = header.sh_size;
        if (header.sh_flags & SHF_COMPRESSED)
            size = gelf_getchdr(section, &compressed) ? compressed.ch_size : UINT64_MAX;
        if (size > UINT64_MAX - bytes)
            return UINT64_MAX;
        bytes += size;
        *has_info = *has_info || !strcmp(name, ".debug_info");
    }
    return bytes;
}

static int add_range(struct ranges *r, uint64_t start, uint64_t end, Dwarf_Off entry)
{
    if (start >= end || r->count >= RANGES_LIMIT)
        return 0;
    if (WP_ARRAY_FIT(r->items, r->room, r->count + 1))
        return -ENOMEM;
    r->items[r->count++] = (struct range){start, end, entry};
    return 0;
}

static int add_ranges(struct ranges *r, Dwarf_Die *die, Dwarf_Off entry)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    int rc = 0;
    for (unsigned i = 0; !rc && i < 65536 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0; i++)
        if (start) /* what the linker dropped stands at 0 */
            rc = add_range(r, start, end, entry);
    return rc;
}

static int by_start(const void *x, const void *y)
{
    const struct range *a = x, *b = y;
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->end < b->end ? -1 : a->end > b->end;
}

static const struct range *find_range(const struct ranges *r, uint64_t address)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, r->count, r->items[middle].start <= address);
    return low && address < r->items[low - 1].end ? &r->items[low - 1] : NULL;
}

static int list_units(struct wp_debug_lines *l)
{
    Dwarf_Off at = 0, next;
    size_t header;
    int rc = 0;
    for (; !rc && l->unit_count < UNITS_LIMIT && !dwarf_nextcu(l->dwarf, at, &next, &header, NULL, NULL, NULL);
         at = next) {
        Dwarf_Die die;
        if (next <= at)
            break;
        if (!dwarf_offdie(l->dwarf, at + header, &die) || dwarf_tag(&die) != DW_TAG_compile_unit)
            continue;
        if (WP_ARRAY_FIT(l->units, l->unit_room, l->unit_count + 1))
            return -ENOMEM;
        rc = add_ranges(&l->places, &die, l->unit_count);
        l->units[l->unit_count++] = (struct unit){.entry = at + header};
    }
    if (l->places.count)
        qsort(l->places.items, l->places.count, sizeof(*l->places.items), by_start);
    return rc;
}

static bool is_of_texts(const char *name)
{
    return (!strncmp(name, ".debug_str", 10) && strncmp(name, ".debug_str_offsets", 18)) ||
        !strncmp(name, ".debug_line_str", 15);
}

/* libdw 0.188 looks at where a text begins, and not at whether it ends: a section of texts must. */
static bool find_texts(struct wp_debug_lines *l, const struct wp_elf_file *f)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(f->elf, &names))
        return false;
    while ((section = elf_nextscn(f->elf, section))) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(f->elf, names, header.sh_name) : NULL;
        bool is_info = name && !strcmp(name, ".debug_info");
        const Elf_Data *data = is_info || (name && is_of_texts(name)) ? elf_getdata(section, NULL) : NULL;
        if (!data || !data->d_buf || !data->d_size)
            continue;
        const unsigned char *bytes = data->d_buf;
        if (is_info) {
            l->info = bytes;
            l->info_end = bytes + data->d_size;
        } else if (bytes[data->d_size - 1]) {
            return false;
        }
    }
    return true;
}

int wp_debug_lines_open(
    struct wp_debug_lines **lines, const struct wp_elf_file *file, uint64_t limit, struct wp_error *err)
{
    bool has_info = false;
    uint64_t bytes = debug_bytes(file, &has_info);
    if (!has_info)
        return wp_error_set(err, -ENOENT, "no debug info in it");
    if (bytes > limit)
        return wp_error_set(err, -E2BIG, "%llu bytes of debug info, %llu are left", (unsigned long long)bytes,
            (unsigned long long)limit);
    struct wp_debug_lines *l = calloc(1, sizeof(*l));
    if (!l)
        return wp_error_set(err, -ENOMEM, "out of memory");
    l->bytes = bytes;
    l->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    int rc = l->dwarf && find_texts(l, file) ? list_units(l) : -EINVAL;
    if (rc) {
        wp_debug_lines_close(l);
        return wp_error_set(err, rc, rc == -ENOMEM ? "out of memory" : "damaged debug info");
    }
    *lines = l;
    return 0;
}

uint64_t wp_debug_lines_bytes(const struct wp_debug_lines *l)
{
    return l->bytes;
}

/* Functions with code stand in the unit itself and in namespaces and types, but not in each other. */
static int list_functions(struct ranges *functions, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    int rc = 0;
    if (depth > NESTING || dwarf_child(parent, &die))
        return 0;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            rc = add_ranges(functions, &die, dwarf_dieoffset(&die));
        else if (tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
            tag == DW_TAG_structure_type)
            rc = list_functions(functions, &die, depth + 1);
    } while (!rc && functions->count < RANGES_LIMIT && !dwarf_siblingof(&die, &die));
    return rc;
}

/* NULL: it is none, or has no end. */
static const char *text_of(const struct wp_debug_lines *l, Dwarf_Attribute *attribute)
{
    const unsigned char *at = attribute->valp;
    bool is_inside = attribute->form == DW_FORM_string && at >= l->info && at < l->info_end;
    return is_inside && !memchr(at, 0, (size_t)(l->info_end - at)) ? NULL : dwarf_formstring(attribute);
}

static const char *function_of(const struct wp_debug_lines *l, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    bool has_name = dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_name, &attribute);
    return has_name ? text_of(l, &attribute) : NULL;
}

/* The entry among `parent`'s children that is an inlined function or a block around the address. */
static bool descend(Dwarf_Die *parent, uint64_t address, unsigned *visits, Dwarf_Die *found)
{
    Dwarf_Die die;
    if (dwarf_child(parent, &die))
        return false;
    do {
        int tag = dwarf_tag(&die);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&die, address) > 0) {
            *found = die;
            return true;
        }
    } while (++*visits < VISITS && !dwarf_siblingof(&die, &die));
    return false;
}

/* Appends the steps of `path` to the `size` bytes in `out`, "." and ".." resolved; PATH_BYTES: does not fit. */
static size_t add_steps(char out[PATH_BYTES], size_t size, const char *path)
{
    while (size < PATH_BYTES && *path) {
        path += strspn(path, "/");
        size_t step = strcspn(path, "/");
        if (step == 2 && path[0] == '.' && path[1] == '.') {
            while (size && out[--size] != '/')
                ;
        } else if (step && !(step == 1 && *path == '.')) {
            if (size + 1 + step >= PATH_BYTES)
                return PATH_BYTES;
            out[size++] = '/';
            memcpy(out + size, path, step);
            size += step;
        }
        path += step;
    }
    return size;
}

/* A compiler that was given a path from where it stood wrote it down so, and beside it where that was. */
static const char *whole_path(struct wp_debug_lines *l, char room[PATH_BYTES], Dwarf_Die *unit, const char *file)
{
    Dwarf_Attribute attribute;
    const char *folder =
        !file || *file == '/' || !dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? NULL : text_of(l, &attribute);
    if (!folder || *folder != '/')
        return file;
    size_t size = add_steps(room, add_steps(room, 0, folder), file);
    if (size >= PATH_BYTES)
        return file;
    room[size] = 0;
    return room;
}

/* Where `inlined` was called from belongs to the level around it. */
static void fill_call(struct wp_debug_level *outer, Dwarf_Die *unit, Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_attr(inlined, DW_AT_call_line, &attribute) && !dwarf_formudata(&attribute, &number) &&
        number <= UINT32_MAX)
        outer->line = (uint32_t)number;
    if (dwarf_attr(inlined, DW_AT_call_file, &attribute) && !dwarf_formudata(&attribute, &number) &&
        !dwarf_getsrcfiles(unit, &files, &count) && number < count)
        outer->file = dwarf_filesrc(files, number, NULL, NULL);
}

static void fill_line(struct wp_debug_level *level, Dwarf_Die *unit, uint64_t address)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number;
    if (!line)
        return;
    level->file = dwarf_linesrc(line, NULL, NULL);
    if (!dwarf_lineno(line, &number) && number > 0)
        level->line = (uint32_t)number;
}

static unsigned find(struct wp_debug_lines *l, uint64_t address, struct wp_debug_level *levels)
{
    const struct range *place = find_range(&l->places, address);
    struct unit *unit = place ? &l->units[place->entry] : NULL;
    Dwarf_Die unit_die, die;
    unsigned count = 0, visits = 0;
    if (!unit || !dwarf_offdie(l->dwarf, unit->entry, &unit_die))
        return 0;
    if (!unit->has_looked) {
        unit->has_looked = true;
        if (list_functions(&unit->functions, &unit_die, 0))
            unit->functions.count = 0;
        if (unit->functions.count)
            qsort(unit->functions.items, unit->functions.count, sizeof(struct range), by_start);
    }
    const struct range *function = find_range(&unit->functions, address);
    levels[count++] = (struct wp_debug_level){0};
    if (function && dwarf_offdie(l->dwarf, function->entry, &die)) {
        levels[0].function = function_of(l, &die);
        for (unsigned depth = 0; depth < NESTING && count < WP_INLINE_LEVELS && descend(&die, address, &visits, &die);
             depth++) {
            if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
                continue;
            fill_call(&levels[count - 1], &unit_die, &die);
            levels[count++] = (struct wp_debug_level){.function = function_of(l, &die)};
        }
    }
    fill_line(&levels[count - 1], &unit_die, address);
    for (unsigned i = 0; i < count; i++)
        levels[i].file = whole_path(l, l->paths[i], &unit_die, levels[i].file);
    return count;
}

unsigned wp_debug_lines_find(struct wp_debug_lines *l, uint64_t address, struct wp_debug_level levels[WP_INLINE_LEVELS])
{
    if (l->spent_ns > CPU_LIMIT_NS)
        return 0;
    uint64_t start = wp_clock_of_ns(CLOCK_THREAD_CPUTIME_ID);
    unsigned count = find(l, address, levels);
    l->spent_ns += wp_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    return count;
}
