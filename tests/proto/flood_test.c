/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server among peers that flood it, never read what it says, send bombs or leave in the middle: everybody else is
 * served, every refusal is counted, memory stays as it is. Raw ZeroMQ sockets, for Wakepath's own client would not do
 * such things.
 */
#include "common/path.h"
#include "proto/batch.h"
#include "proto/frame.h"
#include "proto/transport_server.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <xxhash.h>
#include <unistd.h>
#include <zmq.h>
#include <zstd.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define ROUNDS 2000
#define PEERS 5
#define SOCKETS 16

struct fixture {
    char endpoint[64];
    struct wp_server *server;
    struct wp_frame_writer *writer;
    void *context;
    void *sockets[SOCKETS]; /* open ones of this process, NULL elsewhere */
    pid_t stuck;            /* 0: none */
};

struct peer {
    void *socket;
    uint8_t session[16];
    uint32_t number;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct wp_error err = {0};
    f->writer = wp_frame_writer_create(1);
    f->context = zmq_ctx_new();
    snprintf(f->endpoint, sizeof(f->endpoint), "ipc:///tmp/wp-flood-%d", (int)getpid());
    if (wp_server_open_with(&f->server, &(struct wp_server_options){.endpoint = f->endpoint}, &err))
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

/* Also what an assertion left behind: a context waits for ever for a socket that nobody closes. */
static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f->stuck) {
        kill(f->stuck, SIGKILL);
        waitpid(f->stuck, NULL, 0);
    }
    for (size_t i = 0; i < SOCKETS; i++)
        if (f->sockets[i])
            zmq_close(f->sockets[i]);
    wp_server_close(f->server);
    zmq_ctx_term(f->context);
    wp_frame_writer_destroy(f->writer);
    unlink(f->endpoint + 6);
    free(f);
    return 0;
}

static uint64_t refused(const struct fixture *f, const char *reason)
{
    uint64_t count = 0;
    for (size_t i = 0; i < wp_server_refusal_count(f->server); i++)
        if (strstr(wp_server_refusal(f->server, i, &count), reason))
            return count;
    return 0;
}

static struct wp_buffer frame_of(struct fixture *f, enum wp_frame_type type, const void *bytes, size_t size)
{
    struct wp_buffer frame = {0};
    assert_int_equal(wp_frame_write(f->writer, type, bytes, size, &frame, NULL), 0);
    return frame;
}

static struct wp_buffer hello_of(struct fixture *f, const struct peer *peer)
{
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR, .hostname = "h"};
    struct wp_buffer raw = {0};
    memcpy(hello.session, peer->session, 16);
    memcpy(hello.host, peer->session, 16);
    assert_int_equal(wp_hello_encode(&hello, &raw, NULL), 0);
    struct wp_buffer frame = frame_of(f, WP_FRAME_HELLO, raw.data, raw.size);
    wp_buffer_fini(&raw);
    return frame;
}

static void set_int(void *socket, int option, int value)
{
    assert_int_equal(zmq_setsockopt(socket, option, &value, sizeof(value)), 0);
}

static struct peer connect_peer(struct fixture *f, void *context, uint8_t id)
{
    struct peer peer = {.socket = zmq_socket(context, ZMQ_DEALER)};
    size_t i = 0;
    while (f->sockets[i])
        i++;
    assert_true(i < SOCKETS);
    f->sockets[i] = peer.socket;
    uint8_t identity[17] = {'W'};
    memset(peer.session, id, 16);
    memcpy(identity + 1, peer.session, 16);
    zmq_setsockopt(peer.socket, ZMQ_ROUTING_ID, identity, sizeof(identity));
    set_int(peer.socket, ZMQ_LINGER, 0);
    set_int(peer.socket, ZMQ_SNDHWM, 100000);
    set_int(peer.socket, ZMQ_RCVHWM, 1);
    /* As collectors, without ZeroMQ's heartbeat: its pings behind a flood end a 4.3.4 server (docs/security.md). */
    assert_int_equal(zmq_connect(peer.socket, f->endpoint), 0);
    struct wp_buffer hello = hello_of(f, &peer);
    assert_true(zmq_send(peer.socket, hello.data, hello.size, 0) > 0);
    wp_buffer_fini(&hello);
    return peer;
}

static void leave(struct fixture *f, const struct peer *peer)
{
    for (size_t i = 0; i < SOCKETS; i++)
        if (f->sockets[i] == peer->socket)
            f->sockets[i] = NULL;
    zmq_close(peer->socket);
}

static uint32_t number_of_the_new_peer(struct fixture *f)
{
    struct wp_server_message message;
    int got = 0;
    for (int i = 0; i < ROUNDS && !got; i++)
        got = wp_server_poll(f->server, 10, &message, NULL) == 1 && message.kind == WP_SERVER_HELLO;
    assert_int_equal(got, 1);
    return message.peer;
}

/* A process that says Hello and never reads. Not a socket of this process: libzmq 4.3.4 may wait for ever, or abort,
 * when it ends a connection whose input is held back. */
static void start_a_stuck_peer(struct fixture *f, uint8_t id)
{
    f->stuck = fork();
    assert_true(f->stuck >= 0);
    if (f->stuck)
        return;
    connect_peer(f, zmq_ctx_new(), id);
    for (;;)
        pause();
}

/* A peer that has said Hello and is known to the server. */
static struct peer join(struct fixture *f, uint8_t id)
{
    struct peer peer = connect_peer(f, f->context, id);
    peer.number = number_of_the_new_peer(f);
    return peer;
}

static void send_many(struct fixture *f, const struct peer *peer, size_t size, int count)
{
    char *bytes = calloc(1, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * i >> 3); /* does not compress */
    struct wp_buffer frame = frame_of(f, WP_FRAME_BATCH, bytes, size);
    for (int i = 0; i < count; i++)
        assert_true(zmq_send(peer->socket, frame.data, frame.size, ZMQ_DONTWAIT) > 0);
    wp_buffer_fini(&frame);
    free(bytes);
}

/* Four peers with far more than they may; a fifth with a little: it gets its fifth of what is served. */
static void a_flood_starves_nobody(void **state)
{
    struct fixture *f = *state;
    struct peer peers[PEERS];
    struct wp_server_message message;
    int from_slow = 0, total = 0, wanted = 200;
    for (int i = 0; i < PEERS; i++)
        peers[i] = join(f, (uint8_t)(i + 1));
    for (int i = 1; i < PEERS; i++)
        send_many(f, &peers[i], 20000, 2000);
    for (int i = 0; i < ROUNDS && total < 100; i++) /* they are at it already */
        total += wp_server_poll(f->server, 10, &message, NULL) == 1;
    assert_int_equal(total, 100);
    send_many(f, &peers[0], 500, wanted);
    for (total = 0; from_slow < wanted && total < 100000;) {
        int got = wp_server_poll(f->server, 1000, &message, NULL);
        assert_int_equal(got, 1);
        total++;
        from_slow += message.peer == peers[0].number;
    }
    print_message("share of one of %d peers, the others flooding: %.3f\n", PEERS, (double)wanted / total);
    assert_true(wanted * PEERS * 2 > total); /* at least half of its fair share, its way to the socket included */
}

/* More is on its way than the limit lets in, and then its sender is gone; nothing holds it up. */
static void floods_that_leave(void **state)
{
    struct fixture *f = *state;
    struct wp_server_message message;
    for (int round = 0; round < 5; round++) {
        struct peer flood = join(f, (uint8_t)(10 + round));
        send_many(f, &flood, 20000, 2000);
        for (int i = 0; i < 20; i++)
            assert_true(wp_server_poll(f->server, 10, &message, NULL) >= 0);
        leave(f, &flood);
        usleep(20000); /* nothing can be asked of what goes on inside ZeroMQ */
    }
    struct peer good = join(f, 1);
    send_many(f, &good, 100, 3);
    int mine = 0;
    for (int i = 0; i < ROUNDS * 10 && mine < 3; i++)
        mine += wp_server_poll(f->server, 10, &message, NULL) == 1 && message.peer == good.number;
    assert_int_equal(mine, 3);
}

/* A peer that never reads its answers: they are dropped and counted once there is no room, and cost nothing then. */
static void a_stuck_peer_costs_nothing(void **state)
{
    struct fixture *f = *state;
    start_a_stuck_peer(f, 1);
    uint32_t stuck = number_of_the_new_peer(f);
    struct peer good = join(f, 2);
    uint64_t seq = 0, went = 0;
    for (int quiet = 0; quiet < 50;) { /* ZeroMQ's thread still empties the queue into the connection for a while */
        int rc = wp_server_acknowledge(f->server, stuck, ++seq, 0);
        assert_true(!rc || rc == -EAGAIN);
        went += !rc;
        quiet = rc ? quiet + 1 : 0;
        if (rc)
            usleep(2000);
    }
    print_message("answers until a peer that does not read is held up: %llu\n", (unsigned long long)went);
    size_t before = mallinfo2().uordblks;
    unsigned dropped = 0;
    for (int i = 0; i < 200000; i++)
        dropped += wp_server_acknowledge(f->server, stuck, ++seq, 0) == -EAGAIN;
    size_t after = mallinfo2().uordblks;
    print_message("memory for 200000 answers more: %zu bytes\n", after > before ? after - before : 0);
    assert_true(after < before + (1 << 20));
    assert_int_equal(dropped, 200000);
    assert_true(refused(f, "does not read its answers") >= dropped);
    assert_int_equal(wp_server_acknowledge(f->server, good.number, 7, 0), 0); /* the other one hears its answer */
    char bytes[256];
    zmq_pollitem_t item = {.socket = good.socket, .events = ZMQ_POLLIN};
    assert_int_equal(zmq_poll(&item, 1, 5000), 1);
    assert_true(zmq_recv(good.socket, bytes, sizeof(bytes), 0) > 0);
}

static void hello_floods(void **state)
{
    struct fixture *f = *state;
    struct peer flood = join(f, 1);
    struct wp_server_message message;
    struct wp_buffer hello = hello_of(f, &flood);
    unsigned taken = 0, idle = 0;
    for (int i = 0; i < 2000; i++)
        zmq_send(flood.socket, hello.data, hello.size, ZMQ_DONTWAIT);
    wp_buffer_fini(&hello);
    while (idle < 20) {
        int got = wp_server_poll(f->server, 10, &message, NULL);
        taken += got == 1;
        idle = got || refused(f, "flood of Hello") + taken < 2000 ? 0 : idle + 1;
    }
    assert_true(taken < 40);
    assert_int_equal(refused(f, "flood of Hello"), 2000 - taken);
    (void)join(f, 2);
}

/* A frame around a payload that is what its maker likes. */
static void send_wrapped(const struct peer *peer, uint8_t codec, uint32_t raw_size, const void *payload, uint32_t size)
{
    uint8_t *frame = calloc(1, WP_FRAME_HEADER + size),
            start[8] = {'W', 'P', 'F', '1', WP_WIRE_MAJOR, WP_FRAME_BATCH, codec};
    uint64_t sum = XXH3_64bits(payload, size);
    memcpy(frame, start, 8);
    memcpy(frame + 8, &raw_size, 4);
    memcpy(frame + 12, &size, 4);
    memcpy(frame + 16, &sum, 8);
    memcpy(frame + WP_FRAME_HEADER, payload, size);
    assert_true(zmq_send(peer->socket, frame, WP_FRAME_HEADER + size, 0) > 0);
    free(frame);
}

static void drain(struct fixture *f, const char *reason)
{
    struct wp_server_message message;
    for (int i = 0; i < ROUNDS && !refused(f, reason); i++)
        assert_int_equal(wp_server_poll(f->server, 10, &message, NULL), 0);
    if (!refused(f, reason))
        fail_msg("not counted: %s", reason);
}

static void bombs(void **state)
{
    struct fixture *f = *state;
    struct peer bad = join(f, 1), good = join(f, 2);
    size_t size = (size_t)64 << 20, bound = ZSTD_compressBound(size);
    uint8_t *zeros = calloc(1, size), *packed = malloc(bound);
    uint32_t packed_size = (uint32_t)ZSTD_compress(packed, bound, zeros, size, 1);
    send_wrapped(&bad, 1, 1000, packed, packed_size);
    drain(f, "cannot be inflated");
    send_wrapped(&bad, 1, (uint32_t)size, packed, packed_size);
    drain(f, "at most N are taken");
    send_wrapped(&bad, 1, WP_FRAME_RAW_LIMIT, packed, packed_size);
    send_wrapped(&bad, 0, 4, "abc", 3);
    drain(f, "two sizes");
    send_wrapped(&bad, 9, 3, "abc", 3);
    drain(f, "unknown codec");
    set_int(bad.socket, ZMQ_SNDHWM, 10);
    assert_true(
        zmq_send(bad.socket, zeros, (size_t)40 << 20, 0) > 0); /* longer than any message: ZeroMQ hangs up on it */
    send_many(f, &good, 100, 1);
    struct wp_server_message message = {0};
    for (int i = 0; i < ROUNDS && message.peer != good.number; i++)
        assert_true(wp_server_poll(f->server, 10, &message, NULL) >= 0);
    assert_int_equal(message.peer, good.number);
    assert_int_equal(message.kind, WP_SERVER_BATCH);
    free(zeros);
    free(packed);
}

/* Who is not the session that it says it is. */
static void identities(void **state)
{
    struct fixture *f = *state;
    struct peer peer = join(f, 1), other = {.session = {9}};
    struct wp_buffer hello = hello_of(f, &other);
    assert_true(zmq_send(peer.socket, hello.data, hello.size, 0) > 0);
    drain(f, "identity is not its session's");
    wp_buffer_fini(&hello);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(a_flood_starves_nobody), TEST(floods_that_leave),
        TEST(a_stuck_peer_costs_nothing), TEST(hello_floods), TEST(bombs), TEST(identities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
