/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_CLIENTS_H
#define WP_AGGREGATOR_NET_CLIENTS_H
/*
 * Whom a thread has asked: threads of other processes whose sleeps it ended, by a waking of its own or by a datagram,
 * each with the place where that one slept. The last few of each thread are remembered, with the first time of each of
 * the last seconds: so what is known of a moment does not depend on what came later in its second. Fed in the order of
 * time. Not thread safe.
 */
#include "common/idtable.h"

#define WP_CLIENT_SERVERS 4u /* of a thread; a further one takes the place of the one it asked longest ago */
#define WP_CLIENT_TIMES 4u   /* a sleep is explained seconds after it ended */

/* Who was asked, and where it slept. */
struct wp_asked_place {
    uint32_t server;  /* thread index */
    uint32_t stack;   /* dictionary id */
    uint16_t syscall; /* number + 1 */
};

/* A thread that was asked at one place, and when. */
struct wp_client_server {
    uint64_t asked_ns[WP_CLIENT_TIMES]; /* time n at n % WP_CLIENT_TIMES, each of another second */
    struct wp_asked_place place;        /* server 0: no entry */
    uint32_t count;                     /* of times, those forgotten included */
};

/* What a client asked last: it is known until the end of that second. */
struct wp_client_last {
    uint64_t until_ns;
    struct wp_asked_place place;
    uint32_t client; /* 0: none */
};
#define WP_CLIENT_LASTS 16u /* a power of two */

/* Embedded; wp_clients_init() comes first. */
struct wp_clients {
    struct wp_idtable threads; /* WP_CLIENT_SERVERS of struct wp_client_server, by thread index of the client */
    struct wp_client_last last[WP_CLIENT_LASTS]; /* by thread index modulo their number */
};

/* Allocates nothing. */
void wp_clients_init(struct wp_clients *clients);
/* Forgets all threads; it may be used again. */
void wp_clients_fini(struct wp_clients *clients);
/* The thread of that index is gone. */
void wp_clients_forget(struct wp_clients *clients, uint32_t client);
/* What is held on the heap. */
size_t wp_clients_bytes(const struct wp_clients *clients);
/* Of one that did not ask there last, or in another second; by wp_clients_ask(). */
void wp_clients_note(struct wp_clients *clients, uint32_t client, const struct wp_asked_place *place, uint64_t time_ns);
/* The same server, asleep at the same place. */
static inline bool wp_asked_place_is(const struct wp_asked_place *one, const struct wp_asked_place *other)
{
    return one->server == other->server && one->stack == other->stack && one->syscall == other->syscall;
}
/* The client asked the thread of that place, which is copied; of one second only the first time is kept, and mostly
 * that is known. Out of memory: it is not remembered. */
static inline void wp_clients_ask(
    struct wp_clients *clients, uint32_t client, const struct wp_asked_place *place, uint64_t time_ns)
{
    const struct wp_client_last *last = &clients->last[client % WP_CLIENT_LASTS];
    if (last->client != client || time_ns >= last->until_ns || !wp_asked_place_is(&last->place, place))
        wp_clients_note(clients, client, place, time_ns);
}
/* Of the servers that the client has asked before `before_ns`, as far as is remembered, the places where they slept.
 * How many. */
uint32_t wp_clients_places(const struct wp_clients *clients, uint32_t client, uint64_t before_ns,
    struct wp_asked_place places[WP_CLIENT_SERVERS]);
/* The latest time that is remembered at which the client asked that server before `before_ns`, and where that slept
 * then; 0: none. Of several places the one asked last. */
uint64_t wp_clients_asked(const struct wp_clients *clients, uint32_t client, uint32_t server, uint64_t before_ns,
    struct wp_asked_place *place);

#endif
