/* SPDX-License-Identifier: Apache-2.0 */
#include "common/path.h"
#include "common/release_id.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>

static void ids(void **state)
{
    (void)state;
    char id[129], longest[200];
    assert_true(wp_id_valid("v1.2-3_x+y"));
    assert_false(wp_id_valid(""));
    assert_false(wp_id_valid("."));
    assert_false(wp_id_valid(".."));
    assert_false(wp_id_valid("a/b"));
    assert_false(wp_id_valid("a b"));
    assert_false(wp_id_valid("\xc3\xa4"));
    memset(longest, 'a', 129);
    longest[129] = 0;
    assert_false(wp_id_valid(longest));
    longest[128] = 0;
    assert_true(wp_id_valid(longest));
    static const char *const names[] = {"", ".", "..", "../../etc/passwd", "nginx: worker", "<script>", "x\n"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        wp_id_from(names[i], id, sizeof(id));
        assert_true(wp_id_valid(id));
    }
    memset(longest, 'a', 199);
    longest[199] = 0;
    wp_id_from(longest, id, sizeof(id));
    assert_true(wp_id_valid(id));
}

/* Whatever recorders call their releases: an id is its own name, and no two share one. */
static void releases(void **state)
{
    (void)state;
    char made[WP_ID_ROOM], folded[WP_ID_ROOM], long_a[300], long_b[300], ids[64][WP_ID_ROOM];
    memset(long_a, 'a', sizeof(long_a));
    memset(long_b, 'a', sizeof(long_b));
    long_a[sizeof(long_a) - 1] = long_b[sizeof(long_b) - 1] = 0;
    long_b[sizeof(long_b) - 2] = 'b';
    wp_release_id("v1/../x", made);
    wp_release_id(made, folded); /* a name that looks like a folded one */
    const char *const names[] = {"v1", "v1/../x", "v1_.._x", "v1 .. x", "v1\n.._x", "v1/..", "v1_..", "..", ".", "_",
        "", "/", "__", "v1+", "v1\xc2\x9b", "v1__", made, folded, "v1+0123456789abcdef0123456789abcdef",
        "v1+0123456789abcdef0123456789abcdeg", "CON", "con", "-x", "+", long_a, long_b, long_a + 171, long_a + 172,
        "../../etc"};
    size_t count = sizeof(names) / sizeof(*names);
    for (size_t i = 0; i < count; i++) {
        wp_release_id(names[i], ids[i]);
        assert_true(wp_id_valid(ids[i]));
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]))
                assert_string_not_equal(ids[i], ids[j]);
    }
    assert_string_equal(ids[0], "v1");
    assert_string_equal(ids[2], "v1_.._x");
    assert_int_equal(strncmp(ids[1], "v1_.._x+", 8), 0);
}

static void files(void **state)
{
    (void)state;
    char folder[] = "/tmp/wp-path-XXXXXX", path[128], deep[64];
    struct wp_buffer text = {0};
    struct wp_error err = {0};
    struct stat status;
    assert_non_null(mkdtemp(folder));
    snprintf(deep, sizeof(deep), "%s/a/b/c", folder);
    assert_int_equal(wp_path_make(deep, &err), 0);
    assert_int_equal(wp_path_make(deep, &err), 0);
    snprintf(path, sizeof(path), "%s/f", deep);
    assert_int_equal(wp_file_write_atomic(path, "hello", 5, &err), 0);
    assert_int_equal(wp_file_write_atomic(path, "hello again", 11, &err), 0);
    assert_int_equal(wp_file_read(path, 100, &text, &err), 0);
    assert_int_equal(text.size, 11);
    assert_memory_equal(text.data, "hello again", 11);
    wp_buffer_clear(&text);
    assert_int_equal(wp_file_read(path, 10, &text, &err), -EFBIG);
    assert_int_equal(wp_file_read("/no/such/file", 10, &text, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/file"));
    assert_int_equal(wp_path_make(path, &err), -ENOTDIR);
    assert_int_equal(symlink("/etc/passwd", strcat(strcpy(path, deep), "/link")), 0);
    assert_int_equal(wp_path_remove(folder, &err), 0);
    assert_int_equal(stat("/etc/passwd", &status), 0); /* links are removed, not followed */
    assert_int_equal(stat(folder, &status), -1);
    assert_int_equal(wp_path_remove(folder, &err), 0);
    wp_buffer_fini(&text);
}

/* A name that can be guessed may be somebody's file, or a link to one. */
static void temporaries(void **state)
{
    (void)state;
    char folder[] = "/tmp/wp-path-XXXXXX", path[128], guessed[160], victim[128];
    struct wp_buffer text = {0};
    struct stat status;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/f", folder);
    snprintf(victim, sizeof(victim), "%s/victim", folder);
    snprintf(guessed, sizeof(guessed), "%s.tmp.%d", path, (int)getpid());
    assert_int_equal(wp_file_write_atomic(victim, "precious", 8, NULL), 0);
    assert_int_equal(symlink(victim, guessed), 0);
    mode_t before = umask(0027);
    assert_int_equal(wp_file_write_atomic(path, "hello", 5, NULL), 0);
    umask(before);
    assert_int_equal(wp_file_read(victim, 100, &text, NULL), 0);
    assert_memory_equal(text.data, "precious", 8);
    assert_int_equal(lstat(guessed, &status), 0);
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0640);
    assert_int_equal(wp_path_remove(folder, NULL), 0);
    wp_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids), cmocka_unit_test(releases), cmocka_unit_test(files), cmocka_unit_test(temporaries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
