/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_GATE_H
#define WP_PROTO_GATE_H
/*
 * Who may connect to a server's TCP socket: the ZAP handler (ZeroMQ RFC 27) of its context, on a thread of its own,
 * with an allowlist. The User-Id of an accepted peer's messages is its public key as text. Handshakes that fail are
 * counted.
 */
#include "common/log.h"
#include "proto/allowlist.h"
#include "proto/refusals.h"

struct wp_gate;

/* What a gate watches and whom it asks; all must outlive it. */
struct wp_gate_options {
    void *context, *socket;         /* of ZeroMQ; the socket is not bound yet */
    struct wp_allowlist *allowlist; /* all borrowed */
    struct wp_refusals *refusals;
    const struct wp_logger *logger;
};

/* Starts the thread; call it before the socket is bound, so that every handshake is judged. One gate a context:
 * -EADDRINUSE for a second one. -ENOMEM; -EAGAIN: no thread. */
int wp_gate_open(struct wp_gate **gate, const struct wp_gate_options *options, struct wp_error *err);
/* Ends with the context: first the socket is closed, then zmq_ctx_shutdown, then this, then zmq_ctx_term. */
void wp_gate_close(struct wp_gate *gate);

#endif
