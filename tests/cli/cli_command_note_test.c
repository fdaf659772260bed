/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording notes of its command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/record/command_note.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/metadata_store.h"
#include "tests/reporter/sample.h"

#define LONG 3000u

struct finding {
    const char *aggregate, *key; /* NULL: of the release */
    char value[LONG];
};

static int copy_row(void *context, const struct wp_metadata_row *row)
{
    struct finding *finding = context;
    if (row->is_winner && !strcmp(row->key, finding->key))
        snprintf(finding->value, LONG, "%s", row->value);
    return 0;
}

static int read_note(struct wp_txn *txn, void *context)
{
    struct finding *finding = context;
    return wp_txn_all_metadata(
        txn, &(struct wp_metadata_scope){.aggregate = finding->aggregate}, copy_row, finding, NULL);
}

static const char *noted(const char *root, struct finding *finding)
{
    struct wp_store *store;
    *finding->value = 0;
    assert_int_equal(wp_store_open(&store, root, true, NULL), 0);
    assert_int_equal(wp_store_update(store, "v1", read_note, finding, NULL), 0);
    wp_store_close(store);
    return finding->value;
}

#define NOTED(root, aggregate, key) noted(root, &(struct finding){aggregate, key, ""})

static void line_is(char *const *words, const char *wanted)
{
    struct wp_buffer line = {0};
    wp_command_line(&line, words);
    assert_string_equal((const char *)line.data, wanted);
    wp_buffer_fini(&line);
}

static void a_command_is_a_line(void **state)
{
    char *const plain[] = {(char *)"make", (char *)"-j2", NULL};
    char *const quoted[] = {(char *)"sh", (char *)"-c", (char *)"a\n\x1b[1m| b", (char *)"", (char *)"it's", NULL};
    char many[LONG], other[LONG];
    struct wp_buffer lines[2] = {{0}, {0}};
    (void)state;
    line_is(plain, "make -j2");
    line_is(quoted, "sh -c 'a  [1m| b' '' 'it'\\''s'");
    memset(many, 'x', sizeof(many));
    many[sizeof(many) - 1] = 0;
    memcpy(other, many, sizeof(many));
    other[sizeof(other) - 2] = 'y';
    wp_command_line(&lines[0], (char *[]){many, NULL});
    wp_command_line(&lines[1], (char *[]){other, NULL});
    assert_int_equal(lines[0].size, 1000 + 17 + 1);
    assert_int_equal(lines[1].size, lines[0].size);
    assert_int_not_equal(memcmp(lines[0].data, lines[1].data, lines[0].size), 0); /* only the digest tells */
    wp_buffer_fini(&lines[0]);
    wp_buffer_fini(&lines[1]);
}

/* A bucket of `main` with that command and workload. */
static void put_bucket(const char *root, const char *command, const char *workload, char name[WP_ID_ROOM])
{
    struct wp_bucket bucket = {.selector = "command", .command = command, .workload = workload};
    struct wp_bucket_fact facts[WP_BUCKET_FACTS];
    struct wp_error err = {0};
    struct wp_store *store;
    struct wp_txn *txn;
    wp_bucket_facts(facts, "main", &bucket);
    wp_bucket_name(name, facts);
    assert_int_equal(sample_put(root, "v1", name, 1790000000, sample_report(), NULL, &err), 0);
    assert_int_equal(wp_store_open(&store, root, true, &err), 0);
    assert_int_equal(wp_txn_begin(&txn, store, "v1", true, &err), 0);
    assert_int_equal(wp_bucket_put(txn, "sample", facts, 1790000000, &err), 0);
    assert_int_equal(wp_txn_commit(txn, &err), 0);
    wp_store_close(store);
}

static void it_is_noted_with_what_it_filled(void **state)
{
    char root[] = "/tmp/wp-note-test-XXXXXX", shell[64], names[3][WP_ID_ROOM], aggregate[WP_ID_ROOM];
    const struct wp_child child = {
        .status = 7 << 8, .started_ns = 5, .ended_ns = 47, .usage = {.ru_utime = {1, 2}, .ru_maxrss = 3}};
    struct wp_command_note note = {
        .root = root, .release = "v1", .line = "make -j2", .directory = "/tmp", .child = &child};
    struct wp_error err = {0};
    (void)state;
    assert_non_null(mkdtemp(root));
    put_bucket(root, "make -j2", NULL, names[0]);
    put_bucket(root, "make -j2", "big", names[1]);
    put_bucket(root, NULL, NULL, names[2]);
    for (int i = 0; i < 2; i++)
        if (wp_command_note(&note, aggregate, &err))
            fail_msg("%s", err.text);
    assert_string_equal(aggregate, names[0]);
    assert_string_equal(NOTED(root, NULL, "recorded.command"), "make -j2");
    assert_string_equal(NOTED(root, NULL, "recorded.exit"), "");
    assert_string_equal(NOTED(root, names[0], "recorded.command"), "make -j2");
    assert_string_equal(NOTED(root, names[0], "recorded.exit"), "7");
    assert_string_equal(NOTED(root, names[0], "recorded.wall_ns"), "42");
    assert_string_equal(NOTED(root, names[0], "recorded.user_ns"), "1000002000");
    assert_string_equal(NOTED(root, names[0], "recorded.max_rss_bytes"), "3072");
    assert_string_equal(NOTED(root, names[0], "recorded.directory"), "/tmp");
    assert_string_equal(NOTED(root, names[0], "recorded.times"), "2");
    for (int i = 1; i < 3; i++)
        assert_string_equal(NOTED(root, names[i], "recorded.exit"), "");
    note.line = NULL;
    assert_int_equal(wp_command_note(&note, aggregate, &err), 0);
    assert_string_equal(aggregate, names[2]);
    assert_string_equal(NOTED(root, names[2], "recorded.command"), "");
    assert_string_equal(NOTED(root, names[2], "recorded.exit"), "7");
    snprintf(shell, sizeof(shell), "rm -r %s", root);
    assert_int_equal(system(shell), 0);
}

static void without_a_store_nothing_is_noted(void **state)
{
    const struct wp_child child = WP_CHILD_NONE;
    const struct wp_command_note note = {.root = "/proc/none", .release = "v1", .line = "make", .child = &child};
    struct wp_error err = {0};
    char aggregate[WP_ID_ROOM];
    (void)state;
    assert_true(wp_command_note(&note, aggregate, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_command_is_a_line),
        cmocka_unit_test(it_is_noted_with_what_it_filled), cmocka_unit_test(without_a_store_nothing_is_noted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
