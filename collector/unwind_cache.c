/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind_cache.h"

#include "common/path.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORTH 4096u                       /* rows; fewer are read as fast as the file would be */
#define KEPT_BYTES ((uint64_t)256 << 20)  /* of all files together */
#define FILE_BYTES ((size_t)128 << 20)
#define ID_BYTES 64u

/* The object's build id as a file name; false when it has none. */
static bool name_of(int fd, char *name, size_t room)
{
    const void *id;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    bool is_usable = size > 4 && size <= (ssize_t)ID_BYTES && room > 2 * (size_t)size + 6;
    for (ssize_t i = 0; is_usable && i < size; i++)
        snprintf(name + 2 * i, room - 2 * (size_t)i, "%02x", ((const uint8_t *)id)[i]);
    if (is_usable)
        strcat(name, ".rows");
    elf_end(elf);
    return is_usable;
}

/* A file that anybody else could have written is not believed. */
static bool is_ours(const char *path)
{
    struct stat status;
    return !lstat(path, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
}

static int take(const char *path, struct wp_unwind_rows **rows)
{
    struct wp_buffer bytes = {0};
    int rc = is_ours(path) ? wp_file_read(path, FILE_BYTES, &bytes, NULL) : -ENOENT;
    if (!rc)
        rc = wp_unwind_rows_decode(rows, bytes.data, bytes.size);
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

static size_t list(const char *folder, struct kept **files, uint64_t *bytes)
{
    DIR *dir = opendir(folder);
    size_t count = 0, room = 0;
    *files = NULL;
    *bytes = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        size_t size = strlen(entry->d_name);
        if (size < 6 || size >= sizeof((*files)->name) || strcmp(entry->d_name + size - 5, ".rows") ||
            fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (count == room) {
            struct kept *more = realloc(*files, (room = room ? room * 2 : 64) * sizeof(**files));
            if (!more)
                break;
            *files = more;
        }
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
    if (bytes + more > KEPT_BYTES)
        qsort(files, count, sizeof(*files), by_age);
    for (size_t i = 0; i < count && bytes + more > KEPT_BYTES; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
        if (!unlink(path))
            bytes -= files[i].size;
    }
    free(files);
}

static void keep(const struct wp_unwind_cache *cache, const char *path, const struct wp_unwind_rows *rows)
{
    struct wp_buffer bytes = {0};
    if (wp_unwind_rows_count(rows) < WORTH || wp_unwind_rows_encode(rows, &bytes) || bytes.size > FILE_BYTES) {
        wp_buffer_fini(&bytes);
        return;
    }
    if (!mkdir(cache->folder, 0700) || errno == EEXIST) {
        make_room(cache->folder, bytes.size);
        wp_file_write_atomic(path, bytes.data, bytes.size, NULL); /* what cannot be kept is read again */
    }
    wp_buffer_fini(&bytes);
}

int wp_unwind_cache_rows(const struct wp_unwind_cache *cache, int fd, struct wp_unwind_rows **rows, bool *is_cached,
    struct wp_error *err)
{
    char name[2 * ID_BYTES + 8], path[4096];
    *is_cached = false;
    if (!cache->folder || !name_of(fd, name, sizeof(name)))
        return wp_unwind_rows_read(rows, fd, err);
    snprintf(path, sizeof(path), "%s/%s", cache->folder, name);
    if (!take(path, rows)) {
        *is_cached = true;
        utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
        return 0;
    }
    int rc = wp_unwind_rows_read(rows, fd, err);
    if (!rc)
        keep(cache, path, *rows);
    return rc;
}
