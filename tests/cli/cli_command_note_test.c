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

#include "cli/command_note.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "tests/reporter/sample.h"

#define LONG 3000u

static int copy_row(void *context, const struct wp_metadata_row *row)
{
    if (!strcmp(row->key, "recorded.command"))
        snprintf(context, LONG, "%s", row->value);
    return 0;
}

static int read_note(struct wp_txn *txn, void *context)
{
    return wp_txn_all_metadata(txn, &(struct wp_metadata_scope){0}, copy_row, context, NULL);
}

static void noted(const char *root, char *const *command, char *found)
{
    struct wp_store *store;
    struct wp_error err = {0};
    *found = 0;
    if (wp_command_note(root, "v1", command, &err))
        fail_msg("%s", err.text);
    assert_int_equal(wp_store_open(&store, root, true, NULL), 0);
    assert_int_equal(wp_store_update(store, "v1", read_note, found, NULL), 0);
    wp_store_close(store);
}

static void a_command_is_noted_in_a_line(void **state)
{
    char root[] = "/tmp/wp-note-test-XXXXXX", shell[64], found[LONG], many[LONG];
    struct wp_error err = {0};
    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(sample_put(root, "v1", "main", 1790000000, sample_report(), NULL, &err), 0);
    noted(root, (char *[]){(char *)"make", (char *)"-j2", NULL}, found);
    assert_string_equal(found, "make -j2");
    noted(root, (char *[]){(char *)"sh", (char *)"-c", (char *)"a\n\x1b[1m| b", (char *)"", NULL}, found);
    assert_string_equal(found, "sh -c 'a  [1m| b' ''");
    memset(many, 'x', sizeof(many));
    many[sizeof(many) - 1] = 0;
    noted(root, (char *[]){many, NULL}, found);
    assert_int_equal(strlen(found), 1000);
    snprintf(shell, sizeof(shell), "rm -r %s", root);
    assert_int_equal(system(shell), 0);
}

static void without_a_store_nothing_is_noted(void **state)
{
    struct wp_error err = {0};
    (void)state;
    assert_true(wp_command_note("/proc/none", "v1", (char *[]){(char *)"make", NULL}, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_noted_in_a_line), cmocka_unit_test(without_a_store_nothing_is_noted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
