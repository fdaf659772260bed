/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"
#include "proto/transport_server.h"

#include "proto/endpoint.h"
#include "proto/frame.h"
#include "proto/gate.h"
#include "proto/peers.h"
#include "proto/refusals.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define LINGER_MS 1000
#define MESSAGE_LIMIT ((int64_t)WP_FRAME_RAW_LIMIT + (1 << 20))
#define RECEIVE_LIMIT 16 /* messages a peer that wait here; then TCP holds it up. Each may have MESSAGE_LIMIT bytes */
#define SEND_LIMIT 64    /* answers a peer that does not read them; each is said again at its Hello */
#define HELLO_NS (uint64_t)500000000 /* of one peer: one in so long, */
#define HELLO_BURST 20u              /* and so many at once */
#define RELOAD_NS WP_NS_PER_S
#define LOG_NS WP_NS_PER_S
#define PROBE_NS (10 * WP_NS_PER_S) /* an answer that took longer says too little */

struct wp_server {
    void *context, *socket;
    struct wp_allowlist *allowlist; /* NULL: no keys */
    struct wp_gate *gate;
    const struct wp_logger *logger;
    struct wp_frame_reader *reader;
    struct wp_frame_writer *writer;
    struct wp_peers *peers;
    struct wp_refusals *refusals;
    bool has_shards;
    struct wp_hello hello; /* of the last message */
    struct wp_buffer raw, frame;
    zmq_msg_t identity, body; /* of the last message: a plain payload lies in the body */
    struct wp_window window;  /* when collectors shall record */
    uint64_t looked_ns;       /* at the allowlist */
    struct wp_log_limit strangers;
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

static void set_options(struct wp_server *s)
{
    int64_t limit = MESSAGE_LIMIT;
    set_int(s->socket, ZMQ_ROUTER_HANDOVER, 1);
    set_int(s->socket, ZMQ_ROUTER_MANDATORY, 1); /* an answer that cannot go is known not to have gone */
    set_int(s->socket, ZMQ_LINGER, LINGER_MS);
    set_int(s->socket, ZMQ_RCVHWM, RECEIVE_LIMIT);
    set_int(s->socket, ZMQ_SNDHWM, SEND_LIMIT);
    /* No ZeroMQ heartbeat here: with 4.3.4 its timer aborts the program when a peer leaves while more of its messages
     * wait than the limit (stream_engine_base.cpp, out_event asserts !_io_error). TCP finds the dead; clients send no
     * heartbeats either. */
    set_int(s->socket, ZMQ_TCP_KEEPALIVE, 1);
    set_int(s->socket, ZMQ_TCP_KEEPALIVE_IDLE, 30);
    set_int(s->socket, ZMQ_TCP_KEEPALIVE_INTVL, 10);
    set_int(s->socket, ZMQ_TCP_KEEPALIVE_CNT, 3);
    zmq_setsockopt(s->socket, ZMQ_MAXMSGSIZE, &limit, sizeof(limit));
}

/* CURVE and who may use it. Without it ZeroMQ lets in everybody who has the right server key, so both or none. */
static int open_gate(struct wp_server *s, const struct wp_server_options *options, struct wp_error *err)
{
    struct wp_key_pair pair;
    int rc = wp_allowlist_open(&s->allowlist, options->allow_path, err);
    if (!rc)
        rc = wp_key_pair_read(&pair, options->key_path, err);
    if (rc)
        return rc;
    set_int(s->socket, ZMQ_CURVE_SERVER, 1);
    if (zmq_setsockopt(s->socket, ZMQ_CURVE_SECRETKEY, pair.secret_key, WP_KEY_TEXT) ||
        zmq_setsockopt(s->socket, ZMQ_ZAP_DOMAIN, "wakepath", 8))
        rc = zmq_failed(err, "cannot use the key");
    wp_key_pair_forget(&pair);
    if (!rc)
        rc = wp_gate_open(
            &s->gate, &(struct wp_gate_options){s->context, s->socket, s->allowlist, s->refusals, s->logger}, err);
    if (!rc && !wp_allowlist_count(s->allowlist))
        wp_log(s->logger, WP_LOG_WARN, "the allowlist is empty: nobody may connect path=%s", options->allow_path);
    return rc;
}

static int listen_at(struct wp_server *s, const struct wp_server_options *options, struct wp_error *err)
{
    bool is_network;
    int rc = wp_endpoint_is_network(options->endpoint, &is_network, err);
    if (rc)
        return rc;
    if (is_network && options->key_path && options->allow_path)
        rc = open_gate(s, options, err);
    else if (is_network)
        rc = wp_endpoint_check_keys(
            options->endpoint, true, options->key_path || options->allow_path, options->is_insecure, err);
    if (!rc && is_network && !options->key_path)
        wp_log(s->logger, WP_LOG_WARN,
            "insecure: everybody who reaches this endpoint may send, and everybody on the way may read endpoint=%s",
            options->endpoint);
    return rc ? rc : wp_endpoint_bind(s->socket, options->endpoint, err);
}

int wp_server_open_with(struct wp_server **server, const struct wp_server_options *options, struct wp_error *err)
{
    struct wp_server *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    zmq_msg_init(&s->identity);
    zmq_msg_init(&s->body);
    s->logger = options->logger;
    s->has_shards = options->has_shards;
    s->reader = wp_frame_reader_create();
    s->writer = wp_frame_writer_create(1);
    s->peers = wp_peers_create();
    s->refusals = wp_refusals_create();
    s->context = zmq_ctx_new();
    s->socket = s->context ? zmq_socket(s->context, ZMQ_ROUTER) : NULL;
    int rc = 0;
    if (!s->reader || !s->writer || !s->peers || !s->refusals || !s->socket)
        rc = wp_error_set(err, -ENOMEM, "out of memory for a socket");
    if (!rc) {
        set_options(s);
        rc = listen_at(s, options, err);
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
    zmq_msg_close(&s->identity);
    zmq_msg_close(&s->body);
    if (s->gate) /* while the gate still takes events: one that nobody takes blocks ZeroMQ's thread */
        zmq_socket_monitor(s->socket, NULL, 0);
    if (s->socket)
        zmq_close(s->socket);
    if (s->gate)
        zmq_ctx_shutdown(s->context);
    wp_gate_close(s->gate);
    if (s->context)
        zmq_ctx_term(s->context);
    wp_allowlist_close(s->allowlist);
    wp_frame_reader_destroy(s->reader);
    wp_frame_writer_destroy(s->writer);
    wp_peers_destroy(s->peers);
    wp_refusals_destroy(s->refusals);
    wp_hello_fini(&s->hello);
    wp_buffer_fini(&s->raw);
    wp_buffer_fini(&s->frame);
    free(s);
}

static void look_at_allowlist(struct wp_server *s, bool is_forced)
{
    uint64_t now = wp_clock_ns();
    if (!s->allowlist || (!is_forced && now - s->looked_ns < RELOAD_NS))
        return;
    s->looked_ns = now;
    wp_allowlist_refresh(s->allowlist, is_forced, s->logger);
}

void wp_server_reload(struct wp_server *s)
{
    look_at_allowlist(s, true);
}

/* --- answers --- */

/* A signal does not part a message. */
static int send_part(struct wp_server *s, const void *bytes, size_t size, int flags)
{
    int rc;
    do
        rc = zmq_send(s->socket, bytes, size, flags | ZMQ_DONTWAIT);
    while (rc < 0 && zmq_errno() == EINTR);
    return rc;
}

/* `raw` to a ZeroMQ identity. */
static int send_to(struct wp_server *s, const void *identity, size_t size, enum wp_frame_type type)
{
    wp_buffer_clear(&s->frame);
    int rc = wp_frame_write(s->writer, type, s->raw.data, s->raw.size, &s->frame, NULL);
    if (rc)
        return rc;
    if (send_part(s, identity, size, ZMQ_SNDMORE) >= 0 && send_part(s, s->frame.data, s->frame.size, 0) >= 0)
        return 0;
    return -zmq_errno(); /* it is away, or stuck */
}

static int send_frame(struct wp_server *s, uint32_t number, enum wp_frame_type type)
{
    uint8_t identity[WP_IDENTITY_BYTES];
    const struct wp_peer *peer = wp_peers_numbered(s->peers, number);
    if (!peer)
        return -EHOSTUNREACH;
    wp_peer_identity(peer->session, identity);
    int rc = send_to(s, identity, sizeof(identity), type);
    if (rc == -EAGAIN) /* it says Hello when it is back */
        wp_refusals_add(s->refusals, "an answer to a peer that does not read its answers");
    return rc;
}

int wp_server_welcome(struct wp_server *s, uint32_t peer, const struct wp_welcome *welcome)
{
    struct wp_welcome said = *welcome;
    said.window = s->window;
    wp_buffer_clear(&s->raw);
    int rc = wp_welcome_encode(&said, &s->raw, NULL);
    return rc ? rc : send_frame(s, peer, WP_FRAME_WELCOME);
}

void wp_server_set_window(struct wp_server *s, const struct wp_window *window)
{
    s->window = *window;
}

int wp_server_acknowledge(struct wp_server *s, uint32_t peer, uint64_t seq, uint64_t taken)
{
    Wakepath__Wire__Ack m = WAKEPATH__WIRE__ACK__INIT;
    m.seq = seq;
    m.taken = taken;
    m.window_ns = s->window.length_ns;
    m.window_every_ns = s->window.every_ns;
    wp_buffer_clear(&s->raw);
    if (wp_buffer_reserve(&s->raw, wakepath__wire__ack__get_packed_size(&m)))
        return -ENOMEM;
    s->raw.size = wakepath__wire__ack__pack(&m, s->raw.data);
    return send_frame(s, peer, WP_FRAME_ACK);
}

int wp_server_probe(struct wp_server *s, uint32_t peer)
{
    Wakepath__Wire__TimeProbe m = WAKEPATH__WIRE__TIME_PROBE__INIT;
    m.sent_ns = wp_clock_ns();
    wp_buffer_clear(&s->raw);
    if (wp_buffer_reserve(&s->raw, wakepath__wire__time_probe__get_packed_size(&m)))
        return -ENOMEM;
    s->raw.size = wakepath__wire__time_probe__pack(&m, s->raw.data);
    return send_frame(s, peer, WP_FRAME_TIME_PROBE);
}

static int make_refused(struct wp_server *s, const char *reason, bool is_fatal)
{
    Wakepath__Wire__Refused m = WAKEPATH__WIRE__REFUSED__INIT;
    m.reason = (char *)reason;
    m.is_fatal = is_fatal;
    wp_buffer_clear(&s->raw);
    if (wp_buffer_reserve(&s->raw, wakepath__wire__refused__get_packed_size(&m)))
        return -ENOMEM;
    s->raw.size = wakepath__wire__refused__pack(&m, s->raw.data);
    return 0;
}

static int refuse(struct wp_server *s, uint32_t peer, const char *reason, bool is_fatal)
{
    wp_refusals_add(s->refusals, reason);
    int rc = make_refused(s, reason, is_fatal);
    return rc ? rc : send_frame(s, peer, WP_FRAME_REFUSED);
}

int wp_server_refuse(struct wp_server *s, uint32_t peer, const char *reason)
{
    return refuse(s, peer, reason, true);
}

int wp_server_retry(struct wp_server *s, uint32_t peer, const char *reason)
{
    return refuse(s, peer, reason, false);
}

/* Refuses the last message, whoever sent it: 0, no message. */
static int refuse_last(struct wp_server *s, const char *reason, bool is_fatal)
{
    wp_refusals_add(s->refusals, reason);
    if (!make_refused(s, reason, is_fatal))
        send_to(s, zmq_msg_data(&s->identity), zmq_msg_size(&s->identity), WP_FRAME_REFUSED);
    return 0;
}

size_t wp_server_refusal_count(const struct wp_server *s)
{
    return wp_refusals_count(s->refusals);
}

const char *wp_server_refusal(const struct wp_server *s, size_t index, uint64_t *count)
{
    return wp_refusals_get(s->refusals, index, count);
}

/* --- what comes --- */

static int receive_part(struct wp_server *s, zmq_msg_t *part)
{
    int rc;
    do
        rc = zmq_msg_recv(part, s->socket, ZMQ_DONTWAIT);
    while (rc < 0 && zmq_errno() == EINTR);
    return rc;
}

/* The parts of one message: 1 when there was one; more or fewer parts than two are dropped whole. */
static int receive(struct wp_server *s, bool *is_whole, struct wp_error *err)
{
    if (receive_part(s, &s->identity) < 0)
        return zmq_errno() == EAGAIN ? 0 : zmq_failed(err, "cannot receive");
    *is_whole = zmq_msg_more(&s->identity) && receive_part(s, &s->body) >= 0 && !zmq_msg_more(&s->body);
    while (zmq_msg_more(&s->body) && receive_part(s, &s->body) >= 0)
        continue;
    return 1;
}

/* May the sender of the last message speak for a host (NULL: as a shard) now? Keys can leave the list while they are
 * connected. */
static bool speaks_for(struct wp_server *s, const uint8_t *host, const char **why, bool *is_fatal)
{
    struct wp_public_key key;
    uint8_t bytes[WP_KEY_BYTES];
    if (!s->allowlist)
        return true;
    const char *user = zmq_msg_gets(&s->body, "User-Id");
    *is_fatal = false; /* it may be listed again */
    *why = "a key that is no longer listed";
    if (!user || strlen(user) != WP_KEY_TEXT - 1 || !zmq_z85_decode(bytes, user) ||
        !wp_allowlist_find(s->allowlist, bytes, &key))
        return false;
    if (host ? key.kind == WP_KEY_OF_ANY || (key.kind == WP_KEY_OF_HOST && !memcmp(key.host, host, 16))
             : key.kind == WP_KEY_OF_SHARD)
        return true;
    *is_fatal = true;
    *why = host ? "a key that may not speak for this host" : "a key that is not a shard's";
    return false;
}

static void log_stranger(struct wp_server *s, const uint8_t host[16], const char *why)
{
    char text[WP_HOST_TEXT];
    if (!wp_log_allowed(s->logger, &s->strangers, wp_clock_ns(), LOG_NS))
        return;
    const char *address = zmq_msg_gets(&s->body, "Peer-Address"), *user = zmq_msg_gets(&s->body, "User-Id");
    wp_host_format(host, text);
    wp_log(s->logger, WP_LOG_WARN, "refused address=%s key=%s host=%s reason=\"%s\"", address ? address : "-",
        user ? user : "-", text, why);
}

/* A Hello of the identity that is made of its session, from somebody who may speak for its host. Another identity may
 * be a flipped bit in ZeroMQ's own words: the next connection is better. */
static int admit(struct wp_server *s, struct wp_peer **peer)
{
    const char *why;
    bool is_fatal;
    uint64_t now = wp_clock_ns();
    uint8_t identity[WP_IDENTITY_BYTES];
    size_t size = zmq_msg_size(&s->identity);
    wp_peer_identity(s->hello.session, identity);
    if (size != sizeof(identity) || memcmp(identity, zmq_msg_data(&s->identity), size))
        return refuse_last(s, "a peer whose identity is not its session's", false);
    if (!speaks_for(s, s->hello.host, &why, &is_fatal)) {
        log_stranger(s, s->hello.host, why);
        return refuse_last(s, why, is_fatal);
    }
    *peer = wp_peers_find(s->peers, identity, sizeof(identity));
    if (*peer && memcmp((*peer)->host, s->hello.host, 16))
        return refuse_last(s, "a session of another host", true);
    int rc = *peer ? 0 : wp_peers_add(s->peers, s->hello.session, s->hello.host, now, peer);
    if (rc) { /* no answer: it asks again in a while */
        wp_refusals_add(s->refusals, rc == -EBUSY ? "too many new sessions" : "out of memory for a session");
        return 0;
    }
    if (!wp_rate_allow(&(*peer)->hellos, now, HELLO_NS, HELLO_BURST)) {
        wp_refusals_add(s->refusals, "a flood of Hello");
        return 0;
    }
    (*peer)->heard_ns = now;
    return 1;
}

static int take_hello(struct wp_server *s, const struct wp_frame *frame, struct wp_server_message *message)
{
    struct wp_error why = {0};
    struct wp_peer *peer = NULL;
    wp_hello_fini(&s->hello);
    if (wp_hello_decode(&s->hello, frame->payload, frame->size, &why)) /* trying again would not help */
        return refuse_last(s, why.text, true);
    if (!admit(s, &peer))
        return 0;
    *message = (struct wp_server_message){.kind = WP_SERVER_HELLO, .peer = peer->number, .hello = &s->hello};
    return 1;
}

/* An answer to a probe of the last few seconds; an older one, or one of the future, says nothing. */
static int take_time(const struct wp_frame *frame, struct wp_server_message *message, struct wp_error *err)
{
    uint64_t now = wp_clock_ns();
    Wakepath__Wire__TimeReply *m = wakepath__wire__time_reply__unpack(NULL, frame->size, frame->payload);
    bool is_sane = m && m->probe_sent_ns <= now && now - m->probe_sent_ns < PROBE_NS &&
        m->received_ns <= m->answered_ns && m->answered_ns < UINT64_MAX / 4;
    message->kind = WP_SERVER_TIME;
    if (is_sane)
        memcpy(message->times_ns, (uint64_t[4]){m->probe_sent_ns, m->received_ns, m->answered_ns, now},
            sizeof(message->times_ns));
    if (m)
        wakepath__wire__time_reply__free_unpacked(m, NULL);
    return is_sane ? 0 : wp_error_set(err, -EINVAL, "an answer to no recent probe");
}

int wp_server_answer(struct wp_server *s, const struct wp_server_caller *caller, enum wp_frame_type type,
    const uint8_t *raw, size_t size)
{
    wp_buffer_clear(&s->raw);
    if (wp_buffer_append(&s->raw, raw, size))
        return -ENOMEM;
    return send_to(s, caller->identity, sizeof(caller->identity), type);
}

int wp_server_names(struct wp_server *s, uint32_t peer, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    wp_buffer_clear(&s->raw);
    if (wp_buffer_append(&s->raw, raw, size))
        return -ENOMEM;
    return send_frame(s, peer, type);
}

/* A shard asks for the time; as a collector it is answered at once. */
static int tell_time(struct wp_server *s, const struct wp_frame *frame, const struct wp_server_caller *caller)
{
    Wakepath__Wire__TimeProbe *probe = wakepath__wire__time_probe__unpack(NULL, frame->size, frame->payload);
    Wakepath__Wire__TimeReply m = WAKEPATH__WIRE__TIME_REPLY__INIT;
    if (!probe)
        return refuse_last(s, "a probe that cannot be read", false);
    m.probe_sent_ns = probe->sent_ns;
    m.received_ns = m.answered_ns = wp_clock_ns();
    wakepath__wire__time_probe__free_unpacked(probe, NULL);
    wp_buffer_clear(&s->raw);
    if (wp_buffer_reserve(&s->raw, wakepath__wire__time_reply__get_packed_size(&m)))
        return 0;
    s->raw.size = wakepath__wire__time_reply__pack(&m, s->raw.data);
    send_to(s, caller->identity, sizeof(caller->identity), WP_FRAME_TIME_REPLY);
    return 0;
}

/* Another aggregator: who it is its own messages say. */
static int take_shard(struct wp_server *s, const struct wp_frame *frame, struct wp_server_message *message)
{
    const char *why;
    bool is_fatal;
    *message = (struct wp_server_message){
        .kind = WP_SERVER_SHARD, .type = frame->type, .batch = frame->payload, .batch_size = frame->size};
    memcpy(message->caller.identity, zmq_msg_data(&s->identity), sizeof(message->caller.identity));
    if (!s->has_shards)
        return refuse_last(s, "a shard, and this aggregator has no --peer", false);
    if (!speaks_for(s, NULL, &why, &is_fatal))
        return refuse_last(s, why, is_fatal);
    return frame->type == WP_FRAME_TIME_PROBE ? tell_time(s, frame, &message->caller) : 1;
}

/* Collectors' identities begin with W. */
static bool is_shard(struct wp_server *s)
{
    return zmq_msg_size(&s->identity) == sizeof(struct wp_server_caller) &&
        *(const char *)zmq_msg_data(&s->identity) == 'P';
}

/* 1: *message is filled. 0: refused. */
static int take_frame(struct wp_server *s, const struct wp_frame *frame, struct wp_server_message *message)
{
    struct wp_error why = {0};
    const char *reason;
    bool is_fatal;
    if (is_shard(s))
        return take_shard(s, frame, message);
    if (frame->type == WP_FRAME_HELLO)
        return take_hello(s, frame, message);
    struct wp_peer *peer = wp_peers_find(s->peers, zmq_msg_data(&s->identity), zmq_msg_size(&s->identity));
    if (!peer)
        return refuse_last(s, "hello first", false);
    if (!speaks_for(s, peer->host, &reason, &is_fatal)) {
        log_stranger(s, peer->host, reason);
        return refuse_last(s, reason, is_fatal);
    }
    *message = (struct wp_server_message){.peer = peer->number};
    peer->heard_ns = wp_clock_ns();
    if (frame->type == WP_FRAME_BATCH) {
        message->kind = WP_SERVER_BATCH;
        message->batch = frame->payload;
        message->batch_size = frame->size;
        return 1;
    }
    if (frame->type == WP_FRAME_TIME_REPLY) {
        if (!take_time(frame, message, &why))
            return 1;
        wp_refusals_add(s->refusals, why.text); /* nothing is lost by it */
        return 0;
    }
    if (frame->type == WP_FRAME_NAME_QUESTION || frame->type == WP_FRAME_NAME_ANSWER) {
        message->kind = WP_SERVER_NAMES;
        message->type = frame->type;
        message->batch = frame->payload;
        message->batch_size = frame->size;
        return 1;
    }
    message->kind = WP_SERVER_BYE;
    if (frame->type != WP_FRAME_BYE)
        return refuse_last(s, "a frame that only an aggregator sends", false);
    return wp_bye_decode(&message->bye, frame->payload, frame->size, &why) ? refuse_last(s, why.text, false) : 1;
}

static int take_message(struct wp_server *s, bool is_whole, struct wp_server_message *message)
{
    struct wp_error why = {0};
    struct wp_frame frame;
    size_t size = zmq_msg_size(&s->body);
    int rc = is_whole ? wp_frame_read(s->reader, zmq_msg_data(&s->body), size, &frame, &why)
                      : wp_error_set(&why, -EBADMSG, "a message that is not one frame");
    if (!rc && frame.consumed != size)
        rc = wp_error_set(&why, -EBADMSG, "a message that is more than one frame");
    /* Another version is refused for good, unless it is a damaged frame of one that has been understood before. */
    bool is_known = rc && wp_peers_find(s->peers, zmq_msg_data(&s->identity), zmq_msg_size(&s->identity));
    return rc ? refuse_last(s, why.text, rc == -EPROTONOSUPPORT && !is_known) : take_frame(s, &frame, message);
}

int wp_server_poll(struct wp_server *s, int timeout_ms, struct wp_server_message *message, struct wp_error *err)
{
    zmq_pollitem_t item = {.socket = s->socket, .events = ZMQ_POLLIN};
    look_at_allowlist(s, false);
    int rc = zmq_poll(&item, 1, timeout_ms);
    if (rc <= 0)
        return rc == 0 || zmq_errno() == EINTR ? 0 : zmq_failed(err, "cannot wait");
    bool is_whole = false;
    rc = receive(s, &is_whole, err);
    if (rc == 1)
        rc = take_message(s, is_whole, message);
    zmq_msg_close(&s->identity); /* the body stays: a plain payload lies in it */
    zmq_msg_init(&s->identity);
    return rc;
}
