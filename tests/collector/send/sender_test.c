/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a session that is in memory alone, with an aggregator that acknowledges nothing for long: one that takes
 * batches in is waited for longer than one that does nothing. And one that refuses it right behind its Welcome. */
#include "collector/send/send_queue.h"
#include "collector/send/sender.h"
#include "common/clock.h"
#include "made_batch.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "server_thread.h"

#define BATCHES 200u
#define STEP_MS 100u
#define TIMEOUT_MS                                                                                                     \
    8000u               /* much more than a step takes on a slow machine, and less than half of what all of them take */
#define TAKEN 6u        /* batches, by one that refuses the rest */
#define ARRIVAL_MS 200u /* more than two messages to this process take */

struct peer {
    struct server_thread at;
    bool takes; /* one batch after the other; and acknowledges in the end */
    uint64_t taken;
};

struct refuser {
    struct server_thread at;
    atomic_bool is_asked, may_answer, has_answered;
    bool refuses_twice;
    uint32_t peer;
};

/* Welcomes, and from then on does as it is meant to. */
static void *serve(void *context)
{
    struct peer *p = context;
    struct wp_server_message message;
    uint32_t peer = 0;
    uint64_t next_ms = 0;
    bool is_known = false;
    while (!p->at.stop) {
        if (wp_server_poll(p->at.server, 20, &message, NULL) > 0 && message.kind == WP_SERVER_HELLO) {
            peer = message.peer;
            is_known = true;
            wp_server_welcome(p->at.server, peer,
                &(struct wp_welcome){
                    .wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .resume_seq = 1, .credit = 2 * BATCHES});
        }
        if (!p->takes || !is_known || wp_clock_ms() < next_ms)
            continue;
        next_ms = wp_clock_ms() + STEP_MS;
        p->taken += p->taken < BATCHES;
        wp_server_acknowledge(p->at.server, peer, p->taken == BATCHES ? BATCHES : 0, p->taken);
    }
    return NULL;
}

static void push_all(struct wp_sender *sender, struct made *made)
{
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    for (unsigned i = 0; i < BATCHES; i++) {
        struct wp_buffer raw = {0}, frame = {0};
        struct wp_error err = {0};
        made_next(made, 5);
        assert_int_equal(wp_batch_encode(&made->batch, &raw, NULL), 0);
        assert_int_equal(wp_frame_write(writer, WP_FRAME_BATCH, raw.data, raw.size, &frame, NULL), 0);
        if (wp_sender_push(sender, &made->batch, frame.data, frame.size, &err))
            fail_msg("%s", err.text);
        wp_buffer_fini(&raw);
        wp_buffer_fini(&frame);
    }
    wp_frame_writer_destroy(writer);
}

/* What finishing says, and why. */
static int finish_with(struct peer *p, uint64_t timeout_ms, uint64_t *took_ms, struct wp_error *err)
{
    struct made *made = malloc(sizeof(*made));
    struct wp_send_queue *queue;
    struct wp_sender *sender;
    struct wp_endpoints endpoints = {.names = {p->at.endpoint}, .count = 1};
    struct wp_hello hello = {
        .wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .hostname = (char *)(uintptr_t) "h"};
    made_begin(made, 9);
    memcpy(hello.session, made->batch.session, 16);
    assert_int_equal(wp_send_queue_create(&queue, NULL, NULL, NULL, err), 0);
    assert_int_equal(wp_sender_open(&sender, &endpoints, &hello, queue, NULL, err), 0);
    push_all(sender, made);
    while (!wp_sender_is_welcome(sender))
        assert_int_equal(wp_sender_pump(sender, 20, err), 0);
    uint64_t began_ms = wp_clock_ms();
    int rc = wp_sender_finish(sender, &(struct wp_bye){.last_seq = BATCHES}, timeout_ms, err);
    *took_ms = wp_clock_ms() - began_ms;
    wp_sender_close(sender);
    wp_send_queue_destroy(queue);
    made_end(made);
    free(made);
    return rc;
}

static void one_that_takes_in_is_waited_for(void **state)
{
    struct peer p = {.takes = true};
    struct wp_error err = {0};
    uint64_t took_ms;
    (void)state;
    server_thread_begin(&p.at, "sender", serve, &p);
    int rc = finish_with(&p, TIMEOUT_MS, &took_ms, &err);
    server_thread_end(&p.at);
    if (rc)
        fail_msg("after %llu ms: %s", (unsigned long long)took_ms, err.text);
    assert_int_equal(p.taken, BATCHES);
    assert_true(took_ms > TIMEOUT_MS); /* nothing was acknowledged before */
}

static void one_that_does_nothing_is_not(void **state)
{
    struct peer p = {.takes = false};
    struct wp_error err = {0};
    uint64_t took_ms;
    (void)state;
    server_thread_begin(&p.at, "sender", serve, &p);
    assert_int_equal(finish_with(&p, 300, &took_ms, &err), -ETIMEDOUT);
    server_thread_end(&p.at);
    assert_non_null(strstr(err.text, "are lost"));
}

/* Welcomes when it may, and refuses behind it; before it as well, as what the connection before sent is answered to
 * this one. */
static void *refuse(void *context)
{
    struct refuser *r = context;
    struct wp_server_message message;
    while (!r->at.stop) {
        if (wp_server_poll(r->at.server, 20, &message, NULL) > 0 && message.kind == WP_SERVER_HELLO) {
            r->peer = message.peer;
            r->is_asked = true;
        }
        if (!r->may_answer || r->has_answered)
            continue;
        if (r->refuses_twice)
            wp_server_refuse(r->at.server, r->peer, WP_REFUSED_TOO_LARGE);
        wp_server_welcome(r->at.server, r->peer,
            &(struct wp_welcome){
                .wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .resume_seq = TAKEN + 1, .credit = 1});
        wp_server_refuse(r->at.server, r->peer, WP_REFUSED_TOO_LARGE);
        r->has_answered = true;
    }
    return NULL;
}

/* All is there before the sender looks: how far the session was taken is known all the same. */
static void hear_refusals(bool is_twice)
{
    struct refuser r = {.refuses_twice = is_twice};
    struct wp_send_queue *queue;
    struct wp_sender *sender;
    struct wp_error err = {0};
    struct wp_hello hello = {
        .wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .hostname = (char *)(uintptr_t) "h", .session = {1}};
    server_thread_begin(&r.at, "refuser", refuse, &r);
    struct wp_endpoints endpoints = {.names = {r.at.endpoint}, .count = 1};
    assert_int_equal(wp_send_queue_create(&queue, NULL, NULL, NULL, &err), 0);
    assert_int_equal(wp_sender_open(&sender, &endpoints, &hello, queue, NULL, &err), 0);
    while (!r.is_asked)
        assert_int_equal(wp_sender_pump(sender, 20, &err), 0);
    r.may_answer = true;
    while (!r.has_answered)
        usleep(1000);
    usleep(ARRIVAL_MS * 1000);
    int rc = 0;
    for (uint64_t end_ms = wp_clock_ms() + TIMEOUT_MS; !rc && wp_clock_ms() < end_ms;)
        rc = wp_sender_pump(sender, 20, &err);
    assert_int_equal(rc, -ECONNREFUSED);
    assert_int_equal(wp_sender_wanted(sender), TAKEN + 1);
    wp_sender_close(sender);
    wp_send_queue_destroy(queue);
    server_thread_end(&r.at);
}

static void a_refusal_behind_the_welcome(void **state)
{
    (void)state;
    hear_refusals(false);
}

static void a_refusal_of_the_connection_before(void **state)
{
    (void)state;
    hear_refusals(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_that_takes_in_is_waited_for),
        cmocka_unit_test(one_that_does_nothing_is_not), cmocka_unit_test(a_refusal_behind_the_welcome),
        cmocka_unit_test(a_refusal_of_the_connection_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
