/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_NEW_CONNECTIONS_H
#define WP_REPORTER_CAUSES_NEW_CONNECTIONS_H
/* Services that open a connection to a peer for each of their own requests, where one that is kept would do. */
#include "reporter/facts/facts.h"

#define WP_NEW_CONNECTIONS "connection_each" /* the pattern */
#define WP_NEW_CONNECTIONS_TITLE "A connection for each request"

/* Whether the process whose frame is at that node of the flame does so for that peer ("tcp 10.0.0.7:5432"): then the
 * pattern is filled but for what identifies its rule. Out of memory shows in facts->pool.failed. */
bool wp_new_connections(struct wp_facts *facts, uint32_t process, const char *peer, struct wp_pattern *pattern);
/* Time in TLS handshakes, of who is waited for, too; failed as above. */
uint64_t wp_new_connections_handshake_ns(struct wp_facts *facts);

#endif
