/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbolizer.h"

#include "collector/demangle.h"
#include "collector/elf_symbols.h"
#include "collector/kernel_symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define TRIES 3u /* an object whose file cannot be read may still be seen through another process's root */

struct table {
    struct wp_elf_symbols *symbols;
    uint32_t tries;
    bool has_bombs; /* names that unfold without end: its names stay as they are */
};

struct wp_symbolizer {
    struct table *tables; /* by object */
    uint32_t table_count;
    struct wp_kernel_symbols *kernel;
    bool has_looked;      /* for the kernel's */
    struct wp_object object; /* of the last answer */
    char name[4096];         /* likewise */
};

struct wp_symbolizer *wp_symbolizer_create(void)
{
    return calloc(1, sizeof(struct wp_symbolizer));
}

void wp_symbolizer_destroy(struct wp_symbolizer *z)
{
    if (!z)
        return;
    for (uint32_t i = 0; i < z->table_count; i++)
        wp_elf_symbols_destroy(z->tables[i].symbols);
    free(z->tables);
    wp_kernel_symbols_destroy(z->kernel);
    free(z);
}

static struct table *table_of(struct wp_symbolizer *z, uint32_t object)
{
    if (object >= z->table_count) {
        uint32_t count = object + 64;
        struct table *tables = realloc(z->tables, count * sizeof(*tables));
        if (!tables)
            return NULL;
        memset(tables + z->table_count, 0, (count - z->table_count) * sizeof(*tables));
        z->tables = tables;
        z->table_count = count;
    }
    return &z->tables[object];
}

/* The file as the process sees it (it may live in a container), then as it is still mapped, then as this process sees it. */
static void load(struct table *table, uint32_t pid, const struct wp_mapping *mapping, const struct wp_object *object)
{
    char path[PATH_MAX];
    table->tries++;
    if (!strcmp(object->path, "[vdso]")) { /* the same one for all */
        unsigned long image = getauxval(AT_SYSINFO_EHDR);
        if (image)
            wp_elf_symbols_parse(&table->symbols, (const void *)image, mapping->end - mapping->start, NULL);
        return;
    }
    if (*object->path != '/')
        return;
    snprintf(path, sizeof(path), "/proc/%u/root%s", pid, object->path);
    if (!wp_elf_symbols_read(&table->symbols, path, object->build_id, object->build_id_size, NULL))
        return;
    snprintf(path, sizeof(path), "/proc/%u/map_files/%lx-%lx", pid, (unsigned long)mapping->start, (unsigned long)mapping->end);
    if (!wp_elf_symbols_read(&table->symbols, path, object->build_id, object->build_id_size, NULL))
        return;
    wp_elf_symbols_read(&table->symbols, object->path, object->build_id, object->build_id_size, NULL);
}

static const char *readable(struct wp_symbolizer *z, struct table *table, const char *function)
{
    enum wp_demangled rc = table->has_bombs ? WP_DEMANGLE_PLAIN : wp_demangle(function, z->name, sizeof(z->name));
    table->has_bombs = table->has_bombs || rc == WP_DEMANGLE_BOMB;
    return rc == WP_DEMANGLE_DONE ? z->name : function;
}

int wp_symbolizer_user(struct wp_symbolizer *z, const struct wp_address_spaces *spaces, uint32_t pid, uint64_t address,
    bool is_return, struct wp_frame_name *name)
{
    uint64_t at = address - is_return;
    const struct wp_mapping *mapping = wp_address_spaces_find(spaces, pid, at);
    if (!mapping)
        return -ENOENT;
    z->object = wp_address_spaces_object(spaces, mapping->object);
    struct table *table = table_of(z, mapping->object);
    if (table && !table->symbols && table->tries < TRIES)
        load(table, pid, mapping, &z->object);
    uint64_t offset = at - mapping->start + mapping->file_offset;
    const char *function = table && table->symbols ? wp_elf_symbols_find(table->symbols, offset) : NULL;
    *name = (struct wp_frame_name){.function = function ? readable(z, table, function) : "", .object = z->object.path,
        .build_id = z->object.build_id, .build_id_size = z->object.build_id_size, .offset = offset + is_return};
    return 0;
}

void wp_symbolizer_prepare(struct wp_symbolizer *z)
{
    if (!z->has_looked)
        wp_kernel_symbols_read(&z->kernel, "/proc/kallsyms", NULL);
    z->has_looked = true;
}

int wp_symbolizer_kernel(struct wp_symbolizer *z, uint64_t address, bool is_return, struct wp_frame_name *name)
{
    struct wp_kernel_function function;
    wp_symbolizer_prepare(z);
    *name = (struct wp_frame_name){.function = "", .object = "[kernel]", .is_kernel = true};
    if (!z->kernel || wp_kernel_symbols_find(z->kernel, address - is_return, &function))
        return 0;
    name->function = wp_demangle(function.name, z->name, sizeof(z->name)) == WP_DEMANGLE_DONE ? z->name : function.name;
    name->object = *function.module ? function.module : "[kernel]";
    name->offset = function.offset + is_return;
    return 0;
}
