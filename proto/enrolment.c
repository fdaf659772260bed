/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/enrolment.h"

#include "proto/curve_keys.h"
#include "proto/enrolment_token.h"
#include "proto/enrolment_words.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <zmq.h>

#define ANSWER_BYTES 512u

static int zmq_failed(struct wp_error *err, const char *what)
{
    return wp_error_set(err, -EIO, "%s: %s", what, zmq_strerror(zmq_errno()));
}

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof(value));
}

static int use_keys(void *socket, const struct wp_enrolment *e, struct wp_error *err)
{
    struct wp_key_pair pair;
    struct wp_public_key server;
    int rc = wp_public_key_read(&server, e->server_key_path, err);
    if (!rc)
        rc = wp_key_pair_read(&pair, e->key_path, err);
    if (rc)
        return rc;
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server.text, WP_KEY_TEXT) ||
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair.public_key, WP_KEY_TEXT) ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair.secret_key, WP_KEY_TEXT))
        rc = zmq_failed(err, "cannot use the keys");
    wp_key_pair_forget(&pair);
    return rc;
}

static int send_request(void *socket, const struct wp_enrolment *e, struct wp_error *err)
{
    char token[WP_TOKEN_ROOM];
    uint8_t request[WP_ENROLMENT_REQUEST];
    int rc = wp_token_read(e->token_path, token, err);
    if (rc)
        return rc;
    size_t size = strlen(token);
    memcpy(request, WP_ENROLMENT_WORD, WP_ENROLMENT_WORD_BYTES);
    memcpy(request + WP_ENROLMENT_WORD_BYTES, e->host, 16);
    memcpy(request + WP_ENROLMENT_HEAD, token, size);
    if (zmq_send(socket, request, WP_ENROLMENT_HEAD + size, ZMQ_DONTWAIT) < 0)
        rc = zmq_failed(err, "cannot send");
    explicit_bzero(token, sizeof(token));
    explicit_bzero(request, sizeof(request));
    return rc;
}

static int hear(void *socket, const struct wp_enrolment *e, struct wp_error *err)
{
    char answer[ANSWER_BYTES];
    int size = zmq_recv(socket, answer, sizeof(answer) - 1, 0);
    if (size < 0 && (zmq_errno() == EAGAIN || zmq_errno() == EINTR))
        return wp_error_set(err, -ETIMEDOUT, "no server with the given key answers at %s", e->endpoint);
    if (size < 0)
        return zmq_failed(err, "cannot receive");
    answer[(size_t)size < sizeof(answer) ? (size_t)size : sizeof(answer) - 1] = 0;
    for (char *at = answer; *at; at++) /* it goes to terminals */
        *at = isprint((unsigned char)*at) ? *at : '?';
    return *answer == '+' ? 0 : wp_error_set(err, -EACCES, "%s refuses: %s", e->endpoint, *answer ? answer + 1 : "");
}

int wp_enrolment_ask(const struct wp_enrolment *e, struct wp_error *err)
{
    void *context = zmq_ctx_new(), *socket = context ? zmq_socket(context, ZMQ_DEALER) : NULL;
    int rc = socket ? use_keys(socket, e, err) : wp_error_set(err, -ENOMEM, "out of memory for a socket");
    if (!rc) {
        set_int(socket, ZMQ_LINGER, 0);
        set_int(socket, ZMQ_RCVTIMEO, e->timeout_ms);
        if (zmq_connect(socket, e->endpoint))
            rc = wp_error_set(err, -EINVAL, "cannot connect to '%s': %s", e->endpoint, zmq_strerror(zmq_errno()));
    }
    if (!rc)
        rc = send_request(socket, e, err);
    if (!rc)
        rc = hear(socket, e, err);
    if (socket)
        zmq_close(socket);
    if (context)
        zmq_ctx_term(context);
    return rc;
}
