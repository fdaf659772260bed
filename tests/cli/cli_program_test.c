/* SPDX-License-Identifier: Apache-2.0 */
/* Finding commands as execvp does, and the release of a folder. */
#include "cli/base/program.h"
#include "cli/base/release.h"
#include "common/path.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/wp-program-XXXXXX";

static void make(const char *name, mode_t mode, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(name, mode);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder))
        return -1;
    mkdir("first", 0755);
    mkdir("second", 0755);
    mkdir("second/dir", 0755);
    make("first/tool", 0644, "");
    make("second/tool", 0755, "#!/bin/sh\n");
    make("second/plain", 0644, "");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") || wp_path_remove(folder, NULL);
}

static void search(void **state)
{
    char path[PATH_MAX];
    struct wp_error err = {0};
    (void)state;
    setenv("PATH", "first:second", 1);
    assert_int_equal(wp_program_resolve("tool", path, sizeof(path), &err), 0);
    assert_string_equal(path, "second/tool"); /* the one that cannot be run is passed over */
    assert_int_equal(wp_program_resolve("plain", path, sizeof(path), &err), -EACCES);
    assert_int_equal(wp_program_resolve("dir", path, sizeof(path), &err), -EACCES);
    assert_int_equal(wp_program_resolve("comm=tool", path, sizeof(path), &err), -ENOENT);
    assert_string_equal(err.text,
        "command 'comm=tool' was not found in PATH; what runs already is recorded by --aggregate NAME=SELECTOR");
    assert_int_equal(wp_program_resolve("none", path, sizeof(path), &err), -ENOENT);
    assert_non_null(strstr(err.text, "none"));
    assert_int_equal(wp_program_resolve("", path, sizeof(path), &err), -ENOENT);
    assert_int_equal(wp_program_resolve("second/tool", path, sizeof(path), &err), 0);
    assert_int_equal(wp_program_resolve("./first/tool", path, sizeof(path), &err), -EACCES);
    assert_int_equal(wp_program_resolve("second/tool", path, 5, &err), -ENAMETOOLONG);
}

static void empty_path_entry_is_here(void **state)
{
    char path[PATH_MAX];
    (void)state;
    setenv("PATH", "first:", 1);
    assert_int_equal(chdir("second"), 0);
    assert_int_equal(wp_program_resolve("tool", path, sizeof(path), NULL), 0);
    assert_string_equal(path, "./tool");
    assert_int_equal(chdir(".."), 0);
}

static void release_of_a_git_that(const char *script, const char *want)
{
    char id[129];
    make("second/git", 0755, script);
    setenv("PATH", "second:/usr/bin:/bin", 1);
    wp_release_here(id, sizeof(id), 300);
    assert_string_equal(id, want);
}

static void releases(void **state)
{
    char id[129];
    (void)state;
    release_of_a_git_that("#!/bin/sh\necho v1.2-3-gabc-dirty\n", "v1.2-3-gabc-dirty");
    release_of_a_git_that("#!/bin/sh\necho 'feature/x y'\n",
        "feature_x_y+e278cbcccce75c8aa1842c04d83715c4"); /* what is no id gets a digest of its own */
    release_of_a_git_that("#!/bin/sh\necho half; exit 128\n", WP_RELEASE_UNVERSIONED);
    release_of_a_git_that("#!/bin/sh\n", WP_RELEASE_UNVERSIONED);
    release_of_a_git_that("#!/bin/sh\necho ..\n", "_+4918da442be8564f82ee4d17ba72a59a");
    release_of_a_git_that("#!/bin/sh\nexec sleep 20\n", WP_RELEASE_UNVERSIONED);
    setenv("PATH", "first", 1);
    wp_release_here(id, sizeof(id), 300);
    assert_string_equal(id, WP_RELEASE_UNVERSIONED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search), cmocka_unit_test(empty_path_entry_is_here), cmocka_unit_test(releases)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
