/* SPDX-License-Identifier: Apache-2.0 */
/* git asked about the repository that is meant, and for no longer than somebody waits. */
#include "common/git.h"

#include "common/path.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

/* As in a hook of another repository, where these say which one. */
static void the_environments_repository_is_not_asked(void **state)
{
    const char *make[] = {"init", "-q", NULL}, *ask[] = {"rev-parse", "--git-dir", NULL};
    char folder[] = "/tmp/wp-git-XXXXXX";
    struct wp_buffer out = {0};
    struct wp_error err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("GIT_DIR", "/nonexistent/.git", 1);
    setenv("GIT_WORK_TREE", "/nonexistent", 1);
    setenv("GIT_INDEX_FILE", "/nonexistent/index", 1);
    if (wp_git_run(folder, make, 4096, &out, &err) || wp_git_run(folder, ask, 4096, &out, &err))
        fail_msg("%s", err.text);
    assert_int_equal(out.size, 5);
    assert_memory_equal(out.data, ".git\n", 5);
    wp_buffer_fini(&out);
    assert_int_equal(wp_path_remove(folder, NULL), 0);
    unsetenv("GIT_DIR");
    unsetenv("GIT_WORK_TREE");
    unsetenv("GIT_INDEX_FILE");
}

static void a_slow_git_is_ended(void **state)
{
    const char *words[] = {"log", NULL};
    char folder[] = "/tmp/wp-git-XXXXXX", path[64], *before = strdup(getenv("PATH"));
    struct wp_buffer out = {0};
    struct wp_error err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/git", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\nexec /bin/sleep 600\n", file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    setenv("PATH", folder, 1);
    struct wp_git_call call = {"/", words, NULL, 4096, 50};
    assert_int_equal(wp_git_call(&call, &out, &err), -ETIMEDOUT);
    setenv("PATH", before, 1);
    free(before);
    wp_buffer_fini(&out);
    assert_int_equal(wp_path_remove(folder, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environments_repository_is_not_asked), cmocka_unit_test(a_slow_git_is_ended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
