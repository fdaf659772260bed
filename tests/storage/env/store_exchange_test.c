/* SPDX-License-Identifier: Apache-2.0 */
/* A release's folder is exchanged for a compact copy while handles of other processes have it open. */
#include "tests/storage/store_fixture.h"

#include "common/path.h"
#include "storage/env/shrink.h"
#include "storage/env/txn.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int shrink(const char *root)
{
    struct wp_store *store;
    struct wp_space space;
    if (wp_store_open(&store, root, true, NULL))
        return 10;
    if (wp_store_upkeep(store, NULL))
        return 11;
    int rc = wp_store_shrink(store, "v1", &space, NULL) ? 12 : 0;
    wp_store_close(store);
    return rc;
}

static int add(const char *root)
{
    struct fixture own = {0};
    if (wp_store_open(&own.store, root, true, NULL))
        return 20;
    fixture_add(&own, "v1", "s", 100, "f", 100);
    wp_store_close(own.store);
    return 0;
}

/* In a process of its own: one that opened a root twice would lose LMDB's locks. */
static void elsewhere(int (*work)(const char *root), const char *root)
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(work(root));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static ino_t inode(const struct fixture *f)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/v1/data.mdb", f->root);
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static uint64_t total(struct fixture *f)
{
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    uint64_t sum = fixture_total(txn, "main", NULL);
    wp_txn_abort(txn);
    return sum;
}

static void open_handles_follow(void **state)
{
    struct fixture *f = *state;
    fixture_add(f, "v1", "s", 100, "f", 1);
    ino_t before = inode(f);
    elsewhere(shrink, f->root);
    assert_int_not_equal(inode(f), before);
    elsewhere(add, f->root);         /* into the copy */
    assert_int_equal(total(f), 101); /* a handle that has read before */
    elsewhere(shrink, f->root);
    fixture_add(f, "v1", "s", 100, "f", 1000); /* one that has written before */
    assert_int_equal(total(f), 1101);
    elsewhere(add, f->root);
    assert_int_equal(total(f), 1201);
}

static void a_snapshot_stays(void **state)
{
    struct fixture *f = *state;
    fixture_add(f, "v1", "s", 100, "f", 1);
    struct wp_txn *reader = fixture_begin(f, "v1", false);
    elsewhere(shrink, f->root);
    elsewhere(add, f->root);
    assert_int_equal(fixture_total(reader, "main", NULL), 1);
    struct wp_txn *writer = NULL; /* it would need the new file, and this process is in the old one */
    assert_int_equal(wp_txn_begin(&writer, f->store, "v1", true, NULL), -EBUSY);
    wp_txn_abort(reader);
    assert_int_equal(total(f), 101);
    fixture_add(f, "v1", "s", 100, "f", 1000);
    assert_int_equal(total(f), 1101);
}

static void a_release_that_was_removed(void **state)
{
    struct fixture *f = *state;
    char path[128];
    struct wp_txn *txn;
    fixture_add(f, "v1", "s", 100, "f", 1);
    snprintf(path, sizeof(path), "%s/v1", f->root);
    assert_int_equal(wp_path_remove(path, NULL), 0);
    assert_int_equal(wp_txn_begin(&txn, f->store, "v1", false, NULL), -ENOENT);
    fixture_add(f, "v1", "s", 100, "f", 5); /* not into a file without a name */
    assert_int_equal(inode(f) != 0, 1);
    assert_int_equal(total(f), 5);
}

static void a_shard_is_claimed_once(void **state)
{
    struct fixture *f = *state;
    struct wp_store *other = NULL;
    struct wp_error err = {0};
    assert_int_equal(wp_store_claim_shard(f->store, "one", NULL), 0);
    assert_int_equal(wp_store_open_shard(&other, f->root, "one", &err), -EBUSY);
    assert_null(other);
    assert_non_null(strstr(err.text, "shard 'one'"));
    assert_int_equal(wp_store_open_shard(&other, f->root, "two", &err), 0);
    wp_store_close(other);
    assert_int_equal(wp_store_open_shard(&other, f->root, "../x", &err), -EINVAL);
    wp_store_close(f->store);
    assert_int_equal(wp_store_open_shard(&f->store, f->root, "one", &err), 0);
}

static void a_free_shard_is_found(void **state)
{
    struct fixture *f = *state;
    struct wp_store *second = NULL, *third = NULL;
    struct wp_error err = {0};
    assert_int_equal(wp_store_claim_shard(f->store, "local", NULL), 0);
    assert_int_equal(wp_store_open_free_shard(&second, f->root, "local", &err), 0);
    assert_string_equal(wp_store_shard(second), "local-2");
    assert_int_equal(wp_store_open_free_shard(&third, f->root, "local", &err), 0);
    assert_string_equal(wp_store_shard(third), "local-3");
    wp_store_close(second);
    wp_store_close(third);
    assert_int_equal(wp_store_open_free_shard(&second, f->root, "../x", &err), -EINVAL);
    assert_null(second);
    assert_int_equal(wp_store_open_free_shard(&second, f->root, "local", &err), 0);
    assert_string_equal(wp_store_shard(second), "local-2");
    wp_store_close(second);
}

static void a_copy_is_never_over_another(void **state)
{
    struct fixture *f = *state;
    char to[128];
    fixture_add(f, "v1", "s", 100, "f", 1);
    snprintf(to, sizeof(to), "%s/elsewhere~", f->root);
    assert_int_equal(wp_path_make(to, NULL), 0);
    assert_int_equal(wp_store_copy(f->store, "v1", to, NULL), 0);
    assert_int_equal(wp_store_copy(f->store, "v1", to, NULL), -EEXIST);
    assert_int_equal(wp_store_copy(f->store, "v9", to, NULL), -ENOENT);
}

/* Who tidies removes what a killed copy has left, by its name and what is in it. */
static void what_looks_like_a_copy_stays(void **state)
{
    struct fixture *f = *state;
    static const char *const kept[] = {
        "photos~copy.1", "v1~copy.abcdef/thesis", "v1~copy.abcdefg", "~copy.abcdef", "a b~copy.abcdef"};
    char path[160];
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->root, kept[i]);
        assert_int_equal(wp_path_make(path, NULL), 0);
    }
    snprintf(path, sizeof(path), "%s/v1~copy.aBcD12", f->root);
    assert_int_equal(wp_path_make(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/v1~copy.aBcD12/data.mdb", f->root);
    assert_int_equal(wp_file_write_atomic(path, "half", 4, NULL), 0);
    assert_int_equal(wp_shrink_clean(f->root, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->root, kept[i]);
        assert_int_equal(access(path, F_OK), 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(open_handles_follow), TEST(a_snapshot_stays),
        TEST(a_release_that_was_removed), TEST(a_shard_is_claimed_once), TEST(a_free_shard_is_found),
        TEST(what_looks_like_a_copy_stays), TEST(a_copy_is_never_over_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
