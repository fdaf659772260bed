/* SPDX-License-Identifier: Apache-2.0 */
#include "common/path.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids), cmocka_unit_test(files), cmocka_unit_test(temporaries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
