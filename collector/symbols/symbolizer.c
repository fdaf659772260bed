/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/symbolizer.h"

#include "collector/elf/demangle.h"
#include "collector/host/kept_files.h"
#include "collector/host/process_file.h"
#include "collector/symbols/fleet_names.h"
#include "collector/symbols/kernel_symbols.h"
#include "collector/symbols/named_files.h"
#include "collector/symbols/naming_thread.h"
#include "common/array.h"
#include "common/intmap.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define TRIES 3u      /* an object whose file cannot be read may still be seen through another process */
#define JIT_MAPS 256u /* of processes at one time, each holds a directory open */
#define MAPPINGS 65536u
#define UNKNOWN UINT32_MAX
#define HELD_BYTES ((uint64_t)64 << 20) /* of functions and debug info, all files together */
#define HELD_FILES 4096u
#define LOCK_TICKET 0x80000000u   /* of wp_symbolizer_ask_lock */
#define WANTED_TICKET 0x40000000u /* of what others want, with its place in tells; frames' tickets are below */

/* An open file, while the fleet is asked for names in it: if nobody has read it, it is read here. */
struct held {
    struct wp_elf_file file;
    int root_fd;
    char path[256];
};

struct object {
    uint32_t number; /* the naming thread's + 1; 0: not read */
    uint32_t tries;
    uint32_t asking;   /* places that the fleet is asked for */
    struct held *held; /* owned; NULL: none */
};

/* A place that is named here, and told. */
struct tell {
    struct wp_build build;
    uint64_t offset;
};

struct wp_symbolizer {
    const struct wp_logger *logger;
    struct wp_naming_thread *thread;
    struct wp_fleet_names *fleet; /* borrowed; NULL: none */
    struct tell *tells;           /* owned */
    uint32_t tell_count, tell_room;
    uint32_t *free_tells, free_tell_count; /* owned; as much room */
    struct wp_intmap tell_of;              /* ticket of a frame -> place in tells */
    struct object *objects;                /* by the address spaces' number */
    uint32_t object_count;
    uint32_t
        first_object; /* what the fleet knows objects[0] by: answers to questions before a renumbering are of none */
    struct wp_named_files *files; /* by build id; those without one by their inode and times */
    struct wp_intmap by_mapping;  /* data of a file in a process -> number, UNKNOWN: it cannot be read */
    struct wp_intmap jit_of;      /* pid -> place in maps, UNKNOWN: it has none */
    struct wp_jit_map *maps[JIT_MAPS];
    struct wp_jit_quota jit_quota; /* the naming thread's, which reads them */
    uint32_t looked[JIT_MAPS];     /* how many mappings there were when a dump was looked for; UNKNOWN: it has one */
    struct wp_kernel_symbols *kernel;
    bool has_looked;  /* for the kernel's */
    pthread_t reader; /* of them, of which `kernel` and `unread` are until it has ended */
    bool has_reader;
    struct wp_error unread; /* why they are not there */
    uint64_t refused_files;
    char name[4096]; /* of the last answer */
};

struct wp_symbolizer *wp_symbolizer_create(const struct wp_names_from *from, const struct wp_logger *logger)
{
    struct wp_symbolizer *z = calloc(1, sizeof(*z));
    if (!z ||
        !(z->thread = wp_naming_thread_create(from ? from->fetch : NULL, from ? from->kept_folder : NULL, logger)) ||
        !(z->files = wp_named_files_create(z->thread, &(struct wp_named_files_limits){HELD_BYTES, HELD_FILES}))) {
        wp_symbolizer_destroy(z);
        return NULL;
    }
    z->fleet = from ? from->fleet : NULL;
    z->logger = logger;
    return z;
}

static void let_go(struct object *o)
{
    if (!o->held)
        return;
    wp_elf_file_close(&o->held->file);
    if (o->held->root_fd >= 0)
        close(o->held->root_fd);
    free(o->held);
    o->held = NULL;
}

void wp_symbolizer_destroy(struct wp_symbolizer *z)
{
    if (!z)
        return;
    for (uint32_t i = 0; i < z->object_count; i++)
        let_go(&z->objects[i]);
    free(z->tells);
    free(z->free_tells);
    wp_intmap_fini(&z->tell_of);
    wp_naming_thread_destroy(z->thread);
    for (unsigned i = 0; i < JIT_MAPS; i++)
        wp_jit_map_destroy(z->maps[i]);
    free(z->objects);
    wp_named_files_destroy(z->files);
    wp_intmap_fini(&z->by_mapping);
    wp_intmap_fini(&z->jit_of);
    if (z->has_reader)
        pthread_join(z->reader, NULL);
    wp_kernel_symbols_destroy(z->kernel);
    free(z);
}

static struct object *object_of(struct wp_symbolizer *z, uint32_t index)
{
    if (WP_ARRAY_FIT_ZERO(z->objects, z->object_count, index + 1))
        return NULL;
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
static int open_object(
    struct wp_elf_file *file, uint32_t pid, const struct wp_mapping *mapping, const struct wp_object *object)
{
    if (!strcmp(object->path, "[vdso]")) { /* the same one for all */
        unsigned long image = getauxval(AT_SYSINFO_EHDR);
        return image ? wp_elf_file_open_memory(file, (const void *)image, mapping->end - mapping->start, NULL)
                     : -ENOENT;
    }
    struct wp_process_mapping where = {mapping->start, mapping->end, object->inode, object->path};
    for (unsigned way = 0; *object->path == '/' && way < WP_PROCESS_FILE_WAYS; way++) {
        int fd = wp_process_file_mapped(pid, &where, way);
        if (fd < 0 || wp_elf_file_open(file, fd, NULL))
            continue;
        bool is_sure = object->build_id_size || object->inode || way == 0;
        if (object->build_id_size ? wp_elf_file_is_build(file, object->build_id, object->build_id_size)
                                  : is_sure || way > 1)
            return 0;
        wp_elf_file_close(file);
    }
    return -ENOENT;
}

/* What an open file is known by; false: nothing. One without a build id (Go, Rust's own libraries) by what changes with
 * it. */
static bool key_of(const struct wp_elf_file *file, struct wp_intkey *key)
{
    uint64_t words[WP_FILE_IDENTITY];
    *key = build_key(file->build_id, file->build_id_size);
    if (file->build_id_size)
        return true;
    if (file->fd < 0 || !wp_file_identity(file->fd, words))
        return false;
    XXH128_hash_t hash = XXH3_128bits(words, sizeof(words));
    *key = (struct wp_intkey){hash.low64, hash.high64};
    return true;
}

/* The naming thread's number of an open file, which is taken; UNKNOWN: no memory. Each is read once, whoever maps it at
 * whatever path. */
static uint32_t number_at(struct wp_symbolizer *z, struct wp_elf_file *file, int root_fd, const char *path)
{
    struct wp_intkey key;
    bool has_id = key_of(file, &key);
    uint32_t number;
    if (!has_id || !wp_named_files_find(z->files, key, &number))
        return wp_named_files_add(z->files, has_id ? &key : NULL, file, root_fd, path);
    wp_elf_file_close(file); /* it is known under another path */
    if (root_fd >= 0)
        close(root_fd);
    return number;
}

static uint32_t number_of(struct wp_symbolizer *z, struct wp_elf_file *file, uint32_t pid, const char *path)
{
    return number_at(z, file, wp_process_root(pid), path);
}

static void load(struct wp_symbolizer *z, struct object *o, uint32_t pid, const struct wp_mapping *mapping,
    const struct wp_object *object)
{
    struct wp_elf_file file;
    uint32_t number;
    if (object->build_id_size &&
        wp_named_files_find(z->files, build_key(object->build_id, object->build_id_size), &number)) {
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

/* --- the fleet --- */

static struct wp_build build_of(const struct wp_object *object)
{
    struct wp_build build = {.size = (uint8_t)object->build_id_size};
    memcpy(build.bytes, object->build_id, object->build_id_size);
    return build;
}

/* A place in tells, UNKNOWN: it will not be told. */
static uint32_t new_tell(struct wp_symbolizer *z, const struct wp_build *build, uint64_t offset)
{
    uint32_t room = z->tell_room, wanted = z->tell_count + !z->free_tell_count;
    if (WP_ARRAY_FIT(z->tells, room, wanted) || WP_ARRAY_FIT(z->free_tells, z->tell_room, wanted))
        return UNKNOWN;
    uint32_t at = z->free_tell_count ? z->free_tells[--z->free_tell_count] : z->tell_count++;
    z->tells[at] = (struct tell){*build, offset};
    return at;
}

static void publish_place(struct wp_symbolizer *z, uint32_t at, const struct wp_place_name *place)
{
    wp_fleet_names_tell(z->fleet, &z->tells[at].build, z->tells[at].offset, place);
    z->free_tells[z->free_tell_count++] = at;
}

/* Named here, and told to the fleet, as far as it is one. */
static bool ask_here(
    struct wp_symbolizer *z, uint32_t number, const struct wp_build *build, uint64_t offset, uint32_t ticket)
{
    if (!wp_naming_thread_place(z->thread, number, offset, ticket))
        return false;
    wp_named_files_use(z->files, number);
    uint32_t at = z->fleet && wp_fleet_names_are_on(z->fleet) && build->size ? new_tell(z, build, offset) : UNKNOWN;
    if (at != UNKNOWN && wp_intmap_put(&z->tell_of, (struct wp_intkey){ticket, 0}, at))
        z->free_tells[z->free_tell_count++] = at;
    return true;
}

struct mapped { /* an object in a process */
    uint32_t pid;
    const struct wp_mapping *mapping;
    const struct wp_object *object;
};

/* Whether an answer will come from the fleet. The file is opened meanwhile: its process may be gone when it must be
 * read. */
static bool ask_fleet(
    struct wp_symbolizer *z, struct object *o, const struct mapped *mapped, uint64_t offset, uint32_t ticket)
{
    uint32_t number;
    const struct wp_mapping *mapping = mapped->mapping;
    const struct wp_object *object = mapped->object;
    struct wp_build build = build_of(object);
    if (!z->fleet || !wp_fleet_names_are_on(z->fleet) || !build.size ||
        wp_named_files_find(z->files, build_key(build.bytes, build.size), &number) ||
        !wp_fleet_names_ask(z->fleet, &build, z->first_object + mapping->object, offset, ticket))
        return false;
    o->asking++;
    if (o->held || !(o->held = calloc(1, sizeof(*o->held))))
        return true;
    if (open_object(&o->held->file, mapped->pid, mapping, object)) { /* the fleet may know it all the same */
        free(o->held);
        o->held = NULL;
        return true;
    }
    o->held->root_fd = wp_process_root(mapped->pid);
    snprintf(o->held->path, sizeof(o->held->path), "%.255s", object->path);
    return true;
}

/* Nobody else has read it. */
static void read_here(struct wp_symbolizer *z, struct object *o, const struct wp_fleet_named *named)
{
    uint32_t number;
    if (!o->number && wp_named_files_find(z->files, build_key(named->build.bytes, named->build.size), &number))
        o->number = number + 1;
    if (!o->number && o->held) {
        number = number_at(z, &o->held->file, o->held->root_fd, o->held->path);
        free(o->held);
        o->held = NULL;
        if (number != UNKNOWN)
            o->number = number + 1;
    }
    if (o->number) {
        ask_here(z, o->number - 1, &named->build, named->offset, named->ticket);
        return;
    }
    z->refused_files++;
    wp_fleet_names_tell(z->fleet, &named->build, named->offset, NULL);
}

static void ask_for_others(struct wp_symbolizer *z, const struct wp_fleet_named *named)
{
    uint32_t number, at = UNKNOWN;
    if (wp_named_files_find(z->files, build_key(named->build.bytes, named->build.size), &number))
        at = new_tell(z, &named->build, named->offset);
    if (at == UNKNOWN)
        wp_fleet_names_tell(z->fleet, &named->build, named->offset, NULL);
    else if (!wp_naming_thread_place(z->thread, number, named->offset, at | WANTED_TICKET))
        z->free_tells[z->free_tell_count++] = at;
}

/* Takes what the fleet says, up to the next name. */
static bool next_of_fleet(struct wp_symbolizer *z, uint32_t *ticket, struct wp_place_name *place)
{
    struct wp_fleet_named named;
    while (z->fleet && wp_fleet_names_next(z->fleet, &named)) {
        uint32_t index = named.object - z->first_object;
        struct object *o = named.reply == WP_FLEET_WANTED || index >= z->object_count ? NULL : &z->objects[index];
        if (named.reply == WP_FLEET_READ && o)
            read_here(z, o, &named);
        else if (named.reply == WP_FLEET_WANTED)
            ask_for_others(z, &named);
        if (o && !--o->asking)
            let_go(o);
        if (named.reply != WP_FLEET_NAMED)
            continue;
        *ticket = named.ticket;
        *place = named.place;
        return true;
    }
    return false;
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
    z->maps[at] = wp_jit_map_create(pid, &z->jit_quota);
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
        uint32_t maker = wp_address_spaces_maker(spaces, pid, mapping);
        struct wp_jit_map *own = jit_map_of(z, spaces, pid), *made = maker ? jit_map_of(z, spaces, maker) : NULL;
        return (own || made) && wp_naming_thread_jit(z->thread, own ? own : made, own ? made : NULL, offset, ticket);
    }
    struct object *o = object_of(z, mapping->object);
    struct wp_build build = build_of(&object);
    if (o && !o->number && ask_fleet(z, o, &(struct mapped){pid, mapping, &object}, offset, ticket))
        return true;
    if (o && !o->number && o->tries < TRIES)
        load(z, o, pid, mapping, &object);
    return o && o->number && ask_here(z, o->number - 1, &build, offset, ticket);
}

/* The file of a mapping by its inode: (inode, process) is remembered, so that a thousand locks open it once. */
static uint32_t file_of_lock(struct wp_symbolizer *z, const struct wp_lock_place *lock)
{
    struct wp_intkey key = {lock->inode, (uint64_t)lock->pid << 32 | (uint32_t)(lock->start >> 12)};
    char link[96], path[PATH_MAX];
    uint32_t number = UNKNOWN;
    if (wp_intmap_get(&z->by_mapping, key, &number))
        return number;
    snprintf(link, sizeof(link), "/proc/%u/map_files/%lx-%lx", lock->pid, (unsigned long)lock->start,
        (unsigned long)lock->end);
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
    if (number != UNKNOWN)
        wp_named_files_use(z->files, number);
    return number != UNKNOWN &&
        wp_naming_thread_data(z->thread, number, lock->address - lock->start + lock->file_offset, ticket);
}

/* A file is not held any more: who maps it has it read again. */
static void forget_file(void *context, uint32_t number)
{
    struct wp_symbolizer *z = context;
    for (uint32_t i = 0; i < z->object_count; i++)
        if (z->objects[i].number == number + 1)
            z->objects[i].number = z->objects[i].tries = 0;
    wp_intmap_clear(&z->by_mapping);
}

bool wp_symbolizer_next(struct wp_symbolizer *z, uint32_t *ticket, struct wp_place_name *place)
{
    if (next_of_fleet(z, ticket, place))
        return true;
    while (wp_naming_thread_next(z->thread, ticket, place)) {
        uint32_t at;
        bool is_lock = *ticket & LOCK_TICKET, is_wanted = !is_lock && *ticket & WANTED_TICKET;
        if (is_wanted) {
            publish_place(z, *ticket & ~WANTED_TICKET, place);
            continue;
        }
        if (!is_lock && wp_intmap_get(&z->tell_of, (struct wp_intkey){*ticket, 0}, &at)) {
            wp_intmap_remove(&z->tell_of, (struct wp_intkey){*ticket, 0});
            publish_place(z, at, place);
        }
        return true;
    }
    wp_named_files_shrink(z->files, forget_file, z);
    return false;
}

bool wp_symbolizer_settle(struct wp_symbolizer *z, unsigned timeout_ms)
{
    return wp_naming_thread_settle(z->thread, timeout_ms) && (!z->fleet || wp_fleet_names_are_settled(z->fleet));
}

void wp_symbolizer_renumber(struct wp_symbolizer *z)
{
    for (uint32_t i = 0; i < z->object_count; i++)
        let_go(&z->objects[i]);
    free(z->objects);
    z->objects = NULL;
    z->first_object += z->object_count;
    z->object_count = 0;
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

static void *read_kernel(void *context)
{
    struct wp_symbolizer *z = context;
    wp_kernel_symbols_read(&z->kernel, "/proc/kallsyms", &z->unread);
    return NULL;
}

void wp_symbolizer_prepare_begin(struct wp_symbolizer *z)
{
    if (!z->has_looked && !z->has_reader)
        z->has_reader = !pthread_create(&z->reader, NULL, read_kernel, z);
}

static void prepare(struct wp_symbolizer *z)
{
    if (z->has_looked)
        return;
    z->has_looked = true;
    if (z->has_reader)
        pthread_join(z->reader, NULL);
    else
        read_kernel(z);
    z->has_reader = false;
    if (!z->kernel && z->logger)
        wp_log(z->logger, WP_LOG_WARN,
            "cannot read the kernel's symbols, its functions will have no names reason=\"%s\"", z->unread.text);
}

uint64_t wp_symbolizer_kernel_address(struct wp_symbolizer *z, const char *function)
{
    prepare(z);
    return z->kernel ? wp_kernel_symbols_address(z->kernel, function) : 0;
}

void wp_symbolizer_kernel(struct wp_symbolizer *z, uint64_t address, bool is_return, struct wp_frame_name *name)
{
    struct wp_kernel_function function;
    prepare(z);
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
    return (struct wp_symbolizer_stats){.asked = counts.asked,
        .answered = counts.answered,
        .unnamed = counts.unnamed,
        .objects = counts.objects,
        .refused_files = z->refused_files,
        .debug_bytes = counts.debug_bytes};
}

uint64_t wp_symbolizer_cpu_ns(const struct wp_symbolizer *z)
{
    return wp_naming_thread_cpu_ns(z->thread);
}
