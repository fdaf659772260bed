/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/address_space.h"

#include "collector/elf/elf_file.h"
#include "collector/host/process_file.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/intern.h"
#include "common/intmap.h"
#include "common/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPPINGS_LIMIT 65536u
#define MAPS_BYTES ((size_t)64 << 20)
#define STATUS_BYTES 65536u
#define PATH_BYTES 4096u
#define KEPT_MAPPINGS 256u /* room that stays for the next process */
#define ANCESTORS 8u       /* that are read with a process, itself among them */
#define OBJECTS 8192u      /* before those that nobody has mapped are looked for; later twice as many as were left */

struct space {
    struct wp_mapping *mappings; /* owned; sorted, apart from each other */
    uint32_t count, room, generation;
    uint32_t program; /* another number with each exec */
    bool is_missing;  /* by the last sweep */
};

struct object {
    uint32_t path; /* in paths */
    uint8_t build_id[20];
    uint32_t build_id_size;
    uint64_t inode;
};

struct wp_address_spaces {
    struct wp_intmap by_pid; /* -> index of its space */
    struct space *spaces;
    uint32_t space_count, space_room;
    uint32_t *free_spaces;
    uint32_t free_count, free_room;
    struct wp_intern *paths;
    struct object *objects;
    uint32_t object_count, object_room, objects_most;
    struct wp_intmap by_object; /* hash of path and build id or inode -> object */
    struct wp_intmap by_inode;  /* (inode, device) of a file seen in /proc, by its path -> object */
    uint32_t generations, programs;
};

struct wp_address_spaces *wp_address_spaces_create(void)
{
    struct wp_address_spaces *s = calloc(1, sizeof(*s));
    if (!s || !(s->paths = wp_intern_create())) {
        free(s);
        return NULL;
    }
    return s;
}

void wp_address_spaces_destroy(struct wp_address_spaces *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->space_count; i++)
        free(s->spaces[i].mappings);
    free(s->spaces);
    free(s->free_spaces);
    free(s->objects);
    wp_intern_destroy(s->paths);
    wp_intmap_fini(&s->by_pid);
    wp_intmap_fini(&s->by_object);
    wp_intmap_fini(&s->by_inode);
    free(s);
}

static struct space *find_space(const struct wp_address_spaces *s, uint32_t pid)
{
    uint32_t index;
    return wp_intmap_get(&s->by_pid, (struct wp_intkey){pid, 0}, &index) ? &s->spaces[index] : NULL;
}

static struct space *space_of(struct wp_address_spaces *s, uint32_t pid)
{
    struct space *space = find_space(s, pid);
    uint32_t index;
    if (space)
        return space;
    if (s->free_count) {
        index = s->free_spaces[--s->free_count];
    } else {
        if (WP_ARRAY_FIT(s->spaces, s->space_room, s->space_count + 1))
            return NULL;
        index = s->space_count++;
        s->spaces[index] = (struct space){0};
    }
    s->spaces[index].count = 0;
    s->spaces[index].is_missing = false;
    s->spaces[index].generation = ++s->generations;
    s->spaces[index].program = ++s->programs;
    return wp_intmap_put(&s->by_pid, (struct wp_intkey){pid, 0}, index) ? NULL : &s->spaces[index];
}

static uint32_t object_of(
    struct wp_address_spaces *s, const char *path, const uint8_t *build_id, uint32_t size, uint64_t inode)
{
    struct object object = {.build_id_size = size <= sizeof(object.build_id) ? size : 0, .inode = size ? 0 : inode};
    char name[PATH_BYTES];
    uint64_t hash = 0xcbf29ce484222325u ^ object.inode;
    snprintf(name, sizeof(name), "%s",
        *path == '/' && path[1] != '/' ? path
            : !strcmp(path, "[vdso]")  ? path
                                       : "[jit]");
    char *deleted = strstr(name, " (deleted)");
    if (deleted && !deleted[10])
        *deleted = 0;
    if (object.build_id_size)
        memcpy(object.build_id, build_id, object.build_id_size);
    object.path = wp_intern_str(s->paths, name);
    for (uint32_t i = 0; i < object.build_id_size; i++)
        hash = (hash ^ object.build_id[i]) * 0x100000001b3u;
    struct wp_intkey key = {hash, object.path};
    uint32_t known;
    if (wp_intmap_get(&s->by_object, key, &known))
        return known;
    if (object.path == UINT32_MAX || WP_ARRAY_FIT(s->objects, s->object_room, s->object_count + 1) ||
        wp_intmap_put(&s->by_object, key, s->object_count))
        return UINT32_MAX;
    s->objects[s->object_count] = object;
    return s->object_count++;
}

/* The first mapping that ends behind `address`. */
static uint32_t first_behind(const struct space *space, uint64_t address)
{
    return WP_LOWER_BOUND(middle, 0, space->count, space->mappings[middle].end <= address);
}

/* Makes [start, end) free: mappings inside go, those that reach in are cut, one around it becomes two. */
static int clear_range(struct space *space, uint64_t start, uint64_t end)
{
    uint32_t from = first_behind(space, start), to = from;
    if (from < space->count && space->mappings[from].start < start) {
        struct wp_mapping *cut = &space->mappings[from];
        if (cut->end > end) {
            if (WP_ARRAY_FIT(space->mappings, space->room, space->count + 1))
                return -ENOMEM;
            cut = &space->mappings[from];
            memmove(cut + 2, cut + 1, (space->count - from - 1) * sizeof(*cut));
            cut[1] = *cut;
            space->count++;
        } else {
            to = from + 1;
        }
        if (to == from) { /* the part behind */
            cut[1].file_offset += end - cut[1].start;
            cut[1].start = end;
            cut->end = start;
            return 0;
        }
        cut->end = start;
        from = to;
    }
    while (to < space->count && space->mappings[to].end <= end)
        to++;
    if (to < space->count && space->mappings[to].start < end) {
        space->mappings[to].file_offset += end - space->mappings[to].start;
        space->mappings[to].start = end;
    }
    memmove(space->mappings + from, space->mappings + to, (space->count - to) * sizeof(*space->mappings));
    space->count -= to - from;
    return 0;
}

static int map_object(
    struct wp_address_spaces *s, uint32_t pid, uint64_t start, uint64_t size, uint64_t file_offset, uint32_t object)
{
    struct space *space = space_of(s, pid);
    if (!space || object == UINT32_MAX)
        return -ENOMEM;
    if (!size || start > UINT64_MAX - size)
        return -EINVAL;
    uint32_t at = first_behind(space, start);
    bool overlaps = at < space->count && space->mappings[at].start < start + size;
    struct wp_mapping mapping = {start, start + size, file_offset, object, pid, space->program};
    if (overlaps && space->mappings[at].object == object &&
        space->mappings[at].start <= start) { /* its protection changes */
        mapping.maker = space->mappings[at].maker;
        mapping.maker_program = space->mappings[at].maker_program;
    }
    if (overlaps && clear_range(space, start, start + size))
        return -ENOMEM;
    if (space->count >= MAPPINGS_LIMIT)
        return -E2BIG;
    if (WP_ARRAY_FIT(space->mappings, space->room, space->count + 1))
        return -ENOMEM;
    at = first_behind(space, start);
    memmove(space->mappings + at + 1, space->mappings + at, (space->count - at) * sizeof(*space->mappings));
    space->mappings[at] = mapping;
    space->count++;
    if (overlaps)
        space->generation = ++s->generations;
    return 0;
}

int wp_address_spaces_map(struct wp_address_spaces *s, const struct wp_mapped_file *file)
{
    uint32_t object = object_of(s, file->path, file->build_id, file->build_id_size, 0);
    return map_object(s, file->pid, file->start, file->size, file->file_offset, object);
}

static int clear_space(struct wp_address_spaces *s, uint32_t pid)
{
    struct space *space = space_of(s, pid);
    if (!space)
        return -ENOMEM;
    space->count = 0;
    space->generation = ++s->generations;
    return 0;
}

int wp_address_spaces_exec(struct wp_address_spaces *s, uint32_t pid)
{
    int rc = clear_space(s, pid);
    if (!rc)
        find_space(s, pid)->program = ++s->programs;
    return rc;
}

int wp_address_spaces_fork(struct wp_address_spaces *s, uint32_t parent, uint32_t child)
{
    if (!find_space(s, parent))
        return 0; /* the child will be read from /proc when it is asked for */
    struct space *to = space_of(s, child);
    const struct space *from = find_space(s, parent);
    if (!to)
        return -ENOMEM;
    if (WP_ARRAY_FIT(to->mappings, to->room, from->count))
        return -ENOMEM;
    if (from->count)
        memcpy(to->mappings, from->mappings, from->count * sizeof(*from->mappings));
    to->count = from->count;
    to->generation = ++s->generations;
    return 0;
}

void wp_address_spaces_exit(struct wp_address_spaces *s, uint32_t pid)
{
    uint32_t index;
    if (!wp_intmap_get(&s->by_pid, (struct wp_intkey){pid, 0}, &index) ||
        WP_ARRAY_FIT(s->free_spaces, s->free_room, s->free_count + 1))
        return;
    wp_intmap_remove(&s->by_pid, (struct wp_intkey){pid, 0});
    s->free_spaces[s->free_count++] = index;
    if (s->spaces[index].room > KEPT_MAPPINGS) {
        free(s->spaces[index].mappings);
        s->spaces[index].mappings = NULL;
        s->spaces[index].room = 0;
    }
}

void wp_address_spaces_sweep(struct wp_address_spaces *s, bool (*is_there)(void *context, uint32_t pid),
    void (*gone)(void *context, uint32_t pid), void *context)
{
    uint32_t count = 0, *pids = malloc((s->by_pid.count + 1) * sizeof(*pids));
    for (uint32_t i = 0; pids && s->by_pid.slots && i <= s->by_pid.mask; i++) {
        const struct wp_intslot *slot = &s->by_pid.slots[i];
        if (!slot->used)
            continue;
        bool is_missing = !is_there(context, (uint32_t)slot->key.a);
        if (is_missing && s->spaces[slot->value].is_missing)
            pids[count++] = (uint32_t)slot->key.a;
        s->spaces[slot->value].is_missing = is_missing;
    }
    for (uint32_t i = 0; i < count; i++) {
        wp_address_spaces_exit(s, pids[i]);
        gone(context, pids[i]);
    }
    free(pids);
}

/* Those that are mapped, into `anew`; *numbers: by the old number, UINT32_MAX: it goes. */
static int keep_mapped(const struct wp_address_spaces *s, struct wp_address_spaces *anew, uint32_t *numbers)
{
    memset(numbers, 0xff, s->object_count * sizeof(*numbers));
    for (uint32_t i = 0; s->by_pid.slots && i <= s->by_pid.mask; i++) {
        const struct space *space = s->by_pid.slots[i].used ? &s->spaces[s->by_pid.slots[i].value] : NULL;
        for (uint32_t j = 0; space && j < space->count; j++) {
            uint32_t *number = &numbers[space->mappings[j].object];
            const struct object *o = &s->objects[space->mappings[j].object];
            if (*number == UINT32_MAX)
                *number = object_of(anew, wp_intern_text(s->paths, o->path), o->build_id, o->build_id_size, o->inode);
            if (*number == UINT32_MAX)
                return -ENOMEM;
        }
    }
    for (uint32_t i = 0; s->by_inode.slots && i <= s->by_inode.mask; i++) {
        const struct wp_intslot *slot = &s->by_inode.slots[i];
        uint32_t path = slot->used && numbers[slot->value] != UINT32_MAX
            ? wp_intern_str(anew->paths, wp_intern_text(s->paths, (uint32_t)slot->key.b))
            : UINT32_MAX;
        if (path != UINT32_MAX &&
            wp_intmap_put(
                &anew->by_inode, (struct wp_intkey){slot->key.a, slot->key.b >> 32 << 32 | path}, numbers[slot->value]))
            return -ENOMEM;
    }
    return 0;
}

static void take_objects(struct wp_address_spaces *s, struct wp_address_spaces *anew, const uint32_t *numbers)
{
    for (uint32_t i = 0; s->by_pid.slots && i <= s->by_pid.mask; i++) {
        struct space *space = s->by_pid.slots[i].used ? &s->spaces[s->by_pid.slots[i].value] : NULL;
        for (uint32_t j = 0; space && j < space->count; j++)
            space->mappings[j].object = numbers[space->mappings[j].object];
    }
    struct wp_address_spaces old = *s;
    s->paths = anew->paths;
    s->objects = anew->objects;
    s->object_count = anew->object_count;
    s->object_room = anew->object_room;
    s->by_object = anew->by_object;
    s->by_inode = anew->by_inode;
    *anew = (struct wp_address_spaces){
        .paths = old.paths, .objects = old.objects, .by_object = old.by_object, .by_inode = old.by_inode};
}

bool wp_address_spaces_forget_objects(struct wp_address_spaces *s)
{
    if (s->object_count < OBJECTS || s->object_count < s->objects_most)
        return false;
    struct wp_address_spaces *anew = wp_address_spaces_create();
    uint32_t *numbers = malloc(s->object_count * sizeof(*numbers));
    bool is_done = anew && numbers && !keep_mapped(s, anew, numbers);
    if (is_done)
        take_objects(s, anew, numbers);
    s->objects_most = 2 * s->object_count;
    wp_address_spaces_destroy(anew);
    free(numbers);
    return is_done;
}

uint32_t wp_address_spaces_objects(const struct wp_address_spaces *s)
{
    return s->object_count;
}

/* /proc does not say the build id, so the file does: containers have other files at the same paths. Once a file. */
static uint32_t object_seen(
    struct wp_address_spaces *s, uint32_t pid, const struct wp_process_mapping *mapping, uint64_t device)
{
    uint32_t path = wp_intern_str(s->paths, mapping->path), object;
    struct wp_intkey key = {mapping->inode, device << 32 | path};
    if (*mapping->path != '/' || !mapping->inode)
        return object_of(s, mapping->path, NULL, 0, 0);
    if (wp_intmap_get(&s->by_inode, key, &object))
        return object;
    struct wp_elf_file file = {.fd = -1};
    for (unsigned way = 0; way < WP_PROCESS_FILE_WAYS && !file.elf; way++) {
        int fd = wp_process_file_mapped(pid, mapping, way);
        if (fd >= 0)
            wp_elf_file_open(&file, fd, NULL);
    }
    object = object_of(s, mapping->path, file.build_id, file.build_id_size, mapping->inode);
    wp_elf_file_close(&file);
    if (object != UINT32_MAX)
        wp_intmap_put(&s->by_inode, key, object);
    return object;
}

/* "start-end perms offset dev inode   path" of proc(5); not executable: nothing. */
static int take_line(struct wp_address_spaces *s, uint32_t pid, const char *line)
{
    unsigned long start, end, offset, inode;
    unsigned major, minor;
    char perms[8];
    int path_at = 0;
    if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &start, &end, perms, &offset, &major, &minor, &inode, &path_at) <
            7 ||
        end <= start || !strchr(perms, 'x'))
        return 0;
    struct wp_process_mapping mapping = {start, end, inode, path_at > 0 ? line + path_at : ""};
    if (!strcmp(mapping.path, "[vsyscall]"))
        return 0;
    int rc =
        map_object(s, pid, start, end - start, offset, object_seen(s, pid, &mapping, (uint64_t)major << 20 | minor));
    return rc == -ENOMEM ? rc : 0;
}

static int read_space(struct wp_address_spaces *s, uint32_t pid)
{
    struct wp_buffer text = {0};
    char path[64], *rest;
    snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    int rc = wp_file_read(path, MAPS_BYTES, &text, NULL);
    if (!rc)
        rc = clear_space(s, pid);
    if (!rc)
        rc = wp_buffer_append(&text, "", 1);
    char *line = rc ? NULL : strtok_r((char *)text.data, "\n", &rest);
    for (; line && !rc; line = strtok_r(NULL, "\n", &rest))
        rc = take_line(s, pid, line);
    wp_buffer_fini(&text);
    return rc;
}

/* Memory that is no file's: what a process may have made code in. */
static bool is_memory(const struct wp_address_spaces *s, const struct wp_mapping *mapping)
{
    return !strcmp(wp_intern_text(s->paths, s->objects[mapping->object].path), "[jit]");
}

/* 0: gone, or not to be read. */
static uint32_t parent_of(uint32_t pid)
{
    struct wp_buffer text = {0};
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    bool is_read = !wp_file_read(path, STATUS_BYTES, &text, NULL) && !wp_buffer_append(&text, "", 1);
    const char *line = is_read ? strstr((const char *)text.data, "\nPPid:") : NULL;
    uint32_t parent = line ? (uint32_t)strtoul(line + strlen("\nPPid:"), NULL, 10) : 0;
    wp_buffer_fini(&text);
    return parent;
}

static bool has_memory(const struct wp_address_spaces *s, uint32_t pid)
{
    const struct space *space = find_space(s, pid);
    for (uint32_t i = 0; space && i < space->count; i++)
        if (is_memory(s, &space->mappings[i]))
            return true;
    return false;
}

/* Of a process that forked before it was watched: its memory is its parent's where that has memory at the same place.
 * Programs that were executed since have another layout. */
static void inherit(struct wp_address_spaces *s, uint32_t pid, uint32_t parent)
{
    const struct space *space = find_space(s, pid), *from = find_space(s, parent);
    for (uint32_t i = 0; space && from && i < space->count; i++) {
        struct wp_mapping *mapping = &space->mappings[i];
        const struct wp_mapping *made = wp_address_spaces_find(s, parent, mapping->start);
        if (!made || made->start != mapping->start || !is_memory(s, mapping) || made->object != mapping->object)
            continue;
        mapping->maker = made->maker;
        mapping->maker_program = made->maker_program;
    }
}

int wp_address_spaces_read(struct wp_address_spaces *s, uint32_t pid)
{
    uint32_t line[ANCESTORS] = {pid}, count = 1;
    int rc = read_space(s, pid);
    while (
        !rc && count < ANCESTORS && has_memory(s, line[count - 1]) && (line[count] = parent_of(line[count - 1])) > 1) {
        bool is_known = find_space(s, line[count]);
        if (!is_known && read_space(s, line[count]))
            break;
        count++;
        if (is_known)
            break;
    }
    for (; !rc && count > 1; count--)
        inherit(s, line[count - 2], line[count - 1]);
    return rc;
}

uint32_t wp_address_spaces_maker(const struct wp_address_spaces *s, uint32_t pid, const struct wp_mapping *mapping)
{
    const struct space *maker = mapping->maker != pid ? find_space(s, mapping->maker) : NULL;
    return maker && maker->program == mapping->maker_program ? mapping->maker : 0;
}

uint32_t wp_address_spaces_generation(const struct wp_address_spaces *s, uint32_t pid)
{
    const struct space *space = find_space(s, pid);
    return space ? space->generation : 0;
}

const struct wp_mapping *wp_address_spaces_find(const struct wp_address_spaces *s, uint32_t pid, uint64_t address)
{
    const struct space *space = find_space(s, pid);
    uint32_t at = space ? first_behind(space, address) : 0;
    return space && at < space->count && space->mappings[at].start <= address ? &space->mappings[at] : NULL;
}

uint32_t wp_address_spaces_mappings(const struct wp_address_spaces *s, uint32_t pid)
{
    const struct space *space = find_space(s, pid);
    return space ? space->count : 0;
}

static bool is_jit_dump(const char *path)
{
    const char *name = strrchr(path, '/');
    size_t digits = name && !strncmp(name, "/jit-", 5) ? strspn(name + 5, "0123456789") : 0;
    return digits && !strcmp(name + 5 + digits, ".dump");
}

const struct wp_mapping *wp_address_spaces_jit_dump(const struct wp_address_spaces *s, uint32_t pid)
{
    const struct space *space = find_space(s, pid);
    for (uint32_t i = 0; space && i < space->count; i++)
        if (space->mappings[i].object < s->object_count &&
            is_jit_dump(wp_intern_text(s->paths, s->objects[space->mappings[i].object].path)))
            return &space->mappings[i];
    return NULL;
}

struct wp_object wp_address_spaces_object(const struct wp_address_spaces *s, uint32_t index)
{
    if (index >= s->object_count)
        return (struct wp_object){.path = ""};
    const struct object *o = &s->objects[index];
    struct wp_object object = {
        .path = wp_intern_text(s->paths, o->path), .build_id_size = o->build_id_size, .inode = o->inode};
    memcpy(object.build_id, o->build_id, sizeof(object.build_id));
    return object;
}
