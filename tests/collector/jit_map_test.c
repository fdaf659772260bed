/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jit_map.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char path[64];

static void say(const char *text, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0644);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static int create(void **state)
{
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    unlink(path);
    *state = wp_jit_map_create((uint32_t)getpid());
    return !*state;
}

static int destroy(void **state)
{
    wp_jit_map_destroy(*state);
    unlink(path);
    return 0;
}

static void assert_name(struct wp_jit_map *m, uint64_t address, const char *name)
{
    const char *found = wp_jit_map_find(m, address);
    if (name)
        assert_string_equal(found, name);
    else
        assert_null(found);
}

static void grows(void **state)
{
    struct wp_jit_map *m = *state;
    assert_name(m, 0x1000, NULL); /* no file yet */
    say("1000 10 first\n2000 20 LazyCompile:*sec", O_TRUNC);
    assert_name(m, 0x1000, "first");
    assert_name(m, 0x100f, "first");
    assert_name(m, 0x1010, NULL);
    assert_name(m, 0x2000, NULL); /* its line is in the making */
    say("ond /a b.js:3\n", O_APPEND);
    assert_name(m, 0x201f, "LazyCompile:*second /a b.js:3");
    say("0x3000 5 with a prefix\n3000 5 the later one counts\n2ff0 18 around it\n", O_APPEND);
    assert_name(m, 0x3004, "around it");
    assert_name(m, 0x3006, "around it");
    assert_int_equal(wp_jit_map_refused(m), 0);
}

static void begins_anew(void **state)
{
    struct wp_jit_map *m = *state;
    say("1000 10 old\n", O_TRUNC);
    assert_name(m, 0x1000, "old");
    unlink(path);
    say("5000 10 of another file\n", O_TRUNC);
    assert_name(m, 0x5000, "of another file");
}

static void rubbish(void **state)
{
    struct wp_jit_map *m = *state;
    say("\n \nxyz\n1000\n1000 10\n1000 10 \n1000 0 no size\n1000 ffffffffffff long\nffffffffffffffff 10 wraps\n-1 10 n\n7000 10 good\n",
        O_TRUNC);
    assert_name(m, 0x7000, "good");
    assert_name(m, 0x1000, NULL);
    assert_int_equal(wp_jit_map_refused(m), 10);
}

static void of_others(void **state)
{
    struct wp_jit_map *m = *state;
    char other[80];
    snprintf(other, sizeof(other), "%s.other", path);
    if (geteuid()) {
        skip();
        return;
    }
    say("1000 10 planted\n", O_TRUNC);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_name(m, 0x1000, NULL);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(chown(other, 0, 0), 0);
    assert_int_equal(symlink(other, path), 0); /* a link may lead to what only we can read */
    assert_name(m, 0x1000, NULL);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody will ever write to it */
    assert_name(m, 0x1000, NULL);
    unlink(other);
}

static void no_process(void **state)
{
    (void)state;
    assert_null(wp_jit_map_create(4194304 + 1));
    wp_jit_map_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(grows, create, destroy), cmocka_unit_test_setup_teardown(begins_anew, create, destroy),
        cmocka_unit_test_setup_teardown(rubbish, create, destroy), cmocka_unit_test_setup_teardown(of_others, create, destroy),
        cmocka_unit_test(no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
