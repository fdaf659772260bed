/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/gate.h"

#include "common/clock.h"
#include "common/intmap.h"
#include "common/rate.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>
#include <zmq.h>

#define ZAP_ENDPOINT "inproc://zeromq.zap.01"
#define MONITOR_ENDPOINT "inproc://gate"
#define ZAP_PARTS 7
#define PART_BYTES 256u
#define KNOWN 65536u             /* peers whose handshakes are counted; addresses that were logged */
#define HANDSHAKE_NS WP_NS_PER_S /* of one peer: one in so long, */
#define HANDSHAKE_BURST 60u      /* and so many at once */
#define LOG_NS (uint64_t)100000000
#define LOOK_NS (uint64_t)100000000 /* looks at the allowlist for keys that are new to it: one in so long, */
#define LOOK_BURST 100u             /* and so many at once */

struct wp_gate {
    struct wp_gate_options options;
    pthread_t thread;
    void *zap, *monitor;
    struct wp_intmap keys;   /* hash of a peer -> index of its rate */
    struct wp_rate *rates;   /* KNOWN, owned */
    struct wp_intmap logged; /* hash of address and reason */
    struct wp_log_limit limit;
    struct wp_rate looks; /* at the allowlist */
};

/* A request: version, id, domain, address, identity, mechanism, credentials. */
struct request {
    uint8_t parts[ZAP_PARTS][PART_BYTES];
    size_t sizes[ZAP_PARTS];
};
enum { ZAP_VERSION, ZAP_ID, ZAP_DOMAIN, ZAP_ADDRESS, ZAP_IDENTITY, ZAP_MECHANISM, ZAP_CREDENTIALS };

struct verdict {
    const char *status, *reason; /* "200": welcome; "300": not now; "400": never so */
    char user[WP_KEY_TEXT];
};

static struct wp_intkey hash_of(const void *bytes, size_t size, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, seed);
    return (struct wp_intkey){hash.high64, hash.low64};
}

/* Once an address and reason. When far too many were logged it begins anew. */
static void log_refused(struct wp_gate *gate, const struct request *r, const char *reason)
{
    char key[WP_KEY_TEXT] = "-";
    struct wp_intkey hash = hash_of(r->parts[ZAP_ADDRESS], r->sizes[ZAP_ADDRESS], XXH3_64bits(reason, strlen(reason)));
    if (wp_intmap_get(&gate->logged, hash, NULL) ||
        !wp_log_allowed(gate->options.logger, &gate->limit, wp_clock_ns(), LOG_NS))
        return;
    if (gate->logged.count >= KNOWN)
        wp_intmap_clear(&gate->logged);
    wp_intmap_put(&gate->logged, hash, 1);
    if (r->sizes[ZAP_CREDENTIALS] == WP_KEY_BYTES)
        zmq_z85_encode(key, r->parts[ZAP_CREDENTIALS], WP_KEY_BYTES);
    wp_log(gate->options.logger, WP_LOG_WARN, "refused address=%.64s key=%s reason=\"%s\"",
        (const char *)r->parts[ZAP_ADDRESS], key, reason);
}

/* A host's key is one peer. One for any host may be that of many: each address of those is a peer of its own. */
static struct wp_intkey peer_of(const struct request *r, const struct wp_public_key *key)
{
    uint64_t address = key->kind == WP_KEY_OF_ANY ? XXH3_64bits(r->parts[ZAP_ADDRESS], r->sizes[ZAP_ADDRESS]) : 0;
    return hash_of(key->bytes, WP_KEY_BYTES, address);
}

static bool is_too_often(struct wp_gate *gate, struct wp_intkey peer)
{
    uint32_t index;
    if (!wp_intmap_get(&gate->keys, peer, &index)) {
        if (gate->keys.count >= KNOWN)
            wp_intmap_clear(&gate->keys);
        index = gate->keys.count;
        if (wp_intmap_put(&gate->keys, peer, index))
            return true;
        gate->rates[index] = (struct wp_rate){0};
    }
    return !wp_rate_allow(&gate->rates[index], wp_clock_ns(), HANDSHAKE_NS, HANDSHAKE_BURST);
}

/* A key may have been listed a moment ago (proto/enrolment.h): who comes with it now is no stranger. */
static bool is_listed(struct wp_gate *gate, const uint8_t *bytes, struct wp_public_key *key)
{
    if (wp_allowlist_find(gate->options.allowlist, bytes, key))
        return true;
    if (!wp_rate_allow(&gate->looks, wp_clock_ns(), LOOK_NS, LOOK_BURST))
        return false;
    wp_allowlist_refresh(gate->options.allowlist, false, gate->options.logger);
    return wp_allowlist_find(gate->options.allowlist, bytes, key);
}

static bool part_is(const struct request *r, int part, const char *text)
{
    return r->sizes[part] == strlen(text) && !memcmp(r->parts[part], text, r->sizes[part]);
}

static struct verdict judge(struct wp_gate *gate, const struct request *r)
{
    struct wp_public_key key;
    const uint8_t *bytes = r->parts[ZAP_CREDENTIALS];
    if (!part_is(r, ZAP_VERSION, "1.0") || !part_is(r, ZAP_MECHANISM, "CURVE") ||
        r->sizes[ZAP_CREDENTIALS] != WP_KEY_BYTES)
        return (struct verdict){"400", "a peer without a key", ""};
    if (!is_listed(gate, bytes, &key))
        return (struct verdict){"400", "a key that is not listed", ""};
    if (key.kind == WP_KEY_OF_NONE)
        return (struct verdict){"400", "a key that speaks for no host", ""};
    if (is_too_often(gate, peer_of(r, &key)))
        return (struct verdict){"300", "a key that connects too often", ""};
    struct verdict verdict = {"200", NULL, ""};
    memcpy(verdict.user, key.text, sizeof(verdict.user));
    return verdict;
}

/* Parts that are too long or too many are cut; what is left of them is no key. False: nothing came. */
static bool receive(void *socket, struct request *r)
{
    zmq_msg_t part;
    int count = 0, more = 1;
    memset(r, 0, sizeof(*r));
    zmq_msg_init(&part);
    while (more && zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) >= 0) {
        size_t size = zmq_msg_size(&part);
        if (count < ZAP_PARTS && size < PART_BYTES) {
            memcpy(r->parts[count], zmq_msg_data(&part), size);
            r->sizes[count] = size;
        }
        count++;
        more = zmq_msg_more(&part);
    }
    zmq_msg_close(&part);
    return count > 0;
}

static void answer(struct wp_gate *gate, const struct request *r, const struct verdict *v)
{
    zmq_send(gate->zap, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(gate->zap, r->parts[ZAP_ID], r->sizes[ZAP_ID], ZMQ_SNDMORE);
    zmq_send(gate->zap, v->status, 3, ZMQ_SNDMORE);
    zmq_send(gate->zap, v->reason ? v->reason : "", v->reason ? strlen(v->reason) : 0, ZMQ_SNDMORE);
    zmq_send(gate->zap, v->user, strlen(v->user), ZMQ_SNDMORE);
    zmq_send(gate->zap, "", 0, 0);
}

static void take_request(struct wp_gate *gate)
{
    struct request request;
    if (!receive(gate->zap, &request))
        return;
    struct verdict verdict = judge(gate, &request);
    if (verdict.reason) {
        wp_refusals_add(gate->options.refusals, verdict.reason);
        log_refused(gate, &request, verdict.reason);
    }
    answer(gate, &request, &verdict);
}

/* Handshakes that fail before there is a key to judge. Those that the handler refused (AUTH) are counted above. */
static void take_event(struct wp_gate *gate)
{
    struct request parts; /* event and value, then the address of this side */
    uint16_t event;
    uint32_t value;
    if (!receive(gate->monitor, &parts) || parts.sizes[0] < sizeof(event) + sizeof(value))
        return;
    memcpy(&event, parts.parts[0], sizeof(event));
    memcpy(&value, parts.parts[0] + sizeof(event), sizeof(value));
    const char *reason = "a connection that ended in its handshake";
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
        reason = value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ? "a peer that does not speak CURVE"
            : value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC         ? "a peer that knows another server key"
                                                                     : "a handshake against the protocol";
    else if (event != ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        return;
    wp_refusals_add(gate->options.refusals, reason);
    if (wp_log_allowed(gate->options.logger, &gate->limit, wp_clock_ns(), WP_NS_PER_S))
        wp_log(gate->options.logger, WP_LOG_WARN, "refused reason=\"%s\"", reason);
}

static void *serve(void *context)
{
    struct wp_gate *gate = context;
    zmq_pollitem_t items[2] = {
        {.socket = gate->zap, .events = ZMQ_POLLIN}, {.socket = gate->monitor, .events = ZMQ_POLLIN}};
    while (zmq_poll(items, 2, -1) >= 0 || zmq_errno() == EINTR) {
        if (items[0].revents)
            take_request(gate);
        if (items[1].revents)
            take_event(gate);
    }
    zmq_close(gate->zap); /* the context is shut down */
    zmq_close(gate->monitor);
    return NULL;
}

static void set_no_linger(void *socket)
{
    int none = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof(none));
}

static int open_sockets(struct wp_gate *gate)
{
    const struct wp_gate_options *o = &gate->options;
    int events = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
    gate->zap = zmq_socket(o->context, ZMQ_REP);
    gate->monitor = zmq_socket(o->context, ZMQ_PAIR);
    if (!gate->zap || !gate->monitor)
        return -ENOMEM;
    set_no_linger(gate->zap);
    set_no_linger(gate->monitor);
    if (zmq_bind(gate->zap, ZAP_ENDPOINT) || zmq_socket_monitor(o->socket, MONITOR_ENDPOINT, events) ||
        zmq_connect(gate->monitor, MONITOR_ENDPOINT))
        return -zmq_errno();
    return 0;
}

/* Signals are for the threads of the program. */
static int start_thread(struct wp_gate *gate)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&gate->thread, NULL, serve, gate);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void free_gate(struct wp_gate *gate)
{
    wp_intmap_fini(&gate->keys);
    wp_intmap_fini(&gate->logged);
    free(gate->rates);
    free(gate);
}

int wp_gate_open(struct wp_gate **out, const struct wp_gate_options *options, struct wp_error *err)
{
    struct wp_gate *gate = calloc(1, sizeof(*gate));
    if (!gate || !(gate->rates = calloc(KNOWN, sizeof(*gate->rates)))) {
        free(gate);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    gate->options = *options;
    int rc = open_sockets(gate);
    if (!rc)
        rc = start_thread(gate);
    if (rc) {
        if (gate->zap)
            zmq_close(gate->zap);
        if (gate->monitor)
            zmq_close(gate->monitor);
        free_gate(gate);
        return wp_error_errno(err, rc, "cannot watch who connects");
    }
    *out = gate;
    return 0;
}

void wp_gate_close(struct wp_gate *gate)
{
    if (!gate)
        return;
    pthread_join(gate->thread, NULL);
    free_gate(gate);
}
