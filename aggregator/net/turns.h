/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_TURNS_H
#define WP_AGGREGATOR_NET_TURNS_H
/*
 * On which unix stream a thread read, each time that it turned to another one, and what it wrote without that anybody
 * was woken (WP_EVENT_LOCAL). Remembered as long as messages are. Fed in the order of time. Not thread safe.
 */
#include "aggregator/net/thread_rings.h"
#include "proto/event.h"

/* One read or write of a thread on a unix stream. */
struct wp_turn {
    uint64_t time_ns;
    uint32_t connection; /* number */
    uint32_t is_read;
};

/* Embedded; wp_turns_init() comes first. */
struct wp_turns {
    struct wp_thread_rings rings; /* of struct wp_turn */
    uint64_t refused;             /* turns that were older than the last one of their thread */
};

/* Allocates nothing. */
void wp_turns_init(struct wp_turns *turns);
/* Forgets all threads and frees the table; it may be used again. */
void wp_turns_fini(struct wp_turns *turns);
/* The thread of that index is gone. */
void wp_turns_forget(struct wp_turns *turns, uint32_t thread);
/* What is held on the heap. */
size_t wp_turns_bytes(const struct wp_turns *turns);
/* WP_EVENT_LOCAL of the thread of that index, 0: not known. */
void wp_turns_event(struct wp_turns *turns, const struct wp_event *event, uint32_t thread);
/* Copies a turn; one that is older than the last of its thread is refused. Out of memory: it is not remembered. */
void wp_turns_add(struct wp_turns *turns, uint32_t thread, const struct wp_turn *turn);
/* The last read of the thread on that connection before `before_ns`, of its last 1,024 turns; *other: the last read on
 * another one before that, its time 0 when there is none. False: none is known. */
bool wp_turns_read(const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t before_ns,
    struct wp_turn *read, struct wp_turn *other);
/* The last read of the thread before `before_ns`, on whichever connection, of its last 1,024 turns. False: none is
 * known, and *read is left alone. */
bool wp_turns_last(const struct wp_turns *turns, uint32_t thread, uint64_t before_ns, struct wp_turn *read);
/* Its first read at `since_ns` or later, of the 1,024 turns that follow; else as above. */
bool wp_turns_next(const struct wp_turns *turns, uint32_t thread, uint64_t since_ns, struct wp_turn *read);
/* Its first read on that connection at `since_ns` or later; else as above. */
bool wp_turns_first_read(
    const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t since_ns, struct wp_turn *read);
/* When the thread last wrote on that connection before `before_ns`, waking nobody; 0: not in its last 1,024 turns. */
uint64_t wp_turns_written(const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t before_ns);
/* Its last write that woke nobody before `before_ns`, on whichever connection; else as above. */
bool wp_turns_last_written(const struct wp_turns *turns, uint32_t thread, uint64_t before_ns, struct wp_turn *written);
/* When it first did on that connection at `since_ns` or later; 0: not in the 1,024 turns that follow. */
uint64_t wp_turns_first_written(const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t since_ns);

#endif
