/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/unwind_cache.h"
#include "collector/unwind/unwind_reader.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

struct seen {
    uint64_t pages, rows, kinds[8];
    uint64_t behind;
};

static int look(void *context, uint32_t number, const struct wp_unwind_page *page)
{
    struct seen *seen = context;
    uint32_t bits = WP_UNWIND_LEVEL_BITS(WP_UNWIND_LEVEL_OF(number));
    uint64_t begin = WP_UNWIND_BEGIN_OF(number);
    assert_true(!seen->pages || begin >= seen->behind); /* each once, in order */
    if (page->count == WP_UNWIND_SPLIT)
        return 0;
    assert_in_range(page->count, 1, WP_UNWIND_ROWS - 1);
    for (uint32_t i = 0; i < page->count; i++) {
        assert_true(page->rows[i].start < 1u << WP_UNWIND_PAGE_BITS);
        assert_true(!i || page->rows[i].start > page->rows[i - 1].start);
        seen->kinds[page->rows[i].cfa & 7]++;
    }
    seen->behind = begin + (1u << bits);
    seen->pages++;
    seen->rows += page->count;
    return 0;
}

static struct wp_unwind_stats walk(const struct wp_unwind_rows *rows, struct seen *seen)
{
    struct wp_unwind_stats stats;
    *seen = (struct seen){0};
    assert_int_equal(wp_unwind_rows_pages(rows, look, seen, &stats), 0);
    return stats;
}

static int read_path(struct wp_unwind_rows **rows, const char *path, struct wp_error *err)
{
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    int rc = wp_unwind_rows_read(rows, fd, err);
    close(fd);
    return rc;
}

static void own_program(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows;
    struct seen seen;
    struct wp_error err = {0};
    if (read_path(&rows, "/proc/self/exe", &err))
        fail_msg("%s", err.text);
    struct wp_unwind_stats stats = walk(rows, &seen);
    assert_true(seen.kinds[WP_CFA_SP] > 20);
    assert_true(seen.kinds[WP_CFA_END] >= 1); /* _start has no caller */
    assert_int_equal(stats.crowded_pages, 0);
    wp_unwind_rows_destroy(rows);
}

static int refuse(void *context, uint32_t number, const struct wp_unwind_page *page)
{
    uint64_t *left = context;
    (void)number;
    (void)page;
    return *left && (*left)-- ? 0 : -ENOSPC;
}

/* Whichever page there is no room for, it is the last one; here the first one is split. */
static void no_room_for_a_page(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows;
    struct wp_unwind_stats all, stats;
    struct seen seen;
    assert_int_equal(read_path(&rows, CROWDED_OBJECT, NULL), 0);
    all = walk(rows, &seen);
    assert_true(all.pages > 1);
    for (uint64_t room = 0; room < all.pages; room++) {
        uint64_t left = room;
        assert_int_equal(wp_unwind_rows_pages(rows, refuse, &left, &stats), -ENOSPC);
        assert_int_equal(stats.pages, room + 1);
    }
    wp_unwind_rows_destroy(rows);
}

static bool is_same(const struct wp_unwind_rows *a, const struct wp_unwind_rows *b)
{
    struct wp_buffer x = {0}, y = {0};
    assert_int_equal(wp_unwind_rows_encode(a, &x), 0);
    assert_int_equal(wp_unwind_rows_encode(b, &y), 0);
    bool same = x.size == y.size && !memcmp(x.data, y.data, x.size);
    wp_buffer_fini(&x);
    wp_buffer_fini(&y);
    return same;
}

/* What is kept on disk comes back whole, or not at all. */
static void kept(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows, *again;
    struct wp_buffer bytes = {0};
    assert_int_equal(read_path(&rows, LIBC, NULL), 0);
    assert_int_equal(wp_unwind_rows_encode(rows, &bytes), 0);
    assert_int_equal(wp_unwind_rows_decode(&again, bytes.data, bytes.size), 0);
    assert_true(is_same(rows, again));
    assert_int_equal(wp_unwind_rows_count(again), wp_unwind_rows_count(rows));
    wp_unwind_rows_destroy(again);
    for (size_t size = 0; size < bytes.size; size += 1 + size / 3)
        assert_int_equal(wp_unwind_rows_decode(&again, bytes.data, size), -EINVAL);
    for (size_t at = 0; at < bytes.size; at += 1 + at / 2) {
        bytes.data[at] ^= 4;
        assert_int_equal(wp_unwind_rows_decode(&again, bytes.data, bytes.size), -EINVAL);
        bytes.data[at] ^= 4;
    }
    wp_buffer_fini(&bytes);
    wp_unwind_rows_destroy(rows);
}

static bool from_cache(const struct wp_unwind_cache *cache, struct wp_unwind_rows **rows)
{
    bool is_cached;
    char name[WP_KEPT_NAME];
    const struct wp_unwind_file met = {.inode = 5, .device = 6};
    struct wp_unwind_object object = {.fd = open(LIBC, O_RDONLY), .name = name, .met = &met};
    assert_true(object.fd >= 0);
    assert_true(wp_unwind_cache_name(object.fd, name));
    assert_int_equal(wp_unwind_cache_rows(cache, &object, rows, &is_cached, NULL), 0);
    if (!is_cached)
        wp_unwind_cache_keep(cache, &object, *rows);
    close(object.fd);
    return is_cached;
}

struct met {
    unsigned count;
    struct stat status;
    struct wp_unwind_file file;
};

static bool meet(void *context, const struct wp_unwind_kept *kept)
{
    struct met *met = context;
    assert_int_equal(fstat(kept->fd, &met->status), 0);
    assert_string_equal(strrchr(kept->path, '/'), "/libc.so.6");
    met->file = kept->file;
    met->count++;
    close(kept->fd);
    return true;
}

/* What is kept is told with the file that it is of now; not without room, nor when it is damaged or of somebody else.
 */
static void expect_met(const struct wp_unwind_cache *cache, uint64_t bytes, unsigned count)
{
    struct met met = {0};
    wp_unwind_cache_each(cache, bytes, meet, &met);
    assert_int_equal(met.count, count);
    if (count)
        assert_int_equal(met.file.inode, met.status.st_ino); /* 5 is no longer there */
}

/* The second time it comes from the cache; not when others may write there, or it is damaged: then it is written anew.
 */
static void cached(void **state)
{
    (void)state;
    char root[] = "/tmp/wp-unwind-XXXXXX", folder[64], file[400] = "";
    struct wp_unwind_rows *first, *second;
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof(folder), "%s/rows", root);
    struct wp_unwind_cache cache = {folder};
    assert_false(from_cache(&cache, &first));
    assert_true(from_cache(&cache, &second));
    assert_true(is_same(first, second));
    wp_unwind_rows_destroy(second);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (*entry->d_name != '.')
            snprintf(file, sizeof(file), "%s/%s", folder, entry->d_name);
    closedir(dir);
    for (int round = 0; round < 2; round++) {
        if (round)
            assert_int_equal(truncate(file, 5000), 0);
        else
            assert_int_equal(chmod(file, 0666), 0);
        if (!round)
            expect_met(&cache, 64 << 20, 0);
        assert_false(from_cache(&cache, &second));
        assert_true(is_same(first, second));
        wp_unwind_rows_destroy(second);
        expect_met(&cache, 64 << 20, 1);
        expect_met(&cache, 1000, 0);
        assert_true(from_cache(&cache, &second));
        wp_unwind_rows_destroy(second);
    }
    wp_unwind_rows_destroy(first);
    assert_false(from_cache(&(struct wp_unwind_cache){NULL}, &first));
    wp_unwind_rows_destroy(first);
    unlink(file);
    rmdir(folder);
    rmdir(root);
}

/* Room is made of what the cache keeps: files of others may have such names, and be as many. */
static void strangers(void **state)
{
    (void)state;
    char root[] = "/tmp/wp-unwind-XXXXXX", path[64];
    struct wp_unwind_rows *rows;
    assert_non_null(mkdtemp(root));
    for (unsigned i = 0; i < 4200; i++) {
        snprintf(path, sizeof(path), "%s/%08x%s.rows", root, i, i % 2 ? "-of-mine" : "");
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_true(fd >= 0 && write(fd, "precious", 8) == 8);
        close(fd);
    }
    assert_false(from_cache(&(struct wp_unwind_cache){root}, &rows));
    wp_unwind_rows_destroy(rows);
    unsigned found = 0;
    for (unsigned i = 0; i < 4200; i++) {
        snprintf(path, sizeof(path), "%s/%08x%s.rows", root, i, i % 2 ? "-of-mine" : "");
        found += !unlink(path);
    }
    assert_int_equal(found, 4200);
    assert_int_equal(wp_path_remove(root, NULL), 0);
}

static void vdso(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows;
    struct seen seen;
    assert_int_equal(wp_unwind_rows_parse(&rows, (const void *)getauxval(AT_SYSINFO_EHDR), 8192, NULL), 0);
    walk(rows, &seen);
    assert_true(seen.rows > 5);
    wp_unwind_rows_destroy(rows);
}

static void no_objects(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows;
    struct wp_error err = {0};
    assert_int_equal(read_path(&rows, "/etc/passwd", &err), -ENOEXEC);
    assert_true(*err.text);
    assert_int_equal(read_path(&rows, "/dev/null", &err), -ENOEXEC);
}

/* Our own program cut short and spoilt: refused or read, never worse. */
static void hostile(void **state)
{
    (void)state;
    static uint8_t image[8 << 20], spoilt[8 << 20];
    struct wp_unwind_rows *rows;
    struct seen seen;
    int fd = open("/proc/self/exe", O_RDONLY);
    ssize_t size = read(fd, image, sizeof(image));
    close(fd);
    assert_true(size > 1000);
    uint64_t random = 7;
    for (int i = 0; i < 400; i++) {
        size_t length = (size_t)size;
        memcpy(spoilt, image, length);
        if (i % 4 == 0)
            length = length * (size_t)i / 400;
        for (int flips = 0; flips < 1 + i % 9; flips++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t range = i % 2 ? 4096 : length; /* headers are what is believed */
            if (length)
                spoilt[(random >> 24) % (range < length ? range : length)] ^= (uint8_t)(1u << (random >> 20) % 8);
        }
        if (!wp_unwind_rows_parse(&rows, spoilt, length, NULL)) {
            walk(rows, &seen);
            wp_unwind_rows_destroy(rows);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_program), cmocka_unit_test(no_room_for_a_page),
        cmocka_unit_test(strangers), cmocka_unit_test(vdso), cmocka_unit_test(kept), cmocka_unit_test(cached),
        cmocka_unit_test(no_objects), cmocka_unit_test(hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
