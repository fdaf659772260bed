/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"
#include "proto/transport_client.h"

#include "proto/endpoint.h"
#include "proto/frame.h"
#include "proto/curve_keys.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define LINGER_MS 1000
#define HELLO_NS WP_NS_PER_S /* between two tries to be welcomed */
#define SILENCE_NS                                                                                                     \
    (10 * WP_NS_PER_S)  /* nothing heard for so long while batches are out: say hello again; then connect anew */
#define SEND_LIMIT 1024 /* messages; credit is less */
#define REASON_BYTES 512
#define AGAIN_NS (2 * WP_NS_PER_S) /* between two tries to connect after the keys did not fit */
#define EVENTS                                                                                                         \
    (ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |                        \
        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

struct wp_client {
    void *context, *socket, *monitor;
    char *endpoint;
    struct wp_frame_reader *reader;
    struct wp_frame_writer *writer;
    struct wp_buffer hello; /* its frame, sent at each connection */
    struct wp_buffer scratch, raw;
    struct wp_welcome welcome;
    struct wp_window window; /* the last that was said */
    uint64_t welcomes, acked, taken, sent, hello_ns, heard_ns;
    uint64_t again_ns; /* when to connect anew; 0: ZeroMQ does it by itself */
    void (*take_names)(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size); /* NULL: nobody */
    void *names_context;
    uint64_t (*clock_ns)(const void *context); /* NULL: probes are not answered */
    const void *clock_context;
    char trouble[REASON_BYTES];
    bool is_welcome, is_connected;
    unsigned strange_frames; /* of another wire version, before the first Welcome */
    bool owes_hello;         /* a connection is new, or had no room for it */
};

static int zmq_failed(struct wp_error *err, const char *what)
{
    int code = zmq_errno();
    return wp_error_set(err, code > 0 && code < 4096 ? -code : -EIO, "%s: %s", what, zmq_strerror(code));
}

/* Messages that cannot leave at once are refused here and tried again by the caller. A signal says nothing of that. */
static int send_bytes(struct wp_client *c, const void *bytes, size_t size, struct wp_error *err)
{
    int rc;
    do
        rc = zmq_send(c->socket, bytes, size, ZMQ_DONTWAIT);
    while (rc < 0 && zmq_errno() == EINTR);
    if (rc >= 0)
        return 0;
    return zmq_errno() == EAGAIN ? -EAGAIN : zmq_failed(err, "cannot send");
}

static int send_hello(struct wp_client *c, struct wp_error *err)
{
    int rc = send_bytes(c, c->hello.data, c->hello.size, err);
    c->owes_hello = rc == -EAGAIN;
    if (!rc)
        c->hello_ns = wp_clock_ns();
    return rc == -EAGAIN ? 0 : rc;
}

static void set_trouble(struct wp_client *c, const char *text)
{
    snprintf(c->trouble, sizeof(c->trouble), "%s", text);
}

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof(value));
}

/* The same identity for the whole session: a client that comes back is the peer it was. */
static void set_options(void *socket, const struct wp_hello *hello)
{
    uint8_t identity[17] = {'W'};
    memcpy(identity + 1, hello->session, 16);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, sizeof(identity));
    set_int(socket, ZMQ_LINGER, LINGER_MS);
    set_int(socket, ZMQ_SNDHWM, SEND_LIMIT);
    /* No limit on what waits to be read (answers, small and drained at every poll): libzmq 4.3.4 aborts the program
     * when the heartbeat's timer finds a connection that ended while its input was held back. */
    set_int(socket, ZMQ_RCVHWM, 0);
    set_int(socket, ZMQ_RECONNECT_IVL, 100);
    set_int(socket, ZMQ_RECONNECT_IVL_MAX, 5000);
    /* No ZeroMQ heartbeat: a 4.3.4 server aborts when it comes to a ping behind more messages than its limit and we are
     * gone by then (stream_engine_base.cpp: restart_input answers it, out_event asserts !_io_error). TCP finds the
     * dead. */
    set_int(socket, ZMQ_TCP_KEEPALIVE, 1);
    set_int(socket, ZMQ_TCP_KEEPALIVE_IDLE, 10);
    set_int(socket, ZMQ_TCP_KEEPALIVE_INTVL, 10);
    set_int(socket, ZMQ_TCP_KEEPALIVE_CNT, 3);
    set_int(socket, ZMQ_TCP_MAXRT, 30000); /* TCP_USER_TIMEOUT: what was sent is not acknowledged */
}

static int use_keys(struct wp_client *c, const struct wp_client_options *options, struct wp_error *err)
{
    struct wp_key_pair pair;
    struct wp_public_key server;
    int rc = wp_public_key_read(&server, options->server_key_path, err);
    if (!rc)
        rc = wp_key_pair_read(&pair, options->key_path, err);
    if (rc)
        return rc;
    if (zmq_setsockopt(c->socket, ZMQ_CURVE_SERVERKEY, server.text, WP_KEY_TEXT) ||
        zmq_setsockopt(c->socket, ZMQ_CURVE_PUBLICKEY, pair.public_key, WP_KEY_TEXT) ||
        zmq_setsockopt(c->socket, ZMQ_CURVE_SECRETKEY, pair.secret_key, WP_KEY_TEXT))
        rc = zmq_failed(err, "cannot use the keys");
    wp_key_pair_forget(&pair);
    return rc;
}

static int secure(struct wp_client *c, const struct wp_client_options *options, struct wp_error *err)
{
    bool is_network;
    int rc = wp_endpoint_is_network(options->endpoint, &is_network, err);
    if (rc || !is_network)
        return rc;
    if (options->key_path && options->server_key_path)
        return use_keys(c, options, err);
    return wp_endpoint_check_keys(
        options->endpoint, false, options->key_path || options->server_key_path, options->is_insecure, err);
}

static int connect_to(struct wp_client *c, struct wp_error *err)
{
    if (!zmq_connect(c->socket, c->endpoint))
        return 0;
    int code = zmq_errno();
    return wp_error_set(err, -code, "cannot connect to '%s': %s (endpoints are ipc:///path or tcp://address:port)",
        c->endpoint, zmq_strerror(code));
}

static int open_sockets(
    struct wp_client *c, const struct wp_client_options *options, const struct wp_hello *hello, struct wp_error *err)
{
    c->context = zmq_ctx_new();
    c->socket = c->context ? zmq_socket(c->context, ZMQ_DEALER) : NULL;
    if (!c->socket)
        return zmq_failed(err, "cannot make a socket");
    set_options(c->socket, hello);
    int rc = secure(c, options, err);
    if (rc)
        return rc;
    if (zmq_socket_monitor(c->socket, "inproc://monitor", EVENTS))
        return zmq_failed(err, "cannot watch a socket");
    c->monitor = zmq_socket(c->context, ZMQ_PAIR);
    if (!c->monitor || zmq_connect(c->monitor, "inproc://monitor"))
        return zmq_failed(err, "cannot watch a socket");
    set_int(c->monitor, ZMQ_LINGER, 0);
    return connect_to(c, err);
}

int wp_client_open_with(struct wp_client **client, const struct wp_client_options *options,
    const struct wp_hello *hello, struct wp_error *err)
{
    struct wp_client *c = calloc(1, sizeof(*c));
    if (!c)
        return wp_error_set(err, -ENOMEM, "out of memory");
    c->endpoint = strdup(options->endpoint);
    c->reader = wp_frame_reader_create();
    c->writer = wp_frame_writer_create(1);
    int rc = c->endpoint && c->reader && c->writer ? wp_hello_encode(hello, &c->raw, err)
                                                   : wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc)
        rc = wp_frame_write(c->writer, WP_FRAME_HELLO, c->raw.data, c->raw.size, &c->hello, err);
    if (!rc)
        rc = open_sockets(c, options, hello, err);
    if (rc) {
        wp_client_close(c);
        return rc;
    }
    *client = c;
    return 0;
}

void wp_client_close(struct wp_client *c)
{
    if (!c)
        return;
    if (c->socket) /* before its reader goes: an event that nobody takes blocks ZeroMQ's thread, and us, for ever */
        zmq_socket_monitor(c->socket, NULL, 0);
    if (c->monitor)
        zmq_close(c->monitor);
    if (c->socket)
        zmq_close(c->socket);
    if (c->context)
        zmq_ctx_term(c->context);
    free(c->endpoint);
    wp_frame_reader_destroy(c->reader);
    wp_frame_writer_destroy(c->writer);
    wp_buffer_fini(&c->hello);
    wp_buffer_fini(&c->scratch);
    wp_buffer_fini(&c->raw);
    free(c);
}

void wp_client_drop(struct wp_client *c)
{
    if (c && c->socket)
        set_int(c->socket, ZMQ_LINGER, 0);
    wp_client_close(c);
}

/* A connection takes over its identity's name from the one before, and with it answers to batches of that one
 * (zmq_setsockopt(3), ZMQ_ROUTER_HANDOVER): nobody is told that a session is too large who has not been welcome. */
static bool is_of_connection_before(const struct wp_client *c, const char *reason)
{
    return !c->welcomes && strstr(reason, WP_REFUSED_TOO_LARGE);
}

static int take_refused(struct wp_client *c, const struct wp_frame *frame, struct wp_error *err)
{
    Wakepath__Wire__Refused *m = wakepath__wire__refused__unpack(NULL, frame->size, frame->payload);
    int rc = 0;
    if (!m)
        return 0;
    if (m->is_fatal && !is_of_connection_before(c, m->reason))
        rc = wp_error_set(err, -ECONNREFUSED, "the aggregator refused this session: %.*s", REASON_BYTES, m->reason);
    else
        set_trouble(c, m->reason);
    wakepath__wire__refused__free_unpacked(m, NULL);
    if (!c->is_welcome &&
        !c->again_ns) /* the Hello itself: again in a while; it may be the connection that is spoilt */
        c->again_ns = wp_clock_ns() + AGAIN_NS;
    if (rc || !c->is_welcome)
        return rc;
    c->is_welcome = false; /* a frame was lost on the way: Welcome says where to go on */
    return send_hello(c, err);
}

static int take_probe(struct wp_client *c, const struct wp_frame *frame, uint64_t received_ns, struct wp_error *err)
{
    Wakepath__Wire__TimeProbe *m = wakepath__wire__time_probe__unpack(NULL, frame->size, frame->payload);
    Wakepath__Wire__TimeReply reply = WAKEPATH__WIRE__TIME_REPLY__INIT;
    if (!m)
        return 0;
    reply.probe_sent_ns = m->sent_ns;
    reply.received_ns = received_ns;
    wakepath__wire__time_probe__free_unpacked(m, NULL);
    wp_buffer_clear(&c->raw);
    wp_buffer_clear(&c->scratch);
    reply.answered_ns = c->clock_ns(c->clock_context);
    if (wp_buffer_reserve(&c->raw, wakepath__wire__time_reply__get_packed_size(&reply)))
        return wp_error_set(err, -ENOMEM, "out of memory for a message");
    c->raw.size = wakepath__wire__time_reply__pack(&reply, c->raw.data);
    int rc = wp_frame_write(c->writer, WP_FRAME_TIME_REPLY, c->raw.data, c->raw.size, &c->scratch, err);
    if (!rc)
        rc = send_bytes(c, c->scratch.data, c->scratch.size, err);
    return rc == -EAGAIN ? 0 : rc;
}

static void take_ack(struct wp_client *c, const struct wp_frame *frame)
{
    Wakepath__Wire__Ack *m = wakepath__wire__ack__unpack(NULL, frame->size, frame->payload);
    if (!m)
        return;
    struct wp_window window = {m->window_ns, m->window_every_ns};
    if (m->seq > c->acked)
        c->acked = m->seq;
    uint64_t taken = m->taken ? m->taken : m->seq;
    if (taken > c->taken)
        c->taken = taken;
    if (!wp_window_check(&window))
        c->window = window;
    wakepath__wire__ack__free_unpacked(m, NULL);
}

static int take_frame(struct wp_client *c, const struct wp_frame *frame, struct wp_error *err)
{
    if (frame->type == WP_FRAME_TIME_PROBE)
        return c->clock_ns ? take_probe(c, frame, c->clock_ns(c->clock_context), err) : 0;
    if (frame->type == WP_FRAME_WELCOME) {
        int rc = wp_welcome_decode(&c->welcome, frame->payload, frame->size, err);
        if (rc)
            return rc;
        if (c->welcome.wire_major != WP_WIRE_MAJOR)
            return wp_error_set(err, -ECONNREFUSED, "the aggregator speaks wire version %u.%u, this collector %u.%u",
                c->welcome.wire_major, c->welcome.wire_minor, WP_WIRE_MAJOR, WP_WIRE_MINOR);
        c->is_welcome = true;
        c->again_ns = 0;
        c->window = c->welcome.window;
        c->taken =
            c->welcome.resume_seq ? c->welcome.resume_seq - 1 : 0; /* one that restarted has taken less than it had */
        c->trouble[0] = 0;
        c->welcomes++;
    } else if (frame->type == WP_FRAME_ACK) {
        take_ack(c, frame);
    } else if (frame->type == WP_FRAME_REFUSED) {
        return take_refused(c, frame, err);
    } else if ((frame->type == WP_FRAME_NAME_QUESTION || frame->type == WP_FRAME_NAME_ANSWER) && c->take_names) {
        c->take_names(c->names_context, frame->type, frame->payload, frame->size);
    }
    return 0;
}

/* One message, if there is one: 1, 0, -errno. What is no frame is not answered: the server cannot help it. */
static int receive(struct wp_client *c, struct wp_error *err)
{
    zmq_msg_t message;
    struct wp_frame frame;
    struct wp_error why = {0};
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, c->socket, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&message);
        return zmq_errno() == EAGAIN || zmq_errno() == EINTR ? 0 : zmq_failed(err, "cannot receive");
    }
    c->heard_ns = wp_clock_ns();
    int rc = wp_frame_read(c->reader, zmq_msg_data(&message), zmq_msg_size(&message), &frame, &why);
    /* Of one that has been understood before it is a damaged frame, and so may a first one be: Hello is said again. */
    if (rc == -EPROTONOSUPPORT && !c->welcomes && c->strange_frames++)
        rc = wp_error_set(err, -ECONNREFUSED, "the aggregator sends %s", why.text);
    else
        rc = rc ? 0 : take_frame(c, &frame, err);
    zmq_msg_close(&message);
    return rc ? rc : 1;
}

/*
 * The cable: while it is cut nothing is sent; when it is back a server that is new must hear Hello before anything
 * else. ZeroMQ (4.3.4, session_base.cpp, engine_error) gives up for good when a handshake fails against the protocol or
 * the server refuses the key. But keys are listed and servers get their keys while we run, so we connect anew.
 */
static void take_event(struct wp_client *c, uint16_t event)
{
    switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        c->is_connected = c->owes_hello = true;
        c->heard_ns = wp_clock_ns();
        return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        set_trouble(c, "the aggregator does not accept this collector's key: it is not on its list");
        c->again_ns = wp_clock_ns() + AGAIN_NS;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        set_trouble(c, "the aggregator does not speak as expected: CURVE at one end and plaintext at the other?");
        c->again_ns = wp_clock_ns() + AGAIN_NS;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        set_trouble(c,
            "the aggregator ends the connection during the handshake: does it have another key than --server-key "
            "says?");
        if (!c->again_ns) /* ZeroMQ would come back ten times a second, and be refused as often */
            zmq_disconnect(c->socket, c->endpoint);
        c->again_ns = wp_clock_ns() + AGAIN_NS;
        break;
    default: /* disconnected */
        break;
    }
    c->is_welcome = c->is_connected = c->owes_hello = false;
}

static void take_monitor(struct wp_client *c)
{
    zmq_msg_t part;
    zmq_msg_init(&part);
    while (zmq_msg_recv(&part, c->monitor, ZMQ_DONTWAIT) >= 0) { /* two parts: event and value, then the address */
        uint16_t event = 0;
        if (!zmq_msg_more(&part) || zmq_msg_size(&part) < sizeof(event))
            continue;
        memcpy(&event, zmq_msg_data(&part), sizeof(event));
        take_event(c, event);
    }
    zmq_msg_close(&part);
}

/* A connection can be there and deaf: ZeroMQ (4.3.4, router.cpp) keeps one open whose identity another one has taken.
 */
static bool is_deaf(const struct wp_client *c, uint64_t now)
{
    return c->is_connected && now - c->heard_ns > (c->is_welcome ? 2 : 1) * (uint64_t)SILENCE_NS &&
        (!c->is_welcome || c->sent > c->acked);
}

static int connect_anew(struct wp_client *c, struct wp_error *err)
{
    c->again_ns = 0;
    c->is_welcome = c->is_connected = c->owes_hello = false;
    zmq_disconnect(c->socket, c->endpoint); /* what is left of it, if anything */
    return connect_to(c, err);
}

static int say_what_is_due(struct wp_client *c, bool may_write, struct wp_error *err)
{
    uint64_t now = wp_clock_ns();
    bool is_silent =
        c->is_welcome && c->sent > c->acked && now - c->heard_ns > SILENCE_NS && now - c->hello_ns > SILENCE_NS;
    bool is_unheard = !c->is_welcome && !c->owes_hello && now - c->hello_ns > HELLO_NS;
    bool is_due = (c->owes_hello && may_write) || is_unheard || is_silent;
    int rc = (c->again_ns && now >= c->again_ns) || is_deaf(c, now) ? connect_anew(c, err) : 0;
    return !rc && c->is_connected && is_due ? send_hello(c, err) : rc;
}

int wp_client_poll(struct wp_client *c, int timeout_ms, struct wp_error *err)
{
    short writes = c->is_connected && c->owes_hello ? ZMQ_POLLOUT : 0;
    zmq_pollitem_t items[2] = {
        {.socket = c->socket, .events = (short)(ZMQ_POLLIN | writes)}, {.socket = c->monitor, .events = ZMQ_POLLIN}};
    int rc = zmq_poll(items, 2, timeout_ms);
    if (rc < 0)
        return zmq_errno() == EINTR ? 0 : zmq_failed(err, "cannot wait");
    if (items[1].revents)
        take_monitor(c);
    rc = say_what_is_due(c, items[0].revents & ZMQ_POLLOUT, err);
    return rc ? rc : receive(c, err);
}

const char *wp_client_trouble(const struct wp_client *c)
{
    return c->is_welcome ? "" : c->trouble;
}

int wp_client_fd(const struct wp_client *c)
{
    int fd = -1;
    size_t size = sizeof(fd);
    return zmq_getsockopt(c->socket, ZMQ_FD, &fd, &size) ? -1 : fd;
}

void wp_client_answer_probes(struct wp_client *c, uint64_t (*clock_ns)(const void *context), const void *context)
{
    c->clock_ns = clock_ns;
    c->clock_context = context;
}

void wp_client_take_names(struct wp_client *c,
    void (*take)(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size), void *context)
{
    c->take_names = take;
    c->names_context = context;
}

int wp_client_send_names(
    struct wp_client *c, enum wp_frame_type type, const uint8_t *raw, size_t size, struct wp_error *err)
{
    wp_buffer_clear(&c->scratch);
    int rc = wp_frame_write(c->writer, type, raw, size, &c->scratch, err);
    return rc ? rc : send_bytes(c, c->scratch.data, c->scratch.size, err);
}

bool wp_client_is_connected(const struct wp_client *c)
{
    return c->is_connected;
}

bool wp_client_is_welcome(const struct wp_client *c)
{
    return c->is_welcome;
}

const struct wp_welcome *wp_client_welcome(const struct wp_client *c)
{
    return &c->welcome;
}

uint64_t wp_client_welcomes(const struct wp_client *c)
{
    return c->welcomes;
}

const struct wp_window *wp_client_window(const struct wp_client *c)
{
    return &c->window;
}

uint64_t wp_client_acked(const struct wp_client *c)
{
    return c->acked;
}

uint64_t wp_client_taken(const struct wp_client *c)
{
    return c->taken;
}

bool wp_client_may_send(const struct wp_client *c, uint64_t seq)
{
    return c->is_welcome && seq < c->taken + 1 + c->welcome.credit;
}

int wp_client_send_batch(struct wp_client *c, uint64_t seq, const uint8_t *frame, size_t size, struct wp_error *err)
{
    int rc = send_bytes(c, frame, size, err);
    if (!rc && seq > c->sent)
        c->sent = seq;
    return rc;
}

int wp_client_bye(struct wp_client *c, const struct wp_bye *bye, struct wp_error *err)
{
    wp_buffer_clear(&c->raw);
    wp_buffer_clear(&c->scratch);
    int rc = wp_bye_encode(bye, &c->raw, err);
    if (!rc)
        rc = wp_frame_write(c->writer, WP_FRAME_BYE, c->raw.data, c->raw.size, &c->scratch, err);
    return rc ? rc : send_bytes(c, c->scratch.data, c->scratch.size, err);
}
