/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbolizer.h"

#include "collector/demangle.h"
#include "collector/kernel_symbols.h"
#include "collector/naming_thread.h"
#include "collector/process_file.h"
#include "common/intmap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define TRIES 3u       /* an object whose file cannot be read may still be seen through another process */
#define JIT_MAPS 256u  /* of processes at one time, each holds a directory open */
#define MAPPINGS 65536u
#define UNKNOWN UINT32_MAX

struct object {
    uint32_t number; /* the naming thread's + 1; 0: not read */
    uint32_t tries;
};

struct wp_symbolizer {
    const struct wp_logger *logger;
    struct wp_naming_thread *thread;
    struct object *objects;         /* by the address spaces' number */
    uint32_t object_count;
    struct wp_intmap by_build;      /* build id -> number */
    struct wp_intmap by_mapping;    /* data of a file in a process -> number, UNKNOWN: it cannot be read */
    struct wp_intmap jit_of;        /* pid -> place in maps, UNKNOWN: it has none */
    struct wp_jit_map *maps[JIT_MAPS];
    uint32_t looked[JIT_MAPS];      /* how many mappings there were when a dump was looked for; UNKNOWN: it has one */
    struct wp_kernel_symbols *kernel;
    bool has_looked;                /* for the kernel's */
    uint64_t refused_files;
    char name[4096];                /* of the last answer */
};

struct wp_symbolizer *wp_symbolizer_create(const struct wp_logger *logger)
{
    struct wp_symbolizer *z = calloc(1, sizeof(*z));
    if (!z || !(z->thread = wp_naming_thread_create(logger))) {
        free(z);
        return NULL;
    }
    z->logger = logger;
    return z;
}

void wp_symbolizer_destroy(struct wp_symbolizer *z)
{
    if (!z)
        return;
    wp_naming_thread_destroy(z->thread);
    for (unsigned i = 0; i < JIT_MAPS; i++)
        wp_jit_map_destroy(z->maps[i]);
    free(z->objects);
    wp_intmap_fini(&z->by_build);
    wp_intmap_fini(&z->by_mapping);
    wp_intmap_fini(&z->jit_of);
    wp_kernel_symbols_destroy(z->kernel);
    free(z);
}

static struct object *object_of(struct wp_symbolizer *z, uint32_t index)
{
    if (index >= z->object_count) {
        uint32_t count = index + 64;
        struct object *objects = realloc(z->objects, count * sizeof(*objects));
        if (!objects)
            return NULL;
        memset(objects + z->object_count, 0, (count - z->object_count) * sizeof(*objects));
        z->objects = objects;
        z->object_count = count;
    }
    return &z->objects[index];
}

static struct wp_intkey build_key(const uint8_t *id, uint32_t size)
{
    struct wp_intkey key = {0, 0};
    uint32_t first = size < 8 ? size : 8, second = size - first < 8 ? size - first : 8;
    memcpy(&key.a, id, first);
    memcpy(&key.b, id + first, second);
    return key;
}

/* The file that is mapped, whatever has become of its path. */
static int open_object(struct wp_elf_file *file, uint32_t pid, const struct wp_mapping *mapping, const struct wp_object *object)
{
    if (!strcmp(object->path, "[vdso]")) { /* the same one for all */
        unsigned long image = getauxval(AT_SYSINFO_EHDR);
        return image ? wp_elf_file_open_memory(file, (const void *)image, mapping->end - mapping->start, NULL) : -ENOENT;
    }
    struct wp_process_mapping where = {mapping->start, mapping->end, object->inode, object->path};
    for (unsigned way = 0; *object->path == '/' && way < WP_PROCESS_FILE_WAYS; way++) {
        int fd = wp_process_file_mapped(pid, &where, way);
        if (fd < 0 || wp_elf_file_open(file, fd, NULL))
            continue;
        bool is_sure = object->build_id_size || object->inode || way == 0;
        if (object->build_id_size ? wp_elf_file_is_build(file, object->build_id, object->build_id_size) : is_sure || way > 1)
            return 0;
        wp_elf_file_close(file);
    }
    return -ENOENT;
}

/* The naming thread's number of an open file, which is taken; UNKNOWN: no memory. What has one build id is read once. */
static uint32_t number_of(struct wp_symbolizer *z, struct wp_elf_file *file, uint32_t pid, const char *path)
{
    struct wp_intkey key = build_key(file->build_id, file->build_id_size);
    bool has_id = file->build_id_size > 0;
    uint32_t number;
    if (has_id && wp_intmap_get(&z->by_build, key, &number)) { /* under another path */
        wp_elf_file_close(file);
        return number;
    }
    number = wp_naming_thread_object(z->thread, file, wp_process_root(pid), path);
    if (has_id && number != UNKNOWN)
        wp_intmap_put(&z->by_build, key, number);
    return number;
}

static void load(struct wp_symbolizer *z, struct object *o, uint32_t pid, const struct wp_mapping *mapping,
    const struct wp_object *object)
{
    struct wp_elf_file file;
    uint32_t number;
    if (object->build_id_size && wp_intmap_get(&z->by_build, build_key(object->build_id, object->build_id_size), &number)) {
        o->number = number + 1;
        return;
    }
    o->tries++;
    if (open_object(&file, pid, mapping, object)) {
        z->refused_files++;
        return;
    }
    number = number_of(z, &file, pid, object->path);
    if (number != UNKNOWN)
        o->number = number + 1;
}

/* A process may begin its dump late. */
static void look_for_dump(struct wp_symbolizer *z, const struct wp_address_spaces *spaces, uint32_t pid, uint32_t at)
{
    uint32_t mappings = wp_address_spaces_mappings(spaces, pid);
    if (z->looked[at] == mappings || z->looked[at] == UNKNOWN)
        return;
    z->looked[at] = mappings;
    const struct wp_mapping *mapping = wp_address_spaces_jit_dump(spaces, pid);
    if (!mapping)
        return;
    struct wp_object object = wp_address_spaces_object(spaces, mapping->object);
    struct wp_process_mapping where = {mapping->start, mapping->end, object.inode, object.path};
    for (unsigned way = 0; way < WP_PROCESS_FILE_WAYS; way++) {
        int fd = way == 1 ? -1 : wp_process_file_mapped(pid, &where, way); /* 1 is the program */
        if (fd < 0)
            continue;
        z->looked[at] = UNKNOWN;
        wp_naming_thread_dump(z->thread, z->maps[at], fd);
        return;
    }
}

static struct wp_jit_map *jit_map_of(struct wp_symbolizer *z, const struct wp_address_spaces *spaces, uint32_t pid)
{
    struct wp_intkey key = {pid, 0};
    uint32_t at;
    if (wp_intmap_get(&z->jit_of, key, &at)) {
        if (at != UNKNOWN)
            look_for_dump(z, spaces, pid, at);
        return at == UNKNOWN ? NULL : z->maps[at];
    }
    for (at = 0; at < JIT_MAPS && z->maps[at]; at++)
        continue;
    if (at == JIT_MAPS)
        return NULL;
    z->maps[at] = wp_jit_map_create(pid);
    z->looked[at] = 0;
    wp_intmap_put(&z->jit_of, key, z->maps[at] ? at : UNKNOWN);
    if (z->maps[at])
        look_for_dump(z, spaces, pid, at);
    return z->maps[at];
}

bool wp_symbolizer_ask(struct wp_symbolizer *z, const struct wp_address_spaces *spaces, uint32_t pid,
    const struct wp_mapping *mapping, uint64_t offset, uint32_t ticket)
{
    struct wp_object object = wp_address_spaces_object(spaces, mapping->object);
    if (!strcmp(object.path, "[jit]")) {
        struct wp_jit_map *map = jit_map_of(z, spaces, pid);
        return map && wp_naming_thread_jit(z->thread, map, offset, ticket);
    }
    struct object *o = object_of(z, mapping->object);
    if (o && !o->number && o->tries < TRIES)
        load(z, o, pid, mapping, &object);
    return o && o->number && wp_naming_thread_place(z->thread, o->number - 1, offset, ticket);
}

/* The file of a mapping by its inode: (inode, process) is remembered, so that a thousand locks open it once. */
static uint32_t file_of_lock(struct wp_symbolizer *z, const struct wp_lock_place *lock)
{
    struct wp_intkey key = {lock->inode, (uint64_t)lock->pid << 32 | (uint32_t)(lock->start >> 12)};
    char link[96], path[PATH_MAX];
    uint32_t number = UNKNOWN;
    if (wp_intmap_get(&z->by_mapping, key, &number))
        return number;
    snprintf(link, sizeof(link), "/proc/%u/map_files/%lx-%lx", lock->pid, (unsigned long)lock->start, (unsigned long)lock->end);
    ssize_t size = readlink(link, path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = 0;
    char *deleted = strstr(path, " (deleted)");
    if (deleted && !deleted[10])
        *deleted = 0;
    struct wp_process_mapping where = {lock->start, lock->end, lock->inode, path};
    for (unsigned way = 0; *path == '/' && number == UNKNOWN && way < WP_PROCESS_FILE_WAYS; way++) {
        struct wp_elf_file file;
        int fd = wp_process_file_mapped(lock->pid, &where, way);
        if (fd >= 0 && !wp_elf_file_open(&file, fd, NULL))
            number = number_of(z, &file, lock->pid, path);
    }
    if (z->by_mapping.count >= MAPPINGS)
        wp_intmap_clear(&z->by_mapping);
    wp_intmap_put(&z->by_mapping, key, number);
    return number;
}

bool wp_symbolizer_ask_lock(struct wp_symbolizer *z, const struct wp_lock_place *lock, uint32_t ticket)
{
    uint32_t number = file_of_lock(z, lock);
    return number != UNKNOWN &&
        wp_naming_thread_data(z->thread, number, lock->address - lock->start + lock->file_offset, ticket);
}

bool wp_symbolizer_next(struct wp_symbolizer *z, uint32_t *ticket, struct wp_place_name *place)
{
    return wp_naming_thread_next(z->thread, ticket, place);
}

bool wp_symbolizer_settle(struct wp_symbolizer *z, unsigned timeout_ms)
{
    return wp_naming_thread_settle(z->thread, timeout_ms);
}

void wp_symbolizer_forget(struct wp_symbolizer *z, uint32_t pid)
{
    struct wp_intkey key = {pid, 0};
    uint32_t at;
    if (!wp_intmap_get(&z->jit_of, key, &at))
        return;
    wp_intmap_remove(&z->jit_of, key);
    if (at != UNKNOWN) {
        wp_naming_thread_drop(z->thread, z->maps[at]);
        z->maps[at] = NULL;
    }
}

void wp_symbolizer_prepare(struct wp_symbolizer *z)
{
    struct wp_error err;
    if (!z->has_looked && wp_kernel_symbols_read(&z->kernel, "/proc/kallsyms", &err) && z->logger)
        wp_log(z->logger, WP_LOG_WARN, "the kernel's functions will have no names reason=\"%s\"", err.text);
    z->has_looked = true;
}

void wp_symbolizer_kernel(struct wp_symbolizer *z, uint64_t address, bool is_return, struct wp_frame_name *name)
{
    struct wp_kernel_function function;
    wp_symbolizer_prepare(z);
    *name = (struct wp_frame_name){.function = "", .object = "[kernel]"};
    if (!z->kernel || wp_kernel_symbols_find(z->kernel, address - is_return, &function))
        return;
    name->function = wp_demangle(function.name, z->name, sizeof(z->name)) == WP_DEMANGLE_DONE ? z->name : function.name;
    name->object = *function.module ? function.module : "[kernel]";
    name->offset = function.offset + is_return;
}

struct wp_symbolizer_stats wp_symbolizer_stats(struct wp_symbolizer *z)
{
    struct wp_naming_counts counts = wp_naming_thread_counts(z->thread);
    return (struct wp_symbolizer_stats){.asked = counts.asked, .answered = counts.answered, .unnamed = counts.unnamed,
        .objects = counts.objects, .refused_files = z->refused_files, .debug_bytes = counts.debug_bytes};
}

uint64_t wp_symbolizer_cpu_ns(const struct wp_symbolizer *z)
{
    return wp_naming_thread_cpu_ns(z->thread);
}
