/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_CONNECTION_FINDING_H
#define WP_REPORTER_FINDINGS_CONNECTION_FINDING_H
/* The finding of a connection for each request (new_connections.h) where it is hardly waited for. */
#include "reporter/facts/facts.h"

/* The peer for which most connections are opened so, where facts->findings has no cause of that pattern: it ranks by
 * the TLS handshakes. False: there is none. Out of memory shows in facts->pool.failed. */
bool wp_connection_finding(struct wp_facts *facts, struct wp_finding *found);

#endif
