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

int wp_event_open(struct wp_event_reader *r, struct wp_wire_span message, struct wp_error *err)
{
    struct wp_wire_field field;
    *r = (struct wp_event_reader){0};
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
    size_t count = (size_t)(r->columns[WP_EVENTS_KIND].end - r->columns[WP_EVENTS_KIND].at);
    size_t flags = (size_t)(r->columns[WP_EVENTS_FLAGS].end - r->columns[WP_EVENTS_FLAGS].at);
    size_t low = (size_t)(r->columns[WP_EVENTS_DT_LOW].end - r->columns[WP_EVENTS_DT_LOW].at);
    if (count > WP_BATCH_EVENTS)
        return bad(err, "too many events");
    if ((flags && flags != count) || (low && low != count))
        return bad(err, "columns of different length");
    r->count = (uint32_t)count;
    return 0;
}

/* What the columns say so far. */
struct state {
    struct wp_event_reader *reader;
    uint64_t last_a[WP_EVENT_KINDS], last_b[WP_EVENT_KINDS];
    unsigned short_of; /* the column that ended before its events, or holds no number; 0: none did */
    bool has_low, has_high, has_position, has_file, has_wait, has_timeout, has_ran, has_holder;
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
    if (__builtin_expect(span->end - at >= 2, 1)) {
        if (at[0] < 0x80) {
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

static inline void take_position(struct state *s, struct wp_event *e)
{
    e->a = wp_position_expected(&s->reader->positions, e) + take_difference(s, WP_EVENTS_POSITION);
    wp_position_pass(&s->reader->positions, e);
}

static inline int take_switch(struct state *s, struct wp_event *e, struct wp_error *err)
{
    take_columns(
        s, e, WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_OTHER | WP_COLUMN_STACK | WP_COLUMN_C | WP_COLUMN_D);
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

static inline int take_event(struct state *s, struct wp_event *e, struct wp_error *err)
{
    int rc = 0;
    if (e->kind == WP_EVENT_SWITCH) {
        rc = take_switch(s, e, err);
    } else if (e->kind == WP_EVENT_WAKING) { /* these two are most of all, so the compiler knows their columns */
        take_columns(s, e, WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_OTHER | WP_COLUMN_C | WP_COLUMN_D);
        if (s->has_position && wp_event_has_position(e))
            take_position(s, e);
        else
            take_columns(s, e, WP_COLUMN_A);
    } else if (s->has_position && wp_event_has_position(e)) {
        take_columns(s, e, WP_COLUMN_THREAD | WP_COLUMN_C | WP_COLUMN_D);
        take_position(s, e);
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

static int check_ends(const struct state *s, struct wp_error *err)
{
    if (s->short_of)
        return wp_error_set(
            err, -EINVAL, "bad batch: column %u has fewer entries than the events ask for", s->short_of);
    for (unsigned i = WP_EVENTS_DT; i < WP_EVENTS_COLUMNS; i++)
        if (s->reader->columns[i].at != s->reader->columns[i].end)
            return wp_error_set(err, -EINVAL, "bad batch: column %u has more entries than the events ask for", i);
    return 0;
}

int wp_event_read(struct wp_event_reader *r, struct wp_event *events, struct wp_error *err)
{
    const uint8_t *kinds = r->columns[WP_EVENTS_KIND].at, *flags = r->columns[WP_EVENTS_FLAGS].at;
    bool has_flags = flags != r->columns[WP_EVENTS_FLAGS].end;
    uint64_t time = r->base_ns;
    struct state s = {.reader = r,
        .has_low = r->columns[WP_EVENTS_DT_LOW].at != r->columns[WP_EVENTS_DT_LOW].end,
        .has_high = r->columns[WP_EVENTS_DT_HIGH].at != r->columns[WP_EVENTS_DT_HIGH].end,
        .has_position = r->columns[WP_EVENTS_POSITION].at != r->columns[WP_EVENTS_POSITION].end,
        .has_file = r->columns[WP_EVENTS_BLOCK_FILE].at != r->columns[WP_EVENTS_BLOCK_FILE].end,
        .has_wait = r->columns[WP_EVENTS_WAIT].at != r->columns[WP_EVENTS_WAIT].end,
        .has_timeout = r->columns[WP_EVENTS_SWITCH_TIMEOUT].at != r->columns[WP_EVENTS_SWITCH_TIMEOUT].end,
        .has_ran = r->columns[WP_EVENTS_SWITCH_RAN].at != r->columns[WP_EVENTS_SWITCH_RAN].end,
        .has_holder = r->columns[WP_EVENTS_SWITCH_HOLDER].at != r->columns[WP_EVENTS_SWITCH_HOLDER].end};
    int rc = 0;
    for (uint32_t i = 0; i < r->count && !rc && !s.short_of; i++) {
        uint64_t dt = take_time(&s);
        if (time > UINT64_MAX / 2 || dt > UINT64_MAX / 2 - time)
            return bad(err, "a time out of range");
        time += dt;
        events[i] = (struct wp_event){.time_ns = time, .kind = kinds[i], .flags = has_flags ? flags[i] : 0};
        rc = take_event(&s, &events[i], err);
    }
    return rc ? rc : check_ends(&s, err);
}
