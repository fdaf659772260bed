/* SPDX-License-Identifier: Apache-2.0 */
/* Servers and clients with real CURVE sockets on TCP: who is let in, who is not, and what changes while they talk. */
#include "common/path.h"
#include "proto/frame.h"
#include "proto/curve_keys.h"
#include "proto/transport_client.h"
#include "proto/transport_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define ROUNDS 1000 /* of 10 ms: more than any of this takes */

struct fixture {
    char folder[64], endpoint[64], log[128];
    struct wp_server *server;
    struct wp_logger logger;
};

static const uint8_t host_a[16] = {0xa}, host_b[16] = {0xb};

static const char *in(const struct fixture *f, const char *name)
{
    static _Thread_local char paths[8][128];
    static _Thread_local unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", f->folder, name);
    return path;
}

static void make_key(
    const struct fixture *f, const char *folder, const char *name, enum wp_key_host kind, const uint8_t *host)
{
    struct wp_key_pair pair;
    struct wp_error err = {0};
    char dir[128];
    snprintf(dir, sizeof(dir), "%s", in(f, folder));
    if (wp_key_pair_make(&pair, &err) ||
        wp_key_files_write(&(struct wp_key_files){dir, name, kind, host, false}, &pair, &err))
        fail_msg("%s", err.text);
}

/* A port that was free a moment ago. */
static void choose_endpoint(struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    snprintf(f->endpoint, sizeof(f->endpoint), "tcp://127.0.0.1:%u", ntohs(address.sin_port));
}

static void open_server(struct fixture *f)
{
    struct wp_error err = {0};
    struct wp_server_options options = {
        .endpoint = f->endpoint, .key_path = in(f, "server.key"), .allow_path = in(f, "allow"), .logger = &f->logger};
    if (wp_server_open_with(&f->server, &options, &err))
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    snprintf(f->folder, sizeof(f->folder), "/tmp/wp-curve-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    make_key(f, ".", "server", WP_KEY_OF_NONE, NULL);
    make_key(f, "allow", "a", WP_KEY_OF_HOST, host_a);
    make_key(f, "allow", "b", WP_KEY_OF_HOST, host_b);
    make_key(f, "allow", "any", WP_KEY_OF_ANY, NULL);
    make_key(f, "allow", "none", WP_KEY_OF_NONE, NULL);
    make_key(f, "other", "stranger", WP_KEY_OF_HOST, host_a);
    snprintf(f->log, sizeof(f->log), "%s", in(f, "log"));
    f->logger = (struct wp_logger){"test", WP_LOG_INFO, open(f->log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    choose_endpoint(f);
    open_server(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    wp_server_close(f->server);
    close(f->logger.fd);
    int rc = wp_path_remove(f->folder, NULL);
    free(f);
    return rc;
}

static struct wp_client *open_client(
    struct fixture *f, const char *key, const char *server_key, uint8_t session, const uint8_t *host)
{
    struct wp_client *client = NULL;
    struct wp_error err = {0};
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR, .hostname = "h"};
    memset(hello.session, session, 16);
    memcpy(hello.host, host, 16);
    struct wp_client_options options = {.endpoint = f->endpoint,
        .key_path = key ? in(f, key) : NULL,
        .server_key_path = server_key ? in(f, server_key) : NULL,
        .is_insecure = !key};
    if (wp_client_open_with(&client, &options, &hello, &err))
        fail_msg("%s", err.text);
    return client;
}

static uint64_t refused(const struct fixture *f, const char *reason)
{
    uint64_t count = 0;
    for (size_t i = 0; i < wp_server_refusal_count(f->server); i++)
        if (strstr(wp_server_refusal(f->server, i, &count), reason))
            return count;
    return 0;
}

/* Both sides for a while, or until the client is welcome, or refused for good: its last return value. Batches are kept.
 */
struct talk {
    int rc;
    struct wp_error err;
    unsigned batches, hellos;
};

static struct talk talk(
    struct fixture *f, struct wp_client *client, int rounds, bool (*is_over)(struct fixture *, struct wp_client *))
{
    struct talk t = {0};
    struct wp_server_message message;
    for (int i = 0; i < rounds && t.rc >= 0 && !is_over(f, client); i++) {
        int got = wp_server_poll(f->server, 5, &message, &t.err);
        assert_true(got >= 0);
        t.hellos += got && message.kind == WP_SERVER_HELLO;
        t.batches += got && message.kind == WP_SERVER_BATCH;
        if (got && message.kind == WP_SERVER_HELLO)
            wp_server_welcome(f->server, message.peer,
                &(struct wp_welcome){.wire_major = WP_WIRE_MAJOR, .wire_minor = 0, .resume_seq = 1, .credit = 10});
        t.rc = wp_client_poll(client, 5, &t.err);
    }
    return t;
}

static bool is_welcome(struct fixture *f, struct wp_client *client)
{
    (void)f;
    return wp_client_is_welcome(client);
}

static bool has_trouble(struct fixture *f, struct wp_client *client)
{
    (void)f;
    return *wp_client_trouble(client);
}

static bool never(struct fixture *f, struct wp_client *client)
{
    (void)f, (void)client;
    return false;
}

static void send_batch(struct wp_client *client, uint64_t seq)
{
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    struct wp_buffer frame = {0};
    assert_int_equal(wp_frame_write(writer, WP_FRAME_BATCH, (const uint8_t *)"batch", 5, &frame, NULL), 0);
    assert_int_equal(wp_client_send_batch(client, seq, frame.data, frame.size, NULL), 0);
    wp_buffer_fini(&frame);
    wp_frame_writer_destroy(writer);
}

static unsigned logged(const struct fixture *f, const char *what)
{
    struct wp_buffer text = {0};
    unsigned count = 0;
    assert_int_equal(wp_file_read(f->log, 1 << 20, &text, NULL), 0);
    for (const char *at = (const char *)text.data; (at = strstr(at, what)); at++)
        count++;
    wp_buffer_fini(&text);
    return count;
}

static void listed_keys_are_welcome(void **state)
{
    struct fixture *f = *state;
    struct wp_client *a = open_client(f, "allow/a.key", "server.pub", 1, host_a);
    struct wp_client *b = open_client(f, "allow/b.key", "server.pub", 2, host_b);
    struct wp_client *any = open_client(f, "allow/any.key", "server.pub", 3, host_b);
    struct wp_client *all[] = {a, b, any};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(talk(f, all[i], ROUNDS, is_welcome).rc >= 0, 1);
        assert_true(wp_client_is_welcome(all[i]));
        assert_string_equal(wp_client_trouble(all[i]), "");
        send_batch(all[i], 1);
        assert_int_equal(talk(f, all[i], 30, never).batches, 1);
    }
    assert_int_equal(wp_server_refusal_count(f->server), 0);
    for (size_t i = 0; i < 3; i++)
        wp_client_close(all[i]);
}

/* A stranger is told nothing but that; whoever is listed meanwhile is let in without a restart of anybody. */
static void list_changes_live(void **state)
{
    struct fixture *f = *state;
    struct wp_client *client = open_client(f, "other/stranger.key", "server.pub", 1, host_a);
    talk(f, client, ROUNDS, has_trouble);
    assert_false(wp_client_is_welcome(client));
    assert_non_null(strstr(wp_client_trouble(client), "not on its list"));
    talk(f, client, 500, never); /* it tries again: refused and counted again, logged once */
    assert_true(refused(f, "a key that is not listed") >= 2);
    assert_int_equal(logged(f, "not listed"), 1);
    assert_int_equal(logged(f, "address=127.0.0.1"), 1);
    char from[128], to[128];
    snprintf(from, sizeof(from), "%s", in(f, "other/stranger.pub"));
    snprintf(to, sizeof(to), "%s", in(f, "allow/stranger.pub"));
    assert_int_equal(rename(from, to), 0);
    talk(f, client, ROUNDS, is_welcome);
    assert_true(wp_client_is_welcome(client));
    assert_int_equal(unlink(to), 0); /* and out again, while it is connected */
    wp_server_reload(f->server);
    send_batch(client, 1);
    struct talk t = talk(f, client, 50, never);
    assert_int_equal(t.batches, 0);
    assert_true(t.rc >= 0);
    assert_false(wp_client_is_welcome(client));
    assert_non_null(strstr(wp_client_trouble(client), "no longer listed"));
    assert_true(refused(f, "no longer listed") >= 1);
    wp_client_close(client);
}

static void wrong_server_key(void **state)
{
    struct fixture *f = *state;
    struct wp_client *client = open_client(f, "allow/a.key", "allow/b.pub", 1, host_a);
    talk(f, client, ROUNDS, has_trouble);
    talk(f, client, 500, never); /* it tries again, but not ten times a second */
    assert_false(wp_client_is_welcome(client));
    assert_non_null(strstr(wp_client_trouble(client), "--server-key"));
    assert_in_range(refused(f, "another server key"), 2, 8);
    wp_client_close(client);
}

static void a_key_of_no_host(void **state)
{
    struct fixture *f = *state;
    struct wp_client *client = open_client(f, "allow/none.key", "server.pub", 1, host_a);
    talk(f, client, ROUNDS, has_trouble);
    assert_false(wp_client_is_welcome(client));
    assert_int_equal(refused(f, "speaks for no host"), 1);
    wp_client_close(client);
}

static void only_its_own_host(void **state)
{
    struct fixture *f = *state;
    struct wp_client *client = open_client(f, "allow/a.key", "server.pub", 1, host_b);
    struct talk t = talk(f, client, ROUNDS, never);
    assert_int_equal(t.rc, -ECONNREFUSED);
    assert_non_null(strstr(t.err.text, "may not speak for this host"));
    assert_int_equal(t.hellos, 0);
    assert_int_equal(refused(f, "may not speak for this host"), 1);
    assert_int_equal(logged(f, "may not speak for this host"), 1);
    wp_client_close(client);
}

/* B knows a session of A and takes its place on the wire: not a word of it is believed, and A goes on. */
static void nobody_takes_a_session(void **state)
{
    struct fixture *f = *state;
    struct wp_client *a = open_client(f, "allow/a.key", "server.pub", 1, host_a);
    talk(f, a, ROUNDS, is_welcome);
    struct wp_client *b = open_client(f, "allow/b.key", "server.pub", 1, host_b);
    struct talk t = talk(f, b, ROUNDS, never);
    assert_int_equal(t.rc, -ECONNREFUSED);
    assert_non_null(strstr(t.err.text, "another host"));
    wp_client_close(b);
    b = open_client(f, "allow/b.key", "server.pub", 1, host_a);
    t = talk(f, b, ROUNDS, never);
    assert_int_equal(t.rc, -ECONNREFUSED);
    assert_int_equal(t.hellos + t.batches, 0);
    wp_client_close(b);
    wp_client_close(a); /* its connection was taken over: another one makes it good */
    a = open_client(f, "allow/a.key", "server.pub", 1, host_a);
    talk(f, a, ROUNDS, is_welcome);
    assert_true(wp_client_is_welcome(a));
    send_batch(a, 1);
    assert_int_equal(talk(f, a, 30, never).batches, 1);
    wp_client_close(a);
}

/* The same seen by a client that only finds itself unheard: it waits, asks, and connects anew. */
static void a_deaf_connection_is_left(void **state)
{
    struct fixture *f = *state;
    struct wp_client *a = open_client(f, "allow/a.key", "server.pub", 1, host_a);
    talk(f, a, ROUNDS, is_welcome);
    struct wp_client *thief = open_client(f, "allow/any.key", "server.pub", 1, host_a);
    talk(f, thief, ROUNDS, is_welcome);
    wp_client_close(thief);
    send_batch(a, 1); /* into the void */
    struct talk t = {0};
    for (int i = 0; i < 5 && !t.batches; i++) {
        t = talk(f, a, ROUNDS, never);
        if (wp_client_welcomes(a) > 1)
            send_batch(a, 1);
    }
    assert_true(t.rc >= 0);
    assert_true(t.batches > 0);
    wp_client_close(a);
}

static void plaintext_is_refused(void **state)
{
    struct fixture *f = *state;
    struct wp_client *client = open_client(f, NULL, NULL, 1, host_a);
    talk(f, client, ROUNDS, has_trouble);
    talk(f, client, 50, never);
    assert_false(wp_client_is_welcome(client));
    assert_true(refused(f, "does not speak CURVE") + refused(f, "ended in its handshake") >= 1); /* who notices first */
    wp_client_close(client);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* nor does something else altogether do harm */
    struct sockaddr_in address = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)atoi(strrchr(f->endpoint, ':') + 1))};
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(
        write(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything, and at length, please\r\n\r\n", 78), 78);
    client = open_client(f, "allow/a.key", "server.pub", 1, host_a);
    talk(f, client, ROUNDS, is_welcome);
    assert_true(wp_client_is_welcome(client));
    wp_client_close(client);
    close(fd);
}

/* What is not secured is said, at both ends, before anything is bound or connected. */
static void keys_are_demanded(void **state)
{
    struct fixture *f = *state;
    struct wp_server *server = NULL;
    struct wp_client *client = NULL;
    struct wp_error err = {0};
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR};
    struct wp_server_options open = {.endpoint = "tcp://127.0.0.1:*"};
    assert_int_equal(wp_server_open_with(&server, &open, &err), -EACCES);
    assert_non_null(strstr(err.text, "--key"));
    assert_non_null(strstr(err.text, "--insecure"));
    open.key_path = in(f, "server.key");
    open.is_insecure = true; /* half of the keys is a mistake, not a wish */
    assert_int_equal(wp_server_open_with(&server, &open, &err), -EACCES);
    open.key_path = NULL;
    if (wp_server_open_with(&server, &open, &err))
        fail_msg("%s", err.text);
    wp_server_close(server);
    open.endpoint = "ipc://@wakepath-test";
    assert_int_equal(wp_server_open_with(&server, &open, &err), -EACCES);
    assert_int_equal(
        wp_client_open_with(&client, &(struct wp_client_options){.endpoint = f->endpoint}, &hello, &err), -EACCES);
    assert_non_null(strstr(err.text, "--server-key"));
    struct wp_client_options options = {.endpoint = f->endpoint, .key_path = in(f, "allow/a.key"), .is_insecure = true};
    assert_int_equal(wp_client_open_with(&client, &options, &hello, &err), -EACCES);
    options.server_key_path = in(f, "server.pub");
    assert_int_equal(chmod(in(f, "allow/a.key"), 0644), 0);
    assert_int_equal(wp_client_open_with(&client, &options, &hello, &err), -EPERM);
    assert_int_equal(chmod(in(f, "server.key"), 0640), 0);
    struct wp_server_options leaky = {
        .endpoint = "tcp://127.0.0.1:*", .key_path = in(f, "server.key"), .allow_path = in(f, "allow")};
    assert_int_equal(wp_server_open_with(&server, &leaky, &err), -EPERM);
}

/* What the list has got a moment ago is looked for before a key is called unknown: a fleet that enrols counts no
 * refusals. */
static void who_was_just_listed_is_no_stranger(void **state)
{
    struct fixture *f = *state;
    char from[128], to[128];
    struct wp_client *a = open_client(f, "allow/a.key", "server.pub", 1, host_a); /* the list has been looked at */
    talk(f, a, ROUNDS, is_welcome);
    snprintf(from, sizeof(from), "%s", in(f, "other/stranger.pub"));
    snprintf(to, sizeof(to), "%s", in(f, "allow/stranger.pub"));
    assert_int_equal(rename(from, to), 0);
    struct wp_client *client = open_client(f, "other/stranger.key", "server.pub", 2, host_a);
    talk(f, client, ROUNDS, is_welcome);
    assert_true(wp_client_is_welcome(client));
    assert_int_equal(refused(f, "not listed"), 0);
    wp_client_close(client);
    wp_client_close(a);
}

/* A key for any host may be that of a hundred: each address has what one peer has. */
static void hosts_that_share_a_key_are_let_in(void **state)
{
    struct fixture *f = *state;
    char plain[64];
    snprintf(plain, sizeof(plain), "%s", f->endpoint);
    for (unsigned i = 0; i < 80; i++) {
        snprintf(f->endpoint, sizeof(f->endpoint), "tcp://127.0.1.%u:0;%.32s", i + 1, plain + strlen("tcp://"));
        struct wp_client *client = open_client(f, "allow/any.key", "server.pub", (uint8_t)(i + 1), host_b);
        talk(f, client, ROUNDS, is_welcome);
        assert_true(wp_client_is_welcome(client));
        wp_client_close(client);
    }
    assert_int_equal(refused(f, "connects too often"), 0);
}

/* A key that connects again and again is let in at a bounded rate, and nobody else pays for it. */
static void connecting_is_limited(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 400 && !refused(f, "connects too often"); i++) {
        struct wp_client *client = open_client(f, "allow/a.key", "server.pub", 1, host_a);
        talk(f, client, 4, is_welcome);
        wp_client_close(client);
    }
    assert_true(refused(f, "connects too often") > 0);
    struct wp_client *b = open_client(f, "allow/b.key", "server.pub", 2, host_b);
    talk(f, b, ROUNDS, is_welcome);
    assert_true(wp_client_is_welcome(b));
    wp_client_close(b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(listed_keys_are_welcome), TEST(list_changes_live), TEST(wrong_server_key),
        TEST(a_key_of_no_host), TEST(only_its_own_host), TEST(nobody_takes_a_session), TEST(a_deaf_connection_is_left),
        TEST(plaintext_is_refused), TEST(keys_are_demanded), TEST(who_was_just_listed_is_no_stranger),
        TEST(hosts_that_share_a_key_are_let_in), TEST(connecting_is_limited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
