/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/unwind_cache.h"

#include "collector/unwind/unwind_reader.h"
#include "common/array.h"
#include "common/path.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xxhash.h>

#define KEPT_BYTES ((uint64_t)256 << 20) /* of all files together */
#define KEPT_FILES 4096u
#define EACH_FILES 256u /* that are open at once */
#define FILE_BYTES ((size_t)128 << 20)
#define ID_BYTES 64u

/* What stands before the rows: where the object was met. */
struct head {
    char magic[8];
    struct wp_unwind_file met;
    char path[256]; /* as its NUL-terminated name on this host; "" when it does not fit */
};

static const char magic[8] = "WPMET01";
#define MAGIC_WORD 5u /* of it, before the version */

/* What a file without a build id (Go, Rust's own libraries) is known by: it changes with the file. */
static ssize_t file_id(int fd, XXH128_canonical_t *hash)
{
    struct stat status;
    if (fstat(fd, &status))
        return -1;
    const uint64_t words[] = {status.st_dev, status.st_ino, (uint64_t)status.st_size, (uint64_t)status.st_mtim.tv_sec,
        (uint64_t)status.st_mtim.tv_nsec, (uint64_t)status.st_ctim.tv_sec, (uint64_t)status.st_ctim.tv_nsec};
    XXH128_canonicalFromHash(hash, XXH3_128bits(words, sizeof(words)));
    return sizeof(*hash);
}

/* The object's build id as a file name; false when it is no object. */
static bool name_of(int fd, char *name, size_t room)
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
    bool is_usable = size > 4 && size <= (ssize_t)ID_BYTES && room > 2 * (size_t)size + 6;
    for (ssize_t i = 0; is_usable && i < size; i++)
        snprintf(name + 2 * i, room - 2 * (size_t)i, "%02x", ((const uint8_t *)id)[i]);
    if (is_usable)
        strcat(name, ".rows");
    elf_end(elf);
    return is_usable;
}

bool wp_unwind_cache_id(int fd, struct wp_unwind_id *id)
{
    char name[2 * ID_BYTES + 8];
    if (!name_of(fd, name, sizeof(name)))
        return false;
    XXH128_hash_t hash = XXH3_128bits(name, strlen(name));
    *id = (struct wp_unwind_id){hash.low64, hash.high64};
    return true;
}

/* A file that anybody else could have written is not believed. */
static bool is_ours(const char *path)
{
    struct stat status;
    return !lstat(path, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
}

static int read_rows(const char *path, struct wp_unwind_rows **rows)
{
    struct wp_buffer bytes = {0};
    int rc = is_ours(path) ? wp_file_read(path, FILE_BYTES, &bytes, NULL) : -ENOENT;
    if (!rc && (bytes.size < sizeof(struct head) || memcmp(bytes.data, magic, sizeof(magic))))
        rc = -EINVAL;
    if (!rc)
        rc = wp_unwind_rows_decode(rows, bytes.data + sizeof(struct head), bytes.size - sizeof(struct head));
    wp_buffer_fini(&bytes);
    return rc;
}

struct kept {
    char name[2 * ID_BYTES + 8];
    uint64_t size;
    struct timespec used;
};

static int by_age(const void *x, const void *y)
{
    const struct kept *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

/* As name_of makes it. */
static bool is_rows_name(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return digits >= 8 && digits % 2 == 0 && !strcmp(name + digits, ".rows");
}

/* Of this version or another one. The folder is the user's choice, and others' files may be in it. */
static bool is_rows_file(int folder, const char *name)
{
    char found[sizeof(magic)];
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is =
        fd >= 0 && pread(fd, found, sizeof(found), 0) == (ssize_t)sizeof(found) && !memcmp(found, magic, MAGIC_WORD);
    if (fd >= 0)
        close(fd);
    return is;
}

static size_t list(const char *folder, struct kept **files, uint64_t *bytes)
{
    DIR *dir = opendir(folder);
    size_t count = 0, room = 0;
    *files = NULL;
    *bytes = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        size_t size = strlen(entry->d_name);
        if (size >= sizeof((*files)->name) || !is_rows_name(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (WP_ARRAY_FIT(*files, room, count + 1))
            break;
        struct kept *file = &(*files)[count++];
        memcpy(file->name, entry->d_name, size + 1);
        file->size = (uint64_t)status.st_size;
        file->used = status.st_mtim;
        *bytes += file->size;
    }
    if (dir)
        closedir(dir);
    return count;
}

static void make_room(const char *folder, size_t more)
{
    struct kept *files;
    uint64_t bytes;
    size_t count = list(folder, &files, &bytes);
    if (bytes + more > KEPT_BYTES || count >= KEPT_FILES)
        qsort(files, count, sizeof(*files), by_age);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < count && (bytes + more > KEPT_BYTES || count - i >= KEPT_FILES); i++)
        if (is_rows_file(fd, files[i].name) && !unlinkat(fd, files[i].name, 0))
            bytes -= files[i].size;
    if (fd >= 0)
        close(fd);
    free(files);
}

static void fill_head(struct head *head, int fd, const struct wp_unwind_file *met)
{
    char link[64];
    *head = (struct head){.met = *met};
    memcpy(head->magic, magic, sizeof(magic));
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, head->path, sizeof(head->path));
    if (size <= 0 || size >= (ssize_t)sizeof(head->path))
        size = 0;
    memset(head->path + size, 0, sizeof(head->path) - (size_t)size);
}

/* Its folder is nobody else's business; the ones above are ordinary. */
static bool make_folder(const char *folder)
{
    char above[4096];
    if (!mkdir(folder, 0700) || errno == EEXIST)
        return true;
    char *slash = (size_t)snprintf(above, sizeof(above), "%s", folder) < sizeof(above) ? strrchr(above, '/') : NULL;
    if (errno != ENOENT || !slash || slash == above)
        return false;
    *slash = 0;
    return !wp_path_make(above, NULL) && (!mkdir(folder, 0700) || errno == EEXIST);
}

static void keep_rows(
    const struct wp_unwind_cache *cache, const char *path, const struct head *head, const struct wp_unwind_rows *rows)
{
    struct wp_buffer bytes = {0};
    if (!wp_buffer_append(&bytes, head, sizeof(*head)) && !wp_unwind_rows_encode(rows, &bytes) &&
        bytes.size <= FILE_BYTES && make_folder(cache->folder)) {
        make_room(cache->folder, bytes.size);
        wp_file_write_cached(
            path, bytes.data, bytes.size, NULL); /* what cannot be kept, or is damaged, is read again */
    }
    wp_buffer_fini(&bytes);
}

static bool path_of(const struct wp_unwind_cache *cache, int fd, char *path, size_t room)
{
    char name[2 * ID_BYTES + 8];
    return cache->folder && name_of(fd, name, sizeof(name)) &&
        (size_t)snprintf(path, room, "%s/%s", cache->folder, name) < room;
}

int wp_unwind_cache_rows(const struct wp_unwind_cache *cache, int fd, const struct wp_unwind_file *met,
    struct wp_unwind_rows **rows, bool *is_cached, struct wp_error *err)
{
    char path[4096];
    *is_cached = path_of(cache, fd, path, sizeof(path)) && !read_rows(path, rows);
    if (!*is_cached)
        return wp_unwind_rows_read(rows, fd, err);
    if (met)
        utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    return 0;
}

void wp_unwind_cache_keep(
    const struct wp_unwind_cache *cache, int fd, const struct wp_unwind_file *met, const struct wp_unwind_rows *rows)
{
    char path[4096];
    struct head head;
    if (!path_of(cache, fd, path, sizeof(path)))
        return;
    fill_head(&head, fd, met);
    keep_rows(cache, path, &head, rows);
}

/* The object that a kept file is of, when it is still there; -1. */
static int open_object(const char *folder, const char *name, struct head *head)
{
    char path[4096], id[2 * ID_BYTES + 8];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int kept = is_ours(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    ssize_t size = kept < 0 ? -1 : read(kept, head, sizeof(*head));
    if (kept >= 0)
        close(kept);
    if (size != (ssize_t)sizeof(*head) || memcmp(head->magic, magic, sizeof(magic)) || *head->path != '/' ||
        head->path[sizeof(head->path) - 1])
        return -1;
    int fd = open(head->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (name_of(fd, id, sizeof(id)) && !strcmp(id, name)))
        return fd;
    close(fd);
    return -1;
}

void wp_unwind_cache_each(const struct wp_unwind_cache *cache, uint64_t most_bytes,
    bool (*found)(void *context, const struct wp_unwind_file *file, int fd, const char *path), void *context)
{
    struct kept *files;
    bool goes_on = true;
    uint64_t bytes, taken = 0;
    size_t count = cache->folder ? list(cache->folder, &files, &bytes) : 0;
    if (!count)
        return;
    qsort(files, count, sizeof(*files), by_age);
    for (size_t i = count, calls = 0; i && goes_on && calls < EACH_FILES && count - i < 4 * EACH_FILES; i--) {
        const struct kept *file = &files[i - 1];
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
        goes_on = found(context, &head.met, fd, head.path);
    }
    free(files);
}
