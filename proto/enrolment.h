/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_ENROLMENT_H
#define WP_PROTO_ENROLMENT_H
/*
 * How a host whose key nobody has listed gets it listed, without an operator: it makes its key, and says to the
 * enrolment server beside the aggregator which host it is and the token that all hosts of the fleet share. The talk is
 * CURVE with the aggregator's key, so the token is read by nobody on the way, and by the host's key, so it has that
 * key. The server writes HOST.pub into the aggregator's allowlist folder.
 *
 * The token makes nobody speak for a host that has a key: the first key of a host stays until an operator takes its
 * file away.
 *
 * A request is one message: "WPENROL1", the host's UUID (16 bytes), the token. An answer is one message: '+' or '-' and
 * a text.
 */
#include "common/error.h"

#include <stdint.h>

struct wp_enrolment {
    const char *endpoint; /* of the server */
    const char *key_path, *server_key_path, *token_path;
    const uint8_t *host; /* 16 bytes */
    int timeout_ms;
};

/* 0: the key is listed for the host there. -EACCES: the server refuses, and err says why; -ETIMEDOUT: nobody answers
 * who has that server key. */
int wp_enrolment_ask(const struct wp_enrolment *enrolment, struct wp_error *err);

#endif
