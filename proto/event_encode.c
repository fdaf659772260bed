/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/event_encode.h"

#include "proto/event_columns.h"
#include "proto/event_fields.h"
#include "proto/session.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CPUS 4096u
#define U32_BYTES 5u /* the most that a number takes */
#define U64_BYTES 10u
#define EVENTS_FIELD 7u /* of message Batch */
#define TAG_BYTES 2u
#define SHAPE_BITS 9u /* twice as many places as shapes */
#define SHAPE_PLACES (1u << SHAPE_BITS)
#define HEAD_BYTES                                                                                                     \
    ((WP_EVENTS_COLUMNS + 1) * (TAG_BYTES + U64_BYTES)) /* the most that stands before and between the columns */

enum { VARINT = 0, BYTES = 2 }; /* wire types */

struct column {
    uint8_t *begin, *end;
};

struct shape {
    uint64_t key;
    uint8_t number; /* 0: a free place */
};

struct columns {
    struct column at[WP_EVENTS_COLUMNS];
    uint32_t on_cpu[CPUS]; /* id + 1 of the thread each CPU went to, 0 unknown */
    uint64_t last_a[WP_EVENT_KINDS], last_b[WP_EVENT_KINDS];
    struct wp_messages_last messages;
    struct shape shapes[SHAPE_PLACES]; /* by hash of the key */
    unsigned shape_count;
    bool in_planes, by_socket, in_shapes; /* as the peer reads it: times; positions of messages; what events share */
};

static __attribute__((noinline)) uint8_t *write_number(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Most take one byte. */
static inline uint8_t *put(uint8_t *at, uint64_t value)
{
    if (value >= 0x80)
        return write_number(at, value);
    *at = (uint8_t)value;
    return at + 1;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

/* The columns are made in the room behind what `out` holds, which is there again for the next batch: fresh memory costs
 * a fault for each of its pages. They begin so far behind that append never writes over what it has yet to move. */
static struct columns *open_columns(uint32_t count, struct wp_buffer *out)
{
    static const uint8_t most[WP_EVENTS_COLUMNS] = {[WP_EVENTS_KIND] = 1,
        [WP_EVENTS_FLAGS] = 1,
        [WP_EVENTS_DT] = U64_BYTES,
        [WP_EVENTS_CPU] = U32_BYTES,
        [WP_EVENTS_THREAD] = U32_BYTES,
        [WP_EVENTS_OTHER] = U32_BYTES,
        [WP_EVENTS_STACK] = U32_BYTES,
        [WP_EVENTS_A] = U64_BYTES,
        [WP_EVENTS_B] = U64_BYTES,
        [WP_EVENTS_C] = U32_BYTES,
        [WP_EVENTS_D] = U32_BYTES,
        [WP_EVENTS_BLOCK_FILE] = U32_BYTES,
        [WP_EVENTS_SWITCH_TIMEOUT] = U64_BYTES,
        [WP_EVENTS_SWITCH_RAN] = U64_BYTES,
        [WP_EVENTS_WAIT] = U32_BYTES,
        [WP_EVENTS_SWITCH_HOLDER] = U64_BYTES,
        [WP_EVENTS_DT_LOW] = 1,
        [WP_EVENTS_DT_HIGH] = U64_BYTES,
        [WP_EVENTS_POSITION] = U64_BYTES,
        [WP_EVENTS_SHAPE] = 1,
        [WP_EVENTS_MESSAGE_THREAD] = U32_BYTES,
        [WP_EVENTS_MESSAGE_BYTES] = U32_BYTES,
        [WP_EVENTS_WAKING_STACK] = U32_BYTES};
    static const uint8_t most_of_shapes[WP_EVENTS_COLUMNS] = {[WP_EVENTS_SHAPE_KIND] = 1,
        [WP_EVENTS_SHAPE_FLAGS] = 1,
        [WP_EVENTS_SHAPE_C] = U32_BYTES,
        [WP_EVENTS_SHAPE_D] = U32_BYTES};
    size_t size = HEAD_BYTES;
    for (unsigned i = 0; i < WP_EVENTS_COLUMNS; i++)
        size += (size_t)most[i] * count + (size_t)most_of_shapes[i] * WP_SHAPES;
    struct columns *columns = calloc(1, sizeof(*columns));
    if (!columns || wp_buffer_reserve(out, size)) {
        free(columns);
        return NULL;
    }
    uint8_t *at = out->data + out->size + HEAD_BYTES;
    for (unsigned i = 0; i < WP_EVENTS_COLUMNS; i++) {
        columns->at[i] = (struct column){at, at};
        at += (size_t)most[i] * count + (size_t)most_of_shapes[i] * WP_SHAPES;
    }
    return columns;
}

/* The thread of a switch is nearly always the one that the CPU went to last. */
static uint32_t thread_value(struct columns *c, const struct wp_event *e)
{
    uint32_t *at = &c->on_cpu[e->cpu % CPUS];
    uint32_t value = *at == e->thread + 1 ? 0 : e->thread + 1;
    *at = e->other + 1;
    return value;
}

/* Where each column goes on. A local of put_events, so that bytes written are known not to change it. */
typedef uint8_t *cursors[WP_EVENTS_COLUMNS];

/* The number of the event's shape, which is told when it is new; 0: there is no room for another. */
static inline uint8_t shape_of(struct columns *c, cursors at, const struct wp_event *e)
{
    unsigned columns = wp_shape_columns(e->kind);
    uint64_t share_c = columns & WP_COLUMN_C ? e->c : 0, share_d = columns & WP_COLUMN_D ? e->d : 0,
             key = share_d << 32 | share_c << 16 | (unsigned)e->flags << 8 | e->kind;
    if (share_c >> 16)
        return 0;
    unsigned place = (unsigned)(key * 0x9e3779b97f4a7c15u >> (64 - SHAPE_BITS));
    while (c->shapes[place].number && c->shapes[place].key != key)
        place = (place + 1) % SHAPE_PLACES;
    struct shape *shape = &c->shapes[place];
    if (shape->number || c->shape_count == WP_SHAPES)
        return shape->number;
    *shape = (struct shape){key, (uint8_t)++c->shape_count};
    *at[WP_EVENTS_SHAPE_KIND]++ = e->kind;
    *at[WP_EVENTS_SHAPE_FLAGS]++ = e->flags;
    if (columns & WP_COLUMN_C)
        at[WP_EVENTS_SHAPE_C] = put(at[WP_EVENTS_SHAPE_C], e->c);
    if (columns & WP_COLUMN_D)
        at[WP_EVENTS_SHAPE_D] = put(at[WP_EVENTS_SHAPE_D], e->d);
    return shape->number;
}

/* What it is, by its shape where it has one. The columns that say the rest. */
static inline unsigned put_shape(struct columns *c, cursors at, const struct wp_event *e, unsigned columns)
{
    uint8_t shape = c->in_shapes ? shape_of(c, at, e) : 0;
    if (c->in_shapes)
        *at[WP_EVENTS_SHAPE]++ = shape;
    if (shape)
        return columns & ~wp_shape_columns(e->kind);
    *at[WP_EVENTS_KIND]++ = e->kind;
    *at[WP_EVENTS_FLAGS]++ = e->flags;
    return columns;
}

static inline void put_switch(struct columns *c, cursors at, const struct wp_event *e, unsigned columns)
{
    at[WP_EVENTS_CPU] = put(at[WP_EVENTS_CPU], e->cpu);
    at[WP_EVENTS_THREAD] = put(at[WP_EVENTS_THREAD], thread_value(c, e));
    at[WP_EVENTS_OTHER] = put(at[WP_EVENTS_OTHER], e->other);
    at[WP_EVENTS_STACK] = put(at[WP_EVENTS_STACK], e->stack);
    if (columns & WP_COLUMN_C) {
        at[WP_EVENTS_C] = put(at[WP_EVENTS_C], e->c);
        at[WP_EVENTS_D] = put(at[WP_EVENTS_D], e->d);
    }
    at[WP_EVENTS_WAIT] = put(at[WP_EVENTS_WAIT], e->wait);
    if (e->flags & WP_SWITCH_TIMED)
        at[WP_EVENTS_SWITCH_TIMEOUT] = put(at[WP_EVENTS_SWITCH_TIMEOUT], e->a);
    else if (e->flags & WP_SWITCH_HELD)
        at[WP_EVENTS_SWITCH_HOLDER] = put(at[WP_EVENTS_SWITCH_HOLDER], e->a);
    if (e->flags & WP_SWITCH_RAN)
        at[WP_EVENTS_SWITCH_RAN] = put(at[WP_EVENTS_SWITCH_RAN], e->b);
}

/* What has a position: messages, and wakings by them. */
static inline void put_message(struct columns *c, cursors at, const struct wp_event *e, unsigned columns)
{
    struct wp_message_last *last = wp_message_last(&c->messages, e);
    at[WP_EVENTS_D] = put(at[WP_EVENTS_D], e->d);
    if (c->in_shapes && e->kind != WP_EVENT_WAKING) {
        bool same_thread = e->thread == last->thread, same_bytes = e->c == last->bytes;
        at[WP_EVENTS_MESSAGE_THREAD] = put(at[WP_EVENTS_MESSAGE_THREAD], same_thread ? 0 : e->thread + (uint64_t)1);
        at[WP_EVENTS_MESSAGE_BYTES] = put(at[WP_EVENTS_MESSAGE_BYTES], same_bytes ? 0 : e->c + (uint64_t)1);
    } else {
        at[WP_EVENTS_THREAD] = put(at[WP_EVENTS_THREAD], e->thread);
        if (columns & WP_COLUMN_C)
            at[WP_EVENTS_C] = put(at[WP_EVENTS_C], e->c);
    }
    at[WP_EVENTS_POSITION] = put(at[WP_EVENTS_POSITION], zigzag(e->a - wp_position_expected(last, e)));
    wp_message_last_pass(last, e);
    if (e->kind != WP_EVENT_WAKING)
        return;
    at[WP_EVENTS_CPU] = put(at[WP_EVENTS_CPU], e->cpu);
    at[WP_EVENTS_OTHER] = put(at[WP_EVENTS_OTHER], e->other);
    at[WP_EVENTS_WAIT] = put(at[WP_EVENTS_WAIT], e->wait);
}

static inline void put_other(struct columns *c, cursors at, const struct wp_event *e, unsigned columns)
{
    if (columns & WP_COLUMN_CPU)
        at[WP_EVENTS_CPU] = put(at[WP_EVENTS_CPU], e->cpu);
    if (columns & WP_COLUMN_THREAD)
        at[WP_EVENTS_THREAD] = put(at[WP_EVENTS_THREAD], e->thread);
    if (columns & WP_COLUMN_OTHER)
        at[WP_EVENTS_OTHER] = put(at[WP_EVENTS_OTHER], e->other);
    if (columns & WP_COLUMN_STACK)
        at[WP_EVENTS_STACK] = put(at[WP_EVENTS_STACK], e->stack);
    if (columns & WP_COLUMN_A) {
        at[WP_EVENTS_A] = put(at[WP_EVENTS_A], zigzag(e->a - c->last_a[e->kind]));
        c->last_a[e->kind] = e->a;
    }
    if (columns & WP_COLUMN_B) {
        at[WP_EVENTS_B] = put(at[WP_EVENTS_B], zigzag(e->b - c->last_b[e->kind]));
        c->last_b[e->kind] = e->b;
    }
    if (columns & WP_COLUMN_C)
        at[WP_EVENTS_C] = put(at[WP_EVENTS_C], e->c);
    if (columns & WP_COLUMN_D)
        at[WP_EVENTS_D] = put(at[WP_EVENTS_D], e->d);
    if (wp_event_has_waking_stack(e))
        at[WP_EVENTS_WAKING_STACK] = put(at[WP_EVENTS_WAKING_STACK], e->stack);
    if (wp_event_has_wait(e))
        at[WP_EVENTS_WAIT] = put(at[WP_EVENTS_WAIT], e->wait);
    else if (wp_event_is_block(e))
        at[WP_EVENTS_BLOCK_FILE] = put(at[WP_EVENTS_BLOCK_FILE], e->other);
}

/* Since the event before, in nanoseconds. */
static inline void put_time(cursors at, uint64_t dt, bool in_planes)
{
    if (in_planes) {
        *at[WP_EVENTS_DT_LOW]++ = (uint8_t)dt;
        at[WP_EVENTS_DT_HIGH] = put(at[WP_EVENTS_DT_HIGH], dt >> 8);
    } else {
        at[WP_EVENTS_DT] = put(at[WP_EVENTS_DT], dt);
    }
}

static int put_events(struct columns *c, const struct wp_event *events, uint32_t count, struct wp_error *err)
{
    uint64_t before = count ? events[0].time_ns : 0, any_high = 0;
    uint32_t any_flags = 0, any_file = 0, any_wait = 0, any_stack = 0;
    cursors at;
    for (unsigned i = 0; i < WP_EVENTS_COLUMNS; i++)
        at[i] = c->at[i].begin;
    for (uint32_t i = 0; i < count; i++) {
        const struct wp_event *e = &events[i];
        unsigned columns = wp_event_columns(e->kind);
        if (!columns)
            return wp_error_set(err, -EINVAL, "event %u has no kind %u", i, e->kind);
        if (e->time_ns < before)
            return wp_error_set(err, -EINVAL, "event %u is older than the one before it", i);
        columns = put_shape(c, at, e, columns);
        any_flags |= e->flags;
        put_time(at, e->time_ns - before, c->in_planes);
        any_high |= (e->time_ns - before) >> 8;
        before = e->time_ns;
        any_wait |= wp_event_has_wait(e) ? e->wait : 0;
        any_file |= wp_event_is_block(e) ? e->other : 0;
        any_stack |= wp_event_has_waking_stack(e) ? e->stack : 0;
        if (e->kind == WP_EVENT_SWITCH)
            put_switch(c, at, e, columns);
        else if (c->by_socket && wp_event_has_position(e))
            put_message(c, at, e, columns);
        else
            put_other(c, at, e, columns);
    }
    for (unsigned i = 0; i < WP_EVENTS_COLUMNS; i++)
        c->at[i].end = at[i];
    /* What no event needs does not travel. */
    if (!any_flags)
        c->at[WP_EVENTS_FLAGS].end = c->at[WP_EVENTS_FLAGS].begin;
    if (!any_high)
        c->at[WP_EVENTS_DT_HIGH].end = c->at[WP_EVENTS_DT_HIGH].begin;
    if (!any_file)
        c->at[WP_EVENTS_BLOCK_FILE].end = c->at[WP_EVENTS_BLOCK_FILE].begin;
    if (!any_wait)
        c->at[WP_EVENTS_WAIT].end = c->at[WP_EVENTS_WAIT].begin;
    if (!any_stack)
        c->at[WP_EVENTS_WAKING_STACK].end = c->at[WP_EVENTS_WAKING_STACK].begin;
    return 0;
}

/* Tags are one byte each up to field 15, then two. */
static void append(const struct columns *c, uint64_t base_ns, struct wp_buffer *out)
{
    uint8_t base[1 + U64_BYTES] = {WP_EVENTS_BASE << 3 | VARINT};
    size_t base_size = base_ns ? (size_t)(write_number(base + 1, base_ns) - base) : 0, size = base_size;
    uint8_t head[U64_BYTES];
    for (unsigned i = WP_EVENTS_KIND; i < WP_EVENTS_COLUMNS; i++) {
        size_t bytes = (size_t)(c->at[i].end - c->at[i].begin);
        size += bytes ? (i < 16 ? 1 : 2) + (size_t)(write_number(head, bytes) - head) + bytes : 0;
    }
    uint8_t *at = out->data + out->size;
    *at++ = EVENTS_FIELD << 3 | BYTES;
    at = write_number(at, size);
    memcpy(at, base, base_size);
    at += base_size;
    for (unsigned i = WP_EVENTS_KIND; i < WP_EVENTS_COLUMNS; i++) {
        size_t bytes = (size_t)(c->at[i].end - c->at[i].begin);
        if (!bytes)
            continue;
        at = write_number(at, i << 3 | BYTES);
        at = write_number(at, bytes);
        memmove(at, c->at[i].begin, bytes);
        at += bytes;
    }
    out->size = (size_t)(at - out->data);
}

int wp_event_encode(
    const struct wp_event *events, uint32_t count, uint32_t minor, struct wp_buffer *out, struct wp_error *err)
{
    struct columns *columns = open_columns(count, out);
    if (!columns)
        return wp_error_set(err, -ENOMEM, "out of memory to encode a batch");
    columns->in_planes = minor >= WP_WIRE_PLANES;
    columns->by_socket = minor >= WP_WIRE_POSITIONS;
    columns->in_shapes = minor >= WP_WIRE_SHAPES;
    columns->messages.mask = (columns->in_shapes ? wp_message_places(count) : WP_MESSAGE_PLACES) - 1;
    int rc = put_events(columns, events, count, err);
    if (!rc)
        append(columns, count ? events[0].time_ns : 0, out);
    free(columns);
    return rc;
}
