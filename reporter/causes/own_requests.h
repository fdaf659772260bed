/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_OWN_REQUESTS_H
#define WP_REPORTER_CAUSES_OWN_REQUESTS_H
/* What requests on their own ports have to do with causes: how many a process served, and which waits are theirs. */
#include "reporter/causes/causes.h"

struct wp_own_requests {
    const char *service; /* the one with most requests, "tcp port 80"; NULL none */
    uint64_t count;      /* of requests on all of them, */
    uint64_t ns;         /* ... and how long they took */
};

/* By threads of the process that stands at that node of the flame; by all of interest where none of that name did.
 * Out of memory shows in facts->pool.failed. */
struct wp_own_requests wp_own_requests_of(struct wp_facts *facts, uint32_t process);
/* Of the wait of the cause of that row for another control path: how much of it a request in hand waits. */
uint64_t wp_own_requests_wait_ns(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);

#endif
