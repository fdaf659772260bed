/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of a transaction: kill -9, a map that is too small, a disk that is too small, readers at the same time.
 */
#include "tests/storage/store_fixture.h"

#include "common/path.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/report_add.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/skipped.h"

#define NOISE_BYTES ((size_t)3 << 20)

static uint8_t *noise(size_t size) /* nothing that compresses */
{
    uint64_t seed = 5;
    uint64_t *bytes = malloc(size);
    for (size_t i = 0; i < size / sizeof(*bytes); i++)
        bytes[i] = made_random(&seed);
    return (uint8_t *)bytes;
}

static int put_noise(struct wp_txn *txn, unsigned number, size_t size)
{
    char key[64];
    uint8_t *bytes = noise(size);
    snprintf(key, sizeof(key), "__source__/%02x/11/%02x112233445566778899aabbccddeeff", number, number);
    int rc = wp_txn_put(txn, key, WP_VALUE_BLOB, bytes, size, NULL);
    free(bytes);
    return rc;
}

static void readers_see_one_moment(void **state)
{
    struct fixture *f = *state;
    fixture_add(f, "v1", "s", 100, "f", 1);
    struct wp_txn *reader = fixture_begin(f, "v1", false);
    fixture_add(f, "v1", "s", 100, "f", 2); /* while the reader is there */
    assert_int_equal(fixture_total(reader, "main", NULL), 1);
    struct wp_txn *later = fixture_begin(f, "v1", false);
    assert_int_equal(fixture_total(later, "main", NULL), 3);
    wp_txn_abort(later);
    assert_int_equal(fixture_total(reader, "main", NULL), 1);
    wp_txn_abort(reader);
}

struct work {
    unsigned times;
};

static int put_much(struct wp_txn *txn, void *context)
{
    struct work *work = context;
    work->times++;
    for (unsigned i = 0; i < 3; i++) {
        int rc = put_noise(txn, i, NOISE_BYTES);
        if (rc)
            return rc;
    }
    return 0;
}

static void map_grows(void **state)
{
    struct fixture *f = *state;
    struct work work = {0};
    struct wp_error err = {0};
    wp_store_set_map_size(f->store, 1 << 20);
    fixture_add(f, "v1", "s", 100, "f", 1);
    if (wp_store_update(f->store, "v1", put_much, &work, &err))
        fail_msg("%s", err.text);
    assert_true(work.times > 3);
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    assert_int_equal(fixture_count(txn, "__source__/"), 3);
    assert_int_equal(fixture_total(txn, "main", NULL), 1);
    wp_txn_abort(txn);
}

static void growing_waits_for_readers(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    struct work work = {0};
    wp_store_set_map_size(f->store, 1 << 20);
    fixture_add(f, "v1", "s", 100, "f", 1);
    struct wp_txn *reader = fixture_begin(f, "v1", false);
    assert_int_equal(
        wp_store_update(f->store, "v1", put_much, &work, &err), -EBUSY); /* this process's own reader is in it */
    assert_non_null(strstr(err.text, "map must grow"));
    assert_int_equal(fixture_total(reader, "main", NULL), 1); /* and has come to no harm */
    wp_txn_abort(reader);
    assert_int_equal(wp_store_update(f->store, "v1", put_much, &work, NULL), 0);
}

static int wait_for(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* In a child: the total of "main" read again after `go`, by a store whose map was opened small. */
static int child_reads(const char *root, int go, int ready)
{
    struct wp_store *store;
    struct wp_txn *txn;
    char byte = 0;
    if (wp_store_open(&store, root, false, NULL))
        return 10;
    wp_store_set_map_size(store, 1 << 20);
    if (wp_txn_begin(&txn, store, "v1", false, NULL))
        return 11;
    wp_txn_abort(txn);
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        return 12;
    if (wp_txn_begin(&txn, store, "v1", false, NULL))
        return 13;
    size_t blobs = fixture_count(txn, "__source__/");
    wp_txn_abort(txn);
    wp_store_close(store);
    return blobs == 3 ? 0 : 14;
}

static void others_follow_a_grown_map(void **state)
{
    struct fixture *f = *state;
    struct work work = {0};
    int go[2], ready[2];
    char byte = 0;
    fixture_add(f, "v1", "s", 100, "f", 1);
    wp_store_close(f->store);
    assert_int_equal(pipe(go) | pipe(ready), 0);
    pid_t child = fork();
    if (!child)
        _exit(child_reads(f->root, go[0], ready[1]));
    assert_int_equal(wp_store_open(&f->store, f->root, true, NULL), 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(wp_store_update(f->store, "v1", put_much, &work, NULL), 0);
    assert_int_equal(write(go[1], &byte, 1), 1);
    assert_int_equal(wait_for(child), 0);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(ready[i]);
    }
}

/* In a child: two transactions, and death in the third. */
static void child_dies(const char *root, size_t size)
{
    struct fixture own = {0};
    snprintf(own.root, sizeof(own.root), "%s", root);
    if (wp_store_open(&own.store, root, true, NULL))
        _exit(1);
    fixture_add(&own, "v1", "s", 100, "f", 2);
    fixture_add(&own, "v1", "s", 100, "f", 4);
    struct wp_txn *txn = fixture_begin(&own, "v1", true);
    struct wp_report *report = fixture_report("f", 8);
    wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 100, "s", NULL}, report, NULL);
    put_noise(txn, 1, size);
    raise(SIGKILL);
}

static void death_loses_one_transaction(void **state)
{
    struct fixture *f = *state;
    fixture_add(f, "v1", "s", 100, "f", 1);
    for (unsigned round = 1; round <= 4; round++) {
        wp_store_close(f->store);
        pid_t child = fork();
        if (!child)
            child_dies(f->root, (size_t)round << 18);
        assert_int_equal(wait_for(child), -SIGKILL);
        assert_int_equal(wp_store_open(&f->store, f->root, true, NULL), 0);
        struct wp_txn *txn = fixture_begin(f, "v1", false);
        assert_int_equal(fixture_total(txn, "main", NULL), 1 + round * 6);
        assert_int_equal(fixture_count(txn, "__source__/"), 0);
        wp_txn_abort(txn);
    }
    fixture_add(f, "v1", "s", 100, "f", 100); /* the lock of the dead is no obstacle */
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    assert_int_equal(fixture_total(txn, "main", NULL), 125);
    wp_txn_abort(txn);
}

/* Killed at any moment while it commits epoch after epoch: what is there is a whole number of epochs. */
static void death_at_any_moment(void **state)
{
    struct fixture *f = *state;
    fixture_add(f, "v1", "s", 100, "f", 1);
    for (unsigned round = 0; round < 8; round++) {
        wp_store_close(f->store);
        pid_t child = fork();
        if (!child) {
            struct fixture own = {0};
            if (wp_store_open(&own.store, f->root, true, NULL))
                _exit(1);
            for (;;) {
                struct wp_txn *txn = fixture_begin(&own, "v1", true);
                struct wp_report *report = fixture_report("f", 10);
                wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 100, "s", NULL}, report, NULL);
                wp_txn_add_host_report(txn, &(struct wp_report_place){"other", 100, "s", NULL}, report, NULL);
                wp_report_destroy(report);
                fixture_commit(txn);
            }
        }
        usleep(3000 + round * 2500);
        kill(child, SIGKILL);
        assert_int_equal(wait_for(child), -SIGKILL);
        assert_int_equal(wp_store_open(&f->store, f->root, true, NULL), 0);
        struct wp_txn *txn = fixture_begin(f, "v1", true);
        uint64_t both = fixture_count(txn, "other/report.") ? fixture_total(txn, "other", NULL) : 0;
        assert_int_equal(both % 10, 0);
        assert_int_equal(fixture_total(txn, "main", NULL), 1 + both);
        wp_txn_abort(txn);
    }
}

/* In a child with mounts of its own: a disk of 3 MiB, then a larger one. */
static int child_fills_the_disk(const char *root)
{
    struct fixture own = {0};
    struct wp_error err = {0};
    struct work work = {0};
    snprintf(own.root, sizeof(own.root), "%s", root);
    /* In a chroot "/" is no mount to be made private. */
    if (unshare(CLONE_NEWNS) || (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) && errno != EINVAL) ||
        mount("none", root, "tmpfs", 0, "size=3m"))
        return 20;
    if (wp_store_open(&own.store, root, true, NULL))
        return 21;
    fixture_add(&own, "v1", "s", 100, "f", 7);
    int rc = wp_store_update(own.store, "v1", put_much, &work, &err);
    if (rc != -ENOSPC || !strstr(err.text, "disk is full"))
        return 22;
    struct wp_txn *txn = fixture_begin(&own, "v1", false);
    bool is_whole = fixture_total(txn, "main", NULL) == 7 && !fixture_count(txn, "__source__/");
    wp_txn_abort(txn);
    if (!is_whole)
        return 23;
    if (mount("none", root, "tmpfs", MS_REMOUNT, "size=64m"))
        return 24;
    if (wp_store_update(own.store, "v1", put_much, &work, NULL)) /* it goes on by itself */
        return 25;
    wp_store_close(own.store);
    return 0;
}

static void full_disk_loses_nothing(void **state)
{
    struct fixture *f = *state;
    if (geteuid())
        WP_SKIP("mounting a small disk is for root");
    wp_store_close(f->store);
    f->store = NULL;
    pid_t child = fork();
    if (!child)
        _exit(child_fills_the_disk(f->root));
    assert_int_equal(wait_for(child), 0);
}

struct writer {
    struct fixture *fixture;
    const char *shard;
};

static void *write_some(void *context)
{
    struct writer *writer = context;
    for (unsigned i = 0; i < 20; i++)
        fixture_add(writer->fixture, "v1", writer->shard, 100, "f", 1);
    return NULL;
}

static void threads_share_a_handle(void **state)
{
    struct fixture *f = *state;
    struct writer writers[] = {{f, "a"}, {f, "b"}, {f, "c"}};
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_some, &writers[i]), 0);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    assert_int_equal(fixture_total(txn, "main", NULL), 60);
    wp_txn_abort(txn);
}

/* File descriptors are few: many releases must not keep one open each. */
static void many_releases_fit(void **state)
{
    struct fixture *f = *state;
    char **releases;
    size_t count;
    for (unsigned i = 0; i < 60; i++) {
        char release[16];
        snprintf(release, sizeof(release), "r%u", i);
        fixture_add(f, release, "s", 100, "f", i);
    }
    assert_int_equal(wp_store_releases(f->store, &releases, &count, NULL), 0);
    assert_int_equal(count, 60);
    wp_strings_free(releases, count);
    int highest = dup(0);
    assert_true(highest < 60);
    close(highest);
}

static void roots_are_explained(void **state)
{
    struct fixture *f = *state;
    struct wp_store *store;
    struct wp_error err = {0};
    char path[128];
    assert_int_equal(wp_store_open(&store, "/no/such/root", false, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/root"));
    assert_int_equal(wp_store_open(&store, "/proc/no-store", true, &err), -ENOENT);
    assert_int_equal(wp_store_open(&store, "/proc/self/status", true, &err), -ENOTDIR);
    assert_int_equal(wp_store_open(&store, "", true, &err), -EINVAL);
    snprintf(path, sizeof(path), "%s/a/b/c", f->root);
    assert_int_equal(wp_store_open(&store, path, true, &err), 0);
    assert_int_equal(access(path, F_OK), 0);
    wp_store_close(store);
    snprintf(path, sizeof(path), "%s/odd", f->root);
    assert_int_equal(wp_path_make(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/odd/data.mdb", f->root);
    assert_int_equal(wp_file_write_atomic(path, "this is no LMDB file", 20, NULL), 0);
    struct wp_txn *txn;
    assert_int_equal(wp_txn_begin(&txn, f->store, "odd", false, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "odd"));
}

/* One with other things in it is somebody's folder, as /tmp is. */
static void a_store_of_releases_that_may_not_be_read_is_one(void **state)
{
    struct fixture *f = *state;
    char root[128], path[160];
    snprintf(root, sizeof(root), "%s/closed", f->root);
    snprintf(path, sizeof(path), "%s/v1", root);
    assert_int_equal(wp_path_make(path, NULL), 0);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(root, 0777), 0);
    assert_int_equal(chmod(f->root, 0711), 0);
    bool is_root = !geteuid();
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    bool is_store = wp_store_is_at(root);
    snprintf(path, sizeof(path), "%s/notes", root);
    int fd = creat(path, 0600);
    bool is_with_others = wp_store_is_at(root);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_true(fd >= 0);
    close(fd);
    assert_true(is_store);
    assert_false(is_with_others);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(readers_see_one_moment), TEST(map_grows), TEST(growing_waits_for_readers),
        TEST(others_follow_a_grown_map), TEST(death_loses_one_transaction), TEST(death_at_any_moment),
        TEST(full_disk_loses_nothing), TEST(threads_share_a_handle), TEST(many_releases_fit), TEST(roots_are_explained),
        TEST(a_store_of_releases_that_may_not_be_read_is_one)};
    return wp_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
