/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/enrolment_desk.h"

#include "common/clock.h"
#include "common/path.h"
#include "proto/allowlist.h"
#include "proto/endpoint.h"
#include "proto/enrolment_token.h"
#include "proto/enrolment_words.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#define ZAP_ENDPOINT "inproc://zeromq.zap.01"
#define ZAP_PARTS 7
#define PART_BYTES 256u
#define HOSTS 4096u        /* that the list may have: who has the token can invent hosts */
#define MESSAGE_BYTES 1024 /* the handshake has some of 300 */
#define WAITING 64         /* messages of one connection */
#define FILE_BYTES 4096u
#define LOG_NS (uint64_t)100000000

struct wp_enrolment_desk {
    struct wp_enrolment_desk_options options;
    void *context, *socket, *zap;
    struct wp_allowlist *list;
    struct wp_log_limit limit;
};

/* One message, its parts side by side; longer ones are cut, which makes them wrong. */
struct parts {
    uint8_t bytes[ZAP_PARTS][PART_BYTES];
    size_t sizes[ZAP_PARTS];
    int count;
};

/* Who asks, and whether it may. */
struct asker {
    char key[WP_KEY_TEXT], host[WP_HOST_TEXT];
    uint8_t key_bytes[WP_KEY_BYTES], host_bytes[16];
    const char *token;
    size_t token_size;
    bool is_known;
};

static int zmq_failed(struct wp_error *err, const char *what)
{
    return wp_error_set(err, -EIO, "%s: %s", what, zmq_strerror(zmq_errno()));
}

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof(value));
}

static bool receive(void *socket, struct parts *p, char user[WP_KEY_TEXT])
{
    zmq_msg_t part;
    int more = 1;
    memset(p, 0, sizeof(*p));
    zmq_msg_init(&part);
    while (more && zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) >= 0) {
        size_t size = zmq_msg_size(&part);
        if (p->count < ZAP_PARTS && size < PART_BYTES) {
            memcpy(p->bytes[p->count], zmq_msg_data(&part), size);
            p->sizes[p->count] = size;
        }
        p->count++;
        more = zmq_msg_more(&part);
    }
    const char *said = user && p->count ? zmq_msg_gets(&part, "User-Id") : NULL;
    if (user)
        snprintf(user, WP_KEY_TEXT, "%s", said ? said : "");
    zmq_msg_close(&part);
    return p->count > 0;
}

/* Everybody with a key may ask; the key is then the User-Id of what it asks. */
static void let_in(struct wp_enrolment_desk *d)
{
    struct parts p;
    char key[WP_KEY_TEXT] = "";
    if (!receive(d->zap, &p, NULL))
        return;
    bool has_key = p.count == ZAP_PARTS && p.sizes[6] == WP_KEY_BYTES && zmq_z85_encode(key, p.bytes[6], WP_KEY_BYTES);
    zmq_send(d->zap, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(d->zap, p.bytes[1], p.sizes[1], ZMQ_SNDMORE);
    zmq_send(d->zap, has_key ? "200" : "400", 3, ZMQ_SNDMORE);
    zmq_send(d->zap, "", 0, ZMQ_SNDMORE);
    zmq_send(d->zap, key, strlen(key), ZMQ_SNDMORE);
    zmq_send(d->zap, "", 0, 0);
}

/* --- judging --- */

/* In a time that says nothing of the token but its length. */
static int match(void *context, const char *token)
{
    struct asker *a = context;
    size_t size = strlen(token);
    uint8_t differs = size != a->token_size;
    for (size_t i = 0; i < size && i < a->token_size; i++)
        differs = (uint8_t)(differs | (token[i] ^ a->token[i]));
    a->is_known |= !differs;
    return 0;
}

/* What HOST.pub says: 1: this key for this host; 0: there is none; -EEXIST: something else, such as another key, or
 * none any more. */
static int look_at_file(const char *path, const struct asker *a, struct wp_error *err)
{
    struct wp_buffer text = {0};
    int found = -EEXIST, rc = wp_file_read(path, FILE_BYTES, &text, err);
    for (size_t at = 0; !rc && at < text.size;) {
        struct wp_public_key key;
        const char *line = (const char *)text.data + at, *end = memchr(line, '\n', text.size - at);
        size_t size = end ? (size_t)(end - line) : text.size - at;
        if (wp_public_key_parse(&key, line, size, err) > 0 && key.kind == WP_KEY_OF_HOST &&
            !memcmp(key.host, a->host_bytes, 16) && !memcmp(key.bytes, a->key_bytes, WP_KEY_BYTES))
            found = 1;
        at += size + 1;
    }
    wp_buffer_fini(&text);
    return rc == -ENOENT ? 0 : rc ? rc : found;
}

static int list_it(struct wp_enrolment_desk *d, const char *path, const struct asker *a, struct wp_error *err)
{
    char line[256];
    int size = snprintf(line, sizeof(line), "%s %s enrolled\n", a->key, a->host);
    int rc = wp_file_write_atomic(path, line, (size_t)size, err);
    if (!rc)
        wp_allowlist_refresh(d->list, true, d->options.logger);
    if (!rc)
        wp_log(d->options.logger, WP_LOG_INFO, "enrolled host=%s key=%s", a->host, a->key);
    return rc;
}

/* NULL: it is listed. */
static const char *judge(struct wp_enrolment_desk *d, struct asker *a)
{
    char path[PATH_MAX];
    struct wp_public_key key;
    struct wp_error err = {0};
    if (wp_token_each(d->options.token_path, match, a, &err)) {
        wp_log(d->options.logger, WP_LOG_ERROR, "cannot read the tokens, nobody can enrol: %s", err.text);
        return "the tokens cannot be read here; the enrolment server's log says why";
    }
    if (!a->is_known)
        return "the token is not one of those that this enrolment server accepts";
    if ((size_t)snprintf(path, sizeof(path), "%s/%s.pub", d->options.allow_path, a->host) >= sizeof(path))
        return "the allowlist's path is too long";
    int rc = look_at_file(path, a, &err);
    if (rc > 0)
        return NULL;
    if (!rc)
        wp_allowlist_refresh(d->list, false, d->options.logger);
    if (!rc && wp_allowlist_find(d->list, a->key_bytes, &key) && key.kind == WP_KEY_OF_HOST &&
        !memcmp(key.host, a->host_bytes, sizeof(key.host)))
        return NULL; /* in a file of another name */
    if (rc == -EEXIST || (!rc && wp_allowlist_has_host(d->list, a->host_bytes)))
        return "the host has another key; take its line out of the allowlist if this host has lost that";
    if (!rc && wp_allowlist_find(d->list, a->key_bytes, &key))
        return "the key is listed for something else; make a new one";
    if (!rc && wp_allowlist_count(d->list) >= HOSTS)
        return "the allowlist is full";
    if (!rc)
        rc = list_it(d, path, a, &err);
    if (rc)
        wp_log(d->options.logger, WP_LOG_ERROR, "cannot enrol host=%s: %s", a->host, err.text);
    return rc ? "the key cannot be written here; the enrolment server's log says why" : NULL;
}

static const char *read_request(const struct parts *p, struct asker *a)
{
    size_t size = p->sizes[1];
    if (p->count != 2 || size < WP_ENROLMENT_HEAD + WP_TOKEN_LEAST || size >= WP_ENROLMENT_REQUEST ||
        memcmp(p->bytes[1], WP_ENROLMENT_WORD, WP_ENROLMENT_WORD_BYTES))
        return "this is not a request to enrol";
    if (strlen(a->key) != WP_KEY_TEXT - 1 || !zmq_z85_decode(a->key_bytes, a->key))
        return "a peer without a key";
    memcpy(a->host_bytes, p->bytes[1] + WP_ENROLMENT_WORD_BYTES, 16);
    wp_host_format(a->host_bytes, a->host);
    a->token = (const char *)p->bytes[1] + WP_ENROLMENT_HEAD;
    a->token_size = size - WP_ENROLMENT_HEAD;
    return NULL;
}

static void answer_one(struct wp_enrolment_desk *d)
{
    struct parts p;
    struct asker asker = {.host = "-"};
    char text[PART_BYTES];
    if (!receive(d->socket, &p, asker.key))
        return;
    const char *why = read_request(&p, &asker);
    if (!why)
        why = judge(d, &asker);
    if (why && wp_log_allowed(d->options.logger, &d->limit, wp_clock_ns(), LOG_NS))
        wp_log(d->options.logger, WP_LOG_WARN, "refused host=%s key=%s reason=\"%s\"", asker.host, asker.key, why);
    snprintf(text, sizeof(text), "%c%s", why ? '-' : '+', why ? why : "");
    zmq_send(
        d->socket, p.bytes[0], p.sizes[0], ZMQ_SNDMORE | ZMQ_DONTWAIT); /* who does not read its answer asks again */
    zmq_send(d->socket, text, strlen(text), ZMQ_DONTWAIT);
}

/* --- the server --- */

static int secure(struct wp_enrolment_desk *d, struct wp_error *err)
{
    struct wp_key_pair pair;
    char token[WP_TOKEN_ROOM];
    int rc = wp_token_read(d->options.token_path, token, err);
    explicit_bzero(token, sizeof(token));
    if (!rc)
        rc = wp_key_pair_read(&pair, d->options.key_path, err);
    if (rc)
        return rc;
    set_int(d->socket, ZMQ_CURVE_SERVER, 1);
    if (zmq_setsockopt(d->socket, ZMQ_CURVE_SECRETKEY, pair.secret_key, WP_KEY_TEXT) ||
        zmq_setsockopt(d->socket, ZMQ_ZAP_DOMAIN, "enrolment", 9) || zmq_bind(d->zap, ZAP_ENDPOINT))
        rc = zmq_failed(err, "cannot use the key");
    wp_key_pair_forget(&pair);
    return rc;
}

static int listen_at(struct wp_enrolment_desk *d, struct wp_error *err)
{
    int64_t limit = MESSAGE_BYTES;
    bool is_network;
    int rc = wp_endpoint_is_network(d->options.endpoint, &is_network, err);
    if (rc || !is_network)
        return rc ? rc
                  : wp_error_set(err, -EINVAL,
                        "'%.100s' is not a tcp:// endpoint: hosts that come by a socket's file need no key",
                        d->options.endpoint);
    d->context = zmq_ctx_new();
    d->socket = d->context ? zmq_socket(d->context, ZMQ_ROUTER) : NULL;
    d->zap = d->socket ? zmq_socket(d->context, ZMQ_REP) : NULL;
    if (!d->zap)
        return wp_error_set(err, -ENOMEM, "out of memory for a socket");
    set_int(d->socket, ZMQ_LINGER, 0);
    set_int(d->zap, ZMQ_LINGER, 0);
    set_int(d->socket, ZMQ_RCVHWM, WAITING);
    set_int(d->socket, ZMQ_SNDHWM, WAITING);
    set_int(d->socket, ZMQ_BACKLOG, 1024);
    zmq_setsockopt(d->socket, ZMQ_MAXMSGSIZE, &limit, sizeof(limit));
    rc = secure(d, err);
    return rc ? rc : wp_endpoint_bind(d->socket, d->options.endpoint, err);
}

int wp_enrolment_desk_open(
    struct wp_enrolment_desk **out, const struct wp_enrolment_desk_options *options, struct wp_error *err)
{
    struct wp_enrolment_desk *d = calloc(1, sizeof(*d));
    if (!d)
        return wp_error_set(err, -ENOMEM, "out of memory");
    d->options = *options;
    int rc = wp_allowlist_open(&d->list, options->allow_path, err);
    if (!rc)
        rc = listen_at(d, err);
    if (rc) {
        wp_enrolment_desk_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

int wp_enrolment_desk_serve(struct wp_enrolment_desk *d, int stop_fd, struct wp_error *err)
{
    zmq_pollitem_t items[] = {{.fd = stop_fd, .events = ZMQ_POLLIN}, {.socket = d->zap, .events = ZMQ_POLLIN},
        {.socket = d->socket, .events = ZMQ_POLLIN}};
    while (!items[0].revents) {
        if (zmq_poll(items, 3, -1) < 0 && zmq_errno() != EINTR)
            return zmq_failed(err, "cannot wait");
        if (items[1].revents)
            let_in(d);
        if (items[2].revents)
            answer_one(d);
    }
    return 0;
}

void wp_enrolment_desk_close(struct wp_enrolment_desk *d)
{
    if (!d)
        return;
    if (d->zap)
        zmq_close(d->zap);
    if (d->socket)
        zmq_close(d->socket);
    if (d->context)
        zmq_ctx_term(d->context);
    wp_allowlist_close(d->list);
    free(d);
}
