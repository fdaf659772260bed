/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_COLLECTOR_SEND_SERVER_THREAD_H
#define WP_TESTS_COLLECTOR_SEND_SERVER_THREAD_H
/* An aggregator's end of the connection, in a thread of its own. Include cmocka.h first. */
#include "proto/transport_server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

struct server_thread {
    char endpoint[64];
    struct wp_server *server;
    pthread_t thread;
    atomic_bool stop; /* `serve` returns when it is set */
};

/* `name` is a part of the endpoint's; serve(context) runs until the end. */
static inline void server_thread_begin(
    struct server_thread *at, const char *name, void *(*serve)(void *context), void *context)
{
    struct wp_error err = {0};
    snprintf(at->endpoint, sizeof(at->endpoint), "ipc:///tmp/wp-%s-%d", name, (int)getpid());
    unlink(at->endpoint + 6);
    if (wp_server_open_with(&at->server, &(struct wp_server_options){.endpoint = at->endpoint}, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pthread_create(&at->thread, NULL, serve, context), 0);
}

static inline void server_thread_end(struct server_thread *at)
{
    at->stop = true;
    pthread_join(at->thread, NULL);
    wp_server_close(at->server);
    unlink(at->endpoint + 6);
}

#endif
