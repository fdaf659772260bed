/* SPDX-License-Identifier: Apache-2.0 */
/* Events are read out of the frame as protobuf-c would have unpacked them, and what no collector writes is refused with
 * a reason. */
#include "made_batch.h"

#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/event_columns.h"
#include "proto/event_decode.h"
#include "proto/session.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Since the event before `i`: of two planes, or of one column. */
static uint64_t time_step(const Wakepath__Wire__Events *m, uint32_t i)
{
    if (!m->dt_low.len)
        return m->dt[i];
    return m->dt_low.data[i] | (m->n_dt_high ? m->dt_high[i] << 8 : 0);
}

struct last {
    uint64_t end;
    uint32_t thread, bytes;
};

static bool is_message(const struct wp_event *e)
{
    return e->kind == WP_EVENT_SOCK_SEND || e->kind == WP_EVENT_SOCK_ARRIVE || e->kind == WP_EVENT_SOCK_RECV;
}

static bool has_position(const struct wp_event *e)
{
    return is_message(e) || (e->kind == WP_EVENT_WAKING && e->c == WP_CAUSE_MESSAGE);
}

/* Kind, flags, and c and d of those kinds that share them. */
struct shape {
    uint8_t kind, flags;
    uint32_t c, d;
};

static void shapes_of(const Wakepath__Wire__Events *m, struct shape shapes[256])
{
    size_t cs = 0, ds = 0;
    assert_int_equal(m->shape_flags.len, m->shape_kind.len);
    assert_in_range(m->shape_kind.len, 0, 255);
    for (size_t i = 0; i < m->shape_kind.len; i++) {
        struct shape *shape = &shapes[i + 1];
        *shape = (struct shape){m->shape_kind.data[i], m->shape_flags.data[i], 0, 0};
        if (shape->kind == WP_EVENT_SWITCH || shape->kind == WP_EVENT_WAKING)
            shape->c = m->shape_c[cs++];
        if (shape->kind == WP_EVENT_SWITCH)
            shape->d = m->shape_d[ds++];
    }
    assert_int_equal(cs, m->n_shape_c);
    assert_int_equal(ds, m->n_shape_d);
}

/* What messages tell beside the socket. */
static void assert_message(const Wakepath__Wire__Events *m, const struct wp_event *e, const struct last *last, size_t i)
{
    uint32_t thread = m->message_thread[i];
    uint64_t bytes = m->message_bytes[i];
    assert_int_equal(e->thread, thread ? thread - 1 : last->thread);
    assert_int_equal(e->c, bytes ? bytes - 1 : last->bytes);
}

/* The first events of a session's columns by the other way: whole columns first, then event by event. */
static void assert_as_unpacked(const Wakepath__Wire__Events *m, const struct wp_event *events, uint32_t count)
{
    size_t at[8] = {0}, waits = 0, files = 0, woken = 0, positions = 0, kinds = 0, messages = 0, places = 2048;
    uint64_t time = m->base_ns, last_a[WP_EVENT_KINDS] = {0};
    static struct last lasts[3][2048];
    struct shape shapes[256];
    bool in_shapes = m->shape.len;
    memset(lasts, 0, sizeof(lasts));
    shapes_of(m, shapes);
    assert_int_equal(in_shapes ? m->shape.len : m->kind.len, count);
    for (; in_shapes && places > 16 && places / 2 >= count / 16; places /= 2)
        ;
    for (uint32_t i = 0; i < count; i++) {
        const struct wp_event *e = &events[i];
        unsigned columns = wp_event_columns(e->kind), number = in_shapes ? m->shape.data[i] : 0;
        const struct shape *shape = number ? &shapes[number] : NULL;
        bool is_shared = shape && (e->kind == WP_EVENT_SWITCH || e->kind == WP_EVENT_WAKING);
        struct last *last = &lasts[is_message(e) ? e->kind - WP_EVENT_SOCK_SEND : 1][e->d % places];
        assert_in_range(number, 0, m->shape_kind.len);
        time += time_step(m, i);
        assert_int_equal(e->time_ns, time);
        assert_int_equal(e->kind, shape ? shape->kind : m->kind.data[kinds]);
        assert_int_equal(e->flags, shape ? shape->flags : m->flags.len ? m->flags.data[kinds] : 0);
        kinds += !shape;
        if (in_shapes && is_message(e)) {
            assert_message(m, e, last, messages++);
            columns &= ~(unsigned)(WP_COLUMN_THREAD | WP_COLUMN_C);
        }
        if (columns & WP_COLUMN_CPU)
            assert_int_equal(e->cpu, m->cpu[at[0]++]);
        if (columns & WP_COLUMN_THREAD && m->thread[at[1]++] && e->kind == WP_EVENT_SWITCH)
            assert_int_equal(e->thread, m->thread[at[1] - 1] - 1);
        if (columns & WP_COLUMN_OTHER)
            assert_int_equal(e->other, m->other[at[2]++]);
        if (columns & WP_COLUMN_STACK)
            assert_int_equal(e->stack, m->stack[at[3]++]);
        if ((in_shapes || m->n_position) && has_position(e))
            assert_int_equal(e->a, last->end + (is_message(e) ? e->c : 0) + (uint64_t)m->position[positions++]);
        else if (columns & WP_COLUMN_A)
            assert_int_equal(e->a, last_a[e->kind] += (uint64_t)m->a[at[4]++]);
        if (columns & WP_COLUMN_C)
            assert_int_equal(e->c, is_shared ? shape->c : m->c[at[6]++]);
        if (columns & WP_COLUMN_D)
            assert_int_equal(e->d, is_shared && e->kind == WP_EVENT_SWITCH ? shape->d : m->d[at[7]++]);
        if (m->n_wait && wp_event_has_wait(e))
            assert_int_equal(e->wait, m->wait[waits++]);
        if (m->n_waking_stack && wp_event_has_waking_stack(e))
            assert_int_equal(e->stack, m->waking_stack[woken++]);
        if (m->n_block_file && wp_event_is_block(e))
            assert_int_equal(e->other, m->block_file[files++]);
        if (is_message(e))
            *last = (struct last){e->a, e->thread, e->c};
    }
    assert_int_equal(woken, m->n_waking_stack);
    assert_int_equal(positions, m->n_position);
    assert_int_equal(messages, m->n_message_thread);
    assert_int_equal(kinds, m->kind.len);
}

static void as_protobuf_would(void **state)
{
    (void)state;
    struct made *made = malloc(sizeof(*made));
    struct wp_batch came = {0};
    struct wp_buffer bytes = {0};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        made_begin(made, seed);
        for (int i = 0; i < 4; i++) {
            made_next(made, 200);
            wp_buffer_clear(&bytes);
            assert_int_equal(wp_batch_encode_for(&made->batch, i % 2 ? WP_WIRE_MINOR : 0, &bytes, NULL), 0);
            Wakepath__Wire__Batch *m = wakepath__wire__batch__unpack(NULL, bytes.size, bytes.data);
            assert_non_null(m);
            assert_int_equal(m->events->dt_low.len, i % 2 ? made->batch.event_count : 0);
            assert_int_equal(m->events->n_dt, i % 2 ? 0 : made->batch.event_count);
            assert_int_equal(wp_batch_decode(&came, bytes.data, bytes.size, NULL), 0);
            assert_as_unpacked(m->events, came.events, came.event_count);
            wakepath__wire__batch__free_unpacked(m, NULL);
        }
        made_end(made);
    }
    wp_batch_fini(&came);
    wp_buffer_fini(&bytes);
    free(made);
}

/* What is read in order stands as nothing; a wrap of the 32 bits, and bytes that nobody saw, as what they are. */
static void positions_by_socket(void **state)
{
    (void)state;
    static const struct wp_event events[] = {{.time_ns = 1, .kind = WP_EVENT_SOCK_SEND, .d = 1, .a = 1100, .c = 100},
        {.time_ns = 2, .kind = WP_EVENT_SOCK_ARRIVE, .d = 2, .a = 1100, .c = 100},
        {.time_ns = 3, .kind = WP_EVENT_WAKING, .d = 2, .a = 1100, .c = WP_CAUSE_MESSAGE},
        {.time_ns = 4, .kind = WP_EVENT_SOCK_SEND, .d = 3, .a = UINT32_MAX - 9, .c = 10},
        {.time_ns = 5, .kind = WP_EVENT_SOCK_SEND, .d = 1, .a = 1250, .c = 150},
        {.time_ns = 6, .kind = WP_EVENT_SOCK_SEND, .d = 3, .a = 10, .c = 20},
        {.time_ns = 7, .kind = WP_EVENT_SOCK_ARRIVE, .d = 2, .a = 1257, .c = 150},
        {.time_ns = 8, .kind = WP_EVENT_WAKING, .d = 4, .a = 7, .c = WP_CAUSE_TASK}};
    static const int64_t positions[] = {1000, 1000, 0, UINT32_MAX - 19, 0, -((int64_t)1 << 32), 7};
    struct wp_batch batch = {.seq = 1, .events = (struct wp_event *)events, .event_count = 8, .watermark_ns = 8},
                    came = {0};
    struct wp_buffer bytes = {0};
    assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), 0);
    Wakepath__Wire__Batch *m = wakepath__wire__batch__unpack(NULL, bytes.size, bytes.data);
    assert_non_null(m);
    assert_int_equal(m->events->n_position, 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(m->events->position[i], positions[i]);
    assert_int_equal(m->events->n_a, 1);
    assert_int_equal(m->events->a[0], 7);
    assert_int_equal(wp_batch_decode(&came, bytes.data, bytes.size, NULL), 0);
    assert_memory_equal(came.events, events, sizeof(events));
    wakepath__wire__batch__free_unpacked(m, NULL);
    wp_batch_fini(&came);
    wp_buffer_fini(&bytes);
}

/* The 255 first ones are told; what has none of them stands in the columns. */
static void more_shapes_than_there_are(void **state)
{
    (void)state;
    struct wp_event events[600];
    struct wp_batch batch = {.seq = 1, .events = events, .event_count = 600, .watermark_ns = 600}, came = {0};
    struct wp_buffer bytes = {0};
    for (uint32_t i = 0; i < 600; i++)
        events[i] = i % 2
            ? (struct wp_event){.time_ns = i, .kind = WP_EVENT_EXIT, .flags = (uint8_t)(i / 2), .thread = 1}
            : (struct wp_event){.time_ns = i, .kind = WP_EVENT_SWITCH, .d = i % 400, .c = 1, .thread = i};
    events[400].c = 1u << 16; /* more than a shape says */
    assert_int_equal(wp_batch_encode(&batch, &bytes, NULL), 0);
    Wakepath__Wire__Batch *m = wakepath__wire__batch__unpack(NULL, bytes.size, bytes.data);
    assert_non_null(m);
    assert_int_equal(m->events->shape_kind.len, 255);
    assert_int_equal(m->events->shape.data[0], 1);
    assert_int_equal(m->events->shape.data[400], 0);
    assert_int_equal(m->events->shape.data[402], 3); /* as the third event */
    assert_int_equal(m->events->kind.len, 345 - 99 - 44);
    assert_int_equal(wp_batch_decode(&came, bytes.data, bytes.size, NULL), 0);
    assert_memory_equal(came.events, events, sizeof(events));
    wakepath__wire__batch__free_unpacked(m, NULL);
    wp_batch_fini(&came);
    wp_buffer_fini(&bytes);
}

/* Two switches on CPU 1 at 5 and 7 ns; `column`, when it is one of these, is left out. */
static void write_events(struct wp_buffer *out, unsigned column)
{
    static const uint8_t base[] = {1 << 3, 5},
                         columns[][5] = {{2 << 3 | 2, 2, 1, 1}, {4 << 3 | 2, 2, 0, 2}, {5 << 3 | 2, 2, 1, 1},
                             {6 << 3 | 2, 2, 4, 0}, {7 << 3 | 2, 2, 6, 3}, {8 << 3 | 2, 2, 0, 0},
                             {11 << 3 | 2, 2, 1, 1}, {12 << 3 | 2, 2, 0, 0}};
    wp_buffer_append(out, base, sizeof(base));
    for (unsigned i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (columns[i][0] >> 3 != column)
            wp_buffer_append(out, columns[i], 4);
}

static int read_message(const struct wp_buffer *bytes, struct wp_event *events, struct wp_error *err)
{
    static struct wp_event_reader reader;
    int rc = wp_event_open(&reader, (struct wp_wire_span){bytes->data, bytes->data + bytes->size}, err);
    return rc ? rc : wp_event_read(&reader, events, err);
}

/* A field from 16 on. */
#define LONG_TAG(field, type) ((((field) << 3 | (type)) & 0x7f) | 0x80), (field) >> 4

struct spoilt {
    unsigned without;
    uint8_t bytes[32], size;
    const char *why; /* NULL: it is taken */
};

static void refusals(void **state)
{
    (void)state;
    static const struct spoilt cases[] = {
        {0, {0}, 0, NULL}, {0, {LONG_TAG(29, 0), 9}, 3, NULL}, /* field 29, a number: of a later version */
        {0, {LONG_TAG(17, 2), 1, 1}, 4, "column 17 has more"},
        {0, {LONG_TAG(20, 2), 1, 1}, 4, "column 20 has more"}, /* switches have no position */
        {2, {2 << 3 | 2, 2, 12, 12, LONG_TAG(20, 2), 1, 0}, 8, "column 20 has fewer"},
        {0, {LONG_TAG(29, 2), 2, 7, 7}, 5, NULL}, /* field 29, bytes */
        {0, {LONG_TAG(21, 2), 2, 0, 0}, 5, NULL}, /* no shapes */
        {0, {LONG_TAG(21, 2), 2, 0, 1}, 5, "a shape that is not told"},
        {0, {LONG_TAG(21, 2), 3, 0, 0, 0}, 6, "fewer kinds"}, {0, {LONG_TAG(21, 2), 1, 0}, 4, "column 2 has more"},
        {0, {LONG_TAG(21, 2), 2, 0, 0, LONG_TAG(22, 2), 1, 1}, 9, "shapes of different length"},
        {0, {LONG_TAG(22, 2), 1, 1, LONG_TAG(23, 2), 1, 0, LONG_TAG(25, 2), 1, 0}, 12, "column 24 has fewer"},
        {0, {LONG_TAG(22, 2), 1, 3, LONG_TAG(23, 2), 1, 0, LONG_TAG(25, 2), 1, 0}, 12, "column 25 has more"},
        {2, {LONG_TAG(21, 2), 2, 1, 1, LONG_TAG(22, 2), 1, 77, LONG_TAG(23, 2), 1, 0}, 13, "unknown kind 77"},
        {2,
            {LONG_TAG(21, 2), 2, 1, 1, LONG_TAG(22, 2), 1, 11, LONG_TAG(23, 2), 1, 0, LONG_TAG(20, 2), 2, 0, 0,
                LONG_TAG(27, 2), 2, 0, 0},
            23, "column 26 has fewer"},
        {4, {LONG_TAG(18, 2), 2, 0, 2}, 5, NULL}, /* times in planes; the upper one is all 0 */
        {4, {LONG_TAG(18, 2), 2, 0, 2, LONG_TAG(19, 2), 2, 0, 0}, 10, NULL},
        {4, {LONG_TAG(18, 2), 1, 0}, 4, "columns of different length"},
        {0, {LONG_TAG(18, 2), 2, 0, 2}, 5, "column 4 has more"}, /* both ways at once */
        {0, {LONG_TAG(19, 2), 1, 0}, 4, "column 19 has more"},
        {4, {LONG_TAG(18, 2), 2, 0, 2, LONG_TAG(19, 2), 1, 0}, 9, "column 19 has fewer"},
        {4, {LONG_TAG(18, 2), 2, 0, 2, LONG_TAG(19, 2), 10, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, 18,
            "a time out of range"},
        {5, {5 << 3 | 2, 2, 0x81, 0}, 4, "column 5 has fewer"}, /* one number of two bytes */
        {5, {5 << 3 | 2, 3, 0x81, 0, 1}, 5, NULL},              /* longer than it need be, and the second one */
        {5, {5 << 3 | 2, 3, 1, 1, 1}, 5, "column 5 has more"}, {5, {0}, 0, "column 5 has fewer"},
        {5, {5 << 3 | 2, 2, 1, 0x81}, 4, "column 5 has fewer"}, /* goes on behind the end */
        {5, {5 << 3 | 2, 3, 1, 0xff, 0x7f}, 5, "CPU out of range"},
        {5, {5 << 3, 1, 5 << 3, 1}, 4, "column 5 is not packed"}, {0, {5 << 3 | 2, 2, 1, 1}, 4, "column 5 comes twice"},
        {6, {6 << 3 | 2, 2, 0, 4}, 4, "never named"},
        {0, {9 << 3 | 2, 1, 1}, 3, "column 9 has more"}, /* switches have none */
        {0, {LONG_TAG(16, 2), 2, 7, 8}, 5, NULL},        /* what they waited for */
        {0, {LONG_TAG(16, 2), 1, 7}, 4, "column 16 has fewer"},
        {0, {14 << 3 | 2, 1, 1}, 3, "column 14 has more"}, /* none of them has that flag */
        {4, {4 << 3 | 2, 11, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 13, "a time out of range"},
        {4, {4 << 3 | 2, 12, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 14,
            "column 4 has fewer"},
        {0, {3 << 3 | 2, 1, 0}, 3, "columns of different length"}, {2, {2 << 3 | 2, 2, 1, 77}, 4, "unknown kind 77"},
        {0, {13 << 3 | 2, 9}, 2, "not a message"}, /* bytes that are not there */
        {0, {13 << 3 | 3}, 1, "not a message"},    /* a group */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wp_buffer bytes = {0};
        struct wp_event events[2];
        struct wp_error err = {0};
        write_events(&bytes, cases[i].without);
        wp_buffer_append(&bytes, cases[i].bytes, cases[i].size);
        int rc = read_message(&bytes, events, &err);
        if (!cases[i].why ? rc : rc != -EINVAL || !strstr(err.text, cases[i].why))
            fail_msg("case %zu: %d \"%s\"", i, rc, err.text);
        if (!rc)
            assert_true(
                events[0].time_ns == 5 && events[0].thread == 3 && events[1].time_ns == 7 && events[1].thread == 6);
        wp_buffer_fini(&bytes);
    }
}

/* Events may stand anywhere in the batch, once. */
static void events_among_fields(void **state)
{
    (void)state;
    static const uint8_t session[] = {1 << 3 | 2, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                         number[] = {2 << 3, 9};
    for (int place = 0; place < 5; place++) {
        struct wp_buffer events = {0}, bytes = {0};
        struct wp_batch batch = {0};
        struct wp_error err = {0};
        write_events(&events, 0);
        uint8_t head[] = {7 << 3 | 2, (uint8_t)events.size};
        for (int i = 0; i < 3; i++) {
            if (i == place || place == 3 || (place == 4 && i == 1)) {
                wp_buffer_append(&bytes, head, sizeof(head));
                wp_buffer_append(&bytes, events.data, events.size);
            }
            if (i < 2)
                wp_buffer_append(&bytes, i ? number : session, i ? sizeof(number) : sizeof(session));
        }
        int rc = wp_batch_decode(&batch, bytes.data, bytes.size, &err);
        if (place == 3) {
            assert_int_equal(rc, -EINVAL);
            assert_non_null(strstr(err.text, "two messages of events"));
        } else {
            assert_int_equal(rc, 0);
            assert_int_equal(batch.seq, 9);
            assert_int_equal(batch.event_count, 2);
        }
        wp_batch_fini(&batch);
        wp_buffer_fini(&events);
        wp_buffer_fini(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_protobuf_would), cmocka_unit_test(positions_by_socket),
        cmocka_unit_test(more_shapes_than_there_are), cmocka_unit_test(refusals),
        cmocka_unit_test(events_among_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
