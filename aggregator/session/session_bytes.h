/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_SESSION_BYTES_H
#define WP_AGGREGATOR_SESSION_SESSION_BYTES_H
/* What a session holds of memory, as allocated, by what for. */
#include "aggregator/account/aggregate_bytes.h"

struct wp_host_session;

struct wp_session_bytes {
    uint64_t dictionary, timeline, mappings;
    uint64_t ends; /* of connections */
    uint64_t kept; /* batches' marks, and what waits for a checkpoint */
    struct wp_aggregate_bytes aggregates;
};

/* Adds its bytes to *bytes. The session has joined a fleet. */
void wp_session_bytes_add(struct wp_session_bytes *bytes, const struct wp_host_session *session);
/* The sum of one session. */
uint64_t wp_session_bytes(const struct wp_host_session *session);

#endif
