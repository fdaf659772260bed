/* SPDX-License-Identifier: Apache-2.0 */
/* Client and server in one thread, polled in turns, over an ipc socket. */
#include "proto/frame.h"
#include "proto/transport_client.h"
#include "proto/transport_server.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>
#include <cmocka.h>

#define SIGNALLED 20000u
#define ROUNDS 400 /* of 10 ms: far more than any of this takes */

struct fixture {
    char endpoint[64];
    struct wp_server *server;
    struct wp_frame_writer *writer;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct wp_error err = {0};
    snprintf(f->endpoint, sizeof(f->endpoint), "ipc:///tmp/wp-transport-%d", (int)getpid());
    unlink(f->endpoint + 6);
    f->writer = wp_frame_writer_create(1);
    if (wp_server_open_with(&f->server, &(struct wp_server_options){.endpoint = f->endpoint}, &err))
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    wp_server_close(f->server);
    wp_frame_writer_destroy(f->writer);
    unlink(f->endpoint + 6);
    free(f);
    return 0;
}

static struct wp_client *open_client(const struct fixture *f, uint8_t id)
{
    struct wp_client *client;
    struct wp_error err = {0};
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR, .hostname = "h"};
    memset(hello.session, id, 16);
    memset(hello.host, 7, 16);
    if (wp_client_open_with(&client, &(struct wp_client_options){.endpoint = f->endpoint}, &hello, &err))
        fail_msg("%s", err.text);
    return client;
}

/* The next message of this kind; clients are polled meanwhile. */
static struct wp_server_message await(struct fixture *f, enum wp_server_kind kind, struct wp_client *client)
{
    struct wp_server_message message;
    struct wp_error err = {0};
    for (int i = 0; i < ROUNDS; i++) {
        int got = wp_server_poll(f->server, 10, &message, &err);
        assert_true(got >= 0);
        if (got && message.kind == kind)
            return message;
        if (client)
            assert_true(wp_client_poll(client, 0, &err) >= 0);
    }
    fail_msg("no message of kind %d came", (int)kind);
    return message;
}

/* Hello and Welcome, as often as it takes: a Welcome to a connection that is just being replaced is lost. */
static void await_welcome(struct fixture *f, struct wp_client *client, uint64_t resume, uint32_t credit)
{
    struct wp_server_message message;
    struct wp_error err = {0};
    uint64_t before = wp_client_welcomes(client);
    for (int i = 0; i < ROUNDS && (wp_client_welcomes(client) == before || !wp_client_is_welcome(client)); i++) {
        int got = wp_server_poll(f->server, 5, &message, &err);
        assert_true(got >= 0);
        if (got && message.kind == WP_SERVER_HELLO)
            wp_server_welcome(f->server, message.peer,
                &(struct wp_welcome){
                    .wire_major = WP_WIRE_MAJOR, .wire_minor = 0, .resume_seq = resume, .credit = credit});
        assert_true(wp_client_poll(client, 5, &err) >= 0);
    }
    assert_true(wp_client_is_welcome(client));
}

static struct wp_buffer frame_of(const struct fixture *f, const char *text)
{
    struct wp_buffer frame = {0};
    assert_int_equal(wp_frame_write(f->writer, WP_FRAME_BATCH, (const uint8_t *)text, strlen(text), &frame, NULL), 0);
    return frame;
}

static void send_text(struct fixture *f, struct wp_client *client, uint64_t seq, const char *text)
{
    struct wp_buffer frame = frame_of(f, text);
    assert_int_equal(wp_client_send_batch(client, seq, frame.data, frame.size, NULL), 0);
    wp_buffer_fini(&frame);
}

static void whole_talk(void **state)
{
    struct fixture *f = *state;
    struct wp_client *client = open_client(f, 1);
    struct wp_error err = {0};
    assert_false(wp_client_is_welcome(client));
    await_welcome(f, client, 5, 3);
    assert_int_equal(wp_client_welcome(client)->resume_seq, 5);
    assert_true(wp_client_may_send(client, 5));
    assert_true(wp_client_may_send(client, 7));
    assert_false(wp_client_may_send(client, 8)); /* credit of three */
    send_text(f, client, 5, "first");
    char long_text[1000];
    memset(long_text, 'z', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = 0;
    send_text(f, client, 6, long_text);
    struct wp_server_message message = await(f, WP_SERVER_BATCH, client);
    assert_int_equal(message.batch_size, 5);
    assert_memory_equal(message.batch, "first", 5);
    message = await(f, WP_SERVER_BATCH, client);
    assert_memory_equal(message.batch, long_text, sizeof(long_text) - 1);
    assert_int_equal(wp_server_acknowledge(f->server, message.peer, 6, 0), 0);
    for (int i = 0; i < ROUNDS && wp_client_acked(client) != 6; i++)
        assert_true(wp_client_poll(client, 10, &err) >= 0);
    assert_int_equal(wp_client_acked(client), 6);
    assert_true(wp_client_may_send(client, 9));
    assert_int_equal(wp_client_bye(client, &(struct wp_bye){.last_seq = 6, .events = 100, .dropped = 2}, &err), 0);
    message = await(f, WP_SERVER_BYE, client);
    assert_int_equal(message.bye.last_seq, 6);
    assert_int_equal(message.bye.dropped, 2);
    wp_client_close(client);
}

static void on_alarm(int number)
{
    (void)number;
}

/* A signal may come in any call: no message is lost for it, on either side. */
static void signals_lose_nothing(void **state)
{
    struct fixture *f = *state;
    struct wp_client *client = open_client(f, 1);
    struct wp_error err = {0};
    const struct sigaction action = {.sa_handler = on_alarm}, by_default = {.sa_handler = SIG_DFL};
    const struct itimerval often = {{0, 30}, {0, 30}}, never = {{0, 0}, {0, 0}};
    struct wp_server_message message;
    struct wp_buffer frame = frame_of(f, "more");
    uint64_t got = 0, seq = 1;
    await_welcome(f, client, 1, 1000);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t turn = 0; got < SIGNALLED && turn < 40 * SIGNALLED; turn++) {
        int rc = seq <= SIGNALLED ? wp_client_send_batch(client, seq, frame.data, frame.size, NULL) : -EAGAIN;
        assert_true(!rc || rc == -EAGAIN); /* no room: once more */
        seq += !rc;
        while (wp_server_poll(f->server, rc ? 1 : 0, &message, &err) > 0)
            if (message.kind == WP_SERVER_BATCH) {
                rc = wp_server_acknowledge(f->server, message.peer, ++got, 0);
                assert_true(!rc || rc == -EAGAIN);
            }
        assert_true(wp_client_poll(client, 0, &err) >= 0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &by_default, NULL);
    assert_int_equal(got, SIGNALLED);
    wp_buffer_fini(&frame);
    wp_client_close(client);
}

/* What one had taken in that restarts is not taken in by it: the credit counts from where it says. */
static void credit_after_a_restart(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    struct wp_client *client = open_client(f, 8);
    await_welcome(f, client, 1, 3);
    send_text(f, client, 1, "one");
    uint32_t peer = await(f, WP_SERVER_BATCH, client).peer;
    assert_int_equal(wp_server_acknowledge(f->server, peer, 1, 40), 0);
    for (int i = 0; i < ROUNDS && wp_client_taken(client) != 40; i++)
        assert_true(wp_client_poll(client, 10, &err) >= 0);
    assert_true(wp_client_may_send(client, 43));
    assert_false(wp_client_may_send(client, 44));
    wp_server_close(f->server);
    if (wp_server_open_with(&f->server, &(struct wp_server_options){.endpoint = f->endpoint}, &err))
        fail_msg("%s", err.text);
    await_welcome(f, client, 20, 3);
    assert_int_equal(wp_client_taken(client), 19);
    assert_true(wp_client_may_send(client, 22));
    assert_false(wp_client_may_send(client, 23));
    wp_client_close(client);
}

static void two_peers_are_two(void **state)
{
    struct fixture *f = *state;
    struct wp_client *a = open_client(f, 1), *b = open_client(f, 2);
    await_welcome(f, a, 1, 9);
    await_welcome(f, b, 1, 9);
    send_text(f, a, 1, "a");
    uint32_t peer = await(f, WP_SERVER_BATCH, a).peer;
    send_text(f, b, 1, "b");
    assert_int_not_equal(await(f, WP_SERVER_BATCH, b).peer, peer);
    wp_client_close(a);
    struct wp_client *again = open_client(f, 1); /* the same session comes back: the same peer */
    await_welcome(f, again, 2, 9);
    send_text(f, again, 2, "a");
    assert_int_equal(await(f, WP_SERVER_BATCH, again).peer, peer);
    wp_client_close(again);
    wp_client_close(b);
}

static void a_new_server_hears_hello(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    struct wp_client *client = open_client(f, 3);
    await_welcome(f, client, 1, 9);
    send_text(f, client, 1, "one");
    await(f, WP_SERVER_BATCH, client);
    wp_server_close(f->server);
    if (wp_server_open_with(&f->server, &(struct wp_server_options){.endpoint = f->endpoint}, &err))
        fail_msg("%s", err.text);
    await_welcome(f, client, 1, 9);
    assert_int_equal(wp_client_welcome(client)->resume_seq, 1);
    send_text(f, client, 1, "one");
    assert_memory_equal(await(f, WP_SERVER_BATCH, client).batch, "one", 3);
    wp_client_close(client);
}

static void damage_leads_to_hello(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    struct wp_client *client = open_client(f, 4);
    await_welcome(f, client, 1, 9);
    struct wp_buffer frame = frame_of(f, "damaged on the way");
    frame.data[frame.size - 1] ^= 1;
    assert_int_equal(wp_client_send_batch(client, 1, frame.data, frame.size, NULL), 0);
    wp_buffer_fini(&frame);
    await_welcome(f, client, 1, 9); /* it was told, and asks where to go on */
    uint64_t count = 0;
    assert_int_equal(wp_server_refusal_count(f->server), 1);
    assert_non_null(strstr(wp_server_refusal(f->server, 0, &count), "checksum"));
    assert_int_equal(count, 1);
    struct wp_server_message message;
    assert_int_equal(wp_server_poll(f->server, 0, &message, &err), 0);
    wp_client_close(client);
}

static void refused_is_the_end(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    struct wp_client *client = open_client(f, 5);
    struct wp_server_message hello = await(f, WP_SERVER_HELLO, client);
    assert_int_equal(wp_server_refuse(f->server, hello.peer, "we are full"), 0);
    int rc = 0;
    for (int i = 0; i < ROUNDS && rc >= 0; i++)
        rc = wp_client_poll(client, 10, &err);
    assert_int_equal(rc, -ECONNREFUSED);
    assert_non_null(strstr(err.text, "we are full"));
    wp_client_close(client);
}

/* A peer that speaks no Wakepath, with raw ZeroMQ: everything is refused and counted, the others go on. */
static void strangers(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    struct wp_server_message message;
    struct wp_client *client = open_client(f, 6);
    await_welcome(f, client, 1, 9);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(zmq_connect(socket, f->endpoint), 0);
    struct wp_buffer frame = frame_of(f, "batch before hello");
    zmq_send(socket, "hello?", 6, 0);
    zmq_send(socket, "", 0, 0);
    zmq_send(socket, "two", 3, ZMQ_SNDMORE);
    zmq_send(socket, "parts", 5, 0);
    zmq_send(socket, frame.data, frame.size, 0);
    uint64_t refused = 0;
    for (int i = 0; i < ROUNDS && refused < 4; i++) {
        assert_int_equal(wp_server_poll(f->server, 10, &message, &err), 0);
        refused = 0;
        for (size_t j = 0; j < wp_server_refusal_count(f->server); j++) {
            uint64_t count;
            wp_server_refusal(f->server, j, &count);
            refused += count;
        }
    }
    assert_int_equal(refused, 4);
    send_text(f, client, 1, "good");
    assert_memory_equal(await(f, WP_SERVER_BATCH, client).batch, "good", 4);
    wp_buffer_fini(&frame);
    int none = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof(none));
    zmq_close(socket);
    zmq_ctx_term(context);
    wp_client_close(client);
}

static void endpoints(void **state)
{
    struct fixture *f = *state;
    struct wp_server *second = NULL;
    struct wp_client *client = NULL;
    struct wp_error err = {0};
    struct stat status;
    assert_int_equal(stat(f->endpoint + 6, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(
        wp_server_open_with(&second, &(struct wp_server_options){.endpoint = f->endpoint}, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, f->endpoint));
    assert_int_not_equal(wp_server_open_with(&second, &(struct wp_server_options){.endpoint = "nonsense"}, &err), 0);
    assert_non_null(strstr(err.text, "tcp://"));
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR};
    assert_int_not_equal(
        wp_client_open_with(&client, &(struct wp_client_options){.endpoint = "nonsense"}, &hello, &err), 0);
    wp_server_close(f->server);
    f->server = NULL;
    unlink(f->endpoint + 6);
    fclose(fopen(f->endpoint + 6, "w")); /* somebody's file is left alone */
    assert_int_equal(
        wp_server_open_with(&second, &(struct wp_server_options){.endpoint = f->endpoint}, &err), -EADDRINUSE);
    assert_int_equal(unlink(f->endpoint + 6), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the socket of a server that died is taken over */
    strcpy(address.sun_path, f->endpoint + 6);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    if (wp_server_open_with(&f->server, &(struct wp_server_options){.endpoint = f->endpoint}, &err))
        fail_msg("%s", err.text);
    client = open_client(f, 8);
    await_welcome(f, client, 1, 1);
    wp_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(whole_talk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_peers_are_two, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_server_hears_hello, set_up, tear_down),
        cmocka_unit_test_setup_teardown(credit_after_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_leads_to_hello, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused_is_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strangers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(endpoints, set_up, tear_down),
        cmocka_unit_test_setup_teardown(signals_lose_nothing, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
