/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint of a build that did not say which runs a control path does not hold to their end (0e564e24^), in
 * checkpoint_held: the present engine goes on from it, and the session's sums are those of a session that was never
 * interrupted. With WP_WRITE=FOLDER it writes such files instead; those were written by
 *     git archive 0e564e24^ | tar -x -C OLD; cp of this file and its line of CMakeLists.txt to OLD; in OLD:
 *     WP_WRITE=FOLDER build/dev/bin/aggregator_checkpoint_old_test
 */
#include "proto/batch_encode.h"
#include "tests/aggregator/made_trace.h"

#include "aggregator/engine/engine.h"
#include "common/path.h"
#include "proto/frame.h"
#include "proto/resume.pb-c.h"
#include "storage/env/txn.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_read.h"
#include "storage/value/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define EVENTS 1500u
#define CUT 100u                    /* events of a batch */
#define STOP (EVENTS / CUT * 2 / 3) /* batches before the aggregator is another one */

static const char *const kinds[] = {"checkpoint", "dictionary"};

struct place {
    char root[64], resume[80];
    struct wp_aggregate_rule rule;
    struct wp_engine_options options;
    struct made_trace trace;
};

static void path_of(const struct place *place, int kind, char path[160])
{
    snprintf(path, 160, "%s/local/07000000000000000000000000000000.%s", place->resume, kinds[kind]);
}

static void place_init(struct place *place)
{
    *place = (struct place){.root = "/tmp/wp-checkpoint-old-XXXXXX"};
    assert_non_null(mkdtemp(place->root));
    snprintf(place->resume, sizeof(place->resume), "%s/__resume__", place->root);
    assert_int_equal(wp_selector_parse(&place->rule.selector, "command", NULL), 0);
    snprintf(place->rule.name, sizeof(place->rule.name), "main");
    place->options = WP_ENGINE_DEFAULTS;
    place->options.store = place->root;
    place->options.resume = place->resume;
    place->options.session = (struct wp_host_session_options){.rules = &place->rule,
        .rule_count = 1,
        .epoch_ns = 1000000,
        .lateness_ns = 2000000,
        .history_ns = 10000000,
        .checkpoint_ns = 1000000};
    made_trace_init(&place->trace, &(struct made_options){.seed = 13, .events = EVENTS, .cpus = 2, .threads = 8});
}

static void place_fini(struct place *place)
{
    assert_int_equal(wp_path_remove(place->root, NULL), 0);
    wp_selector_fini(&place->rule.selector);
    made_trace_fini(&place->trace);
}

static uint64_t begin(struct place *place, struct wp_engine **engine)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h",
        .release = (char *)(uintptr_t) "v1",
        .session = {7},
        .start_real_ns = 5000000000};
    struct wp_welcome welcome;
    assert_int_equal(wp_engine_create(engine, &place->options, NULL, NULL), 0);
    assert_int_equal(wp_engine_hello(*engine, 1, &hello, &welcome, NULL), 0);
    return welcome.resume_seq;
}

static void send_batches(const struct place *place, struct wp_engine *engine, uint64_t seq, uint64_t to)
{
    for (; seq <= to; seq++) {
        struct wp_buffer bytes = {0};
        uint32_t first = (uint32_t)(seq - 1) * CUT, end = first + CUT, all = place->trace.whole.event_count;
        struct wp_batch batch = made_trace_cut(&place->trace, first, end < all ? end : all, seq);
        batch.session[0] = 7;
        assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), 0);
        assert_int_equal(wp_engine_batch(engine, 1, bytes.data, bytes.size, NULL), 0);
        wp_buffer_fini(&bytes);
        assert_int_equal(wp_engine_commit(engine, 0, 100, true, NULL), 0);
    }
}

static struct wp_report *stored(const struct place *place)
{
    struct wp_store *store;
    struct wp_txn *txn;
    struct wp_report_reading reading;
    char bucket[WP_ID_ROOM];
    assert_int_equal(wp_store_open(&store, place->root, false, NULL), 0);
    assert_int_equal(wp_txn_begin(&txn, store, "v1", false, NULL), 0);
    assert_int_equal(wp_txn_bucket(txn, "main", bucket, NULL), 0);
    assert_int_equal(wp_txn_read_report(txn, bucket, NULL, &reading, NULL), 0);
    wp_txn_abort(txn);
    wp_store_close(store);
    return reading.report;
}

static void copy_file(const char *from, const char *to)
{
    struct wp_buffer bytes = {0};
    assert_int_equal(wp_file_read(from, 1 << 20, &bytes, NULL), 0);
    assert_int_equal(wp_file_write_atomic(to, bytes.data, bytes.size, NULL), 0);
    wp_buffer_fini(&bytes);
}

/* The whole session; if the folder is given, an engine that begins with its files has the batches from STOP on. */
static struct wp_report *play(const char *folder)
{
    struct place place;
    struct wp_engine *engine;
    place_init(&place);
    uint64_t batches = (place.trace.whole.event_count + CUT - 1) / CUT;
    assert_true(batches > STOP);
    assert_int_equal(begin(&place, &engine), 1);
    send_batches(&place, engine, 1, STOP);
    if (folder) {
        char path[160], from[512];
        wp_engine_destroy(engine);
        for (int kind = 0; kind < 2; kind++) {
            snprintf(from, sizeof(from), "%s/%s", folder, kinds[kind]);
            path_of(&place, kind, path);
            copy_file(from, path);
        }
        uint64_t seq = begin(&place, &engine);
        assert_true(seq > 1 && seq <= STOP + 1);
        send_batches(&place, engine, seq, STOP);
    }
    send_batches(&place, engine, STOP + 1, batches);
    assert_int_equal(wp_engine_bye(engine, 1, 0, NULL), 0);
    assert_int_equal(wp_engine_commit(engine, 0, 100, true, NULL), 0);
    wp_engine_destroy(engine);
    struct wp_report *report = stored(&place);
    place_fini(&place);
    return report;
}

/* Runs that the checkpoint says control paths hold, and those of which it says: not to their end. */
static void count_marks(const char *folder, unsigned *held, unsigned *parted)
{
    char path[512];
    struct wp_buffer bytes = {0};
    struct wp_frame frame;
    struct wp_frame_reader *reader = wp_frame_reader_create();
    snprintf(path, sizeof(path), "%s/%s", folder, kinds[0]);
    assert_int_equal(wp_file_read(path, 1 << 20, &bytes, NULL), 0);
    assert_int_equal(wp_frame_read(reader, bytes.data, bytes.size, &frame, NULL), 0);
    Wakepath__Resume__Checkpoint *m = wakepath__resume__checkpoint__unpack(NULL, frame.size, frame.payload);
    assert_non_null(m);
    *held = *parted = 0;
    for (size_t i = 0; i < m->n_taken; i++)
        for (size_t j = 1; j < m->taken[i]->n_runs; j += 2) { /* pairs of a number and a mark */
            *held += (m->taken[i]->runs[j] & 0xffff) != 0;
            *parted += m->taken[i]->runs[j] >> 16 != 0;
        }
    wakepath__resume__checkpoint__free_unpacked(m, NULL);
    wp_frame_reader_destroy(reader);
    wp_buffer_fini(&bytes);
}

static void write_files(const char *folder)
{
    struct place place;
    struct wp_engine *engine;
    char path[160], to[512];
    place_init(&place);
    assert_int_equal(begin(&place, &engine), 1);
    send_batches(&place, engine, 1, STOP);
    wp_engine_destroy(engine);
    for (int kind = 0; kind < 2; kind++) {
        path_of(&place, kind, path);
        snprintf(to, sizeof(to), "%s/%s", folder, kinds[kind]);
        copy_file(path, to);
    }
    place_fini(&place);
}

/* All sums; of detached work those of before are its own rule, by which a path that holds a part of a run holds all. */
static void assert_same(const struct wp_report *whole, const struct wp_report *old)
{
    uint32_t count[2];
    assert_true(wp_report_total(whole) > 0);
    assert_true(wp_report_total(whole) == wp_report_total(old));
    assert_true(wp_report_wall(whole) == wp_report_wall(old));
    assert_true(wp_report_uncertain_ns(whole) == wp_report_uncertain_ns(old));
    for (int i = 0; i < WP_CATEGORIES; i++)
        assert_true(wp_report_category(whole, (enum wp_category)i) == wp_report_category(old, (enum wp_category)i));
    const struct wp_event_count *events[2] = {
        wp_report_event_counts(whole, &count[0]), wp_report_event_counts(old, &count[1])};
    assert_int_equal(count[0], count[1]);
    for (uint32_t i = 0; i < count[0]; i++)
        assert_true(events[0][i].total == events[1][i].total && events[0][i].dropped == events[1][i].dropped);
    const struct wp_cell *cells[2] = {wp_report_cells(whole, &count[0]), wp_report_cells(old, &count[1])};
    assert_int_equal(count[0], count[1]);
    for (uint32_t i = 0; i < count[0]; i++)
        assert_true(cells[0][i].count == cells[1][i].count);
    print_message("detached %llu ns, from the old checkpoint %llu ns\n",
        (unsigned long long)wp_report_detached_ns(whole), (unsigned long long)wp_report_detached_ns(old));
    assert_true(wp_report_detached_ns(old) > 0);
    assert_true(wp_report_detached_ns(old) <= wp_report_detached_ns(whole));
}

static void goes_on(void **state)
{
    unsigned held, parted;
    (void)state;
    if (getenv("WP_WRITE")) {
        write_files(getenv("WP_WRITE"));
        return;
    }
    count_marks(OLD_FOLDER, &held, &parted);
    assert_true(held > 0); /* it has what the change is about, and is old */
    assert_int_equal(parted, 0);
    struct wp_report *whole = play(NULL), *old = play(OLD_FOLDER);
    assert_same(whole, old);
    wp_report_destroy(whole);
    wp_report_destroy(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
