/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_TRANSPORT_H
#define WP_PROTO_TRANSPORT_H
/*
 * The talk over ZeroMQ: DEALER (client, a collector) to ROUTER (server, an aggregator). Every ZeroMQ message is one
 * frame. One thread an object. Nothing here blocks longer than the timeout it is given. tcp:// endpoints demand CURVE
 * keys at both ends unless plaintext was asked for; ipc:// ones never use them. docs/security.md says who may do what.
 */
#include "common/error.h"
#include "common/log.h"
#include "proto/frame.h"
#include "proto/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_client;

struct wp_client_options {
    const char *endpoint;
    const char *key_path;        /* this side's NAME.key; NULL: none */
    const char *server_key_path; /* the server's NAME.pub; NULL: none */
    bool is_insecure;            /* tcp:// without keys is meant so */
};

/* Connects (ZeroMQ connects in the background) and says Hello once it is connected. -EACCES: tcp:// without keys. */
int wp_client_open_with(struct wp_client **client, const struct wp_client_options *options,
    const struct wp_hello *hello, struct wp_error *err);
/* The same, without keys. */
int wp_client_open(struct wp_client **client, const char *endpoint, const struct wp_hello *hello, struct wp_error *err);
void wp_client_close(struct wp_client *client); /* gives unsent frames one second */
/* As close, and what was not yet sent is not: somebody else gets it. NULL is allowed for both. */
void wp_client_drop(struct wp_client *client);
/* Waits up to timeout_ms for what the server says and takes it in. 1: something came, 0: nothing, -ECONNREFUSED: the
 * server refused this session (err has its reason), other -errno. */
int wp_client_poll(struct wp_client *client, int timeout_ms, struct wp_error *err);
/* Can be read, at the latest, when something came; once, until the next poll. -1: not known. */
int wp_client_fd(const struct wp_client *client);
/* From now on the server's time probes are answered, by this clock: the one that the events are stamped with. */
void wp_client_answer_probes(struct wp_client *client, uint64_t (*clock_ns)(const void *context), const void *context);
bool wp_client_is_welcome(const struct wp_client *client);
/* The server took the keys; nothing was said yet before the next poll. */
bool wp_client_is_connected(const struct wp_client *client);
/* Why it is not welcome, as far as is known; "" else. It goes on trying. */
const char *wp_client_trouble(const struct wp_client *client);
const struct wp_welcome *wp_client_welcome(const struct wp_client *client);
/* How often it was welcomed: each time, sending goes on at the Welcome's resume_seq. */
uint64_t wp_client_welcomes(const struct wp_client *client);
/* When it shall record, as the aggregator said last; unsaid: as it likes. */
const struct wp_window *wp_client_window(const struct wp_client *client);
uint64_t wp_client_acked(const struct wp_client *client); /* the highest batch that is durable there */
uint64_t wp_client_taken(
    const struct wp_client *client); /* the highest batch that it has taken in since its last Welcome */
/* True when credit allows one more batch. */
bool wp_client_may_send(const struct wp_client *client, uint64_t seq);
/* `frame` is a whole BATCH frame from wp_frame_write. -EAGAIN when the socket takes no more now. */
int wp_client_send_batch(
    struct wp_client *client, uint64_t seq, const uint8_t *frame, size_t size, struct wp_error *err);
/* What the server says of names: `raw` is a NameQuestion or a NameAnswer, valid during the call. */
void wp_client_take_names(struct wp_client *client,
    void (*take)(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size), void *context);
/* One of the two, to a server that knows them. -EAGAIN: the socket takes no more now. */
int wp_client_send_names(
    struct wp_client *client, enum wp_frame_type type, const uint8_t *raw, size_t size, struct wp_error *err);
int wp_client_bye(struct wp_client *client, const struct wp_bye *bye, struct wp_error *err);

struct wp_server;

/* A peer of the server: a dense number given at its Hello, the same again when the same session reconnects. */
enum wp_server_kind {
    WP_SERVER_HELLO,
    WP_SERVER_BATCH,
    WP_SERVER_BYE,
    WP_SERVER_TIME,
    WP_SERVER_NAMES /* a NameQuestion or a NameAnswer */,
    WP_SERVER_SHARD /* another aggregator, proto/shard_link.h */
};

/* Where an aggregator that connected is answered, as long as that connection lives. */
struct wp_server_caller {
    uint8_t identity[17];
};

struct wp_server_message {
    enum wp_server_kind kind;
    uint32_t peer;
    const struct wp_hello *hello; /* HELLO; valid until the next poll */
    const uint8_t *batch; /* BATCH: raw protobuf bytes for wp_batch_decode; SHARD, NAMES: of the frame; valid until the
                             next poll */
    size_t batch_size;
    enum wp_frame_type type;        /* SHARD, NAMES: what it is */
    struct wp_server_caller caller; /* SHARD */
    struct wp_bye bye;              /* BYE */
    uint64_t times_ns[4]; /* TIME: probe sent (ours), received and answered (the peer's), answer received (ours) */
};

struct wp_server_options {
    const char *endpoint;
    const char *key_path;           /* this server's NAME.key; NULL: none */
    const char *allow_path;         /* the allowlist (proto/allowlist.h): who may connect; NULL: none */
    bool is_insecure;               /* tcp:// without keys is meant so */
    bool has_shards;                /* other aggregators may connect */
    const struct wp_logger *logger; /* borrowed */
};

/* Binds. -EADDRINUSE says which endpoint and what to do. ipc:// sockets get mode 0600. -EACCES: tcp:// without keys. */
int wp_server_open_with(struct wp_server **server, const struct wp_server_options *options, struct wp_error *err);
/* The same, without keys. */
int wp_server_open(struct wp_server **server, const char *endpoint, struct wp_error *err);
void wp_server_close(struct wp_server *server);
/* Reads the allowlist again, which polling also does within a second of a change. A bad one is logged, the old one
 * stays. */
void wp_server_reload(struct wp_server *server);
/* 1 and *message, 0 after timeout_ms. A bad frame is refused, counted (wp_server_refusal) and told to its peer. What a
 * session sends is only taken while its key may speak for its host; a session never moves to another host. */
int wp_server_poll(struct wp_server *server, int timeout_ms, struct wp_server_message *message, struct wp_error *err);
/* Answers are never waited for: -EAGAIN when the peer does not read its answers, -EHOSTUNREACH when it is away. Both
 * are made good at its next Hello. */
int wp_server_welcome(struct wp_server *server, uint32_t peer, const struct wp_welcome *welcome);
/* From now on each Welcome and each acknowledgement says when to record; unsaid: as the collectors like. */
void wp_server_set_window(struct wp_server *server, const struct wp_window *window);
/* All batches up to `seq` are durable, those up to `taken` (0: the same) have been taken in. */
int wp_server_acknowledge(struct wp_server *server, uint32_t peer, uint64_t seq, uint64_t taken);
int wp_server_ack(struct wp_server *server, uint32_t peer, uint64_t seq);
/* Asks for the peer's time; a live one answers with TIME. */
int wp_server_probe(struct wp_server *server, uint32_t peer);
/* Of names, to a collector that began to talk of them. -EAGAIN, -EHOSTUNREACH as above. */
int wp_server_names(struct wp_server *server, uint32_t peer, enum wp_frame_type type, const uint8_t *raw, size_t size);
/* Answers an aggregator. -EHOSTUNREACH as above; -EAGAIN: it does not read its answers, and may be told again. */
int wp_server_answer(struct wp_server *server, const struct wp_server_caller *caller, enum wp_frame_type type,
    const uint8_t *raw, size_t size);
/* The session is over: its client ends with this reason. */
int wp_server_refuse(struct wp_server *server, uint32_t peer, const char *reason);
/* Something was lost or damaged on the way: its client says Hello again and goes on where Welcome says. */
int wp_server_retry(struct wp_server *server, uint32_t peer, const char *reason);
/* Frames refused so far, by reason: index < wp_server_refusal_count. */
size_t wp_server_refusal_count(const struct wp_server *server);
const char *wp_server_refusal(const struct wp_server *server, size_t index, uint64_t *count);

#endif
