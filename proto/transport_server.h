/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_TRANSPORT_SERVER_H
#define WP_PROTO_TRANSPORT_SERVER_H
/*
 * The aggregator's end of the talk over ZeroMQ: DEALER (client, a collector) to ROUTER (server, an aggregator). Every
 * ZeroMQ message is one frame. One thread an object. Nothing here blocks longer than the timeout it is given. tcp://
 * endpoints demand CURVE keys at both ends unless plaintext was asked for; ipc:// ones never use them. docs/security.md
 * says who may do what.
 */
#include "common/error.h"
#include "common/log.h"
#include "proto/frame.h"
#include "proto/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* What wp_server_poll gives; the kind says which fields are set. */
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

/* Where the server listens, and to whom. */
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
/* Ends the thread of its gate, too; answers that were not sent yet get one second. NULL is allowed. */
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
/* Asks for the peer's time; a live one answers with TIME. */
int wp_server_probe(struct wp_server *server, uint32_t peer);
/* Of names, to a collector that began to talk of them. -EAGAIN, -EHOSTUNREACH as above. */
int wp_server_names(struct wp_server *server, uint32_t peer, enum wp_frame_type type, const uint8_t *raw, size_t size);
/* Answers an aggregator. -EHOSTUNREACH as above; -EAGAIN: it does not read its answers, and may be sent them again. */
int wp_server_answer(struct wp_server *server, const struct wp_server_caller *caller, enum wp_frame_type type,
    const uint8_t *raw, size_t size);
/* The session is over: its client ends with this reason. */
int wp_server_refuse(struct wp_server *server, uint32_t peer, const char *reason);
/* Something was lost or damaged on the way: its client says Hello again and goes on where Welcome says. */
int wp_server_retry(struct wp_server *server, uint32_t peer, const char *reason);
/* Frames refused so far, by reason: index < wp_server_refusal_count. */
size_t wp_server_refusal_count(const struct wp_server *server);
/* The reason, valid until close; *count: how often. */
const char *wp_server_refusal(const struct wp_server *server, size_t index, uint64_t *count);

#endif
