/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/shard_link.h"

#include "proto/curve_keys.h"
#include "proto/endpoint.h"
#include "proto/shard_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zmq.h>

#define SEND_LIMIT 64
#define IDENTITY_BYTES 17

struct wp_shard_link {
    void *context, *socket;
    char *endpoint, *key_path, *peer_key_path;
    bool is_insecure;
    struct wp_frame_reader *reader;
    struct wp_frame_writer *writer;
    struct wp_buffer frame;
    zmq_msg_t message; /* the last one: a plain payload lies in it */
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

static int use_keys(struct wp_shard_link *link, struct wp_error *err)
{
    struct wp_key_pair pair;
    struct wp_public_key peer;
    int rc = wp_public_key_read(&peer, link->peer_key_path, err);
    if (!rc)
        rc = wp_key_pair_read(&pair, link->key_path, err);
    if (rc)
        return rc;
    if (zmq_setsockopt(link->socket, ZMQ_CURVE_SERVERKEY, peer.text, WP_KEY_TEXT) ||
        zmq_setsockopt(link->socket, ZMQ_CURVE_PUBLICKEY, pair.public_key, WP_KEY_TEXT) ||
        zmq_setsockopt(link->socket, ZMQ_CURVE_SECRETKEY, pair.secret_key, WP_KEY_TEXT))
        rc = zmq_failed(err, "cannot use the keys");
    wp_key_pair_forget(&pair);
    return rc;
}

static int secure(struct wp_shard_link *link, struct wp_error *err)
{
    bool is_network;
    int rc = wp_endpoint_is_network(link->endpoint, &is_network, err);
    if (rc || !is_network)
        return rc;
    if (link->key_path && link->peer_key_path)
        return use_keys(link, err);
    if (link->peer_key_path || !link->is_insecure)
        return wp_error_set(err, -EACCES,
            "'%s' would send plaintext to whoever answers: give --key and the peer's public key "
            "(--peer ENDPOINT=FILE), or --insecure if that is meant",
            link->endpoint);
    return 0;
}

static int connect_to(struct wp_shard_link *link, struct wp_error *err)
{
    int64_t limit = 2 * (int64_t)WP_SHARD_MESSAGE_BYTES;
    uint8_t identity[IDENTITY_BYTES] = {'P'};
    if (getrandom(identity + 1, sizeof(identity) - 1, 0) != sizeof(identity) - 1)
        return wp_error_errno(err, -errno, "cannot make an identity");
    link->socket = zmq_socket(link->context, ZMQ_DEALER);
    if (!link->socket)
        return zmq_failed(err, "cannot make a socket");
    zmq_setsockopt(link->socket, ZMQ_ROUTING_ID, identity, sizeof(identity));
    set_int(link->socket, ZMQ_LINGER, 200);
    set_int(link->socket, ZMQ_SNDHWM, SEND_LIMIT);
    set_int(link->socket, ZMQ_RCVHWM, SEND_LIMIT);
    set_int(
        link->socket, ZMQ_IMMEDIATE, 1); /* nothing is kept for a peer that is away: it would be old when it comes */
    set_int(link->socket, ZMQ_RECONNECT_IVL, 100);
    set_int(link->socket, ZMQ_RECONNECT_IVL_MAX, 2000);
    zmq_setsockopt(link->socket, ZMQ_MAXMSGSIZE, &limit, sizeof(limit));
    int rc = secure(link, err);
    if (!rc && zmq_connect(link->socket, link->endpoint))
        rc = zmq_failed(err, "cannot connect to a peer (endpoints are ipc:///path or tcp://address:port)");
    return rc;
}

static void disconnect(struct wp_shard_link *link)
{
    if (link->socket)
        zmq_close(link->socket);
    link->socket = NULL;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

int wp_shard_link_open(struct wp_shard_link **out, const struct wp_shard_link_options *options, struct wp_error *err)
{
    struct wp_shard_link *link = calloc(1, sizeof(*link));
    if (!link)
        return wp_error_set(err, -ENOMEM, "out of memory");
    zmq_msg_init(&link->message);
    link->endpoint = copy(options->endpoint);
    link->key_path = copy(options->key_path);
    link->peer_key_path = copy(options->peer_key_path);
    link->is_insecure = options->is_insecure;
    link->reader = wp_frame_reader_create();
    link->writer = wp_frame_writer_create(1);
    link->context = zmq_ctx_new();
    int rc = link->reader && link->writer && link->context && link->endpoint
        ? connect_to(link, err)
        : wp_error_set(err, -ENOMEM, "out of memory for a socket");
    if (rc) {
        wp_shard_link_close(link);
        return rc;
    }
    *out = link;
    return 0;
}

void wp_shard_link_close(struct wp_shard_link *link)
{
    if (!link)
        return;
    disconnect(link);
    zmq_msg_close(&link->message);
    if (link->context)
        zmq_ctx_term(link->context);
    wp_frame_reader_destroy(link->reader);
    wp_frame_writer_destroy(link->writer);
    wp_buffer_fini(&link->frame);
    free(link->endpoint);
    free(link->key_path);
    free(link->peer_key_path);
    free(link);
}

int wp_shard_link_renew(struct wp_shard_link *link, struct wp_error *err)
{
    disconnect(link);
    return connect_to(link, err);
}

const char *wp_shard_link_endpoint(const struct wp_shard_link *link)
{
    return link->endpoint;
}

int wp_shard_link_send(struct wp_shard_link *link, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    wp_buffer_clear(&link->frame);
    int rc = wp_frame_write(link->writer, type, raw, size, &link->frame, NULL);
    if (rc || !link->socket)
        return rc ? rc : -EAGAIN;
    return zmq_send(link->socket, link->frame.data, link->frame.size, ZMQ_DONTWAIT) < 0 ? -EAGAIN : 0;
}

int wp_shard_link_receive(struct wp_shard_link *link, struct wp_frame *frame)
{
    for (;;) {
        zmq_msg_close(&link->message);
        zmq_msg_init(&link->message);
        if (!link->socket || zmq_msg_recv(&link->message, link->socket, ZMQ_DONTWAIT) < 0)
            return 0;
        if (!wp_frame_read(link->reader, zmq_msg_data(&link->message), zmq_msg_size(&link->message), frame, NULL))
            return 1;
    }
}
