/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/object_names.h"

#include "collector/elf/demangle.h"
#include "collector/elf/elf_symbols.h"
#include "collector/elf/spin_loops.h"
#include "collector/symbols/debug_fetch.h"
#include "common/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 4096u
/* pthread_rwlock_t, the largest: a variable without room for more is one, whatever its words. */
#define LOCK_BYTES 56u
#define LIBDW_PART 2u /* of debug info: what libdw makes of it, by and by, takes a third to a half as much again */

struct wp_object_names {
    struct wp_elf_file file,
        separate; /* one of them stays as long as there are lines from it, without its descriptor */
    struct wp_elf_symbols *symbols;
    struct wp_spin_loops spin_loops;
    struct wp_debug_lines *lines;  /* NULL: none */
    bool has_bombs;                /* names that unfold without end: its names stay as they are */
    char *names[WP_INLINE_LEVELS]; /* owned; of the last answer; NULL: not needed yet */
};

void wp_object_names_destroy(struct wp_object_names *n)
{
    if (!n)
        return;
    wp_debug_lines_close(n->lines);
    wp_elf_symbols_destroy(n->symbols);
    wp_spin_loops_fini(&n->spin_loops);
    wp_elf_file_close(&n->separate);
    wp_elf_file_close(&n->file);
    for (unsigned i = 0; i < WP_INLINE_LEVELS; i++)
        free(n->names[i]);
    free(n);
}

/* Of a file that has no debug info itself. */
static void open_fetched(struct wp_object_names *n, struct wp_debug_fetch *fetch)
{
    const struct wp_elf_file *f = &n->file;
    GElf_Shdr header;
    if (wp_elf_file_section(f, ".debug_info", SIZE_MAX, &header))
        return;
    int fd = wp_debug_fetch_file(fetch, f->build_id, f->build_id_size);
    if (fd >= 0 && !wp_elf_file_open(&n->separate, fd, NULL) &&
        !wp_elf_file_is_build(&n->separate, f->build_id, f->build_id_size))
        wp_elf_file_close(&n->separate);
}

static void open_separate(struct wp_object_names *n, int root_fd, struct wp_debug_fetch *fetch)
{
    const struct wp_elf_file *f = &n->file;
    int rc = root_fd >= 0 ? wp_elf_file_open_separate(&n->separate, root_fd, f->build_id, f->build_id_size) : -ENOENT;
    if (rc)
        rc = wp_elf_file_open_separate(&n->separate, -1, f->build_id, f->build_id_size);
    if (rc && fetch)
        open_fetched(n, fetch);
}

/* Of the file nothing is kept that was read for its functions, nor its descriptor: all debug info is in memory then. */
static int open_lines(struct wp_object_names *n, struct wp_elf_file *file, uint64_t limit)
{
    wp_elf_file_read_anew(file);
    int rc = wp_debug_lines_open(&n->lines, file, limit, NULL);
    if (rc)
        return rc;
    wp_elf_file_close(file == &n->file ? &n->separate : &n->file);
    wp_elf_file_done(file);
    return 0;
}

static void open_all_lines(struct wp_object_names *n, uint64_t limit)
{
    if (limit && open_lines(n, &n->file, limit) && n->separate.elf)
        open_lines(n, &n->separate, limit);
    if (!n->lines) { /* nothing more will be read */
        wp_elf_file_close(&n->separate);
        wp_elf_file_close(&n->file);
    }
}

/* Takes the file. */
static void open_files(struct wp_object_names *n, struct wp_elf_file *file, int root_fd, struct wp_debug_fetch *fetch)
{
    n->file = *file;
    *file = (struct wp_elf_file){.fd = -1};
    if (n->file.build_id_size)
        open_separate(n, root_fd, fetch);
}

static struct wp_object_names *make_names(void)
{
    struct wp_object_names *n = calloc(1, sizeof(*n));
    if (n)
        n->file.fd = n->separate.fd = -1;
    return n;
}

int wp_object_names_create(struct wp_object_names **names, struct wp_elf_file *file, int root_fd,
    struct wp_debug_fetch *fetch, uint64_t debug_limit, struct wp_error *err)
{
    struct wp_object_names *n = make_names();
    if (!n) {
        wp_elf_file_close(file);
        return wp_error_set(err, -ENOMEM, "out of memory for functions");
    }
    open_files(n, file, root_fd, fetch);
    int rc = wp_elf_symbols_read(&n->symbols, &n->file, n->separate.elf ? &n->separate : NULL, err);
    if (rc) {
        wp_object_names_destroy(n);
        return rc;
    }
    wp_elf_symbols_trim(n->symbols);
    wp_spin_loops_read(&n->spin_loops, &n->file);
    open_all_lines(n, debug_limit);
    *names = n;
    return 0;
}

void wp_object_names_add_lines(struct wp_object_names *n, struct wp_elf_file *file, uint64_t debug_limit)
{
    open_files(n, file, -1, NULL);
    open_all_lines(n, debug_limit);
}

/* Before the loops, then the functions. */
struct kept_head {
    uint32_t has_lines, loops;
};

int wp_object_names_encode(const struct wp_object_names *n, struct wp_buffer *out)
{
    const struct kept_head head = {n->lines != NULL, n->spin_loops.count};
    wp_buffer_append(out, &head, sizeof(head));
    wp_buffer_append(out, n->spin_loops.loops, head.loops * sizeof(*n->spin_loops.loops));
    return wp_elf_symbols_encode(n->symbols, out);
}

static int decode_loops(struct wp_spin_loops *loops, const uint8_t *bytes, uint32_t count)
{
    if (count && WP_ARRAY_FIT(loops->loops, loops->room, count))
        return -ENOMEM;
    if (count)
        memcpy(loops->loops, bytes, count * sizeof(*loops->loops));
    loops->count = count;
    for (uint32_t i = 1; i < count; i++)
        if (loops->loops[i].start < loops->loops[i - 1].start)
            return -EINVAL;
    return 0;
}

int wp_object_names_decode(struct wp_object_names **names, const uint8_t *bytes, size_t size, bool *has_lines)
{
    struct kept_head head;
    if (size < sizeof(head))
        return -EINVAL;
    memcpy(&head, bytes, sizeof(head));
    size_t loops = head.loops * sizeof(struct wp_spin_loop);
    if (loops > size - sizeof(head))
        return -EINVAL;
    struct wp_object_names *n = make_names();
    int rc = n ? decode_loops(&n->spin_loops, bytes + sizeof(head), head.loops) : -ENOMEM;
    if (!rc)
        rc = wp_elf_symbols_decode(&n->symbols, bytes + sizeof(head) + loops, size - sizeof(head) - loops);
    if (rc) {
        wp_object_names_destroy(n);
        return rc;
    }
    *has_lines = head.has_lines;
    *names = n;
    return 0;
}

uint64_t wp_object_names_bytes(const struct wp_object_names *n)
{
    uint64_t debug = wp_object_names_debug_bytes(n);
    uint64_t bytes = sizeof(*n) + wp_elf_symbols_bytes(n->symbols) + debug + debug / LIBDW_PART +
        n->spin_loops.room * sizeof(*n->spin_loops.loops);
    for (unsigned i = 0; i < WP_INLINE_LEVELS; i++)
        bytes += n->names[i] ? NAME_BYTES : 0;
    return bytes;
}

uint64_t wp_object_names_debug_bytes(const struct wp_object_names *n)
{
    return n->lines ? wp_debug_lines_bytes(n->lines) : 0;
}

uint32_t wp_object_names_functions(const struct wp_object_names *n)
{
    return wp_elf_symbols_count(n->symbols);
}

static const char *readable(struct wp_object_names *n, unsigned level, const char *function)
{
    if (!function)
        return "";
    if (!n->names[level] && !(n->names[level] = malloc(NAME_BYTES)))
        return function;
    enum wp_demangled rc = n->has_bombs ? WP_DEMANGLE_PLAIN : wp_demangle(function, n->names[level], NAME_BYTES);
    n->has_bombs = n->has_bombs || rc == WP_DEMANGLE_BOMB;
    return rc == WP_DEMANGLE_DONE ? n->names[level] : function;
}

void wp_object_names_data(struct wp_object_names *n, uint64_t offset, const char *base, struct wp_place_name *place)
{
    uint64_t address;
    struct wp_elf_place in;
    place->count = 0;
    if (!wp_elf_symbols_data_address(n->symbols, offset, &address))
        return;
    const char *symbol = wp_elf_symbols_data(n->symbols, address, &in);
    const char *name = symbol ? readable(n, 1, symbol) : NULL;
    if (!n->names[0] && !(n->names[0] = malloc(NAME_BYTES)))
        return;
    if (!name)
        snprintf(n->names[0], NAME_BYTES, "%s+0x%llx", base, (unsigned long long)address);
    else if (in.inside && (!in.size || in.size > LOCK_BYTES))
        snprintf(n->names[0], NAME_BYTES, "%.1000s+0x%llx (%s)", name, (unsigned long long)in.inside, base);
    else
        snprintf(n->names[0], NAME_BYTES, "%.1000s (%s)", name, base);
    place->levels[place->count++] = (struct wp_debug_level){.function = n->names[0], .file = ""};
}

void wp_object_names_find(struct wp_object_names *n, uint64_t offset, struct wp_place_name *place)
{
    uint64_t address;
    const char *function = wp_elf_symbols_find(n->symbols, offset);
    place->count = 0;
    if (n->lines && wp_elf_symbols_address(n->symbols, offset, &address))
        place->count = wp_debug_lines_find(n->lines, address, place->levels);
    if (!place->count && !function)
        return;
    if (!place->count)
        place->levels[place->count++] = (struct wp_debug_level){0};
    if (function) /* a symbol knows parts and clones of a function that debug info gives one name */
        place->levels[0].function = function;
    for (unsigned i = 0; i < place->count; i++) {
        place->levels[i].function = readable(n, i, place->levels[i].function);
        if (!place->levels[i].file)
            place->levels[i].file = "";
    }
    if (place->count < WP_INLINE_LEVELS && wp_spin_loops_has(&n->spin_loops, offset))
        place->levels[place->count++] = (struct wp_debug_level){.function = WP_SPIN_NAME, .file = ""};
}
