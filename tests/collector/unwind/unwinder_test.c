/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are read, and how often; the kernel side is not there. */
#include "collector/unwind/unwinder.h"

#include "collector/bpf/unwind_row.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct opened {
    uint64_t inode;
    unsigned count;
    bool is_plain;
};

static bool open_one(void *context, const struct wp_unwind_file *file, int fd, const char *path)
{
    struct opened *opened = context;
    (void)fd;
    (void)path;
    if (file->inode == opened->inode)
        __atomic_add_fetch(&opened->count, 1, __ATOMIC_RELAXED);
    return opened->is_plain;
}

/* Maps this process' C library once more, as code, apart from where it is. */
static void *map_library(struct opened *opened)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4200];
    struct stat status = {0};
    void *again = MAP_FAILED;
    while (maps && again == MAP_FAILED && fgets(line, sizeof(line), maps)) {
        char *path = strchr(line, '/');
        line[strcspn(line, "\n")] = 0;
        if (!path || !strstr(path, "/libc."))
            continue;
        FILE *library = fopen(path, "re");
        assert_non_null(library);
        assert_int_equal(fstat(fileno(library), &status), 0);
        again = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(library), 0);
        fclose(library);
    }
    assert_non_null(maps);
    fclose(maps);
    opened->inode = status.st_ino;
    return again;
}

static void a_file_is_one_job(void **state)
{
    (void)state;
    const struct wp_logger logger = {.program = "test", .level = WP_LOG_ERROR, .fd = 2};
    uint32_t generation = 0;
    struct opened opened = {0};
    void *again = map_library(&opened);
    assert_ptr_not_equal(again, MAP_FAILED);
    struct wp_unwinder *u = wp_unwinder_create(&(struct wp_unwinder_options){.files_fd = -1,
        .pages_fd = -1,
        .generation = &generation,
        .logger = &logger,
        .opened = open_one,
        .context = &opened});
    assert_non_null(u);
    wp_unwinder_settle(u, 30000);
    wp_unwinder_learn(u, "/proc/self/exe"); /* it is linked with the library */
    wp_unwinder_settle(u, 30000);
    wp_unwinder_destroy(u);
    munmap(again, 4096);
    assert_int_equal(opened.count, 1);
}

/* An unwinder for this program, from start to end. */
static void unwind_once(const char *cache, struct opened *opened)
{
    const struct wp_logger logger = {.program = "test", .level = WP_LOG_ERROR, .fd = 2};
    uint32_t generation = 0;
    struct wp_unwinder *u = wp_unwinder_create(&(struct wp_unwinder_options){.files_fd = -1,
        .pages_fd = -1,
        .generation = &generation,
        .cache = cache,
        .logger = &logger,
        .opened = open_one,
        .context = opened});
    assert_non_null(u);
    wp_unwinder_learn(u, "/proc/self/exe");
    wp_unwinder_settle(u, 30000);
    wp_unwinder_destroy(u);
}

static void remove_files(const char *folder)
{
    char path[400];
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(path, sizeof(path), "%s/%.255s", folder, entry->d_name);
        unlink(path);
    }
    closedir(dir);
    rmdir(folder);
}

/* As long as its rows are kept; what is not plain is shown each time. */
static void a_plain_file_is_shown_once(void **state)
{
    (void)state;
    char folder[] = "/tmp/wp-unwinder-XXXXXX";
    struct opened opened = {0};
    void *again = map_library(&opened);
    assert_non_null(mkdtemp(folder));
    for (unsigned i = 1; i <= 2; i++) {
        unwind_once(folder, &opened);
        assert_int_equal(opened.count, i);
    }
    opened.is_plain = true;
    for (unsigned i = 0; i < 3; i++)
        unwind_once(folder, &opened);
    assert_int_equal(opened.count, 3);
    munmap(again, 4096);
    remove_files(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_one_job), cmocka_unit_test(a_plain_file_is_shown_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
