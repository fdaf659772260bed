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
 * Wire minor 8: where a message ends in its stream travels as the difference to where it is expected to end, which is
 * none of most: behind the socket's last message of the kind by as many bytes as the message has; of a waking by a
 * message, where the socket's last arrival ended. Sockets that share a place spoil each other's expectations, and
 * nothing else. Both ends begin each batch with zeros.
 */
#define WP_POSITION_PLACES 2048u /* a power of two */
struct wp_positions {
    uint64_t ends[3][WP_POSITION_PLACES]; /* by kind from SOCK_SEND on, and by the socket's id */
};

/* Does `a` travel so? `c` is known by then. */
static inline bool wp_event_has_position(const struct wp_event *e)
{
    return (e->kind >= WP_EVENT_SOCK_SEND && e->kind <= WP_EVENT_SOCK_RECV) ||
        (e->kind == WP_EVENT_WAKING && e->c == WP_CAUSE_MESSAGE);
}

/* What `a` of such an event is expected to be; all other fields are known. */
static inline uint64_t wp_position_expected(const struct wp_positions *p, const struct wp_event *e)
{
    uint32_t place = e->d & (WP_POSITION_PLACES - 1);
    return e->kind == WP_EVENT_WAKING ? p->ends[WP_EVENT_SOCK_ARRIVE - WP_EVENT_SOCK_SEND][place]
                                      : p->ends[e->kind - WP_EVENT_SOCK_SEND][place] + e->c;
}

/* That is known now, too. */
static inline void wp_position_pass(struct wp_positions *p, const struct wp_event *e)
{
    if (e->kind != WP_EVENT_WAKING)
        p->ends[e->kind - WP_EVENT_SOCK_SEND][e->d & (WP_POSITION_PLACES - 1)] = e->a;
}

#endif
