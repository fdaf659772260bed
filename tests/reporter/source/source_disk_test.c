/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of this machine's disk the paths of a release may name. */
#include "reporter/source/source_text.h"

#include "common/host_id.h"
#include "common/path.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/state_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
/* cmocka wants the headers above */
#include <cmocka.h>

struct place {
    char folder[64], store[96], named[96];
    struct wp_source_options options;
};

static void write_at(const struct place *place, const char *name, const char *text, mode_t mode)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    assert_int_equal(wp_file_write_cached(path, text, strlen(text), NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    char path[256];
    snprintf(place->folder, sizeof(place->folder), "/tmp/wp-source-disk-XXXXXX");
    if (!mkdtemp(place->folder) || chmod(place->folder, 0755))
        return -1;
    snprintf(place->store, sizeof(place->store), "%s/store", place->folder);
    snprintf(place->named, sizeof(place->named), "%s/src", place->folder);
    mkdir(place->named, 0755);
    write_at(place, "src/a.c", "int a;\n", 0644);
    write_at(place, "src/notes", "not named so\n", 0644);
    write_at(place, "secret.py", "KEY = 1\n", 0644);
    snprintf(path, sizeof(path), "%s/src/link.py", place->folder);
    if (symlink("../secret.py", path))
        return -1;
    snprintf(path, sizeof(path), "%s/src/inner.c", place->folder);
    if (symlink("a.c", path))
        return -1;
    snprintf(path, sizeof(path), "%s/src/pipe.c", place->folder);
    *state = place;
    return mkfifo(path, 0644);
}

static int teardown(void **state)
{
    struct place *place = *state;
    int rc = wp_path_remove(place->folder, NULL);
    free(place);
    return rc;
}

/* A session of this host, or of another one; with what its aggregator says of the host. */
static void record(const struct place *place, uint8_t number, bool is_own, const char *hostname)
{
    struct wp_resume resume = {.session = {number}, .host = {1, 2, 3}, .seq = 1, .ended = true};
    struct wp_store *store;
    struct wp_txn *txn;
    struct utsname name;
    char key[300];
    uname(&name);
    if (is_own)
        wp_host_id(resume.host, name.nodename, NULL);
    snprintf(resume.hostname, sizeof(resume.hostname), "%s", hostname);
    snprintf(key, sizeof(key), "host.%s.kernel", hostname);
    assert_int_equal(wp_store_open(&store, place->store, true, NULL), 0);
    assert_int_equal(wp_txn_begin(&txn, store, "v1", true, NULL), 0);
    assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
    if (number)
        assert_int_equal(wp_txn_put_resume(txn, "s", &resume, NULL), 0);
    assert_int_equal(wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = NULL},
                         &(struct wp_metadata_writer){"s", 1}, key, "6.1", NULL),
        0);
    assert_int_equal(wp_txn_commit(txn, NULL), 0);
    wp_store_close(store);
}

/* Whether a file below the folder is shown. */
static bool shows(struct place *place, const char *name)
{
    const char *roots[] = {place->store};
    char path[256];
    struct wp_stores stores;
    struct wp_snapshot snapshot;
    struct wp_pool pool = {0};
    struct wp_source_text text;
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    assert_int_equal(wp_stores_open(&stores, roots, 1, NULL), 0);
    assert_int_equal(wp_snapshot_begin(&snapshot, &stores, "v1", NULL), 0);
    struct wp_source_fetcher *fetcher = wp_source_fetcher_create(&place->options, &snapshot, 0);
    assert_non_null(fetcher);
    assert_int_equal(wp_source_fetch(fetcher, path, 1, &pool, &text, NULL), 0);
    bool is_shown = text.text.size > 0;
    wp_source_text_fini(&text);
    wp_source_fetcher_destroy(fetcher);
    wp_pool_fini(&pool);
    wp_snapshot_end(&snapshot);
    wp_stores_close(&stores);
    return is_shown;
}

static void only_what_is_named(void **state)
{
    struct place *place = *state;
    record(place, 1, true, "here");
    assert_false(shows(place, "src/a.c")); /* nothing was named */
    place->options.disks[place->options.disk_count++] = place->named;
    assert_true(shows(place, "src/a.c"));
    assert_true(shows(place, "src/inner.c"));
    assert_true(shows(place, "src/../src/a.c"));
    assert_false(shows(place, "secret.py"));
    assert_false(shows(place, "src/../secret.py"));
    assert_false(shows(place, "src/link.py")); /* it leads out */
    assert_false(shows(place, "src/notes"));
    assert_false(shows(place, "src/pipe.c"));
    assert_false(shows(place, "src"));
    place->options.disks[place->options.disk_count++] = "/";
    assert_true(shows(place, "secret.py"));
    place->options.no_disk = true;
    assert_false(shows(place, "src/a.c"));
}

static void only_of_this_host(void **state)
{
    struct place *place = *state;
    place->options.disks[place->options.disk_count++] = place->named;
    record(place, 1, true, "here");
    assert_true(shows(place, "src/a.c"));
    record(place, 2, false, "there");
    assert_false(shows(place, "src/a.c"));
}

static void what_was_of_another_host_stays_so(void **state)
{
    struct place *place = *state;
    place->options.disks[place->options.disk_count++] = place->named;
    record(place, 1, true, "here");
    record(place, 0, false, "there"); /* its session is forgotten already */
    assert_false(shows(place, "src/a.c"));
}

static void nobody_knows(void **state)
{
    struct place *place = *state;
    place->options.disks[place->options.disk_count++] = place->named;
    record(place, 0, true, "here");
    assert_false(shows(place, "src/a.c"));
}

/* Who evaluates a string is told why its text is not there, not that a file is missing. */
static void evaluated_text_is_no_file(void **state)
{
    static const char *const names[][2] = {{"<string>", "a string was evaluated"},
        {"(eval 7)", "a string was evaluated"}, {"/srv/a.php(3) : eval()'d code", "a string was evaluated"},
        {"<frozen importlib._bootstrap>", "built into"}, {"<internal:kernel>", "built into"}, {"-e", "command line"},
        {"<stdin>", "standard input"}};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct wp_source_options options = {.disks = {"/"}, .disk_count = 1};
        struct wp_source_fetcher *fetcher = wp_source_fetcher_create(&options, NULL, 0);
        struct wp_source_text text;
        struct wp_pool pool = {0};
        assert_int_equal(wp_source_fetch(fetcher, names[i][0], 1, &pool, &text, NULL), 0);
        assert_int_equal(text.text.size, 0);
        assert_true(!strncmp(text.why_not, "text not recorded: ", 19) && strstr(text.why_not, names[i][1]));
        wp_source_text_fini(&text);
        wp_source_fetcher_destroy(fetcher);
        wp_pool_fini(&pool);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(only_what_is_named), TEST(only_of_this_host),
        TEST(what_was_of_another_host_stays_so), TEST(nobody_knows), TEST(evaluated_text_is_no_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
