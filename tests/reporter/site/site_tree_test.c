/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/path.h"
#include "reporter/display/page_id.h"
#include "reporter/site/site_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
    char folder[64], out[128];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    snprintf(place->folder, sizeof(place->folder), "/tmp/wp-site-XXXXXX");
    if (!place || !mkdtemp(place->folder))
        return -1;
    snprintf(place->out, sizeof(place->out), "%s/site", place->folder);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    wp_path_remove(place->folder, NULL);
    free(place);
    return 0;
}

static int publish(const char *out, const char *index, const char *page, struct wp_error *err)
{
    struct wp_site_tree tree;
    int rc = wp_tree_begin(&tree, out, -1, err);
    if (rc)
        return rc;
    rc = wp_tree_write(&tree, "v1/main/page.html", page, strlen(page), err);
    if (!rc)
        rc = wp_tree_write(&tree, "index.html", index, strlen(index), err);
    if (!rc)
        return wp_tree_commit(&tree, err);
    wp_tree_abort(&tree);
    return rc;
}

static void expect_file(const struct place *place, const char *name, const char *wanted)
{
    char path[256];
    struct wp_buffer content = {0};
    snprintf(path, sizeof(path), "%s/%s", place->out, name);
    assert_int_equal(wp_file_read(path, 4096, &content, NULL), 0);
    assert_string_equal((const char *)content.data, wanted);
    wp_buffer_fini(&content);
}

static int entries_in(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return count;
}

static void a_site_is_made_and_replaced(void **state)
{
    const struct place *place = *state;
    struct wp_error err = {0};
    assert_int_equal(publish(place->out, "one", "page", &err), 0);
    expect_file(place, "index.html", "one");
    assert_int_equal(publish(place->out, "two", "page", &err), 0);
    expect_file(place, "index.html", "two");
    expect_file(place, "v1/main/page.html", "page");
    assert_int_equal(entries_in(place->folder), 1); /* no lock, no half-made folder is left */
}

static void unchanged_files_keep_their_inode(void **state)
{
    const struct place *place = *state;
    struct stat page, same, index, root, root_same;
    char path[256], index_path[256];
    snprintf(path, sizeof(path), "%s/v1/main/page.html", place->out);
    snprintf(index_path, sizeof(index_path), "%s/index.html", place->out);
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    assert_int_equal(stat(path, &page), 0);
    assert_int_equal(publish(place->out, "two", "page", NULL), 0);
    assert_int_equal(stat(path, &same), 0);
    assert_int_equal(page.st_ino, same.st_ino);
    assert_int_equal(stat(index_path, &index), 0);
    assert_int_equal(stat(place->out, &root), 0);
    assert_int_equal(publish(place->out, "two", "page", NULL), 0); /* nothing changed: not even the folder */
    assert_int_equal(stat(place->out, &root_same), 0);
    assert_int_equal(root.st_ino, root_same.st_ino);
}

static void put(const struct place *place, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    assert_int_equal(wp_file_write_atomic(path, text, strlen(text), NULL), 0);
}

static int publish_held(const char *out, const char *index, struct wp_error *err)
{
    struct wp_site_tree tree;
    int rc = wp_tree_begin(&tree, out, -1, err);
    if (rc)
        return rc;
    rc = wp_tree_hold(&tree, "v1", err);
    if (!rc)
        rc = wp_tree_write(&tree, "v2/main/page.html", "second", 6, err);
    if (!rc)
        rc = wp_tree_write(&tree, "index.html", index, strlen(index), err);
    if (!rc)
        return wp_tree_commit(&tree, err);
    wp_tree_abort(&tree);
    return rc;
}

/* Neither linked nor moved: the folder itself is the same, and what somebody put there is no reason to refuse. */
static void a_held_folder_stays_where_it_is(void **state)
{
    const struct place *place = *state;
    struct wp_error err = {0};
    struct stat folder, same;
    char path[256];
    snprintf(path, sizeof(path), "%s/v1/main", place->out);
    assert_int_equal(publish(place->out, "one", "page", &err), 0);
    assert_int_equal(stat(path, &folder), 0);
    put(place, "site/v1/main/thesis", "precious");
    assert_int_equal(publish_held(place->out, "two", &err), 0);
    assert_int_equal(stat(path, &same), 0);
    assert_int_equal(folder.st_ino, same.st_ino);
    expect_file(place, "v1/main/page.html", "page");
    expect_file(place, "v1/main/thesis", "precious");
    expect_file(place, "v2/main/page.html", "second");
    expect_file(place, "index.html", "two");
    assert_int_equal(entries_in(place->folder), 1);
    assert_int_equal(entries_in(place->out), 4);                            /* v1, v2, index.html and the list */
    assert_int_equal(publish(place->out, "three", "other", &err), -EEXIST); /* now it would be replaced */
    expect_file(place, "v1/main/thesis", "precious");
}

static void a_folder_that_lacks_a_file_is_not_held(void **state)
{
    const struct place *place = *state;
    char path[256];
    snprintf(path, sizeof(path), "%s/v1/main/page.html", place->out);
    assert_int_equal(publish_held(place->out, "one", NULL), -ENOENT); /* there is no site */
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(publish_held(place->out, "two", NULL), -ENOENT);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(publish_held(place->out, "two", NULL), -ENOENT);
    expect_file(place, "index.html", "one");
    assert_int_equal(publish(place->out, "two", "page", NULL), 0);
    expect_file(place, "v1/main/page.html", "page");
}

static int hold_settled(const char *out, uint64_t settled_ns, bool *is_whole, size_t *files)
{
    struct wp_site_tree tree;
    assert_int_equal(wp_tree_begin(&tree, out, -1, NULL), 0);
    tree.settled_ns = settled_ns;
    *is_whole = wp_tree_is_whole(&tree, files);
    int rc = wp_tree_hold(&tree, "v1", NULL);
    wp_tree_abort(&tree);
    return rc;
}

/* The folders' times say whether a file may be gone: files are looked at one by one only when they changed lately. */
static void a_folder_that_did_not_change_is_whole(void **state)
{
    const struct place *place = *state;
    char folder[256], path[300];
    struct stat st;
    bool is_whole;
    size_t files;
    snprintf(folder, sizeof(folder), "%s/v1/main", place->out);
    snprintf(path, sizeof(path), "%s/page.html", folder);
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    assert_int_equal(hold_settled(place->out, 0, &is_whole, &files), 0);
    assert_true(is_whole && files == 2);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(stat(folder, &st), 0);
    uint64_t changed_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    assert_int_equal(hold_settled(place->out, changed_ns, &is_whole, &files), -ENOENT); /* not before that time */
    assert_false(is_whole);
    assert_int_equal(hold_settled(place->out, changed_ns + 1, &is_whole, &files), 0); /* its files are not looked at */
    assert_true(is_whole && files == 2);
    const struct timespec early[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, folder, early, 0), 0); /* the time of that cannot be set */
    assert_int_equal(hold_settled(place->out, changed_ns, &is_whole, &files), -ENOENT);
}

static void a_strangers_files_stay(void **state)
{
    const struct place *place = *state;
    struct wp_error err = {0};
    char path[256];
    assert_int_equal(mkdir(place->out, 0777), 0);
    snprintf(path, sizeof(path), "%s/store", place->out);
    assert_int_equal(wp_file_write_atomic(path, "data", 4, &err), 0);
    assert_int_equal(publish(place->out, "one", "page", &err), 0);
    expect_file(place, "index.html", "one");
    expect_file(place, "store", "data");
    assert_int_equal(publish(place->out, "two", "other", &err), 0);
    expect_file(place, "index.html", "two");
    expect_file(place, "v1/main/page.html", "other");
    expect_file(place, "store", "data");
}

static void a_strangers_index_is_not_overwritten(void **state)
{
    const struct place *place = *state;
    struct wp_error err = {0};
    char path[256];
    assert_int_equal(mkdir(place->out, 0777), 0);
    snprintf(path, sizeof(path), "%s/index.html", place->out);
    assert_int_equal(wp_file_write_atomic(path, "mine", 4, &err), 0);
    assert_int_equal(publish(place->out, "one", "page", &err), -EEXIST);
    assert_non_null(strstr(err.text, "index.html"));
    expect_file(place, "index.html", "mine");
    assert_int_equal(entries_in(place->out), 1);
}

static void entries_that_are_gone_are_removed(void **state)
{
    const struct place *place = *state;
    struct wp_site_tree tree;
    char path[256], stranger[256];
    struct wp_error err = {0};
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    snprintf(stranger, sizeof(stranger), "%s/notes", place->out);
    assert_int_equal(wp_file_write_atomic(stranger, "x", 1, NULL), 0);
    assert_int_equal(wp_tree_begin(&tree, place->out, -1, &err), 0);
    assert_int_equal(wp_tree_write(&tree, "index.html", "new", 3, &err), 0);
    assert_int_equal(wp_tree_commit(&tree, &err), 0);
    snprintf(path, sizeof(path), "%s/v1", place->out);
    assert_int_equal(access(path, F_OK), -1);
    expect_file(place, "notes", "x");
}

static void expect_beside(const struct place *place, const char *name, const char *wanted)
{
    struct place above = *place;
    snprintf(above.out, sizeof(above.out), "%s", place->folder);
    expect_file(&above, name, wanted);
}

/* What somebody has put into a folder of the site's would go with it. */
static void a_file_among_the_pages_is_not_removed(void **state)
{
    const struct place *place = *state;
    struct wp_error err = {0};
    char path[256];
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    put(place, "site/v1/main/thesis", "precious");
    assert_int_equal(publish(place->out, "two", "page", &err), -EEXIST);
    assert_non_null(strstr(err.text, "v1/main/thesis"));
    assert_non_null(strstr(err.text, "--out"));
    expect_file(place, "v1/main/thesis", "precious");
    expect_file(place, "index.html", "one");
    put(place, "site/store", "data"); /* and with a stranger at the top, where entries are exchanged one by one */
    assert_int_equal(publish(place->out, "two", "page", NULL), -EEXIST);
    expect_file(place, "v1/main/thesis", "precious");
    snprintf(path, sizeof(path), "%s/v1/main/thesis", place->out);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/v1/empty", place->out);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(publish(place->out, "two", "page", NULL), -EEXIST);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(publish(place->out, "two", "page", NULL), 0);
    expect_file(place, "index.html", "two");
}

/* One that comes while the pages are made. */
static void a_file_that_comes_meanwhile_is_not_removed(void **state)
{
    const struct place *place = *state;
    struct wp_site_tree tree;
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    assert_int_equal(wp_tree_begin(&tree, place->out, -1, NULL), 0);
    assert_int_equal(wp_tree_write(&tree, "index.html", "two", 3, NULL), 0);
    put(place, "site/v1/main/thesis", "precious");
    assert_int_equal(wp_tree_commit(&tree, NULL), -EEXIST);
    expect_file(place, "v1/main/thesis", "precious");
    expect_file(place, "index.html", "one");
}

/* The names beside the site that the reporter uses may be somebody's. */
static void strangers_beside_the_site_stay(void **state)
{
    const struct place *place = *state;
    char path[256];
    struct wp_error err = {0};
    snprintf(path, sizeof(path), "%s/.site.new", place->folder);
    assert_int_equal(mkdir(path, 0777), 0);
    put(place, ".site.new/thesis", "precious");
    assert_int_equal(publish(place->out, "one", "page", &err), -EEXIST);
    assert_non_null(strstr(err.text, ".site.new"));
    expect_beside(place, ".site.new/thesis", "precious");
    assert_int_equal(wp_path_remove(path, NULL), 0);
    put(place, ".site.new", "precious");
    assert_int_equal(publish(place->out, "one", "page", NULL), -EEXIST);
    expect_beside(place, ".site.new", "precious");
    assert_int_equal(unlink(path), 0);
    put(place, ".site.lock", "precious");
    assert_int_equal(publish(place->out, "one", "page", &err), -EEXIST);
    assert_non_null(strstr(err.text, ".site.lock"));
    expect_beside(place, ".site.lock", "precious");
    put(place, ".site.lock", "");
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    expect_beside(place, ".site.lock", "");
}

static void a_manifest_does_not_lead_outside(void **state)
{
    const struct place *place = *state;
    char path[256], victim[256];
    const char *lies = "../victim/file\n..\n.\n/etc/passwd\nindex.html\n";
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    snprintf(path, sizeof(path), "%s/.wakepath-site", place->out);
    assert_int_equal(wp_file_write_atomic(path, lies, strlen(lies), NULL), 0);
    snprintf(victim, sizeof(victim), "%s/victim", place->folder);
    assert_int_equal(mkdir(victim, 0777), 0);
    publish(
        place->out, "two", "page", NULL); /* "v1" is now a stranger's: refused, or not; nothing outside is touched */
    assert_int_equal(access(victim, F_OK), 0);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
}

static void an_abort_and_a_crash_leave_the_old_site(void **state)
{
    const struct place *place = *state;
    struct wp_site_tree tree;
    assert_int_equal(publish(place->out, "one", "page", NULL), 0);
    pid_t child = fork();
    if (!child) {
        if (!wp_tree_begin(&tree, place->out, -1, NULL))
            wp_tree_write(&tree, "index.html", "half", 4, NULL);
        _exit(9); /* as if killed: no clean-up */
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_file(place, "index.html", "one");
    assert_int_equal(publish(place->out, "two", "page", NULL), 0);
    expect_file(place, "index.html", "two");
}

static void a_second_writer_waits_or_leaves(void **state)
{
    const struct place *place = *state;
    struct wp_site_tree first, second;
    struct wp_error err = {0};
    assert_int_equal(wp_tree_begin(&first, place->out, -1, &err), 0);
    assert_int_equal(wp_tree_begin(&second, place->out, 0, &err), -EBUSY);
    pid_t child = fork();
    if (!child)
        _exit(publish(place->out, "child", "page", NULL) ? 1 : 0);
    usleep(100000);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0); /* it waits */
    assert_int_equal(wp_tree_write(&first, "index.html", "first", 5, &err), 0);
    assert_int_equal(wp_tree_commit(&first, &err), 0);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_file(place, "index.html", "child");
}

/* The parent belongs to somebody else, as /var/www does: the site is made all the same. */
static void a_parent_that_may_not_be_written_is_no_bar(void **state)
{
    const struct place *place = *state;
    assert_int_equal(mkdir(place->out, 0777), 0);
    assert_int_equal(chmod(place->out, 0777), 0);
    assert_int_equal(chmod(place->folder, 0755), 0);
    pid_t child = fork();
    if (!child) {
        struct wp_error err = {0};
        if (!geteuid() && setresuid(65534, 65534, 65534))
            _exit(3);
        _exit(publish(place->out, "one", "page", &err) || publish(place->out, "two", "page", &err) ? 1 : 0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_file(place, "index.html", "two");
    assert_int_equal(entries_in(place->out), 3); /* index.html, v1, the manifest */
}

static void a_file_in_the_way_is_named(void **state)
{
    const struct place *place = *state;
    struct wp_error err = {0};
    assert_int_equal(wp_file_write_atomic(place->out, "x", 1, &err), 0);
    assert_int_equal(publish(place->out, "one", "page", &err), -EEXIST);
    assert_non_null(strstr(err.text, place->out));
}

static void ids_that_the_site_uses_get_another_folder(void **state)
{
    (void)state;
    struct wp_buffer path = {0};
    wp_page_id_path_part(&path, &(struct wp_page_id){WP_PAGE_FLAME, "assets", "index.html"}, 0);
    assert_string_equal((const char *)path.data, "assets~/index.html~/flame.html");
    wp_buffer_clear(&path);
    wp_page_id_path_part(&path, &(struct wp_page_id){WP_PAGE_OVERVIEW, "v1", "main"}, 0);
    assert_string_equal((const char *)path.data, "v1/main/index.html");
    wp_buffer_fini(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_site_is_made_and_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(unchanged_files_keep_their_inode, setup, teardown),
        cmocka_unit_test_setup_teardown(a_held_folder_stays_where_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_lacks_a_file_is_not_held, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_did_not_change_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_strangers_files_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(a_strangers_index_is_not_overwritten, setup, teardown),
        cmocka_unit_test_setup_teardown(entries_that_are_gone_are_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_among_the_pages_is_not_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_comes_meanwhile_is_not_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers_beside_the_site_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(a_manifest_does_not_lead_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(an_abort_and_a_crash_leave_the_old_site, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_writer_waits_or_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(a_parent_that_may_not_be_written_is_no_bar, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_in_the_way_is_named, setup, teardown),
        cmocka_unit_test(ids_that_the_site_uses_get_another_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
