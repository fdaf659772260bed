/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/event_decode.h"

#include "proto/batch.h"
#include "proto/event_fields.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

_Static_assert(WP_EVENTS_COLUMNS == WP_EVENT_COLUMNS, "a column a field");

static int bad(struct wp_error *err, const char *what)
{
    return wp_error_set(err, -EINVAL, "bad batch: %s", what);
}

static size_t length(const struct wp_event_reader *r, unsigned column)
{
    return (size_t)(r->columns[column].end - r->columns[column].at);
}

int wp_event_open(struct wp_event_reader *r, struct wp_wire_span message, struct wp_error *err)
{
    struct wp_wire_field field;
    memset(r, 0, offsetof(struct wp_event_reader, messages));
    while (wp_wire_field(&message, &field)) {
        if (field.number == WP_EVENTS_BASE && field.type == WP_WIRE_NUMBER)
            r->base_ns = field.value;
        else if (field.number >= WP_EVENTS_COLUMNS) /* of a later version */
            continue;
        else if (field.number == WP_EVENTS_BASE || field.type != WP_WIRE_BYTES)
            return wp_error_set(err, -EINVAL, "bad batch: column %u is not packed", field.number);
        else if (r->columns[field.number].at)
            return wp_error_set(err, -EINVAL, "bad batch: column %u comes twice", field.number);
        else
            r->columns[field.number] = field.bytes;
    }
    if (message.at != message.end)
        return bad(err, "events that are not a message");
    size_t kinds = length(r, WP_EVENTS_KIND), flags = length(r, WP_EVENTS_FLAGS), low = length(r, WP_EVENTS_DT_LOW),
           shapes = length(r, WP_EVENTS_SHAPE), count = shapes ? shapes : kinds;
    if (count > WP_BATCH_EVENTS)
        return bad(err, "too many events");
    if ((flags && flags != kinds) || (low && low != count))
        return bad(err, "columns of different length");
    r->count = (uint32_t)count;
    r->messages.mask = (shapes ? wp_message_places(r->count) : WP_MESSAGE_PLACES) - 1;
    memset(r->messages.of, 0, (r->messages.mask + (size_t)1) * sizeof(*r->messages.of));
    return 0;
}

/* What the columns say so far. */
struct state {
    struct wp_event_reader *reader;
    uint64_t last_a[WP_EVENT_KINDS], last_b[WP_EVENT_KINDS];
    const uint8_t *last[WP_EVENTS_COLUMNS]; /* the last byte of each column; of an empty one its end */
    unsigned short_of; /* the column that ended before its events, or holds no number; 0: none did */
    bool has_low, has_high, has_position, has_file, has_wait, has_timeout, has_ran, has_holder, has_waking_stack,
        in_shapes;
};

/* The seven lower bits of each of eight bytes, the first one's lowest. */
static uint64_t join_sevens(uint64_t word)
{
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
}

/* All but a byte or two; 0 where there is none. Times between events of different threads and differences of addresses
 * come here; up to eight bytes are read at once. */
static __attribute__((noinline)) uint64_t take_long(struct state *s, unsigned column)
{
    struct wp_wire_span *span = &s->reader->columns[column];
    uint64_t value = 0, word, last = 0;
    if (span->end - span->at >= (ptrdiff_t)sizeof(word)) {
        memcpy(&word, span->at, sizeof(word));
        word = le64toh(word);
        last = ~word & 0x8080808080808080u;
    }
    if (last) {
        span->at += __builtin_ctzll(last) / 8 + 1;
        return join_sevens(word & (last ^ (last - 1)));
    }
    if (!wp_wire_number(&s->reader->columns[column], &value)) {
        s->reader->columns[column].at = s->reader->columns[column].end;
        s->short_of = column;
    }
    return value;
}

static inline uint64_t next_value(struct state *s, unsigned column)
{
    struct wp_wire_span *span = &s->reader->columns[column];
    const uint8_t *at = span->at;
    if (__builtin_expect(at < s->last[column], 1)) {
        if (__builtin_expect(at[0] < 0x80, 1)) {
            span->at = at + 1;
            return at[0];
        }
        if (at[1] < 0x80) {
            span->at = at + 2;
            return (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
        }
    }
    return take_long(s, column);
}

static inline uint64_t take_difference(struct state *s, unsigned column)
{
    uint64_t value = next_value(s, column);
    return value >> 1 ^ -(value & 1);
}

/* Since the event before, in nanoseconds; the largest there is for what is larger. */
static inline uint64_t take_time(struct state *s)
{
    if (!s->has_low)
        return next_value(s, WP_EVENTS_DT);
    uint64_t high = s->has_high ? next_value(s, WP_EVENTS_DT_HIGH) : 0;
    return high > UINT64_MAX >> 8 ? UINT64_MAX : high << 8 | *s->reader->columns[WP_EVENTS_DT_LOW].at++;
}

static inline void take_columns(struct state *s, struct wp_event *e, unsigned columns)
{
    if (columns & WP_COLUMN_CPU) {
        uint64_t cpu = next_value(s, WP_EVENTS_CPU);
        e->cpu = (uint16_t)(cpu < WP_EVENT_CPUS ? cpu : WP_EVENT_CPUS);
    }
    if (columns & WP_COLUMN_THREAD)
        e->thread = (uint32_t)next_value(s, WP_EVENTS_THREAD);
    if (columns & WP_COLUMN_OTHER)
        e->other = (uint32_t)next_value(s, WP_EVENTS_OTHER);
    if (columns & WP_COLUMN_STACK)
        e->stack = (uint32_t)next_value(s, WP_EVENTS_STACK);
    if (columns & WP_COLUMN_A)
        e->a = s->last_a[e->kind] += take_difference(s, WP_EVENTS_A);
    if (columns & WP_COLUMN_B)
        e->b = s->last_b[e->kind] += take_difference(s, WP_EVENTS_B);
    if (columns & WP_COLUMN_C)
        e->c = (uint32_t)next_value(s, WP_EVENTS_C);
    if (columns & WP_COLUMN_D)
        e->d = (uint32_t)next_value(s, WP_EVENTS_D);
}

static inline void take_position(struct state *s, struct wp_event *e, struct wp_message_last *last)
{
    e->a = wp_position_expected(last, e) + take_difference(s, WP_EVENTS_POSITION);
    wp_message_last_pass(last, e);
}

static inline void take_message(struct state *s, struct wp_event *e)
{
    take_columns(s, e, WP_COLUMN_D);
    struct wp_message_last *last = wp_message_last(&s->reader->messages, e);
    if (s->in_shapes) {
        uint64_t thread = next_value(s, WP_EVENTS_MESSAGE_THREAD), bytes = next_value(s, WP_EVENTS_MESSAGE_BYTES);
        e->thread = thread ? (uint32_t)(thread - 1) : last->thread;
        e->c = bytes ? (uint32_t)(bytes - 1) : last->bytes;
    } else {
        take_columns(s, e, WP_COLUMN_THREAD | WP_COLUMN_C);
    }
    take_position(s, e, last);
}

static inline int take_switch(struct state *s, struct wp_event *e, bool has_shape, struct wp_error *err)
{
    take_columns(s, e, WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_OTHER | WP_COLUMN_STACK);
    if (!has_shape)
        take_columns(s, e, WP_COLUMN_C | WP_COLUMN_D);
    if (e->cpu == WP_EVENT_CPUS)
        return bad(err, "a CPU out of range");
    uint32_t *at = &s->reader->on_cpu[e->cpu];
    if (!e->thread && !*at)
        return s->short_of ? 0 : bad(err, "a switch from a thread that was never named");
    e->thread = (e->thread ? e->thread : *at) - 1;
    *at = e->other + 1;
    if (s->has_timeout && e->flags & WP_SWITCH_TIMED)
        e->a = next_value(s, WP_EVENTS_SWITCH_TIMEOUT);
    else if (s->has_holder && !(e->flags & WP_SWITCH_TIMED) && e->flags & WP_SWITCH_HELD)
        e->a = next_value(s, WP_EVENTS_SWITCH_HOLDER);
    if (s->has_ran && e->flags & WP_SWITCH_RAN)
        e->b = next_value(s, WP_EVENTS_SWITCH_RAN);
    return 0;
}

static inline void take_waking(struct state *s, struct wp_event *e, bool has_shape)
{
    take_columns(s, e, WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_OTHER | WP_COLUMN_D);
    if (!has_shape)
        take_columns(s, e, WP_COLUMN_C);
    if (s->has_position && wp_event_has_position(e))
        take_position(s, e, wp_message_last(&s->reader->messages, e));
    else
        take_columns(s, e, WP_COLUMN_A);
    if (s->has_waking_stack && wp_event_has_waking_stack(e))
        e->stack = (uint32_t)next_value(s, WP_EVENTS_WAKING_STACK);
}

static inline int take_event(struct state *s, struct wp_event *e, bool has_shape, struct wp_error *err)
{
    int rc = 0;
    if (e->kind == WP_EVENT_SWITCH) { /* these two are most of all, so the compiler knows their columns */
        rc = take_switch(s, e, has_shape, err);
    } else if (e->kind == WP_EVENT_WAKING) {
        take_waking(s, e, has_shape);
    } else if (s->has_position && wp_event_has_position(e)) {
        take_message(s, e);
    } else {
        unsigned columns = wp_event_columns(e->kind);
        if (!columns)
            return wp_error_set(err, -EINVAL, "bad batch: an event has the unknown kind %u", e->kind);
        take_columns(s, e, columns);
        if (s->has_file && wp_event_is_block(e))
            e->other = (uint32_t)next_value(s, WP_EVENTS_BLOCK_FILE);
    }
    if (s->has_wait && wp_event_has_wait(e))
        e->wait = (uint32_t)next_value(s, WP_EVENTS_WAIT);
    if (e->cpu == WP_EVENT_CPUS)
        return bad(err, "a CPU out of range");
    return rc;
}

static int take_shapes(struct state *s, struct wp_error *err)
{
    struct wp_event_reader *r = s->reader;
    struct wp_wire_span *kinds = &r->columns[WP_EVENTS_SHAPE_KIND], *flags = &r->columns[WP_EVENTS_SHAPE_FLAGS];
    size_t count = length(r, WP_EVENTS_SHAPE_KIND);
    if (count > WP_SHAPES || count != length(r, WP_EVENTS_SHAPE_FLAGS))
        return bad(err, "shapes of different length, or too many");
    r->shape_count = (uint32_t)count;
    for (uint32_t i = 1; i <= count; i++) {
        struct wp_event_shape *shape = &r->shapes[i];
        *shape = (struct wp_event_shape){.kind = *kinds->at++, .flags = *flags->at++};
        unsigned columns = wp_shape_columns(shape->kind);
        if (columns & WP_COLUMN_C)
            shape->c = (uint32_t)next_value(s, WP_EVENTS_SHAPE_C);
        if (columns & WP_COLUMN_D)
            shape->d = (uint32_t)next_value(s, WP_EVENTS_SHAPE_D);
    }
    return 0;
}

static int check_ends(const struct state *s, struct wp_error *err)
{
    if (s->short_of)
        return wp_error_set(
            err, -EINVAL, "bad batch: column %u has fewer entries than the events ask for", s->short_of);
    for (unsigned i = WP_EVENTS_KIND; i < WP_EVENTS_COLUMNS; i++)
        if (s->reader->columns[i].at != s->reader->columns[i].end)
            return wp_error_set(err, -EINVAL, "bad batch: column %u has more entries than the events ask for", i);
    return 0;
}

/* Field by field: the whole at once is filled by an instruction for strings, which takes longer to begin. */
static inline void begin_event(struct wp_event *e, const struct wp_event_shape *shape)
{
    e->kind = shape->kind;
    e->flags = shape->flags;
    e->cpu = 0;
    e->thread = e->other = e->stack = 0;
    e->a = e->b = 0;
    e->c = shape->c;
    e->d = shape->d;
    e->wait = e->reserved = 0;
}

/* Kind and flags of an event without a shape. */
static inline bool take_identity(struct state *s, struct wp_event_shape *is)
{
    struct wp_wire_span *kinds = &s->reader->columns[WP_EVENTS_KIND], *flags = &s->reader->columns[WP_EVENTS_FLAGS];
    if (kinds->at == kinds->end)
        return false;
    is->kind = *kinds->at++;
    is->flags = flags->at != flags->end ? *flags->at++ : 0;
    return true;
}

int wp_event_read(struct wp_event_reader *r, struct wp_event *events, struct wp_error *err)
{
    const uint8_t *shapes = r->columns[WP_EVENTS_SHAPE].at;
    uint64_t time = r->base_ns;
    struct state s = {.reader = r,
        .in_shapes = length(r, WP_EVENTS_SHAPE),
        .has_low = length(r, WP_EVENTS_DT_LOW),
        .has_high = length(r, WP_EVENTS_DT_HIGH),
        .has_position = length(r, WP_EVENTS_POSITION) || length(r, WP_EVENTS_SHAPE),
        .has_file = length(r, WP_EVENTS_BLOCK_FILE),
        .has_wait = length(r, WP_EVENTS_WAIT),
        .has_timeout = length(r, WP_EVENTS_SWITCH_TIMEOUT),
        .has_ran = length(r, WP_EVENTS_SWITCH_RAN),
        .has_holder = length(r, WP_EVENTS_SWITCH_HOLDER),
        .has_waking_stack = length(r, WP_EVENTS_WAKING_STACK)};
    struct wp_event_shape none = {0};
    for (unsigned i = 0; i < WP_EVENTS_COLUMNS; i++)
        s.last[i] = length(r, i) ? r->columns[i].end - 1 : r->columns[i].end;
    int rc = take_shapes(&s, err);
    r->columns[WP_EVENTS_SHAPE].at = r->columns[WP_EVENTS_SHAPE].end;
    for (uint32_t i = 0; i < r->count && !rc && !s.short_of; i++) {
        struct wp_event *e = &events[i];
        unsigned shape = s.in_shapes ? shapes[i] : 0;
        if (shape > r->shape_count)
            return bad(err, "a shape that is not told");
        if (!shape && !take_identity(&s, &none))
            return bad(err, "fewer kinds than the events ask for");
        begin_event(e, shape ? &r->shapes[shape] : &none);
        uint64_t dt = take_time(&s);
        if (time > UINT64_MAX / 2 || dt > UINT64_MAX / 2 - time)
            return bad(err, "a time out of range");
        time += dt;
        e->time_ns = time;
        rc = take_event(&s, e, shape, err);
    }
    return rc ? rc : check_ends(&s, err);
}
