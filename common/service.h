/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SERVICE_H
#define WP_COMMON_SERVICE_H
/*
 * What a daemon and its supervisor tell each other: ready, still alive, stopping, reload. The protocol is sd_notify(3):
 * datagrams of KEY=VALUE lines to the socket in $NOTIFY_SOCKET, and a sign of life each $WATCHDOG_USEC. Without
 * the variables nothing is sent. One thread; a NULL service is allowed everywhere and does nothing.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The connection to the supervisor, and what a reload does. The owner sets the fields of the reload, zeroes the
 * rest, and calls wp_service_init. */
struct wp_service {
    int fd;                           /* -1: nobody listens */
    uint64_t watchdog_ns, alive_ns;   /* period of the signs of life, 0 none; the last one */
    volatile sig_atomic_t *reload;    /* borrowed, set by a signal; NULL: none */
    void (*on_reload)(void *context); /* called by wp_service_tick */
    void *context;
    bool is_stopping; /* and has said so */
    bool is_open;     /* wp_service_init was called: fd says something */
};

/* Takes the variables out of the environment: they are not for what we start. */
void wp_service_init(struct wp_service *service);
/* The start is complete; the supervisor goes on with what waits for it. A reload repeats it without the caller. */
void wp_service_ready(struct wp_service *service);
/* From the daemon's loop, at least some times a second. Work that takes longer lets the watchdog bite: that is its use.
 */
void wp_service_tick(struct wp_service *service);
/* When it begins to end: said once, at the latest by fini. */
void wp_service_stopping(struct wp_service *service);
/* Says that the daemon stops, if it has not yet, and closes the socket. A zeroed service is allowed, and one that was
 * closed: it does nothing. */
void wp_service_fini(struct wp_service *service);

#endif
