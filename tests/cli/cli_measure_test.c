/* SPDX-License-Identifier: Apache-2.0 */
/* What `wakepath measure` and `wakepath bisect` stand on: commits from a real repository, work trees, the log, the
 * odds. */
#include "cli/measure/measure_log.h"
#include "cli/measure/odds.h"
#include "cli/measure/revisions.h"
#include "cli/measure/work_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/skipped.h"

static char folder[] = "/var/tmp/wakepath-test-XXXXXX";
static const char script[] =
    "cd %s && mkdir repo && cd repo && git init -q -b main . && git config user.name 'A\033[1m' && git config "
    "user.email a@b && "
    "i=1; while [ $i -le 6 ]; do echo $i > n; git add n; git commit -q -m \"step $i\"; "
    "[ $i -eq 2 ] && git tag v1.0; i=$((i + 1)); done; git tag blob HEAD:n; git tag v-blob HEAD:n; "
    "git checkout -q -b side HEAD~3 && echo s > s && git add s && git commit -q -m side && git checkout -q main";

static int run(const char *format, const char *argument)
{
    char command[1024];
    snprintf(command, sizeof(command), format, argument); /* NOLINT: the formats are this file's */
    return system(command);                               /* NOLINT(cert-env33-c) */
}

static int make_repository(void **state)
{
    (void)state;
    return !mkdtemp(folder) || run(script, folder);
}

static int remove_repository(void **state)
{
    (void)state;
    return wp_path_remove(folder, NULL);
}

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void lists_commits_oldest_first(void **state)
{
    struct wp_revisions list = {0};
    struct wp_error err = {0};
    (void)state;
    assert_int_equal(wp_revisions_add(&list, in_folder("repo"), "HEAD~2..", &err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].subject, "step 5");
    assert_string_equal(list.items[1].subject, "step 6");
    assert_string_equal(list.items[0].author, "A?[1m"); /* a terminal does not obey an author */
    assert_memory_equal(list.items[0].release, "v1.0-3-g", 8);
    /* what is there already stays where it is */
    assert_int_equal(wp_revisions_add(&list, in_folder("repo"), "HEAD~4..", &err), 0);
    assert_int_equal(list.count, 4);
    assert_int_equal(wp_revisions_add_tags(&list, in_folder("repo"), "v*", &err), 0);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.items[4].release, "v1.0");
    wp_revisions_fini(&list);
}

static void refuses_what_git_does_not_know(void **state)
{
    struct wp_revisions list = {0};
    struct wp_error err = {0};
    (void)state;
    assert_int_equal(wp_revisions_add(&list, in_folder("repo"), "nobody", &err), -EINVAL);
    assert_int_equal(wp_revisions_add(&list, in_folder("repo"), "--output=/etc/x", &err), -EINVAL);
    assert_int_equal(wp_revisions_add(&list, in_folder("repo"), "HEAD..HEAD", &err), -EINVAL);
    assert_int_equal(wp_revisions_add_tags(&list, in_folder("repo"), "w*", &err), -EINVAL);
    assert_int_equal(wp_revisions_add_tags(&list, in_folder("repo"), "blob*", &err), -EINVAL);
    assert_int_equal(wp_revisions_between(&list, in_folder("repo"), "side", "main", &err), -EINVAL);
    wp_revisions_fini(&list);
}

static void bisects_between_an_ancestor_and_its_descendant(void **state)
{
    struct wp_revisions list = {0};
    struct wp_error err = {0};
    (void)state;
    assert_int_equal(wp_revisions_between(&list, in_folder("repo"), "v1.0", "main", &err), 0);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.items[0].subject, "step 2");
    assert_string_equal(list.items[4].subject, "step 6");
    wp_revisions_fini(&list);
}

static void checks_out_without_a_trace_in_the_repository(void **state)
{
    struct wp_revisions list = {0};
    struct wp_error err = {0};
    char repository[512], tree[512];
    (void)state;
    snprintf(repository, sizeof(repository), "%s", in_folder("repo"));
    snprintf(tree, sizeof(tree), "%s", in_folder("tree"));
    assert_int_equal(
        run("cd %s/repo && echo mine > dirty && find . -printf '%%p %%s %%T@\\n' | sort > ../before", folder), 0);
    assert_int_equal(wp_revisions_add(&list, repository, "v1.0", &err), 0);
    assert_int_equal(wp_work_tree_make(tree, repository, &list.items[0], &err), 0);
    assert_int_equal(run("cd %s/tree && test \"$(cat n)\" = 2 && test ! -e dirty && echo built > product", folder), 0);
    assert_int_equal(wp_work_tree_make(tree, repository, &list.items[0], &err), 0);
    assert_int_equal(run("test -e %s/tree/product", folder), 0); /* it was there already */
    assert_int_equal(run("test \"$(git -C %s/tree describe --tags)\" = v1.0", folder), 0);
    assert_int_equal(run("cd %s/repo && find . -printf '%%p %%s %%T@\\n' | sort | cmp - ../before", folder), 0);
    wp_revisions_fini(&list);
}

/* As `sudo wakepath measure` in a user's repository: git refuses those of others, and a build must not run as root. */
static void a_tree_belongs_to_who_owns_the_repository(void **state)
{
    struct wp_revisions list = {0};
    struct wp_error err = {0};
    char repository[512], tree[512];
    (void)state;
    if (geteuid())
        WP_SKIP("only root can give a repository away");
    snprintf(repository, sizeof(repository), "%s", in_folder("theirs"));
    snprintf(tree, sizeof(tree), "%s", in_folder("their-tree"));
    assert_int_equal(run("cd %s && chmod 755 . && cp -r repo theirs && chown -R 65534:65534 theirs", folder), 0);
    assert_int_equal(wp_revisions_add(&list, repository, "v1.0", &err), 0);
    assert_int_equal(wp_work_tree_make(tree, repository, &list.items[0], &err), 0);
    assert_int_equal(run("cd %s/their-tree && test \"$(stat -c %%u n . .git | sort -u)\" = 65534", folder), 0);
    wp_revisions_fini(&list);
}

static const char commit[] = "0123456789012345678901234567890123456789";

static void the_log_goes_on_where_it_ended(void **state)
{
    struct wp_measure_log log, second;
    struct wp_error err = {0};
    struct wp_measure_row row = {.cell = "sort",
                              .release = "r1",
                              .repeat = 3,
                              .ns = 12345678901,
                              .steady_ns = 12345678900,
                              .waits = 5},
                          broken = {.release = "r1", .what = WP_MEASURED_BROKEN};
    (void)state;
    memcpy(row.commit, commit, sizeof(commit));
    memcpy(broken.commit, commit, sizeof(commit));
    assert_int_equal(wp_measure_log_open(&log, in_folder("log"), 7, true, &err), 0);
    assert_int_equal(wp_measure_log_open(&second, in_folder("log"), 7, true, &err), -EBUSY);
    assert_int_equal(wp_measure_log_add(&log, &row, &err), 0);
    assert_int_equal(wp_measure_log_add(&log, &broken, &err), 0);
    wp_measure_log_close(&log);
    assert_int_equal(run("printf 'sound 0123' >> %s/log", folder), 0); /* the machine went down within a line */
    assert_int_equal(wp_measure_log_open(&log, in_folder("log"), 8, true, &err), -EEXIST);
    assert_int_equal(wp_measure_log_open(&log, in_folder("log"), 7, true, &err), 0);
    assert_int_equal(log.count, 2);
    assert_int_equal(wp_measure_log_find(&log, commit, "sort", 3)->ns, 12345678901);
    assert_int_equal(wp_measure_log_find(&log, commit, "sort", 3)->steady_ns, 12345678900);
    assert_int_equal(wp_measure_log_find(&log, commit, "sort", 3)->waits, 5);
    assert_null(wp_measure_log_find(&log, commit, "sort", 2));
    assert_null(wp_measure_log_find(&log, commit, "", 0)); /* a build is tried again, and known as broken after */
    assert_int_equal(wp_measure_log_add(&log, &broken, &err), 0);
    assert_int_equal(wp_measure_log_find(&log, commit, "", 0)->what, WP_MEASURED_BROKEN);
    row.repeat = 4;
    assert_int_equal(wp_measure_log_add(&log, &row, &err), 0);
    wp_measure_log_close(&log);
    assert_int_equal(wp_measure_log_open(&log, in_folder("log"), 7, true, &err), 0);
    assert_int_equal(log.count, 4);
    wp_measure_log_close(&log);
    /* a line without the second figure */
    assert_int_equal(run("echo 'sound 0123 sort 9 7 r9' >> %s/log", folder), 0);
    assert_int_equal(wp_measure_log_open(&log, in_folder("log"), 7, true, &err), 0);
    assert_int_equal(wp_measure_log_find(&log, "0123", "sort", 9)->steady_ns, 7);
    wp_measure_log_close(&log);
    assert_int_equal(run("echo nonsense >> %s/log", folder), 0);
    assert_int_equal(wp_measure_log_open(&log, in_folder("log"), 7, true, &err), -EBADMSG);
    assert_int_equal(run("printf 'a file of mine, not ended' > %s/other", folder), 0);
    assert_int_equal(wp_measure_log_open(&log, in_folder("other"), 7, true, &err), -EBADMSG);
    assert_int_equal(run("grep -q 'not ended' %s/other", folder), 0);
    /* an empty one, or a beginning of ours, is begun only where nothing else is */
    assert_int_equal(run(": > %s/other", folder), 0);
    assert_int_equal(wp_measure_log_open(&log, in_folder("other"), 7, false, &err), -EBADMSG);
    assert_int_equal(run("cd %s && test ! -s other && printf 'wakepath-measure 1 0000' > other", folder), 0);
    assert_int_equal(wp_measure_log_open(&log, in_folder("other"), 7, false, &err), -EBADMSG);
    assert_int_equal(wp_measure_log_open(&log, in_folder("other"), 7, true, &err), 0);
    wp_measure_log_close(&log);
    assert_int_equal(wp_measure_log_open(&log, in_folder("other"), 7, false, &err), 0);
    wp_measure_log_close(&log);
}

static void the_log_knows_what_was_being_added(void **state)
{
    struct wp_measure_log log;
    struct wp_error err = {0};
    struct wp_measure_row row = {.cell = "main", .release = "r1", .what = WP_MEASURED_ADDING};
    (void)state;
    memcpy(row.commit, commit, sizeof(commit));
    assert_int_equal(wp_measure_log_open(&log, in_folder("adding"), 7, true, &err), 0);
    assert_null(wp_measure_log_pending(&log));
    assert_int_equal(wp_measure_log_add(&log, &row, &err), 0);
    wp_measure_log_close(&log);
    assert_int_equal(wp_measure_log_open(&log, in_folder("adding"), 7, true, &err), 0);
    assert_null(wp_measure_log_find(&log, commit, "main", 0));
    assert_string_equal(wp_measure_log_pending(&log)->release, "r1");
    row.what = WP_MEASURED_SOUND;
    assert_int_equal(wp_measure_log_add(&log, &row, &err), 0);
    assert_null(wp_measure_log_pending(&log));
    assert_non_null(wp_measure_log_find(&log, commit, "main", 0));
    wp_measure_log_close(&log);
}

/* A tag that came since gives a commit another name; the store has it under the first. */
static void a_commit_keeps_its_release(void **state)
{
    struct wp_measure_log log = {0};
    struct wp_error err = {0};
    struct wp_measure_row row = {.cell = "main", .release = "r1"};
    struct wp_revision two[] = {{.release = "later"}, {.release = "r1"}};
    (void)state;
    memcpy(row.commit, commit, sizeof(commit));
    memcpy(two[0].commit, commit, sizeof(commit));
    memcpy(two[1].commit, commit, sizeof(commit));
    two[1].commit[0] = 'f';
    assert_int_equal(wp_measure_log_open(&log, in_folder("names"), 7, true, &err), 0);
    assert_int_equal(wp_measure_log_add(&log, &row, &err), 0);
    assert_int_equal(wp_measure_log_name(&log, &(struct wp_revisions){two, 1}, &err), 0);
    assert_string_equal(two[0].release, "r1");
    assert_int_equal(wp_measure_log_name(&log, &(struct wp_revisions){two + 1, 1}, &err), -EEXIST);
    wp_measure_log_close(&log);
    /* "-" stands for no cell, which only a commit that cannot be built has */
    assert_int_equal(run("cd %s && echo 'sound 0123 - 0 5 r1' >> names", folder), 0);
    assert_int_equal(wp_measure_log_open(&log, in_folder("names"), 7, true, &err), -EBADMSG);
}

#define SAMPLE(...)                                                                                                    \
    &(struct wp_odds_sample)                                                                                           \
    {                                                                                                                  \
        (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double)                          \
    }

static void odds_name_the_nearer_sample(void **state)
{
    (void)state;
    const struct wp_odds_sample *fast = SAMPLE(1.00e9, 1.02e9, 0.99e9), *slow = SAMPLE(1.21e9, 1.19e9, 1.22e9);
    assert_true(wp_odds_same(fast, slow) < 0.001);
    assert_true(wp_odds_same(slow, fast) > 0.999); /* the other direction */
    assert_true(wp_odds_same(fast, fast) > 0.4);
    assert_true(wp_odds_same(fast, SAMPLE(2e9)) == 1);
    assert_true(wp_odds_second(fast, slow, SAMPLE(1.2e9, 1.18e9)) > 2);
    assert_true(wp_odds_second(fast, slow, SAMPLE(1.01e9, 1.0e9)) < -2);
    /* one recording that something disturbed does not decide */
    assert_true(wp_odds_second(fast, slow, SAMPLE(1.01e9, 1.0e9, 1.0e9, 1.01e9, 2.5e9)) < 0);
    assert_true(wp_odds_second(SAMPLE(0, 0, 0), SAMPLE(5e6, 5.1e6, 5e6), SAMPLE(0, 0)) < -2);
    assert_true(wp_odds_median(SAMPLE(3, 1, 9)) == 3);
    assert_true(wp_odds_median(&(struct wp_odds_sample){NULL, 0}) == 0);
}

/* What other work on the machine does to some recordings decides nothing, neither of the ends nor of one between. */
static void odds_bear_a_loaded_machine(void **state)
{
    (void)state;
    const struct wp_odds_sample *fast = SAMPLE(1.00e9, 1.02e9, 0.99e9, 2.9e9, 1.01e9, 1.0e9, 1.6e9, 1.03e9),
                                *slow = SAMPLE(1.21e9, 1.19e9, 1.22e9, 1.2e9, 3.1e9, 1.23e9, 1.2e9, 1.21e9);
    assert_true(wp_odds_same(fast, slow) < 0.001);
    assert_true(wp_odds_same(fast, fast) > 0.4);
    double many[2][40];
    for (uint32_t i = 0; i < 40; i++) {
        many[0][i] = 1e9 + 5e6 * (i % 9);
        many[1][i] = 1.2e9 + 5e6 * (i % 9);
    }
    struct wp_odds_sample first = {many[0], 40}, second = {many[1], 40};
    assert_true(fabs(wp_odds_second(&first, &second, SAMPLE(2.5e9))) < 3);
    assert_true(wp_odds_second(&first, &second, SAMPLE(1.02e9, 2.5e9, 1.03e9)) < 0);
    assert_true(wp_odds_second(&first, &second, SAMPLE(1.21e9, 1.23e9)) > 6.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_commits_oldest_first),
        cmocka_unit_test(refuses_what_git_does_not_know),
        cmocka_unit_test(bisects_between_an_ancestor_and_its_descendant),
        cmocka_unit_test(checks_out_without_a_trace_in_the_repository),
        cmocka_unit_test(a_tree_belongs_to_who_owns_the_repository),
        cmocka_unit_test(the_log_goes_on_where_it_ended),
        cmocka_unit_test(the_log_knows_what_was_being_added),
        cmocka_unit_test(a_commit_keeps_its_release),
        cmocka_unit_test(odds_name_the_nearer_sample),
        cmocka_unit_test(odds_bear_a_loaded_machine),
    };
    return wp_exit_status(cmocka_run_group_tests(tests, make_repository, remove_repository));
}
