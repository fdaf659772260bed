/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are read, and how often; the kernel side is not there. */
#include "collector/unwind/unwinder.h"

#include "collector/bpf/unwind_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

struct opened {
    uint64_t inode;
    unsigned count;
};

static void open_one(void *context, const struct wp_unwind_file *file, int fd, const char *path)
{
    struct opened *opened = context;
    (void)fd;
    (void)path;
    if (file->inode == opened->inode)
        __atomic_add_fetch(&opened->count, 1, __ATOMIC_RELAXED);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_is_one_job)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
