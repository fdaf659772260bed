/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An aggregator that is killed again and again in the middle of a live session, and goes on from its checkpoints: what
 * is in the store at the end is byte for byte what it would have been. Seeded; WP_CASES=N runs more.
 */
#include "proto/batch_encode.h"
#include "tests/aggregator/made_window.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/engine/engine.h"
#include "aggregator/session/host_session_body.h"
#include "tests/aggregator/aggregate_of.h"
#include "common/path.h"
#include "storage/env/txn.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_read.h"
#include "storage/value/bucket.h"

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define HISTORY_NS 20000000u /* longer than any wait of a case */

struct place {
    char root[64], resume[80];
    struct wp_aggregate_rule rule;
    struct wp_engine_options options;
    struct wp_engine *engine;
    struct made_trace trace;
    uint64_t acked, seed;
    unsigned kills, resumes; /* of those, in the middle */
    unsigned swept;          /* sessions whose leavings were */
    uint64_t keep_ns;        /* of block requests; 0: as ever */
    uint64_t recorder_ns;    /* what the store says of the recorder's time */
    uint32_t paused; /* bit i: an epoch was half explained in enum wp_walk_step i, and another host's Hello was answered
                        then */
};

/* A batch's events, [first, end). */
struct cut {
    uint32_t first, end;
};

static void open_engine(struct place *place)
{
    struct wp_error err = {0};
    if (wp_engine_create(&place->engine, &place->options, NULL, &err))
        fail_msg("%s", err.text);
}

static void note(void *context, uint32_t peer, uint64_t seq, uint64_t taken)
{
    struct place *place = context;
    (void)peer;
    assert_true(taken >= seq);
    if (seq > place->acked)
        place->acked = seq;
}

static void commit(struct place *place)
{
    struct wp_error err = {0};
    if (wp_engine_commit(place->engine, 0, 100, true, &err))
        fail_msg("%s", err.text);
    wp_engine_acks(place->engine, note, place);
}

static uint64_t say_hello(struct place *place)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h",
        .release = (char *)(uintptr_t) "v1",
        .session = {7},
        .start_real_ns = 5000000000};
    struct wp_welcome welcome;
    struct wp_error err = {0};
    if (wp_engine_hello(place->engine, 1, &hello, &welcome, &err))
        fail_msg("%s", err.text);
    if (place->keep_ns)
        wp_engine_session(place->engine, 0)->timeline.blockops.keep_ns = place->keep_ns;
    return welcome.resume_seq;
}

/* Another host comes while the first one's epoch is half explained, and goes again. */
static void greet_another(struct place *place, uint32_t step)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "other",
        .release = (char *)(uintptr_t) "v1",
        .session = {9, (uint8_t)step},
        .host = {9},
        .start_real_ns = 5000000000};
    struct wp_welcome welcome = {.credit = 0};
    struct wp_error err = {0};
    if (wp_engine_hello(place->engine, 100 + step, &hello, &welcome, &err) ||
        wp_engine_bye(place->engine, 100 + step, 0, &err))
        fail_msg("%s", err.text);
    assert_true(welcome.resume_seq == 1 && welcome.credit > 0);
}

/* Some parts of what has begun to be explained; the next batch may come before it is done. */
static void explain_some(struct place *place)
{
    const struct wp_walk *walk = &aggregate_of(wp_engine_session(place->engine, 0), 0)->walk;
    do {
        uint32_t step = 1u << walk->step;
        if (!walk->is_on || place->paused & step)
            continue;
        greet_another(place, walk->step);
        place->paused |= step;
    } while (made_random(&place->seed) % 8 && wp_engine_explain(place->engine));
}

static void send_cut(struct place *place, const struct cut *cut, uint64_t seq)
{
    struct wp_buffer bytes = {0};
    struct wp_error err = {0};
    struct wp_batch batch = made_trace_cut(&place->trace, cut->first, cut->end, seq);
    batch.session[0] = 7;
    if (wp_batch_encode(&batch, &bytes, &err) || wp_engine_batch(place->engine, 1, bytes.data, bytes.size, &err))
        fail_msg("%s", err.text);
    wp_buffer_fini(&bytes);
}

static int take_recorder(void *context, const struct wp_metadata_row *row)
{
    const char *dot = strrchr(row->key, '.');
    if (dot && !strcmp(dot, ".cpu_ns"))
        *(uint64_t *)context = strtoull(row->value, NULL, 10);
    return 0;
}

static void stored(struct place *place, struct wp_buffer *bytes)
{
    struct wp_store *store;
    struct wp_txn *txn;
    struct wp_report_reading reading;
    assert_int_equal(wp_store_open(&store, place->root, false, NULL), 0);
    assert_int_equal(wp_txn_begin(&txn, store, "v1", false, NULL), 0);
    char bucket[WP_ID_ROOM];
    assert_int_equal(wp_txn_bucket(txn, "main", bucket, NULL), 0);
    assert_int_equal(wp_txn_read_report(txn, bucket, NULL, &reading, NULL), 0);
    assert_int_equal(wp_report_encode(reading.report, bytes, NULL), 0);
    wp_report_destroy(reading.report);
    place->recorder_ns = 0;
    assert_int_equal(
        wp_txn_all_metadata(txn, &(struct wp_metadata_scope){0}, take_recorder, &place->recorder_ns, NULL), 0);
    wp_txn_abort(txn);
    wp_store_close(store);
}

/* A crash may bring back what a session left when it was over; the next start removes it. */
static void bring_back(struct place *place, const struct wp_buffer *checkpoint, const char *path)
{
    char other[160];
    if (!checkpoint->size)
        return;
    snprintf(other, sizeof(other), "%s/local/08000000000000000000000000000000.checkpoint", place->resume);
    assert_int_equal(wp_file_write_atomic(path, checkpoint->data, checkpoint->size, NULL), 0);
    assert_int_equal(
        wp_file_write_atomic(other, checkpoint->data, checkpoint->size, NULL), 0); /* of nobody known: it stays */
    open_engine(place);
    wp_engine_destroy(place->engine);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(utimensat(AT_FDCWD, other, (struct timespec[]){{1, 0}, {1, 0}}, 0), 0); /* but not for years */
    open_engine(place);
    wp_engine_destroy(place->engine);
    assert_int_equal(access(other, F_OK), -1);
    place->swept++;
}

/* The whole session; killed with a chance of one in `odds` at each batch, 0: never. */
static void play(struct place *place, const struct cut *cuts, uint64_t count, uint64_t odds, struct wp_buffer *bytes)
{
    unsigned before = place->kills;
    open_engine(place);
    place->acked = 0;
    uint64_t seq = say_hello(place);
    assert_int_equal(seq, 1);
    while (seq <= count) {
        send_cut(place, &cuts[seq - 1], seq);
        seq++;
        if (place->options.part)
            explain_some(place);
        if (made_random(&place->seed) % 3 == 0)
            commit(place);
        if (!odds || place->kills - before >= (getenv("WP_KILLS") ? strtoull(getenv("WP_KILLS"), NULL, 10) : 20) ||
            made_random(&place->seed) % odds)
            continue;
        wp_engine_destroy(place->engine); /* nothing is written by that */
        open_engine(place);
        place->kills++;
        uint64_t from = say_hello(place);
        assert_true(from >= place->acked + 1); /* what was acknowledged is not there any more */
        assert_true(from <= seq);
        place->resumes += from > 1;
        seq = from;
    }
    struct wp_buffer checkpoint = {0};
    char path[160];
    snprintf(path, sizeof(path), "%s/local/07000000000000000000000000000000.checkpoint", place->resume);
    wp_file_read(path, 1 << 24, &checkpoint, NULL);
    assert_int_equal(wp_engine_bye(place->engine, 1, 0, NULL), 0);
    commit(place);
    assert_int_equal(place->acked, count);
    wp_engine_destroy(place->engine);
    bring_back(place, &checkpoint, path);
    wp_buffer_fini(&checkpoint);
    stored(place, bytes);
    assert_int_equal(wp_path_remove(place->root, NULL), 0);
}

/* What differs, for who looks for the reason. */
static void tell(const struct wp_buffer *whole, const struct wp_buffer *killed)
{
    const struct wp_buffer *bytes[2] = {whole, killed};
    for (int i = 0; i < 2; i++) {
        struct wp_report *report;
        uint32_t count;
        if (wp_report_decode(&report, bytes[i]->data, bytes[i]->size, NULL))
            continue;
        print_message("  %s: total %llu wall %llu uncertain %llu", i ? "killed" : "whole",
            (unsigned long long)wp_report_total(report), (unsigned long long)wp_report_wall(report),
            (unsigned long long)wp_report_uncertain_ns(report));
        for (int category = 0; category < WP_CATEGORIES; category++)
            print_message(" %llu", (unsigned long long)wp_report_category(report, (enum wp_category)category));
        const struct wp_event_count *events = wp_report_event_counts(report, &count);
        uint64_t total = 0, dropped = 0;
        for (uint32_t j = 0; j < count; j++) {
            total += events[j].total;
            dropped += events[j].dropped;
        }
        const struct wp_limit_count *limits = wp_report_limits(report, &count);
        print_message(" events %llu dropped %llu", (unsigned long long)total, (unsigned long long)dropped);
        for (uint32_t j = 0; j < count; j++)
            print_message(" %s %llu/%llu", wp_report_text(report, limits[j].name), (unsigned long long)limits[j].count,
                (unsigned long long)limits[j].ns);
        const struct wp_cell *cells = wp_report_cells(report, &count);
        uint64_t pieces = 0;
        for (uint32_t j = 0; j < count; j++)
            pieces += cells[j].count;
        print_message(" cells %u pieces %llu", count, (unsigned long long)pieces);
        const struct wp_report_process *processes = wp_report_processes(report, &count);
        uint64_t sums[2] = {0, 0};
        for (uint32_t j = 0; j < count; j++) {
            sums[0] += processes[j].total_ns;
            sums[1] += processes[j].running_ns;
        }
        print_message(" processes %u %llu %llu", count, (unsigned long long)sums[0], (unsigned long long)sums[1]);
        for (uint32_t j = 0; getenv("WP_ROWS") && j < count; j++)
            print_message("\nROW%d %s %u %llu %llu %llu", i, wp_report_text(report, processes[j].comm),
                processes[j].pid, (unsigned long long)processes[j].start_ns, (unsigned long long)processes[j].total_ns,
                (unsigned long long)processes[j].running_ns);
        wp_report_spans(report, &count);
        print_message(" spans %u coverage %f detached %llu\n", count, wp_report_coverage(report),
            (unsigned long long)wp_report_detached_ns(report));
        wp_report_destroy(report);
    }
}

/* Explanations that reach back farther than the history lose of what a restart forgets: no time, but where it went. Per
 * mille of the total. */
static uint64_t moved(const struct wp_buffer *whole, const struct wp_buffer *killed)
{
    struct wp_report *a, *b;
    uint32_t count[2];
    uint64_t sum = 0;
    assert_int_equal(wp_report_decode(&a, whole->data, whole->size, NULL), 0);
    assert_int_equal(wp_report_decode(&b, killed->data, killed->size, NULL), 0);
    assert_true(wp_report_wall(a) == wp_report_wall(b));
    const struct wp_event_count *events[2] = {
        wp_report_event_counts(a, &count[0]), wp_report_event_counts(b, &count[1])};
    assert_int_equal(count[0], count[1]);
    for (uint32_t i = 0; i < count[0]; i++)
        assert_true(events[0][i].total == events[1][i].total && events[0][i].dropped == events[1][i].dropped);
    for (int category = 0; category < WP_CATEGORIES; category++) {
        uint64_t one = wp_report_category(a, (enum wp_category)category),
                 other = wp_report_category(b, (enum wp_category)category);
        sum += one > other ? one - other : other - one;
    }
    uint64_t total = wp_report_total(a);
    wp_report_destroy(a);
    wp_report_destroy(b);
    return sum * 1000 / total;
}

static void same_detached(const struct wp_buffer *whole, const struct wp_buffer *killed)
{
    struct wp_report *a, *b;
    assert_int_equal(wp_report_decode(&a, whole->data, whole->size, NULL), 0);
    assert_int_equal(wp_report_decode(&b, killed->data, killed->size, NULL), 0);
    assert_int_equal(wp_report_detached_ns(a), wp_report_detached_ns(b));
    if (wp_report_detached_ns(a)) /* its pieces as well */
        assert_int_equal(wp_report_total(wp_report_detached_work(a)), wp_report_total(wp_report_detached_work(b)));
    wp_report_destroy(a);
    wp_report_destroy(b);
}

struct tally {
    unsigned kills, resumes, swept;
    uint32_t paused;
    uint64_t most_moved; /* of a short history */
    uint64_t recorder_ns;
};

struct how {
    const struct wp_window *window; /* NULL: recorded without a break */
    uint64_t history_ns;
    uint64_t keep_ns; /* of block requests, which come by trickle and burst; 0: neither */
    bool is_loose;    /* explanations reach back farther than what is kept: some of the time goes elsewhere */
    uint64_t first, cases;
    uint32_t part; /* slices; 0: epochs are explained at once */
};

static int one_case(uint64_t seed, const struct how *how, struct tally *tally)
{
    const struct wp_window *window = how->window;
    struct place place = {.seed = seed * 977 + 5, .keep_ns = how->keep_ns};
    struct wp_buffer whole = {0}, killed = {0};
    snprintf(place.root, sizeof(place.root), "/tmp/wp-resume-test-XXXXXX");
    assert_non_null(mkdtemp(place.root));
    snprintf(place.resume, sizeof(place.resume), "%s/__resume__", place.root);
    assert_int_equal(wp_selector_parse(&place.rule.selector, "command", NULL), 0);
    snprintf(place.rule.name, sizeof(place.rule.name), "main");
    place.options = WP_ENGINE_DEFAULTS;
    place.options.store = place.root;
    place.options.resume = place.resume;
    place.options.session = (struct wp_host_session_options){.rules = &place.rule,
        .rule_count = 1,
        .epoch_ns = 1000000,
        .lateness_ns = 2000000,
        .history_ns = how->history_ns,
        .checkpoint_ns = getenv("WP_SPACING") ? strtoull(getenv("WP_SPACING"), NULL, 10) : 1000000};
    made_trace_init(&place.trace,
        &(struct made_options){.seed = seed,
            .events = (3000 + (uint32_t)(seed % 5) * 1000) * (how->keep_ns ? 2 : 1),
            .cpus = 1 + seed % 4,
            .threads = 5 + (uint32_t)(seed % 20),
            .drop_per_mille = seed % 3 == 2 && !window ? 5 : 0,
            .burst_events = how->keep_ns ? 700 : 0,
            .recorder_odds = 4});
    if (window)
        made_window_apply(&place.trace, window);
    uint32_t events = place.trace.whole.event_count;
    struct cut *cuts = calloc(events + 1, sizeof(*cuts));
    uint64_t count = 0;
    for (uint32_t first = 0; first < events; count++) {
        uint32_t end = first + 1 + (uint32_t)(made_random(&place.seed) % 120);
        for (uint32_t i = first; window && i < end && i < events; i++) /* a pause is when nothing more comes */
            if (place.trace.whole.events[i].kind == WP_EVENT_WINDOW && !place.trace.whole.events[i].c)
                end = i + 1;
        cuts[count] = (struct cut){first, end < events ? end : events};
        first = cuts[count].end;
    }
    play(&place, cuts, count, 0, &whole);
    uint64_t recorder_ns = place.recorder_ns;
    tally->recorder_ns += recorder_ns;
    place.options.part = how->part;
    play(&place, cuts, count, 8, &killed);
    if (place.recorder_ns != recorder_ns)
        fail_msg("seed %llu: the recorder took %llu ns, after %u kills %llu ns", (unsigned long long)seed,
            (unsigned long long)recorder_ns, place.kills, (unsigned long long)place.recorder_ns);
    bool is_same = whole.size == killed.size && !memcmp(whole.data, killed.data, whole.size);
    for (int i = 0; getenv("WP_BYTES") && i < 2; i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s.%d", getenv("WP_BYTES"), i);
        wp_file_write_atomic(path, i ? killed.data : whole.data, i ? killed.size : whole.size, NULL);
    }
    if (!is_same && getenv("WP_TELL"))
        tell(&whole, &killed);
    if (how->part)
        same_detached(&whole, &killed);
    if (!is_same && how->is_loose) {
        uint64_t share = moved(&whole, &killed);
        tally->most_moved = share > tally->most_moved ? share : tally->most_moved;
        is_same = true;
    }
    if (!is_same)
        print_message("seed %llu: the report is another one after %u kills (%u in the middle)\n",
            (unsigned long long)seed, place.kills, place.resumes);
    tally->kills += place.kills;
    tally->resumes += place.resumes;
    tally->swept += place.swept;
    tally->paused |= place.paused;
    wp_buffer_fini(&whole);
    wp_buffer_fini(&killed);
    free(cuts);
    made_trace_fini(&place.trace);
    wp_selector_fini(&place.rule.selector);
    return is_same ? 0 : 1;
}

static struct tally killed_and_resumed_with(const struct how *how)
{
    struct tally tally = {0};
    unsigned bad = 0;
    uint64_t first = getenv("WP_SEED") ? strtoull(getenv("WP_SEED"), NULL, 10) : how->first ? how->first : 1;
    uint64_t cases = getenv("WP_CASES") ? strtoull(getenv("WP_CASES"), NULL, 10) : how->cases;
    for (uint64_t seed = first; seed < first + cases; seed++)
        bad += (unsigned)one_case(seed, how, &tally);
    print_message("%u kills, %u of them went on from a checkpoint\n", tally.kills, tally.resumes);
    assert_int_equal(bad, 0);
    assert_true(tally.resumes > tally.kills / 4);
    assert_true(tally.swept > 0);
    assert_true(tally.recorder_ns > 0);
    return tally;
}

static void killed_and_resumed(void **state)
{
    (void)state;
    killed_and_resumed_with(&(struct how){.history_ns = HISTORY_NS, .cases = 14});
}

/* The command is over long before its host: the store counts no batches meanwhile, and checkpoints get ahead of it. */
static void killed_after_its_command(void **state)
{
    (void)state;
    killed_and_resumed_with(&(struct how){.history_ns = HISTORY_NS, .first = 140, .cases = 1});
}

static void killed_and_resumed_in_windows(void **state)
{
    (void)state;
    struct wp_window window = {4000000, 34000000}; /* pauses are longer than the history */
    killed_and_resumed_with(&(struct how){.window = &window, .history_ns = HISTORY_NS, .cases = 6});
}

/* Waits are longer than the history, and the session is killed 15 times or so: what happened and how long all took
 * stays the same. */
static void killed_with_a_short_history(void **state)
{
    (void)state;
    struct tally tally =
        killed_and_resumed_with(&(struct how){.history_ns = HISTORY_NS / 4, .is_loose = true, .cases = 6});
    print_message("at most %.1f %% of the time went elsewhere\n", (double)tally.most_moved / 10);
    assert_true(tally.most_moved > 0); /* else it is no case of it */
    assert_true(tally.most_moved < 50);
}

/* Requests are forgotten while few come, and their ring grows when many do: a checkpoint holds those that are held. */
static void killed_after_trickle_and_burst(void **state)
{
    (void)state;
    struct tally tally = killed_and_resumed_with(
        &(struct how){.history_ns = HISTORY_NS / 2, .keep_ns = HISTORY_NS / 20, .is_loose = true, .cases = 6});
    print_message("at most %.1f %% of the time went elsewhere\n", (double)tally.most_moved / 10);
    assert_true(tally.most_moved < 50);
}

/* It is explained in parts, between which others are heard and it is killed. Who takes another name meanwhile may have
 * it in the table of processes: that aside the report is the same. */
static void killed_in_parts(void **state)
{
    (void)state;
    struct tally tally =
        killed_and_resumed_with(&(struct how){.history_ns = HISTORY_NS, .is_loose = true, .cases = 8, .part = 20});
    assert_int_equal(tally.most_moved, 0);
    assert_true(tally.paused & 1u << WP_WALK_BASE);
    assert_true(tally.paused & 1u << WP_WALK_PATHS);
    assert_true(tally.paused & 1u << WP_WALK_WINDOWS);
}

int main(void)
{
    mallopt(M_PERTURB, 0xa5); /* what was never written leads out of every table */
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_and_resumed), cmocka_unit_test(killed_after_its_command),
        cmocka_unit_test(killed_and_resumed_in_windows), cmocka_unit_test(killed_with_a_short_history),
        cmocka_unit_test(killed_after_trickle_and_burst), cmocka_unit_test(killed_in_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
