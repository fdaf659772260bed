/* SPDX-License-Identifier: Apache-2.0 */
/* The engine with its store: what is acknowledged is in there, and a session that has ended is known by its number. */
#include "proto/batch_encode.h"
#include "tests/aggregator/made_trace.h"

#include "aggregator/engine/engine.h"
#include "common/path.h"
#include "storage/env/txn.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_read.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

struct place {
    char root[64];
    struct wp_aggregate_rule rule;
    struct wp_engine_options options;
    struct wp_engine *engine;
    struct made_trace trace;
    uint64_t acked[8]; /* by peer */
    unsigned acks;
    uint64_t real_ns; /* of the trace's time 0 */
};

static void open_engine(struct place *place)
{
    struct wp_error err = {0};
    if (wp_engine_create(&place->engine, &place->options, NULL, &err))
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    snprintf(place->root, sizeof(place->root), "/tmp/wp-engine-test-XXXXXX");
    if (!mkdtemp(place->root) || wp_selector_parse(&place->rule.selector, "command", NULL))
        return -1;
    snprintf(place->rule.name, sizeof(place->rule.name), "main");
    place->options = WP_ENGINE_DEFAULTS;
    place->options.store = place->root;
    place->real_ns = 5000000000;
    place->options.session = (struct wp_host_session_options){
        .rules = &place->rule, .rule_count = 1, .epoch_ns = 5000000, .lateness_ns = 10000000, .history_ns = 50000000};
    made_trace_init(&place->trace, &(struct made_options){.seed = 7, .events = 5000, .cpus = 3, .threads = 20});
    open_engine(place);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    wp_engine_destroy(place->engine);
    wp_selector_fini(&place->rule.selector);
    made_trace_fini(&place->trace);
    int rc = wp_path_remove(place->root, NULL);
    free(place);
    return rc;
}

static struct wp_hello hello_of(uint8_t number)
{
    return (struct wp_hello){.hostname = (char *)(uintptr_t) "h",
        .release = (char *)(uintptr_t) "v1",
        .session = {number},
        .start_real_ns = 5000000000};
}

static uint64_t say_hello(struct place *place, uint32_t peer, uint8_t number)
{
    struct wp_hello hello = hello_of(number);
    struct wp_welcome welcome;
    struct wp_error err = {0};
    hello.start_real_ns = place->real_ns;
    if (wp_engine_hello(place->engine, peer, &hello, &welcome, &err))
        fail_msg("%s", err.text);
    return welcome.resume_seq;
}

static int send_cut(struct place *place, uint32_t peer, uint8_t number, uint32_t first, uint32_t end, uint64_t seq)
{
    struct wp_buffer bytes = {0};
    struct wp_error err = {0};
    struct wp_batch batch = made_trace_cut(&place->trace, first, end, seq);
    batch.session[0] = number;
    if (wp_batch_encode(&batch, &bytes, &err))
        fail_msg("%s", err.text);
    int rc = wp_engine_batch(place->engine, peer, bytes.data, bytes.size, &err);
    wp_buffer_fini(&bytes);
    return rc;
}

static void note(void *context, uint32_t peer, uint64_t seq, uint64_t taken)
{
    struct place *place = context;
    assert_true(seq >= place->acked[peer] && taken >= seq);
    if (seq == place->acked[peer])
        return; /* of what was taken in alone */
    place->acked[peer] = seq;
    place->acks++;
}

static void commit(struct place *place)
{
    struct wp_error err = {0};
    if (wp_engine_commit(place->engine, 0, 100, true, &err))
        fail_msg("%s", err.text);
    wp_engine_acks(place->engine, note, place);
}

/* The whole trace in batches of `size` events, a commit after every third. */
static uint64_t send_all(struct place *place, uint32_t peer, uint8_t number, uint32_t size)
{
    uint64_t seq = 0;
    uint32_t count = place->trace.whole.event_count;
    for (uint32_t first = 0; first < count; first += size) {
        assert_int_equal(send_cut(place, peer, number, first, first + size < count ? first + size : count, ++seq), 0);
        if (seq % 3 == 0)
            commit(place);
    }
    assert_int_equal(wp_engine_bye(place->engine, peer, 0, NULL), 0);
    commit(place);
    return seq;
}

static struct wp_report *stored(const struct place *place)
{
    struct wp_store *store;
    struct wp_txn *txn;
    struct wp_report_reading reading;
    assert_int_equal(wp_store_open(&store, place->root, false, NULL), 0);
    assert_int_equal(wp_txn_begin(&txn, store, "v1", false, NULL), 0);
    char bucket[WP_ID_ROOM];
    assert_int_equal(wp_txn_bucket(txn, "main", bucket, NULL), 0);
    assert_int_equal(wp_txn_read_report(txn, bucket, NULL, &reading, NULL), 0);
    assert_int_equal(reading.damage_count, 0);
    wp_txn_abort(txn);
    wp_store_close(store);
    return reading.report;
}

static void whatever_the_batches(void **state)
{
    struct place *place = *state;
    struct wp_buffer bytes[2] = {{0}, {0}};
    static const uint32_t sizes[] = {37, 100000};
    for (unsigned i = 0; i < 2; i++) {
        say_hello(place, 1, 1);
        uint64_t last = send_all(place, 1, 1, sizes[i]);
        assert_int_equal(place->acked[1], last);
        wp_engine_destroy(place->engine); /* a process has a store open once */
        struct wp_report *report = stored(place);
        assert_int_equal(wp_report_encode(report, &bytes[i], NULL), 0);
        wp_report_destroy(report);
        assert_int_equal(wp_path_remove(place->root, NULL), 0);
        place->acked[1] = 0;
        open_engine(place);
    }
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    wp_buffer_fini(&bytes[0]);
    wp_buffer_fini(&bytes[1]);
}

static void an_ended_session_is_known(void **state)
{
    struct place *place = *state;
    assert_int_equal(say_hello(place, 1, 1), 1);
    assert_int_equal(send_cut(place, 1, 1, 0, 100, 1), 0);
    assert_int_equal(say_hello(place, 1, 1), 2); /* while it lives */
    wp_engine_destroy(place->engine);
    open_engine(place);
    assert_int_equal(say_hello(place, 1, 1), 1); /* nothing was durable */
    uint64_t last = send_all(place, 1, 1, 500);
    assert_int_equal(place->acked[1], last);
    assert_int_equal(wp_engine_ended(place->engine), 1);
    for (int again = 0; again < 2; again++) { /* in this process, then in the next */
        place->acked[1] = 0;
        assert_int_equal(say_hello(place, 1, 1), last + 1);
        assert_int_equal(send_cut(place, 1, 1, 0, 100, 1), 0); /* taken, without effect */
        assert_int_equal(wp_engine_bye(place->engine, 1, 0, NULL), 0);
        commit(place);
        assert_int_equal(place->acked[1], last);
        assert_int_equal(wp_engine_ended(place->engine), 1); /* who waits for one session waits no longer */
        assert_int_equal(say_hello(place, 2, 1), last + 1);  /* and it is one, whoever says it again */
        assert_int_equal(wp_engine_bye(place->engine, 2, 0, NULL), 0);
        assert_int_equal(wp_engine_bye(place->engine, 1, 0, NULL), 0);
        assert_int_equal(wp_engine_ended(place->engine), 1);
        wp_engine_destroy(place->engine);
        struct wp_report *report = stored(place);
        uint32_t hosts;
        assert_int_equal(wp_report_category(report, WP_OTHER_PATH) > 0, 1);
        wp_report_hosts(report, &hosts);
        assert_int_equal(hosts, 1);
        wp_report_destroy(report);
        open_engine(place);
    }
}

/* The collector waits for it, and `wakepath record` for the collector. */
static void a_bye_is_committed_when_it_is_explained(void **state)
{
    struct place *place = *state;
    struct wp_error err = {0};
    wp_engine_destroy(place->engine);
    place->options.part = 1;
    open_engine(place);
    say_hello(place, 1, 1);
    assert_int_equal(send_cut(place, 1, 1, 0, place->trace.whole.event_count, 1), 0);
    assert_int_equal(wp_engine_bye(place->engine, 1, 1, NULL), 0);
    while (wp_engine_explain(place->engine))
        assert_int_equal(wp_engine_ended(place->engine), 0);
    assert_int_equal(wp_engine_commit(place->engine, 0, 100, false, &err), 0); /* no interval has passed */
    assert_int_equal(wp_engine_ended(place->engine), 1);
}

static void acks_are_said_once(void **state)
{
    struct place *place = *state;
    say_hello(place, 1, 1);
    say_hello(place, 2, 2);
    send_all(place, 1, 1, 100);
    unsigned before = place->acks;
    wp_engine_acks(place->engine, note, place);
    commit(place);
    assert_int_equal(place->acks, before);
    assert_int_equal(place->acked[2], 0);
}

static void strangers_are_refused(void **state)
{
    struct place *place = *state;
    struct wp_error err = {0};
    assert_int_equal(send_cut(place, 1, 1, 0, 10, 1), -ENOTCONN);
    assert_int_equal(wp_engine_bye(place->engine, 1, 0, &err), -ENOTCONN);
    say_hello(place, 1, 1);
    assert_int_equal(send_cut(place, 1, 9, 0, 10, 1), -EINVAL);
    assert_int_equal(send_cut(place, 1, 1, 10, 20, 2), -ESTALE);
    assert_true(wp_engine_batch(place->engine, 1, (const uint8_t *)"\xff\xff\xff", 3, &err) < 0);
    assert_int_equal(send_cut(place, 1, 1, 0, 10, 1), 0);
}

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void ended_sessions_take_no_memory(void **state)
{
    struct place *place = *state;
    size_t alive = 0, before = 0;
    for (uint32_t i = 0; i < 30; i++) {
        uint8_t number = (uint8_t)(1 + i);
        if (i == 10)
            before = in_use();
        assert_int_equal(say_hello(place, 10 + i, number), 1);
        assert_int_equal(send_cut(place, 10 + i, number, 0, place->trace.whole.event_count, 1), 0);
        alive = in_use() - before;
        assert_int_equal(wp_engine_bye(place->engine, 10 + i, 0, NULL), 0);
        assert_int_equal(wp_engine_commit(place->engine, 0, 100, true, NULL), 0);
    }
    assert_int_equal(wp_engine_ended(place->engine), 30);
    if (before) /* the sanitizers' allocator does not say */
        assert_true(in_use() - before < alive / 2 || in_use() <= before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Times of another decade are refused, and nothing else of the session is the worse for it. */
static void the_far_future_is_refused(void **state)
{
    struct place *place = *state;
    struct wp_error err = {0};
    uint32_t count = place->trace.whole.event_count;
    say_hello(place, 1, 1);
    assert_int_equal(send_cut(place, 1, 1, 0, count / 2, 1), 0);
    for (int spoilt = 0; spoilt < 3; spoilt++) {
        struct wp_buffer bytes = {0};
        struct wp_batch batch = made_trace_cut(&place->trace, count / 2, count, 2);
        struct wp_event *last = &batch.events[batch.event_count - 1];
        uint64_t time_ns = last->time_ns, far_ns = UINT64_MAX / 4;
        struct wp_drop drop = {.from_ns = 1, .to_ns = far_ns};
        batch.session[0] = 1;
        batch.is_last = false;
        if (spoilt == 0)
            batch.watermark_ns = far_ns;
        else if (spoilt == 1)
            last->time_ns = far_ns;
        else
            batch.drops = &drop, batch.drop_count = 1;
        assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), 0);
        last->time_ns = time_ns;
        assert_int_equal(wp_engine_batch(place->engine, 1, bytes.data, bytes.size, &err), -EINVAL);
        assert_non_null(strstr(err.text, "far future"));
        wp_buffer_fini(&bytes);
    }
    assert_int_equal(send_cut(place, 1, 1, count / 2, count, 2), 0);
    assert_int_equal(wp_engine_bye(place->engine, 1, 0, NULL), 0);
    commit(place);
    struct wp_buffer bytes[2] = {{0}, {0}};
    for (unsigned i = 0; i < 2; i++) { /* then the same without any of that */
        wp_engine_destroy(place->engine);
        struct wp_report *report = stored(place);
        assert_int_equal(wp_report_encode(report, &bytes[i], NULL), 0);
        wp_report_destroy(report);
        assert_int_equal(wp_path_remove(place->root, NULL), 0);
        place->acked[1] = 0;
        open_engine(place);
        say_hello(place, 1, 1);
        send_all(place, 1, 1, count);
    }
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    wp_buffer_fini(&bytes[0]);
    wp_buffer_fini(&bytes[1]);
}

/* A host that starts sessions and ends none has its share and no more; who talks is not ended for it. */
static void one_host_has_its_share(void **state)
{
    struct place *place = *state;
    uint32_t count = place->trace.whole.event_count;
    say_hello(place, 1, 1);
    for (uint8_t i = 2; i < 120; i++) {
        say_hello(place, i, i);
        if (i == 30)
            assert_int_equal(send_cut(place, 1, 1, 0, count / 4, 1), 0);
        if (i == 60)
            assert_int_equal(send_cut(place, 1, 1, count / 4, count / 2, 2), 0);
    }
    commit(place);
    assert_int_equal(wp_engine_ended(place->engine), 119 - 64);
    assert_int_equal(send_cut(place, 1, 1, count / 2, count, 3), 0);
    assert_int_equal(wp_engine_bye(place->engine, 1, 0, NULL), 0);
    wp_engine_step(place->engine, 10000000000); /* the silent ones are given up: they might have had to do with it */
    commit(place);
    assert_int_equal(wp_engine_ended(place->engine), 119 - 64 + 1);
    assert_int_equal(place->acked[1], 3);
}

/* Two peers say one session's id: it is one session, at whoever said Hello last, and nothing of it counts twice. */
static void one_id_is_one_session(void **state)
{
    struct place *place = *state;
    uint32_t count = place->trace.whole.event_count;
    struct wp_hello stranger = hello_of(1);
    struct wp_welcome welcome;
    struct wp_error err = {0};
    assert_int_equal(say_hello(place, 1, 1), 1);
    assert_int_equal(send_cut(place, 1, 1, 0, 100, 1), 0);
    assert_int_equal(say_hello(place, 2, 1), 2);
    assert_int_equal(send_cut(place, 1, 1, 100, 200, 2), -ENOTCONN); /* it is asked for Hello */
    assert_int_equal(send_cut(place, 2, 1, 0, 100, 1), 0);           /* again */
    assert_int_equal(send_cut(place, 2, 1, 100, 200, 2), 0);
    assert_int_equal(say_hello(place, 1, 1), 3);
    stranger.host[0] = 77;
    assert_int_equal(wp_engine_hello(place->engine, 3, &stranger, &welcome, &err), -EACCES);
    assert_int_equal(send_cut(place, 1, 1, 200, count, 3), 0);
    assert_int_equal(wp_engine_bye(place->engine, 1, 0, NULL), 0);
    commit(place);
    assert_int_equal(wp_engine_ended(place->engine), 1);
    assert_int_equal(say_hello(place, 2, 1), 4);
    wp_engine_destroy(place->engine);
    struct wp_report *twice = stored(place);
    assert_int_equal(wp_path_remove(place->root, NULL), 0);
    place->acked[1] = 0;
    open_engine(place);
    say_hello(place, 1, 1);
    send_all(place, 1, 1, 500);
    wp_engine_destroy(place->engine);
    struct wp_report *once = stored(place);
    struct wp_buffer bytes[2] = {{0}, {0}};
    assert_int_equal(wp_report_encode(twice, &bytes[0], NULL), 0);
    assert_int_equal(wp_report_encode(once, &bytes[1], NULL), 0);
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    wp_buffer_fini(&bytes[0]);
    wp_buffer_fini(&bytes[1]);
    wp_report_destroy(twice);
    wp_report_destroy(once);
    open_engine(place);
}

static int hello_from(struct place *place, uint8_t peer, const char *hostname, const char *boot, struct wp_error *err)
{
    struct wp_hello hello = hello_of(peer);
    struct wp_welcome welcome;
    hello.host[0] = 7;
    hello.hostname = (char *)(uintptr_t)hostname;
    hello.boot_id = (char *)(uintptr_t)boot;
    return wp_engine_hello(place->engine, peer, &hello, &welcome, err);
}

/* Two machines with one UUID: the second is refused and both are named, while the first is there. One that was started
 * again, and one whose machine was, are no clones. */
static void a_clone_is_refused(void **state)
{
    struct place *place = *state;
    struct wp_error err = {0};
    wp_engine_step(place->engine, 1000000000);
    assert_int_equal(hello_from(place, 1, "mother", "boot-a", &err), 0);
    assert_int_equal(hello_from(place, 2, "mother", "boot-a", &err), 0);
    assert_int_equal(hello_from(place, 3, "daughter", "boot-b", &err), -EACCES);
    assert_non_null(strstr(err.text, "'daughter'"));
    assert_non_null(strstr(err.text, "'mother'"));
    assert_non_null(strstr(err.text, "machine-id"));
    assert_int_equal(send_cut(place, 3, 3, 0, 100, 1), -ENOTCONN);
    struct wp_engine_counts counts;
    wp_engine_count(place->engine, &counts);
    assert_int_equal(counts.live, 2);
    wp_engine_step(place->engine, 1000000000 + place->options.give_up_ns + 1); /* nobody heard of them any more */
    assert_int_equal(hello_from(place, 3, "mother", "boot-b", &err), 0);
    assert_int_equal(hello_from(place, 4, "mother", "boot-a", &err), -EACCES); /* now the other one is the clone */
}

static int count_key(void *context, const char *key, size_t size)
{
    (void)size;
    *(unsigned *)context += strstr(key, "/report.") != NULL;
    return 0;
}

struct seen_boxes {
    struct wp_txn *txn;
    unsigned count;
    uint64_t first[8];
};

static int see_box(void *context, const char *key, size_t size)
{
    struct seen_boxes *seen = context;
    (void)size;
    if (strstr(key, "/report.") && seen->count < 8)
        seen->first[seen->count++] = strtoull(strstr(key, "/report.") + strlen("/report."), NULL, 10);
    return 0;
}

static void boxes(const struct place *place, struct seen_boxes *seen)
{
    struct wp_store *store;
    *seen = (struct seen_boxes){0};
    assert_int_equal(wp_store_open(&store, place->root, false, NULL), 0);
    assert_int_equal(wp_txn_begin(&seen->txn, store, "v1", false, NULL), 0);
    assert_int_equal(wp_txn_visit(seen->txn, "main/", see_box, seen, NULL), 0);
    wp_txn_abort(seen->txn);
    wp_store_close(store);
}

/* One commit that is long overdue: what happened in one timebox is not filed under another, and nothing is changed by
 * that. */
static void time_is_filed_where_it_was(void **state)
{
    struct place *place = *state;
    struct wp_buffer bytes[2] = {{0}, {0}};
    const struct wp_batch *whole = &place->trace.whole;
    uint32_t count = whole->event_count;
    uint64_t begin_ns = whole->events[0].time_ns, end_ns = whole->events[count - 1].time_ns;
    if (end_ns - begin_ns < 4 * place->options.session.epoch_ns || end_ns - begin_ns > 1900000000)
        fail_msg("the trace has another length: %llu ns", (unsigned long long)(end_ns - begin_ns));
    place->real_ns = 2000000000000 - (begin_ns + end_ns) / 2; /* second 2000 begins in its midst */
    for (unsigned i = 0; i < 2; i++) {
        struct seen_boxes seen;
        wp_engine_destroy(place->engine);
        place->options.timebox_s = i ? 1 : 3600;
        assert_int_equal(wp_path_remove(place->root, NULL), 0);
        open_engine(place);
        say_hello(place, 1, 1);
        assert_int_equal(send_cut(place, 1, 1, 0, count / 3, 1), 0);
        assert_int_equal(send_cut(place, 1, 1, count / 3, count, 2), 0);
        assert_int_equal(wp_engine_bye(place->engine, 1, 0, NULL), 0);
        commit(place);
        wp_engine_destroy(place->engine);
        boxes(place, &seen);
        assert_int_equal(seen.count, i ? 2 : 1);
        assert_int_equal(seen.first[0], i ? 1999 : 0);
        assert_int_equal(i ? seen.first[1] : 2000, 2000);
        struct wp_report *report = stored(place);
        assert_int_equal(wp_report_encode(report, &bytes[i], NULL), 0);
        wp_report_destroy(report);
        open_engine(place);
    }
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    wp_buffer_fini(&bytes[0]);
    wp_buffer_fini(&bytes[1]);
}

/* A batch was lost on the way, and Bye came: the session goes on from there, alone or in a line with others. */
static void bye_does_not_skip_what_is_missing(void **state)
{
    struct place *place = *state;
    uint32_t count = place->trace.whole.event_count;
    struct wp_error err = {0};
    for (unsigned hosts = 1; hosts <= 2; hosts++) {
        uint32_t peer = 0;
        wp_engine_destroy(place->engine);
        assert_int_equal(wp_path_remove(place->root, NULL), 0);
        place->options.expected_hosts = hosts;
        open_engine(place);
        say_hello(place, 1, 1);
        if (hosts == 2) { /* the other one has nothing to say */
            say_hello(place, 2, 2);
            assert_int_equal(wp_engine_bye(place->engine, 2, 0, NULL), 0);
        }
        assert_int_equal(send_cut(place, 1, 1, 0, count / 3, 1), 0);
        int rc = wp_engine_bye(place->engine, 1, 3, &err);
        for (unsigned i = 0; hosts == 2 && !rc && i < 3; i++)
            rc = wp_engine_next(place->engine, &peer, &err) < 0 ? -ESTALE : 0;
        assert_int_equal(rc, -ESTALE);
        assert_non_null(strstr(err.text, "2 is next"));
        assert_int_equal(say_hello(place, 1, 1), 2);
        send_cut(place, 1, 1, count / 3, 2 * (count / 3), 2);
        send_cut(place, 1, 1, 2 * (count / 3), count, 3);
        assert_int_equal(wp_engine_bye(place->engine, 1, 3, NULL), 0);
        while (wp_engine_next(place->engine, &peer, NULL) > 0)
            ;
        commit(place);
        assert_int_equal(say_hello(place, 1, 1), 4);
    }
}

/* A session that goes on: its exemplar can be looked at, and its deltas do not pile up. */
static void a_live_session_is_kept_small(void **state)
{
    struct place *place = *state;
    uint32_t count = place->trace.whole.event_count, size = 20;
    uint64_t seq = 0;
    say_hello(place, 1, 1);
    for (uint32_t first = 0; first + size < count; first += size) {
        assert_int_equal(send_cut(place, 1, 1, first, first + size, ++seq), 0);
        commit(place);
    }
    assert_true(seq > 3 * WP_DELTAS);
    wp_engine_destroy(place->engine);
    struct wp_store *store;
    struct wp_trace *trace;
    struct wp_txn *txn;
    unsigned deltas = 0;
    char bucket[WP_ID_ROOM];
    assert_int_equal(wp_store_open(&store, place->root, false, NULL), 0);
    assert_int_equal(wp_txn_begin(&txn, store, "v1", false, NULL), 0);
    assert_int_equal(wp_txn_visit(txn, "main/", count_key, &deltas, NULL), 0);
    assert_int_equal(wp_txn_bucket(txn, "main", bucket, NULL), 0);
    assert_true(deltas > 0 && deltas <= WP_DELTAS);
    assert_int_equal(wp_txn_read_trace(txn, bucket, NULL, &trace, NULL), 0);
    assert_true(trace->piece_count > 0);
    wp_trace_destroy(trace);
    wp_txn_abort(txn);
    wp_store_close(store);
    open_engine(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_clone_is_refused), TEST(whatever_the_batches),
        TEST(an_ended_session_is_known), TEST(acks_are_said_once), TEST(a_bye_is_committed_when_it_is_explained),
        TEST(strangers_are_refused), TEST(ended_sessions_take_no_memory), TEST(the_far_future_is_refused),
        TEST(one_host_has_its_share), TEST(one_id_is_one_session), TEST(time_is_filed_where_it_was),
        TEST(a_live_session_is_kept_small), TEST(bye_does_not_skip_what_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
