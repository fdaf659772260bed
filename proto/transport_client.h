/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_TRANSPORT_CLIENT_H
#define WP_PROTO_TRANSPORT_CLIENT_H
/*
 * The collector's end of the talk over ZeroMQ: DEALER (client, a collector) to ROUTER (server, an aggregator). Every
 * ZeroMQ message is one frame. One thread an object. Nothing here blocks longer than the timeout it is given. tcp://
 * endpoints demand CURVE keys at both ends unless plaintext was asked for; ipc:// ones never use them. docs/security.md
 * says who may do what.
 */
#include "common/error.h"
#include "proto/frame.h"
#include "proto/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_client;

/* Whom to connect to, and by which keys. */
struct wp_client_options {
    const char *endpoint;
    const char *key_path;        /* this side's NAME.key; NULL: none */
    const char *server_key_path; /* the server's NAME.pub; NULL: none */
    bool is_insecure;            /* tcp:// without keys is meant so */
};

/* Connects (ZeroMQ connects in the background) and says Hello once it is connected. -EACCES: tcp:// without keys. */
int wp_client_open_with(struct wp_client **client, const struct wp_client_options *options,
    const struct wp_hello *hello, struct wp_error *err);
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
/* Batches may be sent: a Welcome came, and since then neither the connection broke nor a frame was lost. */
bool wp_client_is_welcome(const struct wp_client *client);
/* The server took the keys; nothing was said yet before the next poll. */
bool wp_client_is_connected(const struct wp_client *client);
/* Why it is not welcome, as far as is known; "" else. It goes on trying. */
const char *wp_client_trouble(const struct wp_client *client);
/* The last Welcome, zeros before the first; wp_client_poll overwrites it. */
const struct wp_welcome *wp_client_welcome(const struct wp_client *client);
/* How often it was welcomed: each time, sending goes on at the Welcome's resume_seq. */
uint64_t wp_client_welcomes(const struct wp_client *client);
/* When it shall record, as the aggregator said last; unsaid: as it likes. */
const struct wp_window *wp_client_window(const struct wp_client *client);
uint64_t wp_client_acked(const struct wp_client *client); /* the highest batch that is durable there */
/* The highest batch that it has taken in since its last Welcome; it need not be durable there yet. */
uint64_t wp_client_taken(const struct wp_client *client);
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
/* Sends Bye and waits for nothing. -EAGAIN when the socket takes no more now; then `err` is not set. */
int wp_client_bye(struct wp_client *client, const struct wp_bye *bye, struct wp_error *err);

#endif
