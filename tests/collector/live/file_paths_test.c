/* SPDX-License-Identifier: Apache-2.0 */
/* Paths from names and a table of mounts, and what is put in place of numbers and hashes. */
#include "collector/live/file_paths.h"

#include "collector/bpf/ring_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define VDA (254u << 20)
#define VDB (254u << 20 | 16)

static const char mounts[] = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
                             "23 22 254:0 /srv/inner /mnt/in\\040ner rw - ext4 /dev/vda rw\n"
                             "24 22 254:16 /volumes/one /data rw shared:1 - xfs /dev/vdb rw\n"
                             "25 22 254:16 /volumes /all rw shared:1 - xfs /dev/vdb rw\n"
                             "26 22 254:16 /pods/c0ffee/volumes/csi/data/mount /claim rw shared:1 - xfs /dev/vdb rw\n"
                             "a line that is none\n";

struct bench {
    char file[32];
    struct wp_file_paths *paths;
    uint64_t key;
};

static int create(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    strcpy(b->file, "/tmp/wp-mounts-XXXXXX");
    int fd = mkstemp(b->file);
    if (fd < 0 || write(fd, mounts, sizeof(mounts) - 1) != sizeof(mounts) - 1)
        return -1;
    close(fd);
    b->paths = wp_file_paths_create(b->file);
    *state = b;
    return 0;
}

static int destroy(void **state)
{
    struct bench *b = *state;
    wp_file_paths_destroy(b->paths);
    unlink(b->file);
    free(b);
    return 0;
}

/* The path of "a/b/c" below the root of the device. */
static const char *path_of(struct bench *b, uint32_t device, const char *text)
{
    struct wp_record_path path = {0};
    char copy[WP_RECORD_NAMES * WP_RECORD_NAME];
    const char *parts[64];
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *at = copy, *part; (part = strsep(&at, "/"));)
        if (*part)
            parts[path.count++] = part;
    uint32_t all = path.count;
    path.count = all < WP_RECORD_NAMES ? all : WP_RECORD_NAMES;
    for (uint32_t i = 0; i < path.count; i++)
        snprintf(path.names[i], WP_RECORD_NAME, "%s", parts[all - 1 - i]);
    wp_file_paths_add(b->paths, ++b->key, device, &path);
    return wp_file_paths_get(b->paths, b->key);
}

static void below_mounts(void **state)
{
    struct bench *b = *state;
    assert_string_equal(path_of(b, VDA, "var/lib/db"), "/var/lib/db");
    assert_string_equal(path_of(b, VDA, "srv/inner/x"), "/srv/inner/x"); /* the mount that shows most of it */
    assert_string_equal(path_of(b, VDB, "volumes/one/x"), "/all/one/x");
    assert_string_equal(path_of(b, VDB, "elsewhere/x"), "/elsewhere/x"); /* mounted nowhere that is seen */
    assert_string_equal(path_of(b, 7, "x"), "/x");
    assert_string_equal(path_of(b, VDA, ""), "[metadata]");
    wp_file_paths_add(b->paths, 77, 0, &(struct wp_record_path){.special = VDA});
    assert_string_equal(wp_file_paths_get(b->paths, 77), "[metadata ext4 /]");
    wp_file_paths_add(b->paths, 78, 0, &(struct wp_record_path){.special = VDB}); /* its root is mounted nowhere */
    assert_string_equal(wp_file_paths_get(b->paths, 78), "[metadata]");
    assert_null(wp_file_paths_get(b->paths, 1u << 30));
}

static void of_many_one(void **state)
{
    struct bench *b = *state;
    assert_string_equal(path_of(b, VDA, "log/app-20261121.log"), "/log/app-N.log");
    assert_string_equal(path_of(b, VDA, "base/16384/2619_fsm"), "/base/N/N_fsm");
    assert_string_equal(path_of(b, VDA, "v1.2/lib64/x86"), "/v1.2/lib64/x86");
    assert_string_equal(path_of(b, VDA, "objects/ab/cdef0123456789abcdef0123456789abcdef01"), "/objects/ab/H");
    assert_string_equal(path_of(b, VDA, "decade/facade/effaced"), "/decade/facade/effaced"); /* words */
    assert_string_equal(
        path_of(b, VDA, "deadbeefdeadbeefdead/x"), "/deadbeefdeadbeefdead/x"); /* no digit: a word, if a strange one */
}

static void deep_and_hostile(void **state)
{
    struct bench *b = *state;
    assert_string_equal(path_of(b, VDA, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15"), "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15");
    assert_string_equal(
        path_of(b, VDA, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"), "/.../2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17");
    assert_string_equal(path_of(b, VDB, "pods/c0ffee/volumes/csi/data/mount/1/2/3/4/5"),
        "/claim/1/2/3/4/5"); /* what is above the mount is deep, too */
    assert_string_equal(path_of(b, VDA, "a\nb/c\x1b[2J"), "/a?b/c?[2J");
    struct wp_record_path path = {.count = UINT32_MAX};
    memset(path.names, 'x', sizeof(path.names)); /* no NUL anywhere */
    wp_file_paths_add(b->paths, 999, VDA, &path);
    assert_int_equal(strlen(wp_file_paths_get(b->paths, 999)), 4 + WP_RECORD_NAMES * WP_RECORD_NAME);
}

static void bounded(void **state)
{
    struct bench *b = *state;
    char name[64];
    unsigned folders = 0, nothing = 0;
    for (unsigned i = 0; i < 30000; i++) {
        snprintf(name, sizeof(name), "d%c%c%c/f%c%c%c", 'g' + i % 20, 'g' + i / 20 % 20, 'g' + i / 400 % 20,
            'g' + i / 8000 % 20, 'g' + i % 7, 'q');
        const char *path = path_of(b, VDA, name);
        folders += path[strlen(path) ? strlen(path) - 1 : 0] == '/';
        nothing += !*path;
    }
    assert_in_range(folders, 4000, 26000);
    assert_true(folders + nothing >= 30000 - 4200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(below_mounts, create, destroy),
        cmocka_unit_test_setup_teardown(of_many_one, create, destroy),
        cmocka_unit_test_setup_teardown(deep_and_hostile, create, destroy),
        cmocka_unit_test_setup_teardown(bounded, create, destroy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
