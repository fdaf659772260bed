/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints lie in a folder of the operator's choice: what else is in it stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "aggregator/engine/checkpoint.h"
#include "common/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSION "000102030405060708090a0b0c0d0e0f"

static const char *const strangers[] = {"notes.tmp.txt", "thesis", SESSION ".checkpointed", SESSION ".checkpoint.old",
    "0001.checkpoint", SESSION ".checkpoint.tm"};

static void put(const char *folder, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/one/%s", folder, name);
    assert_int_equal(wp_file_write_atomic(path, "precious", 8, NULL), 0);
}

static bool is_there(const char *folder, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/one/%s", folder, name);
    return !access(path, F_OK);
}

static bool has_ended(void *context, const uint8_t session[16], const char *release)
{
    (void)context, (void)session, (void)release;
    return true;
}

static void strangers_stay(void **state)
{
    char folder[] = "/tmp/wp-checkpoint-XXXXXX", shard[64];
    struct wp_checkpoints *checkpoints;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(shard, sizeof(shard), "%s/one", folder);
    assert_int_equal(wp_path_make(shard, NULL), 0);
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
        put(folder, strangers[i]);
    put(folder, SESSION ".checkpoint.tmp.1234"); /* of one that was killed */
    put(folder, SESSION ".dictionary");          /* alone it is of no use */
    assert_int_equal(wp_checkpoints_open(&checkpoints, folder, "one", NULL, NULL), 0);
    assert_false(is_there(folder, SESSION ".checkpoint.tmp.1234"));
    wp_checkpoints_sweep(checkpoints, has_ended, NULL);
    assert_false(is_there(folder, SESSION ".dictionary"));
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
        assert_true(is_there(folder, strangers[i]));
    wp_checkpoints_close(checkpoints);
    assert_int_equal(wp_path_remove(folder, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strangers_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
