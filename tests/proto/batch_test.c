/* SPDX-License-Identifier: Apache-2.0 */
/* Batches come out as they went in, and hostile bytes are refused with a reason. */
#include "made_batch.h"

#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/event_columns.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

static void round_trip(void **state)
{
    (void)state;
    struct made *made = malloc(sizeof(*made));
    struct wp_batch came = {0};
    struct wp_buffer bytes = {0};
    struct wp_error err = {0};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        made_begin(made, seed);
        for (int i = 0; i < 8; i++) {
            made_next(made, i == 7 ? 3000 : 50);
            wp_buffer_clear(&bytes);
            assert_int_equal(wp_batch_encode(&made->batch, &bytes, &err), 0);
            if (wp_batch_decode(&came, bytes.data, bytes.size, &err))
                fail_msg("seed %llu batch %d: %s", (unsigned long long)seed, i, err.text);
            made_assert_equal(&made->batch, &came);
        }
        made_end(made);
    }
    wp_batch_fini(&came);
    wp_buffer_fini(&bytes);
    free(made);
}

static void every_kind_has_columns(void **state)
{
    (void)state;
    for (unsigned kind = 1; kind < WP_EVENT_KINDS; kind++)
        assert_int_not_equal(wp_event_columns(kind), 0);
    assert_int_equal(wp_event_columns(0), 0);
    assert_int_equal(wp_event_columns(WP_EVENT_KINDS), 0);
    assert_string_equal(wp_event_kind_name(WP_EVENT_SWITCH), "switch");
    assert_string_equal(wp_event_kind_name(77), "unknown");
}

/* Spoilt anywhere and cut anywhere: either it is refused with a reason or it is another good batch; never worse. */
static void hostile(void **state)
{
    (void)state;
    struct made *made = malloc(sizeof(*made));
    struct wp_batch came = {0};
    struct wp_buffer bytes = {0};
    unsigned refused = 0;
    made_begin(made, 99);
    for (int i = 0; i < 5; i++)
        made_next(made, 40);
    assert_int_equal(wp_batch_encode(&made->batch, &bytes, NULL), 0);
    uint8_t *spoilt = malloc(bytes.size);
    for (size_t cut = 0; cut < bytes.size; cut++) {
        struct wp_error err = {0};
        memcpy(spoilt, bytes.data, cut);
        if (wp_batch_decode(&came, spoilt, cut, &err)) {
            assert_true(*err.text);
            refused++;
        }
    }
    assert_true(refused > bytes.size / 2);
    for (int i = 0; i < 20000; i++) {
        struct wp_error err = {0};
        memcpy(spoilt, bytes.data, bytes.size);
        for (uint64_t n = 1 + made_random(made) % 3; n; n--)
            spoilt[made_random(made) % bytes.size] ^= (uint8_t)(1u << made_random(made) % 8);
        if (wp_batch_decode(&came, spoilt, bytes.size, &err)) {
            assert_true(*err.text);
            refused++;
        } else {
            assert_true(came.event_count <= WP_BATCH_EVENTS);
        }
    }
    assert_true(refused > 5000);
    wp_batch_fini(&came);
    free(spoilt);
    made_end(made);
    wp_buffer_fini(&bytes);
    free(made);
}

/* The messages below are made with protobuf itself: a peer may send what our encoder never would. */
static int decode_message(const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    struct wp_batch came = {0};
    size_t size = wakepath__wire__batch__get_packed_size(m);
    uint8_t *bytes = malloc(size + 1);
    wakepath__wire__batch__pack(m, bytes);
    int rc = wp_batch_decode(&came, bytes, size, err);
    wp_batch_fini(&came);
    free(bytes);
    return rc;
}

static Wakepath__Wire__Batch empty_message(void)
{
    static uint8_t session[16];
    Wakepath__Wire__Batch m = WAKEPATH__WIRE__BATCH__INIT;
    m.session = (ProtobufCBinaryData){16, session};
    m.seq = 1;
    return m;
}

static void refusals(void **state)
{
    (void)state;
    struct wp_error err = {0};
    Wakepath__Wire__Batch m = empty_message();
    assert_int_equal(decode_message(&m, &err), 0);
    m.session.len = 15;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    m = empty_message();
    m.seq = 0;
    assert_int_equal(decode_message(&m, &err), -EINVAL);

    Wakepath__Wire__Events events = WAKEPATH__WIRE__EVENTS__INIT;
    uint8_t kinds[2] = {WP_EVENT_EXIT, WP_EVENT_EXIT};
    uint64_t times[2] = {0, 5};
    uint32_t threads[2] = {0, 0};
    m = empty_message();
    m.events = &events;
    events.kind = (ProtobufCBinaryData){2, kinds};
    events.dt = times;
    events.n_dt = 2;
    events.thread = threads;
    events.n_thread = 2;
    assert_int_equal(decode_message(&m, &err), 0);
    events.n_thread = 1;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    events.n_thread = 2;
    events.n_dt = 1;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    events.n_dt = 2;
    kinds[1] = 200;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    kinds[1] = WP_EVENT_EXIT;
    times[1] = UINT64_MAX;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    events.base_ns = UINT64_MAX;
    times[1] = 1;
    assert_int_equal(decode_message(&m, &err), -EINVAL);

    /* A switch whose flags promise a time, and as many times as that. */
    uint8_t kind = WP_EVENT_SWITCH, flags = WP_SWITCH_TIMED;
    uint32_t one = 1;
    m = empty_message();
    events = (Wakepath__Wire__Events)WAKEPATH__WIRE__EVENTS__INIT;
    m.events = &events;
    events.kind = (ProtobufCBinaryData){1, &kind};
    events.flags = (ProtobufCBinaryData){1, &flags};
    times[0] = 5;
    events.dt = events.switch_timeout = events.switch_ran = events.switch_holder = times;
    events.n_dt = 1;
    events.cpu = events.thread = events.other = events.stack = events.c = events.d = &one;
    events.n_cpu = events.n_thread = events.n_other = events.n_stack = events.n_c = events.n_d = 1;
    assert_int_equal(decode_message(&m, &err), 0); /* from before there was such a column */
    events.n_switch_timeout = 1;
    assert_int_equal(decode_message(&m, &err), 0);
    events.n_switch_timeout = 2;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    events.n_switch_timeout = 1;
    events.n_switch_ran = 1;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    flags |= WP_SWITCH_RAN;
    assert_int_equal(decode_message(&m, &err), 0);
    events.n_switch_holder = 1;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    flags |= WP_SWITCH_HELD; /* the call's timeout takes the place */
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    flags &= (uint8_t)~WP_SWITCH_TIMED;
    events.n_switch_timeout = 0;
    assert_int_equal(decode_message(&m, &err), 0);

    /* A waking by a timer tells a stack, any other one none. */
    int64_t none = 0;
    uint32_t cause = WP_CAUSE_TIMER;
    kind = WP_EVENT_WAKING;
    flags = 0;
    events.n_switch_ran = events.n_switch_holder = events.n_stack = 0;
    events.a = &none;
    events.n_a = 1;
    events.c = &cause;
    events.waking_stack = &one;
    assert_int_equal(decode_message(&m, &err), 0);
    events.n_waking_stack = 1;
    assert_int_equal(decode_message(&m, &err), 0);
    cause = WP_CAUSE_TASK;
    assert_int_equal(decode_message(&m, &err), -EINVAL);

    m = empty_message();
    uint32_t frames[1] = {1};
    m.stack_parent = frames;
    m.n_stack_parent = 1;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    m = empty_message();
    ProtobufCBinaryData text = {WP_STRING_BYTES + 1, calloc(1, WP_STRING_BYTES + 1)};
    m.strings = &text;
    m.n_strings = 1;
    assert_int_equal(decode_message(&m, &err), -EINVAL);
    assert_non_null(strstr(err.text, "too long"));
    free(text.data);
}

/* A few bytes that ask for very much: empty strings cost two bytes each on the wire. */
static void bombs(void **state)
{
    (void)state;
    struct wp_batch came = {0};
    struct wp_error err = {0};
    size_t size = (size_t)8 << 20;
    uint8_t *bytes = malloc(size);
    for (size_t i = 0; i + 1 < size; i += 2) {
        bytes[i] = 14 << 3 | 2;
        bytes[i + 1] = 0;
    }
    assert_int_equal(wp_batch_decode(&came, bytes, size, &err), -EINVAL);
    for (size_t i = 0; i + 1 < size; i += 2)
        bytes[i] = 15 << 3 | 2; /* empty threads: each takes a hundred bytes unpacked */
    assert_int_not_equal(wp_batch_decode(&came, bytes, size, &err), 0);
    wp_batch_fini(&came);
    free(bytes);
}

static void encoder_refuses_disorder(void **state)
{
    (void)state;
    struct wp_buffer bytes = {0};
    struct wp_event events[2] = {{.time_ns = 5, .kind = WP_EVENT_EXIT}, {.time_ns = 4, .kind = WP_EVENT_EXIT}};
    struct wp_batch batch = {.seq = 1, .events = events, .event_count = 2};
    assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), -EINVAL);
    events[1] = (struct wp_event){.time_ns = 6, .kind = 99};
    assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), -EINVAL);
    batch.event_count = WP_BATCH_EVENTS + 1;
    assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), -EINVAL);
    wp_buffer_fini(&bytes);
}

/* With memory that goes back to the system when it is freed, as in the programs: encoding again and again into the same
 * buffer takes none. */
static void encoder_keeps_its_memory(void **state)
{
    (void)state;
    enum { EVENTS = 20000, TIMES = 50 };
    struct wp_buffer bytes = {0};
    struct wp_event *events = calloc(EVENTS, sizeof(*events));
    struct wp_batch batch = {.seq = 1, .events = events, .event_count = EVENTS};
    struct rusage before, after;
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    for (uint32_t i = 0; i < EVENTS; i++)
        events[i] = (struct wp_event){.time_ns = 1000 * i, .kind = WP_EVENT_SOCK_SEND, .a = i, .c = i, .d = i};
    for (int i = 0; i <= TIMES; i++) {
        if (i == 1)
            getrusage(RUSAGE_SELF, &before);
        wp_buffer_clear(&bytes);
        assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), 0);
    }
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_minflt - before.ru_minflt, 0, 10 * TIMES); /* its columns have some 45 pages */
    wp_buffer_fini(&bytes);
    free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(every_kind_has_columns),
        cmocka_unit_test(hostile), cmocka_unit_test(refusals), cmocka_unit_test(bombs),
        cmocka_unit_test(encoder_refuses_disorder), cmocka_unit_test(encoder_keeps_its_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
