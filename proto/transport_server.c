/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/transport.h"

#include "common/intern.h"
#include "proto/frame.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define LINGER_MS 1000
#define MESSAGE_LIMIT ((int64_t)WP_FRAME_RAW_LIMIT + (1 << 20))
#define RECEIVE_LIMIT 1024        /* messages a peer, before ZeroMQ stops reading from it; credit is less */
#define PROBE_NS 10000000000u     /* an answer that took longer says too little */
#define REFUSALS 64u              /* reasons told apart */
#define REASON_BYTES 96u
#define IDENTITY_BYTES 255u

struct refusal {
    char reason[REASON_BYTES];
    uint64_t count;
};

struct wp_server {
    void *context, *socket;
    struct wp_frame_reader *reader;
    struct wp_frame_writer *writer;
    struct wp_intern *peers;      /* identity -> peer; 0 is none, identities are never empty */
    struct wp_buffer said_hello;  /* one byte a peer: 1 after its Hello */
    struct wp_hello hello;        /* of the last message */
    struct wp_buffer raw, frame;
    zmq_msg_t body;               /* of the last message: a plain payload lies in it */
    struct refusal refusals[REFUSALS];
    size_t refusal_count;
};

static int zmq_failed(struct wp_error *err, const char *what)
{
    int code = zmq_errno();
    return wp_error_set(err, code > 0 && code < 4096 ? -code : -EIO, "%s: %s", what, zmq_strerror(code));
}

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof(value));
}

/* Does anybody listen at an ipc endpoint? The file of a server that died is removed, any other file is left alone. */
static bool is_taken(const char *endpoint)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    if (strncmp(endpoint, "ipc://", 6) || strlen(endpoint + 6) >= sizeof(address.sun_path))
        return false;
    strcpy(address.sun_path, endpoint + 6);
    if (lstat(address.sun_path, &status))
        return false;
    int fd = S_ISSOCK(status.st_mode) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    bool is_stale = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return !is_stale || unlink(address.sun_path);
}

static int bind_endpoint(struct wp_server *s, const char *endpoint, struct wp_error *err)
{
    if (is_taken(endpoint))
        return wp_error_set(err, -EADDRINUSE, "'%s' is in use: another aggregator listens there; stop it or choose another", endpoint);
    mode_t before = umask(0177); /* an ipc file is for its owner alone */
    int rc = zmq_bind(s->socket, endpoint);
    int code = zmq_errno();
    umask(before);
    if (!rc)
        return 0;
    if (code == EADDRINUSE)
        return wp_error_set(err, -EADDRINUSE, "'%s' is in use: another program listens there; stop it or choose another", endpoint);
    return wp_error_set(err, -code, "cannot listen at '%s': %s (endpoints are ipc:///path or tcp://address:port)", endpoint,
        zmq_strerror(code));
}

int wp_server_open(struct wp_server **server, const char *endpoint, struct wp_error *err)
{
    struct wp_server *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    zmq_msg_init(&s->body);
    s->reader = wp_frame_reader_create();
    s->writer = wp_frame_writer_create(1);
    s->peers = wp_intern_create();
    s->context = zmq_ctx_new();
    s->socket = s->context ? zmq_socket(s->context, ZMQ_ROUTER) : NULL;
    int rc = 0;
    if (!s->reader || !s->writer || !s->peers || !s->socket)
        rc = wp_error_set(err, -ENOMEM, "out of memory for a socket");
    if (!rc) {
        int64_t limit = MESSAGE_LIMIT;
        set_int(s->socket, ZMQ_ROUTER_HANDOVER, 1);
        set_int(s->socket, ZMQ_LINGER, LINGER_MS);
        set_int(s->socket, ZMQ_RCVHWM, RECEIVE_LIMIT);
        set_int(s->socket, ZMQ_SNDHWM, 0); /* answers are few and small */
        set_int(s->socket, ZMQ_HEARTBEAT_IVL, 10000);
        set_int(s->socket, ZMQ_HEARTBEAT_TIMEOUT, 30000);
        zmq_setsockopt(s->socket, ZMQ_MAXMSGSIZE, &limit, sizeof(limit));
        rc = bind_endpoint(s, endpoint, err);
    }
    if (rc) {
        wp_server_close(s);
        return rc;
    }
    *server = s;
    return 0;
}

void wp_server_close(struct wp_server *s)
{
    if (!s)
        return;
    zmq_msg_close(&s->body);
    if (s->socket)
        zmq_close(s->socket);
    if (s->context)
        zmq_ctx_term(s->context);
    wp_frame_reader_destroy(s->reader);
    wp_frame_writer_destroy(s->writer);
    wp_intern_destroy(s->peers);
    wp_hello_fini(&s->hello);
    wp_buffer_fini(&s->said_hello);
    wp_buffer_fini(&s->raw);
    wp_buffer_fini(&s->frame);
    free(s);
}

/* --- answers --- */

static int send_frame(struct wp_server *s, uint32_t peer, enum wp_frame_type type)
{
    wp_buffer_clear(&s->frame);
    int rc = wp_frame_write(s->writer, type, s->raw.data, s->raw.size, &s->frame, NULL);
    if (rc)
        return rc;
    const char *identity = wp_intern_text(s->peers, peer);
    if (zmq_send(s->socket, identity, wp_intern_size(s->peers, peer), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
        zmq_send(s->socket, s->frame.data, s->frame.size, ZMQ_DONTWAIT) < 0)
        return -zmq_errno(); /* it is away: it says Hello when it is back */
    return 0;
}

int wp_server_welcome(struct wp_server *s, uint32_t peer, const struct wp_welcome *welcome)
{
    wp_buffer_clear(&s->raw);
    int rc = wp_welcome_encode(welcome, &s->raw, NULL);
    return rc ? rc : send_frame(s, peer, WP_FRAME_WELCOME);
}

int wp_server_ack(struct wp_server *s, uint32_t peer, uint64_t seq)
{
    Wakepath__Wire__Ack m = WAKEPATH__WIRE__ACK__INIT;
    m.seq = seq;
    wp_buffer_clear(&s->raw);
    if (wp_buffer_reserve(&s->raw, wakepath__wire__ack__get_packed_size(&m)))
        return -ENOMEM;
    s->raw.size = wakepath__wire__ack__pack(&m, s->raw.data);
    return send_frame(s, peer, WP_FRAME_ACK);
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int wp_server_probe(struct wp_server *s, uint32_t peer)
{
    Wakepath__Wire__TimeProbe m = WAKEPATH__WIRE__TIME_PROBE__INIT;
    m.sent_ns = now_ns();
    wp_buffer_clear(&s->raw);
    if (wp_buffer_reserve(&s->raw, wakepath__wire__time_probe__get_packed_size(&m)))
        return -ENOMEM;
    s->raw.size = wakepath__wire__time_probe__pack(&m, s->raw.data);
    return send_frame(s, peer, WP_FRAME_TIME_PROBE);
}

static int send_refused(struct wp_server *s, uint32_t peer, const char *reason, bool is_fatal)
{
    Wakepath__Wire__Refused m = WAKEPATH__WIRE__REFUSED__INIT;
    m.reason = (char *)reason;
    m.is_fatal = is_fatal;
    wp_buffer_clear(&s->raw);
    if (wp_buffer_reserve(&s->raw, wakepath__wire__refused__get_packed_size(&m)))
        return -ENOMEM;
    s->raw.size = wakepath__wire__refused__pack(&m, s->raw.data);
    return send_frame(s, peer, WP_FRAME_REFUSED);
}

static void count_refusal(struct wp_server *s, const char *reason)
{
    char cut[REASON_BYTES];
    snprintf(cut, sizeof(cut), "%s", reason);
    for (size_t i = 0; i < s->refusal_count; i++)
        if (!strcmp(s->refusals[i].reason, cut)) {
            s->refusals[i].count++;
            return;
        }
    if (s->refusal_count == REFUSALS) { /* reasons with numbers in them would never end: the last place takes the rest */
        snprintf(s->refusals[REFUSALS - 1].reason, REASON_BYTES, "other reasons");
        s->refusals[REFUSALS - 1].count++;
        return;
    }
    struct refusal *refusal = &s->refusals[s->refusal_count++];
    memcpy(refusal->reason, cut, sizeof(cut));
    refusal->count = 1;
}

int wp_server_refuse(struct wp_server *s, uint32_t peer, const char *reason)
{
    count_refusal(s, reason);
    return send_refused(s, peer, reason, true);
}

int wp_server_retry(struct wp_server *s, uint32_t peer, const char *reason)
{
    count_refusal(s, reason);
    return send_refused(s, peer, reason, false);
}

size_t wp_server_refusal_count(const struct wp_server *s)
{
    return s->refusal_count;
}

const char *wp_server_refusal(const struct wp_server *s, size_t index, uint64_t *count)
{
    *count = s->refusals[index].count;
    return s->refusals[index].reason;
}

/* --- what comes --- */

/* The parts of one message: 1 when there was one; more or fewer parts than two are dropped whole. */
static int receive(struct wp_server *s, zmq_msg_t *identity, bool *is_whole, struct wp_error *err)
{
    if (zmq_msg_recv(identity, s->socket, ZMQ_DONTWAIT) < 0)
        return zmq_errno() == EAGAIN || zmq_errno() == EINTR ? 0 : zmq_failed(err, "cannot receive");
    *is_whole = zmq_msg_more(identity) && zmq_msg_recv(&s->body, s->socket, ZMQ_DONTWAIT) >= 0 && !zmq_msg_more(&s->body);
    while (zmq_msg_more(&s->body) && zmq_msg_recv(&s->body, s->socket, ZMQ_DONTWAIT) >= 0)
        continue;
    return 1;
}

static uint32_t peer_of(struct wp_server *s, zmq_msg_t *identity)
{
    size_t size = zmq_msg_size(identity);
    uint32_t peer = size && size <= IDENTITY_BYTES ? wp_intern_id(s->peers, zmq_msg_data(identity), size) : UINT32_MAX;
    if (peer == UINT32_MAX)
        return 0;
    while (s->said_hello.size <= peer)
        if (wp_buffer_append(&s->said_hello, "", 1))
            return 0;
    return peer;
}

/* An answer to a probe of the last few seconds; an older one, or one of the future, says nothing. */
static int take_time(const struct wp_frame *frame, struct wp_server_message *message, struct wp_error *err)
{
    uint64_t now = now_ns();
    Wakepath__Wire__TimeReply *m = wakepath__wire__time_reply__unpack(NULL, frame->size, frame->payload);
    bool is_sane = m && m->probe_sent_ns <= now && now - m->probe_sent_ns < PROBE_NS && m->received_ns <= m->answered_ns &&
        m->answered_ns < UINT64_MAX / 4;
    message->kind = WP_SERVER_TIME;
    if (is_sane)
        memcpy(message->times_ns, (uint64_t[4]){m->probe_sent_ns, m->received_ns, m->answered_ns, now}, sizeof(message->times_ns));
    if (m)
        wakepath__wire__time_reply__free_unpacked(m, NULL);
    return is_sane ? 0 : wp_error_set(err, -EINVAL, "an answer to no probe of late");
}

/* 1: *message is filled. 0: refused. */
static int take_frame(struct wp_server *s, uint32_t peer, const struct wp_frame *frame, struct wp_server_message *message)
{
    struct wp_error why = {0};
    int rc = -EINVAL;
    *message = (struct wp_server_message){.peer = peer};
    if (frame->type == WP_FRAME_HELLO) {
        message->kind = WP_SERVER_HELLO;
        message->hello = &s->hello;
        wp_hello_fini(&s->hello);
        rc = wp_hello_decode(&s->hello, frame->payload, frame->size, &why);
        if (rc) { /* trying again would not help */
            wp_server_refuse(s, peer, why.text);
            return 0;
        }
        s->said_hello.data[peer] = 1;
        return 1;
    }
    if (!s->said_hello.data[peer]) {
        wp_error_set(&why, rc, "hello first");
    } else if (frame->type == WP_FRAME_BATCH) {
        message->kind = WP_SERVER_BATCH;
        message->batch = frame->payload;
        message->batch_size = frame->size;
        rc = 0;
    } else if (frame->type == WP_FRAME_BYE) {
        message->kind = WP_SERVER_BYE;
        rc = wp_bye_decode(&message->bye, frame->payload, frame->size, &why);
    } else if (frame->type == WP_FRAME_TIME_REPLY) {
        if (take_time(frame, message, &why)) {
            count_refusal(s, why.text);
            return 0;
        }
        rc = 0;
    } else {
        wp_error_set(&why, rc, "a frame that only an aggregator sends");
    }
    if (rc)
        wp_server_retry(s, peer, why.text);
    return !rc;
}

static int take_message(struct wp_server *s, uint32_t peer, bool is_whole, struct wp_server_message *message)
{
    struct wp_error why = {0};
    struct wp_frame frame;
    size_t size = zmq_msg_size(&s->body);
    if (!peer) {
        count_refusal(s, "a peer without a usable identity");
        return 0;
    }
    int rc = is_whole ? wp_frame_read(s->reader, zmq_msg_data(&s->body), size, &frame, &why)
                      : wp_error_set(&why, -EBADMSG, "a message that is not one frame");
    if (!rc && frame.consumed != size)
        rc = wp_error_set(&why, -EBADMSG, "a message that is more than one frame");
    if (!rc)
        return take_frame(s, peer, &frame, message);
    if (rc == -EPROTONOSUPPORT)
        wp_server_refuse(s, peer, why.text);
    else
        wp_server_retry(s, peer, why.text);
    return 0;
}

int wp_server_poll(struct wp_server *s, int timeout_ms, struct wp_server_message *message, struct wp_error *err)
{
    zmq_pollitem_t item = {.socket = s->socket, .events = ZMQ_POLLIN};
    int rc = zmq_poll(&item, 1, timeout_ms);
    if (rc <= 0)
        return rc == 0 || zmq_errno() == EINTR ? 0 : zmq_failed(err, "cannot wait");
    zmq_msg_t identity;
    bool is_whole = false;
    zmq_msg_init(&identity);
    zmq_msg_close(&s->body);
    zmq_msg_init(&s->body);
    rc = receive(s, &identity, &is_whole, err);
    if (rc == 1)
        rc = take_message(s, peer_of(s, &identity), is_whole, message);
    zmq_msg_close(&identity);
    return rc;
}
