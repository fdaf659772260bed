/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_EVENT_COLUMNS_H
#define WP_PROTO_EVENT_COLUMNS_H
/* Which columns a kind of event uses on the wire (wakepath-capture(5)). Never changed for a kind that has been
 * released. */
#include "proto/event.h"

enum {
    WP_COLUMN_CPU = 1,
    WP_COLUMN_THREAD = 2,
    WP_COLUMN_OTHER = 4,
    WP_COLUMN_STACK = 8,
    WP_COLUMN_A = 16,
    WP_COLUMN_B = 32,
    WP_COLUMN_C = 64,
    WP_COLUMN_D = 128
};

/* 0 for a kind that does not exist. */
static inline unsigned wp_event_columns(unsigned kind)
{
    static const uint8_t columns[WP_EVENT_KINDS] = {
        [WP_EVENT_SWITCH] =
            WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_OTHER | WP_COLUMN_STACK | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_WAKING] =
            WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_OTHER | WP_COLUMN_A | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_FORK] = WP_COLUMN_THREAD | WP_COLUMN_OTHER,
        [WP_EVENT_EXEC] = WP_COLUMN_THREAD | WP_COLUMN_OTHER,
        [WP_EVENT_EXIT] = WP_COLUMN_THREAD,
        [WP_EVENT_RENAME] = WP_COLUMN_THREAD | WP_COLUMN_C,
        [WP_EVENT_STATE] = WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_STACK | WP_COLUMN_A | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_BLOCK_INSERT] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_B | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_BLOCK_ISSUE] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_B | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_BLOCK_COMPLETE] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_B | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_SOCK_SEND] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_SOCK_ARRIVE] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_SOCK_RECV] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_SOCK_STATE] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_B | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_SOCK_RETRANSMIT] = WP_COLUMN_A | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_SOCK_LEAVE] = WP_COLUMN_A | WP_COLUMN_D,
        [WP_EVENT_WINDOW] = WP_COLUMN_C,
        [WP_EVENT_LOCAL] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_C | WP_COLUMN_D,
        [WP_EVENT_REASON] = WP_COLUMN_THREAD | WP_COLUMN_A | WP_COLUMN_B | WP_COLUMN_C,
        [WP_EVENT_SAMPLE] = WP_COLUMN_CPU | WP_COLUMN_THREAD | WP_COLUMN_STACK,
    };
    return kind < WP_EVENT_KINDS ? columns[kind] : 0;
}

/*
 * Wire minor 9: a shape is what many events of a batch share: kind, flags, and these columns of the kind. It travels
 * once; an event has the number of its shape, from 1, or 0 and all of that in the columns.
 */
#define WP_SHAPES 255u

/* Which columns a shape has of the kind; of most none. */
static inline unsigned wp_shape_columns(unsigned kind)
{
    return kind == WP_EVENT_SWITCH ? WP_COLUMN_C | WP_COLUMN_D : kind == WP_EVENT_WAKING ? WP_COLUMN_C : 0;
}

/*
 * Wire minor 8: where a message ends in its stream travels as the difference to where it is expected to end, which is
 * none of most: behind the socket's last message of the kind by as many bytes as the message has; of a waking by a
 * message, where the socket's last arrival ended. Minor 9: its thread and its bytes are those of the socket's last
 * message of the kind, or said. Sockets that share a place spoil each other's expectations, and nothing else. Both ends
 * begin each batch with zeros.
 */
#define WP_MESSAGE_PLACES 2048u /* a power of two */
struct wp_message_last {
    uint64_t end;
    uint32_t thread, bytes;
};
struct wp_messages_last {
    struct wp_message_last of[WP_MESSAGE_PLACES][3]; /* by the socket's id, and by kind from SOCK_SEND on */
    uint32_t mask;                                   /* of the places in use */
};

/* Minor 9: a batch of few events uses few places. */
static inline uint32_t wp_message_places(uint32_t events)
{
    uint32_t places = 16;
    while (places < events / 16 && places < WP_MESSAGE_PLACES)
        places *= 2;
    return places;
}

/* Does `a` travel so? `c` is known by then. */
static inline bool wp_event_has_position(const struct wp_event *e)
{
    return (e->kind >= WP_EVENT_SOCK_SEND && e->kind <= WP_EVENT_SOCK_RECV) ||
        (e->kind == WP_EVENT_WAKING && e->c == WP_CAUSE_MESSAGE);
}

/* The last message of the event's socket and kind, or before a waking the last arrival; `d` is known. */
static inline struct wp_message_last *wp_message_last(struct wp_messages_last *m, const struct wp_event *e)
{
    unsigned kind = e->kind == WP_EVENT_WAKING ? WP_EVENT_SOCK_ARRIVE : e->kind;
    return &m->of[e->d & m->mask][kind - WP_EVENT_SOCK_SEND];
}

/* What `a` of such an event is expected to be; all other fields are known. */
static inline uint64_t wp_position_expected(const struct wp_message_last *last, const struct wp_event *e)
{
    return e->kind == WP_EVENT_WAKING ? last->end : last->end + e->c;
}

/* The whole event is known now. */
static inline void wp_message_last_pass(struct wp_message_last *last, const struct wp_event *e)
{
    if (e->kind != WP_EVENT_WAKING)
        *last = (struct wp_message_last){e->a, e->thread, e->c};
}

#endif
