/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a recording in memory alone whose earlier session is refused as too large: what is left of it is told as
 * another one, and what nobody takes of that counts as lost, not what has arrived. */
#include "collector/send/uplink.h"
#include "common/clock.h"
#include "common/path.h"
#include "proto/batch_decode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "server_thread.h"

#define BATCHES 20u
#define EVENTS 10u /* of a batch */
#define TAKEN 2u   /* batches of the first session */
#define CREDIT 2u  /* batch n is sent when n - CREDIT is known to be acknowledged */
#define TOO_LARGE "too large: " WP_REFUSED_TOO_LARGE
#define WAIT_MS 30000u

static const uint8_t first[16] = {1}, second[16] = {2};

struct peer {
    struct server_thread at;
    unsigned most_told;  /* batches of what is told anew, before it is refused */
    atomic_bool is_end;  /* is_end: the first session is refused for good */
    atomic_uint hellos;  /* of the first session */
    atomic_uint resumed; /* batches of it after the second Hello */
    uint32_t first_peer;
    bool was_refused, is_left; /* is_left: the first session is refused right behind its second Welcome */
    uint64_t told;             /* events that were told anew and taken */
};

static bool is_told_anew(uint32_t peer, const struct peer *p)
{
    return p->was_refused && peer != p->first_peer;
}

static void greet(struct peer *p, const struct wp_server_message *message)
{
    bool is_first = !memcmp(message->hello->session, first, sizeof(first));
    if (is_first) {
        p->first_peer = message->peer;
        p->hellos++;
    }
    wp_server_welcome(p->at.server, message->peer,
        &(struct wp_welcome){.wire_major = WP_WIRE_MAJOR,
            .wire_minor = WP_WIRE_MINOR,
            .resume_seq = is_first && p->hellos > 1 ? TAKEN + 1 : 1,
            .credit = is_first ? 2 * BATCHES : CREDIT});
    if (!is_first || !p->is_left || p->hellos < 2)
        return;
    p->was_refused = true;
    wp_server_refuse(p->at.server, message->peer, TOO_LARGE);
}

static void take(struct peer *p, const struct wp_server_message *message)
{
    struct wp_batch batch = {0};
    if (wp_batch_decode(&batch, message->batch, message->batch_size, NULL))
        return;
    if (message->peer == p->first_peer && p->hellos == 1) {
        if (batch.seq == BATCHES)
            wp_server_refuse(p->at.server, message->peer, TOO_LARGE);
    } else if (message->peer == p->first_peer) {
        p->resumed++;
    } else if (is_told_anew(message->peer, p) && batch.seq > p->most_told) {
        wp_server_refuse(p->at.server, message->peer, "no more");
    } else {
        for (uint32_t i = 0; i < batch.event_count; i++)
            p->told += !wp_event_is_retold(&batch.events[i]);
        wp_server_acknowledge(p->at.server, message->peer, batch.seq, batch.seq);
    }
    wp_batch_fini(&batch);
}

static void *serve(void *context)
{
    struct peer *p = context;
    struct wp_server_message message;
    while (!p->at.stop) {
        if (wp_server_poll(p->at.server, 20, &message, NULL) > 0) {
            if (message.kind == WP_SERVER_HELLO)
                greet(p, &message);
            else if (message.kind == WP_SERVER_BATCH)
                take(p, &message);
        }
        if (p->is_end && !p->was_refused) {
            p->was_refused = true;
            wp_server_refuse(p->at.server, p->first_peer, TOO_LARGE);
        }
    }
    return NULL;
}

/* Until that has been reached. */
static void pump(struct wp_uplink *uplink, atomic_uint *what, unsigned wanted)
{
    uint64_t end_ms = wp_clock_ms() + WAIT_MS;
    while (*what < wanted && wp_clock_ms() < end_ms)
        assert_int_equal(wp_uplink_pump(uplink, 5, NULL), 0);
    assert_true(*what >= wanted);
}

static void put(struct wp_uplink *uplink, uint64_t seq)
{
    struct wp_event events[EVENTS];
    struct wp_error err = {0};
    for (uint64_t i = 0; i < EVENTS; i++)
        events[i] = (struct wp_event){
            .time_ns = 1000 * seq + i, .kind = WP_EVENT_SWITCH, .c = WP_STATE_INTERRUPTIBLE, .cpu = 1};
    struct wp_batch batch = {.seq = seq, .watermark_ns = 1000 * seq + EVENTS, .events = events, .event_count = EVENTS};
    memcpy(batch.session, first, sizeof(first));
    if (wp_uplink_batch(uplink, &batch, &err))
        fail_msg("%s", err.text);
}

static int record(struct peer *p, struct wp_uplink_counts *counts)
{
    const struct wp_uplink_options options = {
        .endpoints = {.names = {p->at.endpoint}, .count = 1}, .session_bytes = (size_t)1 << 20};
    struct wp_hello hello = {
        .wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .hostname = (char *)(uintptr_t) "h"};
    struct wp_uplink *uplink;
    struct wp_error err = {0};
    server_thread_begin(&p->at, "uplink", serve, p);
    memcpy(hello.session, first, sizeof(first));
    if (wp_uplink_open(&uplink, &options, &hello, NULL, &err))
        fail_msg("%s", err.text);
    for (uint64_t seq = 1; seq < BATCHES; seq++)
        put(uplink, seq);
    pump(uplink, &p->hellos, 1);
    put(uplink, BATCHES);
    memcpy(hello.session, second, sizeof(second));
    assert_int_equal(wp_uplink_renew(uplink, &hello, (uint64_t)BATCHES * EVENTS, 0, &err), 0);
    pump(uplink, &p->resumed, 1);
    p->is_end = true;
    int rc = wp_uplink_finish(uplink, 0, 0, &err);
    wp_uplink_count(uplink, counts);
    wp_uplink_close(uplink);
    server_thread_end(&p->at);
    return rc;
}

static void what_is_left_is_told_anew(void **state)
{
    struct peer p = {.most_told = UINT32_MAX};
    struct wp_uplink_counts counts;
    (void)state;
    assert_int_equal(record(&p, &counts), 0);
    assert_int_equal(p.hellos, 2);
    assert_int_equal(p.told, (BATCHES - TAKEN) * EVENTS);
    assert_int_equal(counts.refused_events, 0);
}

static void what_has_arrived_is_not_lost(void **state)
{
    struct peer p = {.most_told = 3 * CREDIT};
    struct wp_uplink_counts counts;
    (void)state;
    assert_int_equal(record(&p, &counts), -ECONNREFUSED);
    assert_true(p.told);
    assert_true(counts.refused_events >= (BATCHES - TAKEN) * EVENTS - p.told);
    assert_true(counts.refused_events < (BATCHES - TAKEN) * EVENTS);
}

/* A session that an earlier collector left in the spool, refused in the middle: what had been taken of it by then is
 * not told again. */
static void a_left_session_is_told_once(void **state)
{
    struct peer p = {.most_told = UINT32_MAX, .is_left = true};
    char folder[] = "/tmp/wp-uplink-XXXXXX";
    struct wp_hello hello = {
        .wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .hostname = (char *)(uintptr_t) "h"};
    struct wp_uplink *uplink;
    struct wp_error err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    server_thread_begin(&p.at, "uplink", serve, &p);
    struct wp_uplink_options options = {.endpoints = {.names = {"ipc:///tmp/wp-uplink-nobody"}, .count = 1},
        .session_bytes = (size_t)1 << 20,
        .spool = folder,
        .spool_limit = (uint64_t)16 << 20,
        .needs_spool = true};
    for (unsigned time = 0; time < 2; time++) {
        memcpy(hello.session, time ? second : first, sizeof(first));
        if (wp_uplink_open(&uplink, &options, &hello, NULL, &err))
            fail_msg("%s", err.text);
        for (uint64_t seq = 1; !time && seq <= BATCHES; seq++)
            put(uplink, seq);
        if (time)
            assert_int_equal(wp_uplink_finish(uplink, 0, 0, &err), 0);
        wp_uplink_close(uplink);
        options.endpoints.names[0] = p.at.endpoint;
    }
    server_thread_end(&p.at);
    wp_path_remove(folder, NULL);
    assert_int_equal(p.hellos, 2);
    assert_int_equal(p.told, (BATCHES - TAKEN) * EVENTS);
}

/* A capture that is wanted while it is small goes without a trace, and what goes on is whole; one without a limit
 * stays. */
static void a_capture_has_a_limit(void **state)
{
    char path[64], partial[80];
    struct wp_hello hello = {
        .wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .hostname = (char *)(uintptr_t) "h"};
    (void)state;
    snprintf(path, sizeof(path), "/tmp/wp-uplink-%d.capture", (int)getpid());
    snprintf(partial, sizeof(partial), "%s.partial", path);
    memcpy(hello.session, first, sizeof(first));
    for (uint64_t limit = 0, size = 0; !size || limit; limit = limit ? 0 : size) {
        const struct wp_uplink_options options = {
            .output = path, .output_limit = limit, .session_bytes = (size_t)1 << 20};
        struct wp_uplink *uplink;
        struct wp_error err = {0};
        if (wp_uplink_open(&uplink, &options, &hello, NULL, &err))
            fail_msg("%s", err.text);
        put(uplink, 1);
        size = wp_uplink_bytes(uplink);
        assert_int_equal(access(partial, F_OK), 0);
        put(uplink, 2);
        assert_int_equal(access(partial, F_OK), limit ? -1 : 0);
        assert_int_equal(wp_uplink_finish(uplink, 0, 0, &err), 0);
        wp_uplink_close(uplink);
        assert_int_equal(access(path, F_OK), limit ? -1 : 0);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_left_is_told_anew),
        cmocka_unit_test(what_has_arrived_is_not_lost), cmocka_unit_test(a_left_session_is_told_once),
        cmocka_unit_test(a_capture_has_a_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
