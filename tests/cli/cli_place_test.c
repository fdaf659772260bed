/* SPDX-License-Identifier: Apache-2.0 */
/* Where a recording goes: what is refused, what is made, and what is taken back. */
#include "cli/place.h"
#include "common/path.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int setup(void **state)
{
    char *folder = strdup("/tmp/wp-place-XXXXXX");
    *state = folder;
    return !folder || !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int teardown(void **state)
{
    int rc = chdir("/") || wp_path_remove(*state, NULL);
    free(*state);
    return rc;
}

static bool is_there(const char *path)
{
    return !access(path, F_OK);
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void made_and_taken_back(void **state)
{
    struct wp_place place;
    struct stat st;
    (void)state;
    assert_int_equal(wp_place_prepare(&place, "a/out", NULL, NULL), 0);
    assert_true(is_there(place.store) && is_there(place.private_dir));
    assert_int_equal(stat(place.private_dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_false(is_there("a/out/store"));
    touch("a/out/store.new/data");
    wp_place_fini(&place, true);
    assert_false(is_there("a/out") || is_there(place.private_dir));
}

static void kept(void **state)
{
    struct wp_place place;
    (void)state;
    assert_int_equal(wp_place_prepare(&place, "out", "root", NULL), 0);
    wp_place_fini(&place, false);
    assert_true(is_there("out") && is_there("root"));
    assert_false(is_there(place.private_dir));
    /* What was there before a failed recording stays, with all that is in it. */
    assert_int_equal(wp_place_prepare(&place, "out", "root", NULL), 0);
    wp_place_fini(&place, true);
    assert_true(is_there("out") && is_there("root"));
}

/* Without --store each recording has its own, and a failed one leaves the last whole one as it was. */
static void own_store_is_replaced_when_whole(void **state)
{
    struct wp_place place;
    (void)state;
    assert_int_equal(wp_place_prepare(&place, "out", NULL, NULL), 0);
    touch("out/store.new/first");
    assert_int_equal(wp_place_keep_store(&place, NULL), 0);
    assert_string_equal(place.store, "out/store");
    wp_place_fini(&place, false);
    assert_true(is_there("out/store/first"));
    mkdir("out/store.new", 0755); /* of a killed recording */
    touch("out/store.new/half");
    assert_int_equal(wp_place_prepare(&place, "out", NULL, NULL), 0);
    assert_false(is_there("out/store.new/half"));
    wp_place_fini(&place, true);
    assert_true(is_there("out/store/first"));
    assert_false(is_there("out/store.new"));
    assert_int_equal(wp_place_prepare(&place, "out", NULL, NULL), 0);
    touch("out/store.new/second");
    assert_int_equal(wp_place_keep_store(&place, NULL), 0);
    wp_place_fini(&place, false);
    assert_true(is_there("out/store/second"));
    assert_false(is_there("out/store/first") || is_there("out/store.new"));
}

static void strangers(void **state)
{
    struct wp_place place;
    struct wp_error err = {0};
    (void)state;
    mkdir("mine", 0755);
    touch("mine/thesis");
    assert_int_equal(wp_place_prepare(&place, "mine", NULL, &err), -EEXIST);
    assert_non_null(strstr(err.text, "--out"));
    wp_place_fini(&place, true);
    assert_true(is_there("mine/thesis"));
    touch("mine/.wakepath-site"); /* now it is a report that somebody put a file into */
    assert_int_equal(wp_place_prepare(&place, "mine", NULL, &err), 0);
    wp_place_fini(&place, true);
    assert_true(is_there("mine/thesis"));
}

static void not_folders(void **state)
{
    struct wp_place place;
    struct wp_error err = {0};
    (void)state;
    touch("file");
    assert_true(wp_place_prepare(&place, "file", NULL, &err) < 0);
    wp_place_fini(&place, true);
    assert_true(wp_place_prepare(&place, "out", "file/store", &err) < 0);
    assert_non_null(strstr(err.text, "--store"));
    wp_place_fini(&place, true);
    assert_false(is_there("out"));
    assert_true(is_there("file"));
    assert_int_equal(wp_place_prepare(&place, "", NULL, &err), -EINVAL);
    assert_int_equal(wp_place_prepare(&place, "out", "", &err), -EINVAL);
}

static void long_names(void **state)
{
    struct wp_place place;
    char name[PATH_MAX + 10];
    (void)state;
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    assert_true(wp_place_prepare(&place, name, NULL, NULL) < 0);
    wp_place_fini(&place, true);
    setenv("TMPDIR", name, 1); /* too long for a socket's name: another place is taken */
    assert_int_equal(wp_place_prepare(&place, "out", NULL, NULL), 0);
    assert_int_equal(strncmp(place.private_dir, "/tmp/", 5), 0);
    wp_place_fini(&place, true);
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(made_and_taken_back, setup, teardown),
        cmocka_unit_test_setup_teardown(kept, setup, teardown),
        cmocka_unit_test_setup_teardown(own_store_is_replaced_when_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers, setup, teardown),
        cmocka_unit_test_setup_teardown(not_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
