/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/kept_names.h"

#include "common/intmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define TABLE_BYTES ((size_t)64 << 20)
#define PLACE_BYTES ((size_t)4 << 20)

static const struct wp_kept_kind table_kind = {
    .suffix = ".names", .magic = "WPNAM02", .most_bytes = (uint64_t)128 << 20, .most_files = 4096};
static const struct wp_kept_kind place_kind = {
    .suffix = ".places", .magic = "WPPLA02", .most_bytes = (uint64_t)64 << 20, .most_files = 4096};

struct wp_kept_names {
    const char *folder; /* borrowed */
    char table[WP_KEPT_NAME], place[WP_KEPT_NAME];
    uint64_t identity[WP_FILE_IDENTITY]; /* of the object */
    struct wp_buffer places; /* the magic, then heads, each with line, function and file of its levels; {0}: not read */
    struct wp_intmap at;     /* offset -> in places */
    bool has_more;           /* than the file */
};

struct place_head {
    uint64_t offset;
    uint32_t levels, reserved;
};

/* What names depend on: the file, its name, its separate debug file, and who reads them. */
struct known_by {
    uint64_t object[WP_FILE_IDENTITY], debug[WP_FILE_IDENTITY], reader[WP_FILE_IDENTITY];
    uint8_t build_id[WP_BUILD_ID_BYTES];
    char base[64];
};

static bool identify(struct known_by *by, const struct wp_elf_file *file, const char *base)
{
    char debug[WP_SEPARATE_PATH];
    memset(by, 0, sizeof(*by)); /* all of its bytes are hashed */
    if (file->fd < 0 || !wp_file_identity(file->fd, by->object) || !wp_file_identity_at("/proc/self/exe", by->reader))
        return false;
    if (wp_elf_file_separate_path(file->build_id, file->build_id_size, debug))
        wp_file_identity_at(debug, by->debug);
    memcpy(by->build_id, file->build_id, file->build_id_size);
    snprintf(by->base, sizeof(by->base), "%s", base);
    return true;
}

/* A text and its 0, up to `end`; NULL: there is none. */
static const char *read_text(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *text = *at, *zero = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    *at = zero ? zero + 1 : end;
    return zero ? (const char *)text : NULL;
}

/* The place at `at`, and where the next one begins; NULL: there is no whole one. */
static const uint8_t *read_place(
    const uint8_t *at, const uint8_t *end, struct place_head *head, struct wp_place_name *place)
{
    if ((size_t)(end - at) < sizeof(*head))
        return NULL;
    memcpy(head, at, sizeof(*head));
    at += sizeof(*head);
    if (head->levels > WP_INLINE_LEVELS)
        return NULL;
    place->count = head->levels;
    for (unsigned i = 0; i < place->count; i++) {
        struct wp_debug_level *level = &place->levels[i];
        if ((size_t)(end - at) < sizeof(level->line))
            return NULL;
        memcpy(&level->line, at, sizeof(level->line));
        at += sizeof(level->line);
        if (!(level->function = read_text(&at, end)) || !(level->file = read_text(&at, end)))
            return NULL;
    }
    return at;
}

static struct wp_intkey key_of(uint64_t offset)
{
    return (struct wp_intkey){offset, 0};
}

/* What follows what is damaged is left out. */
static int index_places(struct wp_kept_names *n)
{
    const uint8_t *begin = n->places.data, *end = begin + n->places.size, *next;
    struct place_head head;
    struct wp_place_name place;
    n->places.size = WP_KEPT_MAGIC;
    for (const uint8_t *at = begin + WP_KEPT_MAGIC; (next = read_place(at, end, &head, &place)); at = next) {
        if (wp_intmap_put(&n->at, key_of(head.offset), (uint32_t)(at - begin)))
            return -ENOMEM;
        n->places.size = (size_t)(next - begin);
    }
    return 0;
}

/* When the first one is asked for. */
static int read_places(struct wp_kept_names *n)
{
    if (n->places.size)
        return 0;
    if (!wp_kept_files_read(&place_kind, n->folder, n->place, PLACE_BYTES, &n->places)) {
        wp_kept_files_use(n->folder, n->place);
        return index_places(n);
    }
    wp_buffer_clear(&n->places);
    return wp_buffer_append(&n->places, place_kind.magic, WP_KEPT_MAGIC);
}

struct wp_kept_names *wp_kept_names_open(const char *folder, const struct wp_elf_file *file, const char *base)
{
    struct known_by by;
    struct wp_kept_names *n = identify(&by, file, base) ? calloc(1, sizeof(*n)) : NULL;
    if (!n)
        return NULL;
    XXH128_hash_t hash = XXH3_128bits(&by, sizeof(by));
    unsigned long long high = hash.high64, low = hash.low64;
    snprintf(n->table, sizeof(n->table), "%016llx%016llx%s", high, low, table_kind.suffix);
    snprintf(n->place, sizeof(n->place), "%016llx%016llx%s", high, low, place_kind.suffix);
    memcpy(n->identity, by.object, sizeof(n->identity));
    n->folder = folder;
    return n;
}

void wp_kept_names_close(struct wp_kept_names *n)
{
    if (!n)
        return;
    if (n->has_more)
        wp_kept_files_write(n->folder, n->place, &n->places);
    wp_buffer_fini(&n->places);
    wp_intmap_fini(&n->at);
    free(n);
}

int wp_kept_names_restore(const struct wp_kept_names *n, struct wp_object_names **names, bool *has_lines)
{
    struct wp_buffer bytes = {0};
    int rc = wp_kept_files_read(&table_kind, n->folder, n->table, TABLE_BYTES, &bytes);
    if (!rc)
        rc = wp_object_names_decode(names, bytes.data + WP_KEPT_MAGIC, bytes.size - WP_KEPT_MAGIC, has_lines);
    if (!rc)
        wp_kept_files_use(n->folder, n->table);
    wp_buffer_fini(&bytes);
    return rc;
}

void wp_kept_names_keep(const struct wp_kept_names *n, const struct wp_object_names *names)
{
    struct wp_buffer bytes = {0};
    wp_buffer_append(&bytes, table_kind.magic, WP_KEPT_MAGIC);
    if (!wp_object_names_encode(names, &bytes) && bytes.size <= TABLE_BYTES)
        wp_kept_files_write(n->folder, n->table, &bytes);
    wp_buffer_fini(&bytes);
}

bool wp_kept_names_find(struct wp_kept_names *n, uint64_t offset, struct wp_place_name *place)
{
    struct place_head head;
    uint32_t at;
    return !read_places(n) && wp_intmap_get(&n->at, key_of(offset), &at) &&
        read_place(n->places.data + at, n->places.data + n->places.size, &head, place);
}

void wp_kept_names_add(struct wp_kept_names *n, uint64_t offset, const struct wp_place_name *place)
{
    const struct place_head head = {offset, place->count, 0};
    if (read_places(n))
        return;
    size_t size = n->places.size;
    wp_buffer_append(&n->places, &head, sizeof(head));
    for (unsigned i = 0; i < place->count; i++) {
        const struct wp_debug_level *level = &place->levels[i];
        wp_buffer_append(&n->places, &level->line, sizeof(level->line));
        wp_buffer_append(&n->places, level->function, strlen(level->function) + 1);
        wp_buffer_append(&n->places, level->file, strlen(level->file) + 1);
    }
    bool is_whole = !n->places.failed && n->places.size <= PLACE_BYTES;
    if (is_whole && !wp_intmap_put(&n->at, key_of(offset), (uint32_t)size)) {
        n->has_more = true;
        return;
    }
    n->places.size = size;
    n->places.failed = false;
}

bool wp_kept_names_is_at(const struct wp_kept_names *n, const char *path)
{
    uint64_t words[WP_FILE_IDENTITY];
    return wp_file_identity_at(path, words) && !memcmp(words, n->identity, sizeof(words));
}

int wp_kept_names_reopen(const struct wp_kept_names *n, const char *path, struct wp_elf_file *file)
{
    uint64_t words[WP_FILE_IDENTITY];
    int rc = wp_elf_file_open_path(file, path, NULL);
    if (rc || (wp_file_identity(file->fd, words) && !memcmp(words, n->identity, sizeof(words))))
        return rc;
    wp_elf_file_close(file);
    return -ESTALE;
}

void wp_kept_names_bound(const char *folder)
{
    wp_kept_files_bound(&table_kind, folder, 0);
    wp_kept_files_bound(&place_kind, folder, 0);
}
