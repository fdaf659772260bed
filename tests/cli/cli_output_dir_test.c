/* SPDX-License-Identifier: Apache-2.0 */
/* Where a recording goes: what is refused, what is made, and what is taken back. */
#include "cli/record/output_dir.h"
#include "common/path.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/skipped.h"

static int setup(void **state)
{
    char *folder = strdup("/tmp/wp-output-dir-XXXXXX");
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

static void make_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int prepare(struct wp_output_dir *output, const char *out, const char *store, struct wp_error *err)
{
    return wp_output_dir_prepare(output, &(struct wp_output_dir_options){out, store, "v1"}, err);
}

/* As an aggregator does. */
static void write_release(const char *store, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/v1", store);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/v1/data.mdb", store);
    make_file(path, text);
    snprintf(path, sizeof(path), "%s/v1/lock.mdb", store);
    touch(path);
    static const char *const beside[] = {"~shard.local.lock", "~capture", "~own.js", "~own-pid-7.html"};
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
        snprintf(path, sizeof(path), "%s/%s", store, beside[i]);
        touch(path);
    }
}

static bool holds(const char *path, const char *text)
{
    struct wp_buffer bytes = {0};
    bool is = !wp_file_read(path, 4096, &bytes, NULL) && !strcmp((const char *)bytes.data, text);
    wp_buffer_fini(&bytes);
    return is;
}

static void record_once(const char *text)
{
    struct wp_output_dir output;
    assert_int_equal(prepare(&output, "out", NULL, NULL), 0);
    write_release(output.store, text);
    assert_int_equal(wp_output_dir_keep_store(&output, NULL), 0);
    wp_output_dir_fini(&output, false);
}

static void made_and_taken_back(void **state)
{
    struct wp_output_dir output;
    struct stat st;
    (void)state;
    assert_int_equal(prepare(&output, "a/out", NULL, NULL), 0);
    assert_true(is_there(output.store) && is_there(output.scratch.path));
    assert_int_equal(stat(output.scratch.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_false(is_there("a/out/store"));
    write_release("a/out/store.new", "half");
    wp_output_dir_fini(&output, true);
    assert_false(is_there("a/out") || is_there(output.scratch.path));
}

static void kept(void **state)
{
    struct wp_output_dir output;
    (void)state;
    assert_int_equal(prepare(&output, "out", "root", NULL), 0);
    wp_output_dir_fini(&output, false);
    assert_true(is_there("out") && is_there("root"));
    assert_false(is_there(output.scratch.path));
    /* What was there before a failed recording stays, with all that is in it. */
    assert_int_equal(prepare(&output, "out", "root", NULL), 0);
    wp_output_dir_fini(&output, true);
    assert_true(is_there("out") && is_there("root"));
}

/* Without --store each recording has its own, and a failed one leaves the last whole one as it was. */
static void own_store_is_replaced_when_whole(void **state)
{
    struct wp_output_dir output;
    (void)state;
    record_once("first");
    assert_true(holds("out/store/v1/data.mdb", "first"));
    assert_int_equal(prepare(&output, "out", NULL, NULL), 0);
    write_release(output.store, "half");
    wp_output_dir_fini(&output, false); /* of a killed recording */
    assert_int_equal(prepare(&output, "out", NULL, NULL), 0);
    assert_false(is_there("out/store.new/v1"));
    wp_output_dir_fini(&output, true);
    assert_true(holds("out/store/v1/data.mdb", "first"));
    assert_false(is_there("out/store.new"));
    record_once("second");
    assert_true(holds("out/store/v1/data.mdb", "second"));
    assert_false(is_there("out/store.new"));
}

/* As a reporter does. */
static void make_pages(const char *text)
{
    mkdir("out/v1", 0755);
    make_file("out/v1/page.html", text);
    make_file("out/index.html", text);
    make_file("out/.wakepath-site", "index.html\nv1/page.html\n");
}

static void record_with_pages(const char *text)
{
    record_once(text);
    make_pages(text);
}

/* A report makes room for the next one and is kept, but for one that was kept before. */
static void an_earlier_report_is_kept(void **state)
{
    (void)state;
    record_with_pages("first");
    assert_false(is_there("out.old"));
    make_file("out/notes", "the user's");
    record_with_pages("second");
    assert_true(holds("out/store/v1/data.mdb", "second") && holds("out/notes", "the user's"));
    assert_true(holds("out.old/store/v1/data.mdb", "first") && holds("out.old/v1/page.html", "first"));
    assert_true(holds("out.old/index.html", "first") && !is_there("out.old/notes"));
    record_with_pages("third");
    assert_true(holds("out.old/store/v1/data.mdb", "second") && holds("out.old/v1/page.html", "second"));
    make_file("out.old/v1/notes", "the user's"); /* that folder is not a report alone: it stays as it is */
    record_with_pages("fourth");
    assert_true(holds("out/store/v1/data.mdb", "fourth"));
    assert_true(holds("out.old/store/v1/data.mdb", "second") && holds("out.old/v1/notes", "the user's"));
}

/* Of a recording into `out`, as an aggregator and a reporter make it. */
static struct wp_earlier_report record_after(const char *out, const char *text)
{
    struct wp_output_dir output;
    assert_int_equal(prepare(&output, out, NULL, NULL), 0);
    write_release(output.store, text);
    assert_int_equal(wp_output_dir_keep_store(&output, NULL), 0);
    wp_output_dir_fini(&output, false);
    return output.earlier;
}

/* A report in out.old that no recording moved there is the user's. */
static void a_report_that_was_moved_by_hand_stays(void **state)
{
    struct wp_earlier_report earlier;
    (void)state;
    record_with_pages("first");
    assert_int_equal(rename("out", "out.old"), 0);
    record_with_pages("second");
    earlier = record_after("out", "third");
    assert_true(earlier.is_taken && !earlier.is_kept);
    assert_true(holds("out.old/store/v1/data.mdb", "first") && holds("out.old/v1/page.html", "first"));
    assert_true(holds("out/store/v1/data.mdb", "third"));
    /* One that was kept, and that another report took the place of, neither. */
    assert_int_equal(wp_path_remove("out.old", NULL), 0);
    earlier = record_after("out", "fourth");
    assert_true(earlier.is_kept && !earlier.is_taken);
    assert_true(record_after("out.old", "own").is_kept);
    make_pages("fourth");
    assert_int_equal(rename("out/.wakepath-site", "out.old/.wakepath-site"), 0);
    make_pages("fourth");
    assert_true(record_after("out", "fifth").is_taken);
    assert_true(holds("out.old/store/v1/data.mdb", "own"));
}

/* A folder of the report that cannot be moved: the others are where they were, and the report is replaced. */
static void what_was_moved_is_moved_back(void **state)
{
    struct wp_earlier_report earlier;
    (void)state;
    record_with_pages("first");
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("out/v1", "out/v1", NULL, MS_BIND, NULL))
        WP_SKIP("mounting a folder on itself is for root, in a namespace of its own");
    earlier = record_after("out", "second");
    umount("out/v1");
    assert_true(!earlier.is_kept && !earlier.is_taken && !is_there("out.old"));
    assert_true(holds("out/index.html", "first") && holds("out/v1/page.html", "first"));
    assert_true(is_there("out/.wakepath-site") && holds("out/store/v1/data.mdb", "second"));
}

/* A report that fails leaves the store beside the user's files, and no list: the next recording takes it. */
static void a_failed_report_leaves_the_folder_ours(void **state)
{
    struct wp_output_dir output;
    (void)state;
    record_with_pages("first");
    make_file("out/notes", "the user's");
    record_once("second");
    assert_false(is_there("out/.wakepath-site"));
    record_once("third");
    assert_true(holds("out/store/v1/data.mdb", "third") && holds("out/notes", "the user's"));
    assert_int_equal(wp_path_remove("out/store", NULL), 0);
    mkdir("out/store", 0755); /* an empty folder says nothing */
    assert_int_equal(prepare(&output, "out", NULL, NULL), -EEXIST);
    wp_output_dir_fini(&output, true);
}

/* A recording that fails moves nothing. */
static void a_failed_recording_keeps_the_report(void **state)
{
    struct wp_output_dir output;
    (void)state;
    record_with_pages("first");
    assert_int_equal(prepare(&output, "out", NULL, NULL), 0);
    wp_output_dir_fini(&output, true);
    assert_true(holds("out/index.html", "first") && holds("out/store/v1/data.mdb", "first"));
    assert_false(is_there("out.old"));
}

/* Without a report the store lies in the private folder, and goes with it: also of one that was killed. */
static void a_store_that_nobody_keeps(void **state)
{
    struct wp_output_dir output, next;
    char path[WP_SCRATCH_ROOM];
    (void)state;
    assert_int_equal(prepare(&output, NULL, NULL, NULL), 0);
    write_release(output.store, "live");
    assert_true(is_there(output.store));
    close(output.scratch.fd); /* it is killed */
    assert_int_equal(prepare(&next, NULL, NULL, NULL), 0);
    assert_false(is_there(output.scratch.path));
    write_release(next.store, "live");
    memcpy(path, next.scratch.path, sizeof(path));
    wp_output_dir_fini(&next, true);
    assert_false(is_there(path));
}

static void refused(const char *says)
{
    struct wp_output_dir output;
    struct wp_error err = {0};
    assert_int_equal(prepare(&output, "out", NULL, &err), -EEXIST);
    assert_non_null(strstr(err.text, says));
    assert_non_null(strstr(err.text, "--out"));
    wp_output_dir_fini(&output, true);
}

/* A store that another made, one that was added to, and files that somebody put into ours: none is removed. */
static void strangers_in_the_store(void **state)
{
    (void)state;
    mkdir("out", 0755);
    mkdir("out/store", 0755);
    make_file("out/store/thesis", "precious");
    refused("out/store");
    assert_true(holds("out/store/thesis", "precious"));
    assert_int_equal(rename("out/store", "out/store.new"), 0);
    refused("out/store.new");
    assert_true(holds("out/store.new/thesis", "precious"));
    assert_int_equal(wp_path_remove("out", NULL), 0);
    mkdir("out", 0755);
    mkdir("out/store", 0755);
    write_release("out/store", "of an aggregator");
    refused("out/store");
    assert_true(holds("out/store/v1/data.mdb", "of an aggregator"));
    assert_int_equal(wp_path_remove("out", NULL), 0);
    record_once("ours");
    make_file("out/store/v1/note", "precious");
    refused("out/store");
    assert_true(holds("out/store/v1/note", "precious") && holds("out/store/v1/data.mdb", "ours"));
    unlink("out/store/v1/note");
    make_file("out/store/v1/data.mdb", "added to");
    refused("--store");
    assert_true(holds("out/store/v1/data.mdb", "added to"));
    make_file("out/store/v1/data.mdb", "ours");
    record_once("next");
    assert_int_equal(rename("out/store", "elsewhere"), 0);
    assert_int_equal(symlink("../elsewhere", "out/store"), 0);
    refused("out/store");
    assert_true(holds("elsewhere/v1/data.mdb", "next"));
}

/* What comes while the recording runs. */
static void strangers_meanwhile(void **state)
{
    struct wp_output_dir output, other;
    struct wp_error err = {0};
    (void)state;
    record_once("first");
    assert_int_equal(prepare(&output, "out", NULL, NULL), 0);
    assert_int_equal(prepare(&other, "out", NULL, &err), -EBUSY);
    wp_output_dir_fini(&other, true);
    write_release(output.store, "second");
    make_file("out/store/thesis", "precious");
    assert_int_equal(wp_output_dir_keep_store(&output, &err), -EEXIST);
    wp_output_dir_fini(&output, true);
    assert_true(holds("out/store/thesis", "precious") && holds("out/store.new/v1/data.mdb", "second"));
    /* A recording that fails does not take with it what its command wrote, nor another's release. */
    assert_int_equal(prepare(&output, "new", "root", NULL), 0);
    write_release("root", "half");
    make_file("new/result", "precious");
    make_file("root/result", "precious");
    wp_output_dir_fini(&output, true);
    assert_true(holds("new/result", "precious") && holds("root/result", "precious"));
    assert_int_equal(prepare(&output, "new2", "root2", NULL), 0);
    write_release("root2", "half");
    wp_output_dir_fini(&output, true);
    assert_false(is_there("new2") || is_there("root2"));
}

/* A private folder is a killed recording's when nobody holds its lock, and only what a recording makes is removed of
 * it. A process that it had started does not hold the lock. */
static void private_folders_that_were_left(void **state)
{
    struct wp_scratch lives, dead, next, import, other;
    char path[256], copy[WP_SCRATCH_ROOM];
    (void)state;
    setenv("TMPDIR", *state, 1);
    assert_int_equal(wp_scratch_make(&lives, &wp_record_scratch, NULL), 0);
    assert_int_equal(wp_scratch_make(&dead, &wp_record_scratch, NULL), 0);
    assert_int_equal(wp_scratch_make(&import, &wp_scratch_import, NULL), 0);
    assert_int_equal(wp_scratch_make(&other, &wp_scratch_import, NULL), 0);
    close(import.fd); /* an import is killed; another one lives */
    snprintf(path, sizeof(path), "%s/wakepath-collector.log", dead.path);
    touch(path);
    snprintf(copy, sizeof(copy), "%s", dead.path);
    assert_int_equal(fcntl(dead.fd, F_GETFD), FD_CLOEXEC);
    close(dead.fd); /* as its end does */
    mkdir("wakepath-record-AAAAAA", 0700);
    make_file("wakepath-record-AAAAAA/thesis", "precious");
    mkdir("wakepath-record-BBBBBB", 0700);
    touch("wakepath-record-BBBBBB/events");
    make_file("wakepath-record-BBBBBB/thesis", "precious");
    assert_int_equal(wp_scratch_make(&next, &wp_record_scratch, NULL), 0);
    assert_true(is_there(lives.path) && is_there(next.path));
    assert_false(is_there(copy));
    assert_true(
        holds("wakepath-record-AAAAAA/thesis", "precious") && holds("wakepath-record-BBBBBB/thesis", "precious"));
    assert_false(is_there(import.path));
    assert_true(is_there(other.path));
    wp_scratch_remove(&other);
    wp_scratch_remove(&lives);
    wp_scratch_remove(&next);
    assert_false(is_there(lives.path) || is_there(next.path));
    unsetenv("TMPDIR");
}

static void strangers(void **state)
{
    struct wp_output_dir output;
    struct wp_error err = {0};
    (void)state;
    mkdir("mine", 0755);
    touch("mine/thesis");
    assert_int_equal(prepare(&output, "mine", NULL, &err), -EEXIST);
    assert_non_null(strstr(err.text, "--out"));
    wp_output_dir_fini(&output, true);
    assert_true(is_there("mine/thesis"));
    touch("mine/.wakepath-site"); /* now it is a report that somebody put a file into */
    assert_int_equal(prepare(&output, "mine", NULL, &err), 0);
    wp_output_dir_fini(&output, true);
    assert_true(is_there("mine/thesis"));
}

static void not_folders(void **state)
{
    struct wp_output_dir output;
    struct wp_error err = {0};
    (void)state;
    touch("file");
    assert_true(prepare(&output, "file", NULL, &err) < 0);
    wp_output_dir_fini(&output, true);
    assert_true(prepare(&output, "out", "file/store", &err) < 0);
    assert_non_null(strstr(err.text, "--store"));
    wp_output_dir_fini(&output, true);
    assert_false(is_there("out"));
    assert_true(is_there("file"));
    assert_int_equal(prepare(&output, "", NULL, &err), -EINVAL);
    assert_int_equal(prepare(&output, "out", "", &err), -EINVAL);
}

static void long_names(void **state)
{
    struct wp_output_dir output;
    char name[PATH_MAX + 10];
    (void)state;
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    assert_int_equal(prepare(&output, name, NULL, NULL), -ENAMETOOLONG);
    wp_output_dir_fini(&output, true);
    assert_int_equal(prepare(&output, name + sizeof(name) - 251, NULL, NULL), -ENAMETOOLONG); /* the reporter's lock */
    wp_output_dir_fini(&output, true);
    assert_false(is_there(name + sizeof(name) - 251));
    assert_int_equal(prepare(&output, name + sizeof(name) - 250, NULL, NULL), 0);
    wp_output_dir_fini(&output, true);
    setenv("TMPDIR", name, 1); /* too long for a socket's name: another place is taken */
    assert_int_equal(prepare(&output, "out", NULL, NULL), 0);
    assert_int_equal(strncmp(output.scratch.path, "/tmp/", 5), 0);
    wp_output_dir_fini(&output, true);
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(made_and_taken_back, setup, teardown),
        cmocka_unit_test_setup_teardown(kept, setup, teardown),
        cmocka_unit_test_setup_teardown(own_store_is_replaced_when_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(an_earlier_report_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_report_that_was_moved_by_hand_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_report_leaves_the_folder_ours, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_recording_keeps_the_report, setup, teardown),
        cmocka_unit_test_setup_teardown(a_store_that_nobody_keeps, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers_in_the_store, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers_meanwhile, setup, teardown),
        cmocka_unit_test_setup_teardown(private_folders_that_were_left, setup, teardown),
        cmocka_unit_test_setup_teardown(not_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_moved_is_moved_back, setup, teardown)};
    return wp_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
