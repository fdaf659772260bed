/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/address_space.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int create(void **state)
{
    *state = wp_address_spaces_create();
    return *state ? 0 : -1;
}

static int destroy(void **state)
{
    wp_address_spaces_destroy(*state);
    return 0;
}

static int map(
    struct wp_address_spaces *s, uint32_t pid, uint64_t start, uint64_t size, uint64_t offset, const char *path)
{
    return wp_address_spaces_map(
        s, &(struct wp_mapped_file){.pid = pid, .start = start, .size = size, .file_offset = offset, .path = path});
}

/* "path+offset", "-" where nothing is mapped. */
static void assert_at(struct wp_address_spaces *s, uint32_t pid, uint64_t address, const char *path, uint64_t offset)
{
    const struct wp_mapping *m = wp_address_spaces_find(s, pid, address);
    if (!path) {
        assert_null(m);
        return;
    }
    assert_non_null(m);
    assert_string_equal(wp_address_spaces_object(s, m->object).path, path);
    assert_int_equal(address - m->start + m->file_offset, offset);
}

static void later_mappings_cover(void **state)
{
    struct wp_address_spaces *s = *state;
    assert_int_equal(wp_address_spaces_generation(s, 1), 0);
    map(s, 1, 0x1000, 0x9000, 0, "/a");
    uint32_t before = wp_address_spaces_generation(s, 1);
    map(s, 1, 0x20000, 0x1000, 0x500, "/far");
    assert_int_equal(wp_address_spaces_generation(s, 1), before); /* no answer has changed */
    map(s, 1, 0x3000, 0x2000, 0x7000, "/b");                      /* in the middle: three parts */
    assert_true(wp_address_spaces_generation(s, 1) != before);
    assert_at(s, 1, 0xfff, NULL, 0);
    assert_at(s, 1, 0x2fff, "/a", 0x1fff);
    assert_at(s, 1, 0x3000, "/b", 0x7000);
    assert_at(s, 1, 0x4fff, "/b", 0x8fff);
    assert_at(s, 1, 0x5000, "/a", 0x4000);
    assert_at(s, 1, 0xa000, NULL, 0);
    map(s, 1, 0x2000, 0x4000, 0, "/c"); /* over parts of both, and all of one */
    assert_at(s, 1, 0x1fff, "/a", 0xfff);
    assert_at(s, 1, 0x2000, "/c", 0);
    assert_at(s, 1, 0x5fff, "/c", 0x3fff);
    assert_at(s, 1, 0x6000, "/a", 0x5000);
    assert_at(s, 1, 0x20fff, "/far", 0x14ff);
    assert_at(s, 2, 0x2000, NULL, 0);
}

/* Against a byte for each page. */
static void as_a_plain_array(void **state)
{
    struct wp_address_spaces *s = *state;
    static uint8_t truth[256];
    static const char *const names[] = {NULL, "/a", "/b", "/c", "/d"};
    uint64_t random = 9;
    for (int i = 0; i < 4000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t from = (uint32_t)(random >> 33) % 250, size = 1 + (uint32_t)(random >> 45) % (256 - from),
                 name = 1 + (random >> 60) % 4;
        size = size > 40 ? 40 : size;
        memset(truth + from, (int)name, size);
        assert_int_equal(map(s, 7, (uint64_t)from << 12, (uint64_t)size << 12, (uint64_t)from << 12, names[name]), 0);
        for (uint32_t page = 0; page < 256; page++)
            assert_at(s, 7, ((uint64_t)page << 12) + 5, names[truth[page]], ((uint64_t)page << 12) + 5);
    }
}

static void lives(void **state)
{
    struct wp_address_spaces *s = *state;
    map(s, 1, 0x1000, 0x1000, 0, "/a");
    assert_int_equal(wp_address_spaces_fork(s, 1, 2), 0);
    assert_int_equal(wp_address_spaces_fork(s, 99, 3), 0);
    assert_int_equal(wp_address_spaces_generation(s, 3), 0);
    wp_address_spaces_exec(s, 1);
    assert_at(s, 1, 0x1000, NULL, 0);
    assert_at(s, 2, 0x1000, "/a", 0);
    uint32_t before = wp_address_spaces_generation(s, 2);
    wp_address_spaces_exit(s, 2);
    wp_address_spaces_exit(s, 2);
    assert_at(s, 2, 0x1000, NULL, 0);
    map(s, 2, 0x5000, 0x1000, 0, "/b"); /* the number is used again */
    assert_at(s, 2, 0x1000, NULL, 0);
    assert_true(wp_address_spaces_generation(s, 2) != before);
}

static uint32_t maker(const struct wp_address_spaces *s, uint32_t pid, uint64_t address)
{
    const struct wp_mapping *m = wp_address_spaces_find(s, pid, address);
    assert_non_null(m);
    return wp_address_spaces_maker(s, pid, m);
}

/* Memory that is no file's comes from who mapped it before a fork, until that one runs another program. */
static void memory_is_inherited(void **state)
{
    struct wp_address_spaces *s = *state;
    map(s, 1, 0x1000, 0x4000, 0, "//anon");
    assert_int_equal(wp_address_spaces_fork(s, 1, 2), 0);
    assert_int_equal(wp_address_spaces_fork(s, 2, 3), 0);
    map(s, 3, 0x2000, 0x1000, 0, "//anon"); /* made executable once more */
    map(s, 3, 0x8000, 0x1000, 0, "//anon"); /* its own */
    assert_int_equal(maker(s, 1, 0x1000), 0);
    assert_int_equal(maker(s, 2, 0x1000), 1);
    assert_int_equal(maker(s, 3, 0x1000), 1);
    assert_int_equal(maker(s, 3, 0x2000), 1);
    assert_int_equal(maker(s, 3, 0x8000), 0);
    wp_address_spaces_exit(s, 2);
    assert_int_equal(maker(s, 3, 0x1000), 1);
    wp_address_spaces_exec(s, 1);
    map(s, 1, 0x1000, 0x4000, 0, "//anon");
    assert_int_equal(maker(s, 3, 0x1000), 0);
    wp_address_spaces_exit(s, 1);
    map(s, 1, 0x1000, 0x4000, 0, "//anon"); /* the number is used again */
    assert_int_equal(maker(s, 3, 0x1000), 0);
}

static void objects(void **state)
{
    struct wp_address_spaces *s = *state;
    static const uint8_t one[20] = {1}, two[20] = {2};
    wp_address_spaces_map(s,
        &(struct wp_mapped_file){
            .pid = 1, .start = 0x1000, .size = 0x1000, .path = "/lib/x.so", .build_id = one, .build_id_size = 20});
    wp_address_spaces_map(s,
        &(struct wp_mapped_file){.pid = 2,
            .start = 0x1000,
            .size = 0x1000,
            .path = "/lib/x.so (deleted)",
            .build_id = one,
            .build_id_size = 20});
    wp_address_spaces_map(s,
        &(struct wp_mapped_file){.pid = 3,
            .start = 0x1000,
            .size = 0x1000,
            .path = "/lib/x.so",
            .build_id = two,
            .build_id_size = 20}); /* another container's */
    map(s, 4, 0x1000, 0x1000, 0, "//anon");
    map(s, 4, 0x3000, 0x1000, 0, "[heap]");
    uint32_t first = wp_address_spaces_find(s, 1, 0x1000)->object;
    assert_int_equal(wp_address_spaces_find(s, 2, 0x1000)->object, first);
    assert_int_not_equal(wp_address_spaces_find(s, 3, 0x1000)->object, first);
    assert_string_equal(wp_address_spaces_object(s, wp_address_spaces_find(s, 2, 0x1000)->object).path, "/lib/x.so");
    assert_at(s, 4, 0x1000, "[jit]", 0);
    assert_at(s, 4, 0x3000, "[jit]", 0);
    assert_string_equal(wp_address_spaces_object(s, 12345).path, "");
}

static void bounds(void **state)
{
    struct wp_address_spaces *s = *state;
    assert_int_equal(map(s, 1, 0x1000, 0, 0, "/a"), -EINVAL);
    assert_int_equal(map(s, 1, UINT64_MAX - 5, 100, 0, "/a"), -EINVAL);
    for (uint64_t i = 0; i < 65536; i++)
        assert_int_equal(map(s, 1, (2 * i + 1) << 12, 1 << 12, 0, "/a"), 0);
    assert_int_equal(map(s, 1, (uint64_t)1 << 40, 1 << 12, 0, "/a"), -E2BIG);
    assert_at(s, 1, (uint64_t)1 << 40, NULL, 0);
    char path[9000];
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = 0;
    path[0] = '/';
    assert_int_equal(map(s, 2, 0x1000, 0x1000, 0, path), 0);
    assert_int_equal(strlen(wp_address_spaces_object(s, wp_address_spaces_find(s, 2, 0x1000)->object).path), 4095);
}

static void this_process(void **state)
{
    struct wp_address_spaces *s = *state;
    uint32_t pid = (uint32_t)getpid();
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[size] = 0;
    assert_int_equal(wp_address_spaces_read(s, pid), 0);
    const struct wp_mapping *m = wp_address_spaces_find(s, pid, (uint64_t)(uintptr_t)this_process);
    assert_non_null(m);
    struct wp_object object = wp_address_spaces_object(s, m->object);
    assert_string_equal(object.path, path);
    assert_int_equal(object.build_id_size, 20);                              /* /proc does not say it, the file does */
    assert_null(wp_address_spaces_find(s, pid, (uint64_t)(uintptr_t)&size)); /* the stack is no code */
    assert_int_equal(wp_address_spaces_read(s, 4194304 + 1), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(later_mappings_cover, create, destroy),
        cmocka_unit_test_setup_teardown(as_a_plain_array, create, destroy),
        cmocka_unit_test_setup_teardown(lives, create, destroy),
        cmocka_unit_test_setup_teardown(memory_is_inherited, create, destroy),
        cmocka_unit_test_setup_teardown(objects, create, destroy),
        cmocka_unit_test_setup_teardown(bounds, create, destroy),
        cmocka_unit_test_setup_teardown(this_process, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
