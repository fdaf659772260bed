/* SPDX-License-Identifier: Apache-2.0 */
/* What became of processes reaches the store, whichever commit knew of them first. */
#include "aggregator/engine/engine.h"
#include "common/path.h"
#include "proto/batch_encode.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/genealogy_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define MS 1000000u
#define REAL_NS ((uint64_t)5000000000)

static void send_batch(struct wp_engine *engine, const struct wp_batch *batch)
{
    struct wp_buffer bytes = {0};
    struct wp_error err = {0};
    if (wp_batch_encode(batch, &bytes, &err) || wp_engine_batch(engine, 1, bytes.data, bytes.size, &err))
        fail_msg("%s", err.text);
    wp_buffer_fini(&bytes);
}

/* The shell forks, the child runs another program and is killed, as its control group has no memory, most of which the
 * shell has; a thread of the shell ends, which is no process. */
static void send_life(struct wp_engine *engine)
{
    struct wp_bytes strings[] = {{"sh", 2}, {"cc1", 3}, {"/bin/sh", 7}, {"/usr/lib/cc1", 12},
        {WP_MEMORY_GROUP "/ci.service", 18}, {"/ci.service/cc1", 15}};
    struct wp_thread_entry threads[] = {{.tid = 20, .pid = 20, .start_ns = 1 * MS, .comm = 1, .exe = 3},
        {.tid = 21, .pid = 21, .start_ns = 2 * MS, .comm = 1, .exe = 3, .parent = 1},
        {.tid = 21, .pid = 21, .start_ns = 2 * MS, .comm = 2, .exe = 4, .parent = 2, .cgroup = 6},
        {.tid = 22, .pid = 20, .start_ns = 2 * MS, .comm = 1, .parent = 1}};
    struct wp_event events[] = {{.time_ns = 2 * MS, .kind = WP_EVENT_FORK, .thread = 1, .other = 2},
        {.time_ns = 2 * MS, .kind = WP_EVENT_FORK, .thread = 1, .other = 4, .flags = WP_FORK_THREAD},
        {.time_ns = 3 * MS, .kind = WP_EVENT_EXEC, .thread = 2, .other = 3},
        {.time_ns = 4 * MS, .kind = WP_EVENT_EXIT, .thread = 4, .flags = 9},
        {.time_ns = 4 * MS + 1, .kind = WP_EVENT_REASON, .thread = 1, .c = WP_REASON_MEMORY, .a = 8000, .wait = 5},
        {.time_ns = 4 * MS + 1, .kind = WP_EVENT_REASON, .thread = 3, .c = WP_REASON_MEMORY, .a = 3000, .wait = 5},
        {.time_ns = 4 * MS + 2, .kind = WP_EVENT_REASON, .thread = 3, .c = WP_REASON_OOM, .a = 3000, .wait = 5},
        {.time_ns = 5 * MS, .kind = WP_EVENT_EXIT, .thread = 3, .flags = WP_EXIT_OOM}};
    struct wp_batch batch = {.session = {1},
        .seq = 1,
        .strings = strings,
        .first_string = 1,
        .string_count = 6,
        .threads = threads,
        .first_thread = 1,
        .thread_count = 4,
        .events = events,
        .event_count = 4,
        .watermark_ns = 4 * MS};
    send_batch(engine, &batch);
    assert_int_equal(wp_engine_commit(engine, 0, 100, true, NULL), 0);
    send_batch(engine,
        &(struct wp_batch){.session = {1},
            .seq = 2,
            .first_string = 7,
            .first_thread = 5,
            .events = events + 4,
            .event_count = 4,
            .watermark_ns = 5 * MS,
            .is_last = true});
    assert_int_equal(wp_engine_bye(engine, 1, 0, NULL), 0);
    assert_int_equal(wp_engine_commit(engine, 0, 100, true, NULL), 0);
}

static int note_row(void *context, const struct wp_genealogy_row *row)
{
    unsigned *seen = context;
    if (row->pid == 20) {
        assert_string_equal(row->comm, "sh");
        assert_true(!row->exec_ns && !row->end_ns && !row->ending);
    } else if (row->parent_pid == 20) {
        assert_true(row->start_ns == REAL_NS + 2 * MS && row->parent_start_ns == REAL_NS + 1 * MS);
        assert_true(!row->exec_ns && !row->end_ns);
    } else {
        assert_string_equal(row->comm, "cc1");
        assert_string_equal(row->exe, "/usr/lib/cc1");
        assert_true(row->exec_ns == REAL_NS + 3 * MS && row->end_ns == REAL_NS + 5 * MS);
        assert_int_equal(row->ending, WP_ENDING_OOM);
        assert_string_equal(row->oom_cgroup, "/ci.service");
        assert_string_equal(row->oom_holder, "sh");
        assert_int_equal(row->oom_bytes, 3000);
        assert_string_equal(row->cgroup, "/ci.service/cc1");
    }
    ++*seen;
    return 0;
}

static void ends_are_stored(void **state)
{
    char root[] = "/tmp/wp-genealogy-test-XXXXXX";
    struct wp_engine_options options = WP_ENGINE_DEFAULTS;
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h",
        .release = (char *)(uintptr_t) "v1",
        .session = {1},
        .start_real_ns = REAL_NS};
    struct wp_genealogy_visit visit = {note_row, &(unsigned){0}, 0};
    struct wp_engine *engine;
    struct wp_welcome welcome;
    struct wp_store *store;
    struct wp_txn *txn;
    (void)state;
    assert_non_null(mkdtemp(root));
    options.store = root;
    options.session.epoch_ns = options.session.lateness_ns = 1 * MS;
    options.session.history_ns = 50 * MS;
    assert_int_equal(wp_engine_create(&engine, &options, NULL, NULL), 0);
    assert_int_equal(wp_engine_hello(engine, 1, &hello, &welcome, NULL), 0);
    send_life(engine);
    wp_engine_destroy(engine);
    assert_int_equal(wp_store_open(&store, root, false, NULL), 0);
    assert_int_equal(wp_txn_begin(&txn, store, "v1", false, NULL), 0);
    assert_int_equal(wp_txn_read_genealogy(txn, options.shard, &visit, NULL), 0);
    assert_int_equal(*(unsigned *)visit.context, 3);
    wp_txn_abort(txn);
    wp_store_close(store);
    assert_int_equal(wp_path_remove(root, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_are_stored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
