/* SPDX-License-Identifier: Apache-2.0 */
/* What batches in memory define, and how connections stand, stays readable of those that are acknowledged; the
 * former also of one that memory had no room for. */
#include "collector/send/send_queue.h"
#include "made_batch.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MOST 65536u /* batches, LIMIT_FRAMES */

static struct wp_send_queue *queue_with(size_t most_bytes)
{
    struct wp_send_queue *queue;
    assert_int_equal(wp_send_queue_create(&queue, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(wp_send_queue_keep_entries(queue, most_bytes, NULL), 0);
    return queue;
}

static int push(struct wp_send_queue *queue, const struct wp_batch *batch)
{
    return wp_send_queue_push(queue, batch, (const uint8_t *)"x", 1, NULL);
}

static void fill(struct wp_send_queue *queue)
{
    for (uint64_t seq = 1; seq <= MOST; seq++)
        assert_int_equal(push(queue, &(struct wp_batch){.seq = seq}), 0);
}

/* Definitions, and events. */
static struct made *made_as(uint64_t seq)
{
    struct made *made = malloc(sizeof(*made));
    made_begin(made, 9);
    do
        made_next(made, 200);
    while (made->batch.event_count < 10 || !made->batch.string_count);
    made->batch.seq = seq;
    return made;
}

static void done(struct made *made)
{
    made_end(made);
    free(made);
}

static void assert_kept(struct wp_send_queue *queue, const struct wp_batch *sent, uint32_t events)
{
    struct wp_frame_reader *reader = wp_frame_reader_create();
    struct wp_batch batch = {0};
    struct wp_frame frame;
    const uint8_t *bytes;
    size_t size;
    uint64_t seq = sent->seq;
    assert_int_equal(wp_send_queue_read(queue, &seq, "", &bytes, &size, NULL), 0);
    assert_int_equal(seq, sent->seq);
    assert_int_equal(wp_frame_read(reader, bytes, size, &frame, NULL), 0);
    assert_int_equal(wp_batch_decode(&batch, frame.payload, frame.size, NULL), 0);
    assert_int_equal(batch.string_count, sent->string_count);
    assert_int_equal(batch.event_count, events);
    wp_batch_fini(&batch);
    wp_frame_reader_destroy(reader);
}

static void of_a_lost_one(void **state)
{
    (void)state;
    struct wp_send_queue *queue = queue_with((size_t)1 << 20);
    struct made *made = made_as(MOST + 1);
    fill(queue);
    assert_int_equal(push(queue, &made->batch), -EAGAIN);
    wp_send_queue_lose(queue, &made->batch);
    assert_true(wp_send_queue_has_entries(queue));
    assert_int_equal(wp_send_queue_last(queue), MOST + 1);
    assert_kept(queue, &made->batch, 0);
    wp_send_queue_acknowledge(queue, MOST, "");
    assert_int_equal(push(queue, &(struct wp_batch){.seq = MOST + 2}), 0);
    assert_kept(queue, &made->batch, 0);
    wp_send_queue_acknowledge(queue, MOST + 2, "");
    assert_kept(queue, &made->batch, 0);
    done(made);
    wp_send_queue_destroy(queue);
}

static void of_a_lost_one_without_room(void **state)
{
    (void)state;
    struct wp_send_queue *queue = queue_with(1);
    struct made *made = made_as(MOST + 1);
    fill(queue);
    wp_send_queue_lose(queue, &made->batch);
    assert_false(wp_send_queue_has_entries(queue));
    assert_int_equal(wp_send_queue_last(queue), MOST);
    done(made);
    wp_send_queue_destroy(queue);
}

/* With how connections stand. */
static void of_an_acknowledged_one(void **state)
{
    (void)state;
    struct wp_send_queue *queue = queue_with((size_t)1 << 20);
    struct made *made = made_as(1);
    uint32_t states = 0;
    made->batch.events[made->batch.event_count / 2] =
        (struct wp_event){.time_ns = made->batch.events[made->batch.event_count / 2].time_ns,
            .kind = WP_EVENT_SOCK_STATE,
            .c = 1,
            .d = 1};
    for (uint32_t i = 0; i < made->batch.event_count; i++)
        states += made->batch.events[i].kind == WP_EVENT_SOCK_STATE;
    assert_true(states && states < made->batch.event_count);
    assert_int_equal(push(queue, &made->batch), 0);
    wp_send_queue_acknowledge(queue, 1, "");
    assert_kept(queue, &made->batch, states);
    done(made);
    wp_send_queue_destroy(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_a_lost_one), cmocka_unit_test(of_an_acknowledged_one),
        cmocka_unit_test(of_a_lost_one_without_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
