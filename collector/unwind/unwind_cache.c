/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/unwind_cache.h"

#include "collector/unwind/unwind_reader.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xxhash.h>

#define EACH_FILES 256u /* that are open at once */
#define FILE_BYTES ((size_t)128 << 20)
#define ID_BYTES 64u

/* What stands before the rows: where the object was met. */
struct head {
    char magic[WP_KEPT_MAGIC];
    uint64_t plain_to; /* the program that found it plain, by a hash of its file; 0: it is not, or nobody has looked */
    uint64_t identity[WP_FILE_IDENTITY];
    struct wp_unwind_file met;
    char path[256]; /* as its NUL-terminated name on this host; "" when it does not fit */
};

static const struct wp_kept_kind kind = {
    .suffix = ".rows", .magic = "WPMET02", .most_bytes = (uint64_t)256 << 20, .most_files = 4096};

/* What a file without a build id (Go, Rust's own libraries) is known by: it changes with the file. */
static ssize_t file_id(int fd, XXH128_canonical_t *hash)
{
    uint64_t words[WP_FILE_IDENTITY];
    if (!wp_file_identity(fd, words))
        return -1;
    XXH128_canonicalFromHash(hash, XXH3_128bits(words, sizeof(words)));
    return sizeof(*hash);
}

bool wp_unwind_cache_name(int fd, char name[WP_KEPT_NAME])
{
    const void *id;
    XXH128_canonical_t hash;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    ssize_t size = elf && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    if (!size) {
        size = file_id(fd, &hash);
        id = &hash;
    }
    bool is_usable = size > 4 && size <= (ssize_t)ID_BYTES;
    for (ssize_t i = 0; is_usable && i < size; i++)
        snprintf(name + 2 * i, WP_KEPT_NAME - 2 * (size_t)i, "%02x", ((const uint8_t *)id)[i]);
    if (is_usable)
        strcat(name, kind.suffix);
    elf_end(elf);
    return is_usable;
}

struct wp_unwind_id wp_unwind_cache_id(const char *name)
{
    XXH128_hash_t hash = XXH3_128bits(name, strlen(name));
    return (struct wp_unwind_id){hash.low64, hash.high64};
}

/* What this program looks for in objects may be another thing than what another version does. */
static uint64_t this_program(void)
{
    uint64_t words[WP_FILE_IDENTITY];
    return wp_file_identity_at("/proc/self/exe", words) ? XXH3_64bits(words, sizeof(words)) | 1 : 0;
}

static int read_rows(const char *folder, struct wp_unwind_object *object, struct wp_unwind_rows **rows)
{
    struct wp_buffer bytes = {0};
    struct head head;
    int rc = wp_kept_files_read(&kind, folder, object->name, FILE_BYTES, &bytes);
    if (!rc && bytes.size < sizeof(head))
        rc = -EINVAL;
    if (!rc) {
        memcpy(&head, bytes.data, sizeof(head));
        object->is_plain = head.plain_to && head.plain_to == this_program();
    }
    if (!rc)
        rc = wp_unwind_rows_decode(rows, bytes.data + sizeof(struct head), bytes.size - sizeof(struct head));
    wp_buffer_fini(&bytes);
    return rc;
}

static void fill_head(struct head *head, const struct wp_unwind_object *object)
{
    char link[64];
    *head = (struct head){.met = *object->met, .plain_to = object->is_plain ? this_program() : 0};
    wp_file_identity(object->fd, head->identity);
    memcpy(head->magic, kind.magic, sizeof(head->magic));
    snprintf(link, sizeof(link), "/proc/self/fd/%d", object->fd);
    ssize_t size = readlink(link, head->path, sizeof(head->path));
    if (size <= 0 || size >= (ssize_t)sizeof(head->path))
        size = 0;
    memset(head->path + size, 0, sizeof(head->path) - (size_t)size);
}

int wp_unwind_cache_rows(const struct wp_unwind_cache *cache, struct wp_unwind_object *object,
    struct wp_unwind_rows **rows, bool *is_cached, struct wp_error *err)
{
    *is_cached = cache->folder && object->name && !read_rows(cache->folder, object, rows);
    if (!*is_cached)
        return wp_unwind_rows_read(rows, object->fd, err);
    if (object->met)
        wp_kept_files_use(cache->folder, object->name);
    return 0;
}

void wp_unwind_cache_keep(
    const struct wp_unwind_cache *cache, const struct wp_unwind_object *object, const struct wp_unwind_rows *rows)
{
    struct head head;
    struct wp_buffer bytes = {0};
    if (!cache->folder || !object->name)
        return;
    fill_head(&head, object);
    if (!wp_buffer_append(&bytes, &head, sizeof(head)) && !wp_unwind_rows_encode(rows, &bytes) &&
        bytes.size <= FILE_BYTES) {
        wp_kept_files_bound(&kind, cache->folder, bytes.size);
        wp_kept_files_write(cache->folder, object->name, &bytes);
    }
    wp_buffer_fini(&bytes);
}

void wp_unwind_cache_tell_plain(const struct wp_unwind_cache *cache, const struct wp_unwind_object *object)
{
    uint64_t plain_to = this_program();
    if (cache->folder && object->name)
        wp_kept_files_patch(&kind, cache->folder, object->name,
            &(struct wp_kept_patch){offsetof(struct head, plain_to), &plain_to, sizeof(plain_to)});
}

/* Is it the object that was kept? Another file at its path may be of the same build. */
static bool is_object(int fd, const char *name, const struct head *head)
{
    char id[WP_KEPT_NAME];
    uint64_t words[WP_FILE_IDENTITY];
    return (wp_file_identity(fd, words) && !memcmp(words, head->identity, sizeof(words))) ||
        (wp_unwind_cache_name(fd, id) && !strcmp(id, name));
}

/* The object that a kept file is of, when it is still there; -1. */
static int open_object(const char *folder, const char *name, struct head *head)
{
    int kept = wp_kept_files_open(&kind, folder, name);
    ssize_t size = kept < 0 ? -1 : read(kept, head, sizeof(*head));
    if (kept >= 0)
        close(kept);
    if (size != (ssize_t)sizeof(*head) || *head->path != '/' || head->path[sizeof(head->path) - 1])
        return -1;
    int fd = open(head->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || is_object(fd, name, head))
        return fd;
    close(fd);
    return -1;
}

void wp_unwind_cache_each(const struct wp_unwind_cache *cache, uint64_t most_bytes,
    bool (*found)(void *context, const struct wp_unwind_kept *kept), void *context)
{
    struct wp_kept_file *files = NULL;
    bool goes_on = true;
    uint64_t taken = 0;
    size_t count = cache->folder ? wp_kept_files_list(&kind, cache->folder, &files) : 0;
    for (size_t i = count, calls = 0; i && goes_on && calls < EACH_FILES && count - i < 4 * EACH_FILES; i--) {
        const struct wp_kept_file *file = &files[i - 1];
        struct head head;
        struct stat status;
        int fd = taken + file->size <= most_bytes ? open_object(cache->folder, file->name, &head) : -1;
        if (fd < 0)
            continue;
        taken += file->size;
        calls++;
        if (!fstat(fd, &status) && status.st_ino != head.met.inode) /* it was installed anew */
            head.met = (struct wp_unwind_file){
                status.st_ino, (uint32_t)(major(status.st_dev) << 20 | minor(status.st_dev)), 0};
        goes_on = found(context, &(struct wp_unwind_kept){head.met, fd, head.path, file->name});
    }
    free(files);
}
