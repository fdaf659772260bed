/* SPDX-License-Identifier: Apache-2.0 */
/* What an aggregator before 1.2 gets in place of batches that tell of pauses: all the rest of them, and when nothing
 * was recorded. One before 1.5 gets them without turns of unix streams, one before 1.6 without reasons. */
#include "collector/send/older_peer.h"
#include "made_batch.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct sent {
    struct wp_frame_writer *writer;
    struct wp_frame_reader *reader;
    struct wp_older_peer *peer;
    struct wp_buffer raw, frame;
    struct wp_batch came;
};

static int begin(void **state)
{
    struct sent *s = calloc(1, sizeof(*s));
    s->writer = wp_frame_writer_create(1);
    s->reader = wp_frame_reader_create();
    s->peer = wp_older_peer_create();
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct sent *s = *state;
    wp_frame_writer_destroy(s->writer);
    wp_frame_reader_destroy(s->reader);
    wp_older_peer_destroy(s->peer);
    wp_buffer_fini(&s->raw);
    wp_buffer_fini(&s->frame);
    wp_batch_fini(&s->came);
    free(s);
    return 0;
}

/* True: the frame was another one than that of the batch. */
static bool send(struct sent *s, const struct wp_batch *batch, uint32_t minor)
{
    struct wp_error err = {0};
    struct wp_frame frame;
    wp_buffer_clear(&s->raw);
    wp_buffer_clear(&s->frame);
    assert_int_equal(wp_batch_encode(batch, &s->raw, NULL), 0);
    assert_int_equal(wp_frame_write(s->writer, WP_FRAME_BATCH, s->raw.data, s->raw.size, &s->frame, NULL), 0);
    const uint8_t *bytes = s->frame.data;
    size_t size = s->frame.size;
    if (wp_older_peer_batch(s->peer, minor, &bytes, &size, &err))
        fail_msg("%s", err.text);
    assert_int_equal(wp_frame_read(s->reader, bytes, size, &frame, &err), 0);
    assert_int_equal(frame.type, WP_FRAME_BATCH);
    if (wp_batch_decode(&s->came, frame.payload, frame.size, &err))
        fail_msg("%s", err.text);
    return bytes != s->frame.data;
}

static bool is_known(uint8_t kind, uint32_t minor)
{
    return kind == WP_EVENT_WINDOW ? minor >= 2
        : kind == WP_EVENT_LOCAL   ? minor >= 5
                                   : kind != WP_EVENT_REASON || minor >= 6;
}

static bool is_all_known(const struct wp_batch *batch, uint32_t minor)
{
    for (uint32_t i = 0; i < batch->event_count; i++)
        if (!is_known(batch->events[i].kind, minor))
            return false;
    return true;
}

/* Sessions of all that there is: what is sent is the batch without what the peer does not know. */
static void all_the_rest_arrives(void **state)
{
    struct sent *s = *state;
    struct made *made = malloc(sizeof(*made));
    unsigned changed = 0, kept = 0;
    made_begin(made, 20261122);
    for (unsigned i = 0; i < 200; i++) {
        made_next(made, 80);
        uint32_t minor = i % WP_WIRE_MINOR;
        bool is_whole = is_all_known(&made->batch, minor);
        assert_false(send(s, &made->batch, WP_WIRE_MINOR));
        made_assert_equal(&made->batch, &s->came);
        assert_int_equal(send(s, &made->batch, minor), made->batch.event_count > 0);
        assert_true(is_all_known(&s->came, minor));
        changed += !is_whole;
        kept += is_whole;
        struct wp_batch want = made->batch;
        want.events = malloc(sizeof(*want.events) * (want.event_count + 1));
        want.event_count = 0;
        for (uint32_t j = 0; j < made->batch.event_count; j++)
            if (is_known(made->batch.events[j].kind, minor))
                want.events[want.event_count++] = made->batch.events[j];
        assert_true(s->came.drop_count >= want.drop_count);
        s->came.drop_count = want.drop_count;
        made_assert_equal(&want, &s->came);
        free(want.events);
    }
    assert_true(changed > 20 && kept > 5);
    made_end(made);
    free(made);
}

static struct wp_batch some(struct wp_event *events, uint32_t count, uint64_t seq, uint64_t watermark_ns)
{
    return (struct wp_batch){.session = {7},
        .seq = seq,
        .watermark_ns = watermark_ns,
        .events = events,
        .event_count = count,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1};
}

static void assert_missing(const struct wp_batch *batch, uint32_t at, uint64_t from_ns, uint64_t to_ns)
{
    assert_true(at < batch->drop_count);
    assert_int_equal(batch->drops[at].from_ns, from_ns);
    assert_int_equal(batch->drops[at].to_ns, to_ns);
    assert_int_equal(batch->drops[at].reason, WP_DROP_PAUSED);
    assert_int_equal(batch->drops[at].count, 0);
}

/* Two pauses in one batch, and one that goes on into the third. */
static void pauses_are_missing_time(void **state)
{
    struct sent *s = *state;
    struct wp_event first[] = {{.time_ns = 100, .kind = WP_EVENT_WINDOW},
        {.time_ns = 250, .kind = WP_EVENT_WINDOW, .c = 1}, {.time_ns = 300, .kind = WP_EVENT_EXIT, .thread = 1},
        {.time_ns = 400, .kind = WP_EVENT_WINDOW}, {.time_ns = 450, .kind = WP_EVENT_WINDOW, .c = 1},
        {.time_ns = 500, .kind = WP_EVENT_WINDOW}};
    struct wp_event third[] = {{.time_ns = 900, .kind = WP_EVENT_WINDOW, .c = 1}};
    struct wp_batch batch = some(first, 6, 1, 600);
    assert_true(send(s, &batch, 1));
    assert_int_equal(s->came.event_count, 1);
    assert_int_equal(s->came.events[0].time_ns, 300);
    assert_int_equal(s->came.drop_count, 3);
    assert_missing(&s->came, 0, 100, 250);
    assert_missing(&s->came, 1, 400, 450);
    assert_missing(&s->came, 2, 500, 600);
    batch = some(NULL, 0, 2, 800);
    assert_false(send(s, &batch, 1));
    batch = some(third, 1, 3, 950);
    assert_true(send(s, &batch, 1));
    assert_int_equal(s->came.event_count, 0);
    assert_int_equal(s->came.drop_count, 1);
    assert_missing(&s->came, 0, 500, 900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(all_the_rest_arrives, begin, end),
        cmocka_unit_test_setup_teardown(pauses_are_missing_time, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
